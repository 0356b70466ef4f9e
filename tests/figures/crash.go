package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A matrix is what the crash matrix wrote (`go test ./tests/crash -args -json FILE`).
type matrix struct {
	Rows []struct {
		Scenario string `json:"scenario"`
		Flow     string `json:"flow"`
	} `json:"rows"`
	Cells []struct {
		Flow         string `json:"flow"`
		Fault        string `json:"fault"`
		Combinations int    `json:"combinations"`
		Violations   int    `json:"violations"`
	} `json:"cells"`
	Points       int `json:"points"`
	Combinations int `json:"combinations"`
	Violations   int `json:"violations"`
}

const (
	held   = "#3b8f5a" // no violation; the paler, the fewer combinations
	broken = "#c0392b"
)

// crashMatrix is a field for each flow and fault: how many places were struck, and whether a promise broke.
func crashMatrix(raw []byte) (string, error) {
	m, err := read[matrix](raw)
	if err != nil {
		return "", err
	}
	if len(m.Rows) == 0 || len(m.Cells) == 0 {
		return "", errors.New("no flow, or no field of the matrix")
	}
	var faults []string
	most := 0
	for _, c := range m.Cells {
		if !slices.Contains(faults, c.Fault) {
			faults = append(faults, c.Fault)
		}
		most = max(most, c.Combinations)
	}
	slices.Sort(faults)
	const labels, top, cellWidth, cellHeight = 330.0, 150.0, 58.0, 20.0
	p := &picture{width: labels + cellWidth*float64(len(faults)) + 90, height: top + cellHeight*float64(len(m.Rows)) + 30}
	title := fmt.Sprintf("%d calls struck in %d ways, %d combinations in %d flows: %d violations", m.Points, len(faults), m.Combinations, len(m.Rows), m.Violations)
	p.text(place{16, 26}, left, 16, title)
	for i, f := range faults {
		p.upright(place{labels + cellWidth*(float64(i)+0.4), top - 8}, 12, f)
	}
	for y, r := range m.Rows {
		at := top + cellHeight*float64(y)
		p.text(place{labels - 8, at + 14}, right, 12, strings.TrimSpace(r.Flow))
		for x, f := range faults {
			p.field(place{labels + cellWidth*float64(x), at}, m.strength(most, r.Flow, f))
		}
	}
	return p.svg(title), nil
}

// A field is one fault in one flow.
type field struct {
	combinations int
	fill         string
	strength     float64
}

// strength is how strongly a field is drawn: one that holds the more, the more was struck.
func (m matrix) strength(most int, flow, fault string) (f field) {
	for _, c := range m.Cells {
		if c.Flow != flow || c.Fault != fault {
			continue
		}
		f = field{c.Combinations, held, 0.25 + 0.6*float64(c.Combinations)/float64(most)}
		if c.Violations > 0 {
			f.fill, f.strength = broken, 1
		}
	}
	return f
}

func (p *picture) field(where place, f field) {
	if f.combinations == 0 {
		return
	}
	fmt.Fprintf(&p.parts, `<rect x="%.1f" y="%.1f" width="56" height="18" rx="2" fill="%s" fill-opacity="%.2f"/>`+"\n", where.x, where.y, f.fill, f.strength)
	p.text(place{where.x + 28, where.y + 13}, middle, 11, fmt.Sprint(f.combinations))
}
