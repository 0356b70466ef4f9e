package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"engang/shared/config/apply"
)

// Options say which history is made.
type Options struct {
	Seed    uint64
	History bool            // keep it, line by line
	Without map[string]bool // what is left out of it: texts of [Outcome.Happened]

	// To show that a simulation can fail.
	Weak      []Weakening // parts of conditions that are taken out of requests to the table
	Idle      bool        // no reconciler runs
	Hasty     bool        // who erases does not come back for what was under way
	Forgetful bool        // the bucket answers, and keeps nothing
	Early     bool        // what is kept leaves long before its time
	Partial   bool        // of a delivery of many events the first is stored
}

// A Weakening changes every request of one call: a part of its expressions, or one of its values.
type Weakening struct {
	Call    string // as the code names it: "W4 complete"
	Part    string // of the condition, or of the update
	Instead string
	Value   string // that is the same text every time: ":write"
}

// An Outcome is what one history came to.
type Outcome struct {
	Seed       uint64        `json:"seed"`
	Digest     string        `json:"digest"` // SHA-256 of the history and of all that is stored at its end
	Violations []string      `json:"violations,omitempty"`
	Counts     Counts        `json:"counts"`
	Lasted     time.Duration `json:"-"`                 // in its own time
	History    []string      `json:"history,omitempty"` // only where it is kept
	Happened   []string      `json:"-"`                 // what can be left out of it
}

// Run makes one history and judges it. An error says that the simulation itself could not go on. Runs share nothing
// but the engine, and may be made side by side.
func Run(ctx context.Context, o Options) (out Outcome, err error) {
	w, err := newWorld(ctx, o)
	if err != nil {
		return out, fmt.Errorf("simulate seed %d: %w", o.Seed, err)
	}
	defer func() {
		if closed := w.close(); err == nil {
			err = closed
		}
	}()
	ids := 0
	if _, err := apply.Publish(ctx, w.table, w.settings(), func() string { ids++; return fmt.Sprint("first ", ids) }); err != nil {
		return out, fmt.Errorf("simulate seed %d: %w", o.Seed, err)
	}
	w.plan()
	w.planActs()
	w.planErasures()
	w.planExpiry()
	w.calmAt = w.scene.busy + 5*time.Minute
	w.planLooks()
	w.at(w.calmAt, "calm", w.resumeAll)
	w.run()
	if err := w.judge(); err != nil {
		return out, fmt.Errorf("judge seed %d: %w", o.Seed, err)
	}
	w.counts.Histories, w.counts.Steps = 1, w.turns
	slices.Sort(w.faults)
	return Outcome{
		Seed: o.Seed, Digest: w.digest(), Violations: w.faults, Counts: w.counts, Lasted: w.clock, History: w.lines, Happened: w.happened,
	}, nil
}

// Many makes the histories of so many seeds from the first on, some side by side, and tells of each as it is done, one
// at a time. It ends early at the first error, when ctx ends, or when told tells false.
func Many(ctx context.Context, o Options, seeds, parallel int, told func(Outcome) bool) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Uint64
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for ctx.Err() == nil {
				one := o
				n := next.Add(1)
				if n > uint64(seeds) {
					return
				}
				one.Seed = o.Seed + n - 1
				out, err := Run(ctx, one)
				mu.Lock()
				switch {
				case ctx.Err() != nil: // somebody ended it meanwhile
				case err != nil:
					failed = err
					cancel()
				case !told(out):
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if failed == nil {
		failed = outer.Err()
	}
	return failed
}
