package live

import (
	"fmt"
	"time"

	"engang/infra/engang/text"
	"engang/shared/control"
)

// How long the story is silent without a word of what it waits for: where the end is known to be far, and
// where it is not known. With the stub neither is reached.
const (
	soon = 5 * time.Second
	long = 10 * time.Second
)

// A reason is what is waited for, and until when if that is known.
type reason struct {
	says  string
	until *time.Time
}

// waitsFor says what has to happen next in the work of the sample.
func (t *Story) waitsFor(doc control.Object) reason {
	for _, o := range doc.Operations {
		switch {
		case o.State == "running" && o.FencingToken == t.token:
			return reason{"for the lease of the killed worker to end, so that another may work", o.LeaseUntil}
		case o.State == "running":
			return reason{fmt.Sprintf("for the model to answer attempt %d", len(o.Attempts)), nil}
		case o.State == "pending":
			return reason{"for the next try to be due", o.DueAt}
		}
	}
	return reason{"for a worker to take the event up", nil}
}

// A patience tells what is waited for: each reason once, and none that is soon over.
type patience struct {
	screen Screen
	since  time.Time // of the last line
	told   string
}

func newPatience(s Screen) *patience { return &patience{screen: s, since: time.Now()} }

func (p *patience) tell(r reason) {
	now := time.Now()
	far := r.until != nil && r.until.Sub(now) > soon
	if r.says == p.told || !far && now.Sub(p.since) < long {
		return
	}
	p.told, p.since = r.says, now
	end := ""
	if far {
		end = fmt.Sprintf(": at %s, in %s", p.screen.clock(*r.until, "15:04:05"), text.Duration(r.until.Sub(now).Round(time.Second)))
	}
	p.screen.line(now, "waits", "%s      %s%s", sampleObject, r.says, end)
}
