// Package doctor looks a deployed engang over: whether all of the stack is there and as the template makes it, and
// whether what stands in it can work. It changes nothing but what it is told to mend, and mends only what is harmless.
//
// Nothing that it writes holds a secret, a payload or an answer of another system.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"engang/infra/engang/stack"
	"engang/infra/engang/text"
)

// A State is what came of a check. The texts are a promise to scripts.
type State string

// The states, from good to bad.
const (
	OK         State = "ok"
	Fixed      State = "fixed"       // it was a fault until now
	Note       State = "note"        // worth a look, and no fault
	Unchecked  State = "not checked" // it rests on what another check did not find
	NoAnswer   State = "no answer"   // who was asked did not say anything, or not in time
	NotAllowed State = "not allowed" // this identity may not look
	Fault      State = "fault"
)

// A Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"` // "indexes"
	State  State  `json:"state"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// A Report is all that was looked at.
type Report struct {
	Kind    string  `json:"kind"` // "doctor"
	Target  string  `json:"target"`
	Account string  `json:"account,omitempty"`
	Region  string  `json:"region,omitempty"`
	Checks  []Check `json:"checks"`
}

// Count is how many checks came to a state.
func (r Report) Count(s State) (n int) {
	for _, c := range r.Checks {
		if c.State == s {
			n++
		}
	}
	return n
}

// Summary is the report in one line: "1 fault, 1 without an answer, 7 as they should be".
func (r Report) Summary() string {
	var parts []string
	for _, s := range []struct {
		state     State
		one, many string
	}{
		{Fault, "fault", "faults"}, {NotAllowed, "look not allowed", "looks not allowed"}, {NoAnswer, "without an answer", "without an answer"},
		{Unchecked, "not checked", "not checked"}, {Note, "worth a look", "worth a look"}, {Fixed, "fixed", "fixed"}, {OK, "as it should be", "as they should be"},
	} {
		if n := r.Count(s.state); n > 0 {
			parts = append(parts, text.Count(n, s.one, s.many))
		}
	}
	return strings.Join(parts, ", ")
}

// Write writes the report for people.
func (r Report) Write(w io.Writer) error {
	head := "engang doctor: " + r.Target
	if r.Account != "" {
		head = fmt.Sprintf("engang doctor: stack %s, account %s, region %s", r.Target, r.Account, r.Region)
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", text.Line(head)); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range r.Checks {
		rows = append(rows, []string{string(c.State), c.Name, c.Text})
		if c.Remedy != "" {
			rows = append(rows, []string{"", "", "-> " + c.Remedy})
		}
	}
	if err := text.Columns(w, "  ", rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.Summary())
	return err
}

// A Repair mends one fault, and harms nothing.
type Repair struct {
	Check string // that it mends
	Text  string // what it does
	do    func(context.Context) error
}

// Mend does repairs, and says of each check what came of it.
func (r *Report) Mend(ctx context.Context, patience time.Duration, repairs []Repair) {
	for _, m := range repairs {
		i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == m.Check })
		if i < 0 {
			continue
		}
		_, err := ask(ctx, patience, func(ctx context.Context) (struct{}, error) { return struct{}{}, m.do(ctx) })
		if err != nil {
			r.Checks[i].Remedy = "it could not be mended: " + failed(m.Check, "", err).Text
			continue
		}
		r.Checks[i] = Check{Name: m.Check, State: Fixed, Text: m.Text}
	}
}

// ask bounds one call.
func ask[T any](ctx context.Context, patience time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%w within %s", errSilent, patience))
	defer cancel()
	v, err := call(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return v, err
}

var errSilent = errors.New("no answer")

// failed is what a call came to that gave no answer of use. What AWS says itself is left out but for its code: it may
// repeat what was sent.
func failed(check, action string, err error) Check {
	c := Check{Name: check, State: NoAnswer, Text: "AWS does not answer"}
	if errors.Is(err, errSilent) {
		c.Text = err.Error()
	}
	e, said := errors.AsType[smithy.APIError](err)
	code, stranger := stack.RefusesIdentity(err)
	switch {
	case stack.RefusesClock(err):
		c.State, c.Text, c.Remedy = Fault, "the clock of this machine is refused", "set it"
	case stranger:
		c.State, c.Text = NotAllowed, "this identity may not look ("+code+")"
		if action != "" {
			c.Remedy = "it needs " + action
		}
	case stack.CannotNow(err):
		c.Text = "AWS says that it cannot answer now"
		if said {
			c.Text += " (" + e.ErrorCode() + ")"
		}
	case said:
		c.State, c.Text = Fault, "AWS refuses: "+e.ErrorCode()
	}
	return c
}

func isCode(err error, codes ...string) bool {
	e, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(codes, e.ErrorCode())
}
