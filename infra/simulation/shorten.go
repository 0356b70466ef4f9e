package simulation

import (
	"context"
	"maps"
	"slices"
	"strings"
)

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
// returns has its history, and in Without what was left out of it.
func Shorten(ctx context.Context, o Options, most int) (Outcome, map[string]bool, error) {
	o.History = true
	first, err := Run(ctx, o)
	if err != nil || len(first.Violations) == 0 {
		return first, o.Without, err
	}
	s := &shortening{ctx: ctx, Options: o, left: most, broken: first.promises(), best: first}
	for part := max(len(first.Happened)/2, 1); s.left > 0; part = max(part/2, 1) {
		less, err := s.pass(part)
		if err != nil {
			return s.best, s.Without, err
		}
		if part == 1 && !less {
			break
		}
	}
	return s.best, s.Without, nil
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
