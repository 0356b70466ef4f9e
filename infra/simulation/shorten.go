package simulation

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Finding is a seed that breaks a promise, with its history as short as it could be made.
type Finding struct {
	Seed       uint64   `json:"seed"`
	Violations []string `json:"violations"`
	Command    string   `json:"command"` // that makes the history again
	Left       int      `json:"left"`    // of what happened, in the shortened history
	Of         int      `json:"of"`      // in the whole one
	History    []string `json:"history"` // shortened; nil where that was not asked for
}

// Explain makes the shortened history of an outcome that breaks a promise, in so many tries at most.
func Explain(ctx context.Context, o Options, broken Outcome, most int) (Finding, error) {
	o.Seed = broken.Seed
	f := Finding{Seed: broken.Seed, Violations: broken.Violations, Of: len(broken.Happened), Left: len(broken.Happened)}
	if most == 0 {
		return f, nil
	}
	short, err := Shorten(ctx, o, most)
	f.History, f.Left = short.History, len(short.Happened)
	return f, err
}

// Write writes it for people.
func (f Finding) Write(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d breaks promises:\n", f.Seed)
	for _, v := range f.Violations {
		fmt.Fprintln(&b, " ", v)
	}
	if f.History != nil {
		fmt.Fprintf(&b, "shortened history (%d of %d things that the seed had happen):\n%s\n", f.Left, f.Of, strings.Join(f.History, "\n"))
	}
	fmt.Fprintln(&b, "again:", f.Command)
	_, err := io.WriteString(to, b.String())
	return err
}

// promises are those that are broken, each once.
func (o Outcome) promises() []string {
	var all []string
	for _, v := range o.Violations {
		name, _, _ := strings.Cut(v, ":")
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Shorten makes a history that breaks a promise shorter: it leaves out what happened, half of it, then smaller parts,
// then one by one, as long as one of the same promises is still broken, and for so many tries at most. What it
// returns has its history.
func Shorten(ctx context.Context, o Options, most int) (Outcome, error) {
	o.History = true
	first, err := Run(ctx, o)
	if err != nil || len(first.Violations) == 0 {
		return first, err
	}
	s := &shortening{ctx: ctx, Options: o, left: most, broken: first.promises(), best: first}
	for part := max(len(first.Happened)/2, 1); s.left > 0; part = max(part/2, 1) {
		less, err := s.pass(part)
		if err != nil {
			return s.best, err
		}
		if part == 1 && !less {
			break
		}
	}
	return s.best, nil
}

type shortening struct {
	Options
	ctx    context.Context
	left   int // tries
	broken []string
	best   Outcome
}

// pass leaves out one part of so many after the other, and tells whether any could be.
func (s *shortening) pass(part int) (less bool, err error) {
	for from := 0; from < len(s.best.Happened) && s.left > 0; {
		some := s.best.Happened[from:min(from+part, len(s.best.Happened))]
		without, err := s.try(some)
		if err != nil {
			return less, err
		}
		if without {
			less = true // what came behind it stands in its place now
			continue
		}
		from += part
	}
	return less, nil
}

// try leaves something out, and keeps to it where a promise is still broken.
func (s *shortening) try(some []string) (bool, error) {
	s.left--
	o := s.Options
	o.Without = maps.Clone(o.Without)
	if o.Without == nil {
		o.Without = map[string]bool{}
	}
	for _, what := range some {
		o.Without[what] = true
	}
	out, err := Run(s.ctx, o)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(out.promises(), func(p string) bool { return slices.Contains(s.broken, p) }) {
		return false, nil
	}
	s.Options.Without, s.best = o.Without, out
	return true, nil
}
