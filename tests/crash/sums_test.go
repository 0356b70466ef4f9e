package crash_test

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"
)

// A row is what was done to one flow.
type row struct {
	Scenario     string `json:"scenario"`
	Flow         string `json:"flow"`
	Points       int    `json:"points"`
	Combinations int    `json:"combinations"`
	Struck       int    `json:"struck"` // those of which the point was met: whether it is may depend on chance
	Violations   int    `json:"violations"`
}

// A cell is what one fault did to one flow.
type cell struct {
	Flow         string `json:"flow"`
	Fault        string `json:"fault"`
	Combinations int    `json:"combinations"`
	Violations   int    `json:"violations"`
}

// figures are the sums of a whole run.
type figures struct {
	mu           sync.Mutex
	begun        time.Time
	Rows         []*row         `json:"rows"`
	Cells        []*cell        `json:"cells"`
	Blows        map[string]int `json:"faults"` // combinations by fault
	Calls        map[string]int `json:"calls"`  // combinations by call
	Points       int            `json:"points"`
	Combinations int            `json:"combinations"`
	Struck       int            `json:"struck"`
	Violations   int            `json:"violations"`
	Seconds      float64        `json:"seconds"`
}

func newSums() *figures {
	return &figures{begun: time.Now(), Blows: map[string]int{}, Calls: map[string]int{}}
}

func (f *figures) points(p prepared) {
	f.Rows = append(f.Rows, &row{Scenario: p.scenario, Flow: p.name, Points: len(p.points)})
	f.Points += len(p.points)
}

func (f *figures) add(c combination, struck bool, violations int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.Rows {
		if r.Flow == c.flow.name {
			r.Combinations++
			r.Violations += violations
			if struck {
				r.Struck++
			}
		}
	}
	in := f.cell(c)
	in.Combinations++
	in.Violations += violations
	f.Combinations++
	f.Violations += violations
	f.Blows[c.blow.name]++
	f.Calls[c.point.call]++
	if struck {
		f.Struck++
	}
}

func (f *figures) cell(c combination) *cell {
	for _, in := range f.Cells {
		if in.Flow == c.flow.name && in.Fault == c.blow.name {
			return in
		}
	}
	in := &cell{Flow: c.flow.name, Fault: c.blow.name}
	f.Cells = append(f.Cells, in)
	return in
}

// tell prints the table, and writes the figures where they are asked for.
func (f *figures) tell(t *testing.T) {
	f.Seconds = time.Since(f.begun).Seconds()
	t.Logf("%-12s %-40s %7s %13s %7s %11s", "scenario", "flow", "points", "combinations", "struck", "violations")
	for _, r := range f.Rows {
		t.Logf("%-12s %-40s %7d %13d %7d %11d", r.Scenario, r.Flow, r.Points, r.Combinations, r.Struck, r.Violations)
	}
	t.Logf("%-12s %-40s %7d %13d %7d %11d", "", "all", f.Points, f.Combinations, f.Struck, f.Violations)
	t.Logf("%d I/O points × %d faults, %d flows: %d combinations in %.1f s, %d violations", f.Points, len(f.Blows), len(f.Rows), f.Combinations, f.Seconds, f.Violations)
	if *plot == "" {
		return
	}
	raw, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(*plot, append(raw, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
