package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"engang/infra/bench"
)

// A measure is a number of the bench that is drawn against how many events are stored.
type measure struct {
	name, colour string
	of           func(bench.Flow) float64
}

var measures = []measure{
	{"write calls", "#2f6db5", func(f bench.Flow) float64 { return float64(f.Writes) }},
	{"write units", "#b5622f", func(f bench.Flow) float64 { return f.WriteUnits }},
	{"read calls", "#3b8f5a", func(f bench.Flow) float64 { return float64(f.Reads) }},
}

// A growth is what the ways through the pipeline cost by how many events are stored.
type growth struct {
	costs map[int][]bench.Flow
	sizes []int
	most  float64
}

func grown(reports []bench.Report) growth {
	g := growth{costs: map[int][]bench.Flow{}}
	for _, r := range reports {
		for _, c := range r.Costs {
			g.costs[c.Stored] = c.Flows
			for _, f := range c.Flows {
				for _, m := range measures {
					g.most = max(g.most, m.of(f))
				}
			}
		}
	}
	g.sizes = slices.Sorted(maps.Keys(g.costs))
	return g
}

// costOfStored is what a new event and a duplicate cost, in calls and units, against how many events are stored: flat
// where nothing grows.
func costOfStored(raw []byte) (string, error) {
	reports, err := read[[]bench.Report](raw)
	if err != nil {
		return "", err
	}
	g := grown(reports)
	if len(g.sizes) < 2 {
		return "", errors.New("one size of a table shows no growth")
	}
	const width, height, gap, top, row, inRow = 260.0, 150.0, 50.0, 90.0, 240.0, 3
	flows := g.costs[g.sizes[0]]
	p := &picture{width: 40 + (width+gap)*inRow, height: top + row*float64((len(flows)+inRow-1)/inRow)}
	title := fmt.Sprintf("What an event costs with %s to %s events stored", thousands(g.sizes[0]), thousands(g.sizes[len(g.sizes)-1]))
	p.text(place{16, 26}, left, 16, title)
	for i, m := range measures {
		p.box(place{20 + 130*float64(i), 42}, place{12, 12}, m.colour)
		p.text(place{38 + 130*float64(i), 53}, left, 12, m.name)
	}
	for i, f := range flows {
		chart{p, 40 + (width+gap)*float64(i%inRow), top + row*float64(i/inRow), width, height, g}.draw(f.Name)
	}
	return p.svg(title), nil
}

// A chart is one flow: the size of the table goes to the right by its logarithm.
type chart struct {
	p                   *picture
	x, y, width, height float64
	growth
}

func (c chart) draw(flow string) {
	c.p.text(place{c.x, c.y - 8}, left, 13, flow)
	for n := 0.0; n <= c.most; n += max(1, math.Ceil(c.most/6)) {
		c.p.line(place{c.x, c.up(n)}, place{c.x + c.width, c.up(n)}, "#e4e7eb")
		c.p.text(place{c.x - 6, c.up(n) + 4}, right, 11, fmt.Sprint(n))
	}
	for _, stored := range c.sizes {
		c.p.text(place{c.along(stored), c.y + c.height + 18}, middle, 11, thousands(stored))
	}
	c.p.text(place{c.x + c.width/2, c.y + c.height + 38}, middle, 11, "events stored")
	for _, m := range measures {
		var before *place
		for _, stored := range c.sizes {
			for _, f := range c.costs[stored] {
				if f.Name != flow {
					continue
				}
				at := place{c.along(stored), c.up(m.of(f))}
				if before != nil {
					c.p.line(*before, at, m.colour)
				}
				c.p.dot(at, m.colour)
				before = &at
			}
		}
	}
}

func (c chart) up(n float64) float64 { return c.y + c.height*(1-n/c.most) }

func (c chart) along(stored int) float64 {
	first, last := math.Log10(float64(c.sizes[0])), math.Log10(float64(c.sizes[len(c.sizes)-1]))
	return c.x + c.width*(math.Log10(float64(stored))-first)/(last-first)
}

// thousands writes a number with its thousands apart.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
