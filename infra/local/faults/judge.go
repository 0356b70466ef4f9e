package faults

import (
	"slices"
	"strings"

	"engang/infra/local/wire"
)

// Judge is the [wire.Judge] of the faults that are set up.
func (c *Controller) Judge(call wire.Call, phase wire.Phase) wire.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	if phase == wire.Before && call.ID != "" && c.broken[call.ID] != "" {
		return wire.Fail // a repeat of a call that has failed: "down" means with all repeats
	}
	for i, f := range c.pending {
		if v := f.judge(call, phase); v != wire.Pass {
			c.strike(i, call)
			if strings.HasSuffix(f.Kind, "down") {
				c.broken[call.ID] = f.String()
			}
			return v
		}
	}
	return wire.Pass
}

func (f Fault) judge(call wire.Call, phase wire.Phase) wire.Verdict {
	at, isKill := killAt[strings.TrimPrefix(f.Kind, "kill@")]
	lost, isLost := strings.CutPrefix(f.Kind, "lost@")
	switch {
	case f.Part == "worker" && isKill && call.Function == "enrichment" && phase == at.phase && begins(call.Name, at.call):
		return wire.Kill
	case f.Part == "store" && isLost && call.Service == "dynamodb" && phase == wire.After && begins(call.Name, lost):
		return wire.Fail
	case f.Kind == "down" && phase == wire.Before && call.Function != "" && call.Service == services[f.Part]:
		return wire.Fail
	}
	return wire.Pass
}

var services = map[string]string{"queue": "sqs", "store": "dynamodb"}

// begins tells whether a call's name is word, or begins with it: "W4" means "W4 complete".
func begins(name, word string) bool { return name == word || strings.HasPrefix(name, word+" ") }

// Redeliver tells whether a message that was done is to be delivered once more, and counts it.
func (c *Controller) Redeliver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.pending {
		if f.Part == "queue" && f.Kind == "redeliver" {
			c.strike(i, wire.Call{Name: "delete messages", Function: "enrichment"})
			return true
		}
	}
	return false
}

// strike counts a fault; the caller holds the lock.
func (c *Controller) strike(i int, call wire.Call) {
	f := c.pending[i]
	f.Times--
	c.fired = append(c.fired, Fired{Fault: f.Part + ":" + f.Kind, At: c.now(), Call: call.Name, Function: call.Function, Invocation: call.Invocation})
	if f.Times == 0 {
		c.pending = slices.Delete(c.pending, i, i+1)
	} else {
		c.pending[i] = f
	}
}
