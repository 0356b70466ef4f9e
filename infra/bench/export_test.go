package bench

import (
	"context"

	"engang/infra/local"
)

// Filled is a system whose table holds so many events before anything is measured.
func Filled(ctx context.Context, stored int) (*local.System, error) {
	o := Options{}.orUsual()
	s, err := start(ctx, o, stored)
	if err != nil {
		return nil, err
	}
	return s.System, s.fill(ctx, o)
}

// Growth is how much more b is than a, in per cent.
func Growth(a, b []float64) Spread { return growth(a, b) }
