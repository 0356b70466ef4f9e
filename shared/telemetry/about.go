package telemetry

import (
	"context"
	"log/slog"
	"slices"
)

type aboutKey struct{}

// About returns a context whose every line says this too: which invocation, event or operation it is about. What a
// caller says again goes before it.
func About(ctx context.Context, attrs ...slog.Attr) context.Context {
	known, _ := ctx.Value(aboutKey{}).([]slog.Attr)
	kept := slices.DeleteFunc(slices.Clone(known), func(old slog.Attr) bool {
		return slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == old.Key })
	})
	return context.WithValue(ctx, aboutKey{}, append(kept, attrs...))
}

// An abouter adds to a line what its context is about. Metric lines stay as they are: each name in them is agreed.
type abouter struct{ slog.Handler }

// Handle writes a line.
func (h abouter) Handle(ctx context.Context, r slog.Record) error {
	if known, _ := ctx.Value(aboutKey{}).([]slog.Attr); len(known) > 0 && r.Level != metricLevel {
		said := map[string]bool{}
		r.Attrs(func(a slog.Attr) bool { said[a.Key] = true; return true })
		r = r.Clone()
		for _, a := range known {
			if !said[a.Key] {
				r.AddAttrs(a)
			}
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is that of the handler below.
func (h abouter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return abouter{h.Handler.WithAttrs(attrs)}
}

// WithGroup is that of the handler below.
func (h abouter) WithGroup(name string) slog.Handler { return abouter{h.Handler.WithGroup(name)} }
