// Package faults breaks the local system on demand: "model:429x3,worker:kill@after-claim,queue:redeliver".
//
// A fault is named part:kind, with xN for how many times (once where it is missing):
//
//	model:429, 500, timeout, quota, refusal, length, filter, schema, missing, hang   the stub answers so
//	worker:kill@after-claim, before-call, after-call, after-W4, after-W5               the worker dies there
//	queue:redeliver   a message that was done is delivered again
//	queue:down        a send fails, with all its repeats
//	store:down        a call to the table fails, with all its repeats
//	store:lost@W4     the answer of this write is lost, after it took effect
package faults

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"engang/infra/local/wire"
)

// ErrUnknown says that a text names no fault.
var ErrUnknown = errors.New("unknown fault")

// A Fault is one thing that goes wrong, and how often.
type Fault struct {
	Part  string `json:"part"` // "model", "worker", "queue", "store"
	Kind  string `json:"kind"` // "429", "kill@after-claim", "down", "lost@W4"
	Times int    `json:"times"`
}

// String is the fault as it is written on a command line.
func (f Fault) String() string {
	s := f.Part + ":" + f.Kind
	if f.Times != 1 {
		s += "x" + strconv.Itoa(f.Times)
	}
	return s
}

// A Fired is a fault that struck.
type Fired struct {
	Fault      string    `json:"fault"`
	At         time.Time `json:"at"`
	Call       string    `json:"call"`
	Function   string    `json:"function"`
	Invocation string    `json:"invocation"`
}

// ModelKinds are the faults of the model that can be asked for.
var ModelKinds = []string{"429", "500", "timeout", "quota", "refusal", "length", "filter", "schema", "missing", "hang"}

type place struct {
	call  string // the call's name, or its first word
	phase wire.Phase
	means string
}

var killAt = map[string]place{
	"after-claim": {"W3", wire.After, "worker killed after the claim"},
	"before-call": {"model", wire.Before, "worker killed before the model call"},
	"after-call":  {"model", wire.After, "worker killed after the model call, its answer lost"},
	"after-W4":    {"W4", wire.After, "worker killed after the commit"},
	"after-W5":    {"W5", wire.After, "worker killed after the result was written"},
}

// Means says in words what a fault does, for those that kill a worker.
func Means(kind string) string { return killAt[strings.TrimPrefix(kind, "kill@")].means }

var shape = regexp.MustCompile(`^(model|worker|queue|store):([A-Za-z0-9@-]+?)(?:x([1-9][0-9]{0,5}))?$`)

// Parse reads a list of faults, separated by commas. It returns an error that wraps [ErrUnknown] and
// says what there is.
func Parse(text string) ([]Fault, error) {
	var list []Fault
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		m := shape.FindStringSubmatch(one)
		if m == nil || !known(m[1], m[2]) {
			return nil, fmt.Errorf("%w %q; there are %s", ErrUnknown, one, strings.Join(Known(), ", "))
		}
		f := Fault{Part: m[1], Kind: m[2], Times: 1}
		if m[3] != "" {
			f.Times, _ = strconv.Atoi(m[3])
		}
		list = append(list, f)
	}
	return list, nil
}

func known(part, kind string) bool {
	if write, ok := strings.CutPrefix(kind, "lost@"); ok {
		return part == "store" && write != ""
	}
	return slices.Contains(Known(), part+":"+kind)
}

// Known lists every fault; store:lost takes the name of any write in the place of W4.
func Known() []string {
	var all []string
	for _, k := range ModelKinds {
		all = append(all, "model:"+k)
	}
	for _, k := range []string{"after-claim", "before-call", "after-call", "after-W4", "after-W5"} {
		all = append(all, "worker:kill@"+k)
	}
	return append(all, "queue:redeliver", "queue:down", "store:down", "store:lost@W4")
}

// A Controller holds the faults that are to strike. It is safe for concurrent use.
type Controller struct {
	model func(kind string, times int) error
	now   func() time.Time

	mu      sync.Mutex
	pending []Fault
	broken  map[string]string // calls that fail with all their repeats, by id: the fault's name
	fired   []Fired
}

// New makes a controller. Faults of the model are handed to model; nil means that there is no stub.
func New(model func(kind string, times int) error, now func() time.Time) *Controller {
	return &Controller{model: model, now: now, broken: map[string]string{}}
}

// Add sets faults up, all or none. It returns an error that wraps [ErrUnknown] for a fault that does
// not exist, or that a real model cannot be made to show.
func (c *Controller) Add(text string) error {
	list, err := Parse(text)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Part == "model" && c.model == nil {
			return fmt.Errorf("%w %q: a real model is called, not the stub", ErrUnknown, f)
		}
	}
	for _, f := range list {
		if f.Part != "model" {
			c.mu.Lock()
			c.pending = append(c.pending, f)
			c.mu.Unlock()
		} else if err := c.model(f.Kind, f.Times); err != nil {
			return fmt.Errorf("set %s: %w", f, err)
		}
	}
	return nil
}

// Clear takes back every fault that has not struck yet, but not those of the model.
func (c *Controller) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending, c.broken = nil, map[string]string{}
}

// Pending lists the faults that are still to strike, without those of the model, which the stub holds.
func (c *Controller) Pending() []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.pending)
}

// Fired lists the faults that struck, in order.
func (c *Controller) Fired() []Fired {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.fired)
}
