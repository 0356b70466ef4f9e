package wire

import (
	"slices"
	"sync"
	"time"
)

// keep is how many calls a record remembers one by one; the sums go on.
const keep = 10_000

// Done is a call that was sent.
type Done struct {
	Call
	Operation  string // "DynamoDB_20120810.UpdateItem", "AmazonSQS.SendMessage"; "" for S3 and models
	At         time.Time
	Took       time.Duration
	Status     int     // 0: no answer
	WriteUnits float64 // of the table and its indexes; only with a [Meter]
	ReadUnits  float64
	Capacity   float64 // that the engine says was consumed; only with a [Meter] that asks
	ItemBytes  int     // size of the item that was written, as DynamoDB counts it; only with a [Meter]
}

// A Record remembers the calls that were sent. Its zero value is ready; it is safe for concurrent use.
type Record struct {
	mu    sync.Mutex
	calls []Done
	sums  map[string]int
}

func (r *Record) add(d Done) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sums == nil {
		r.sums = map[string]int{}
	}
	r.sums[d.Name]++
	if len(r.calls) == keep {
		r.calls = slices.Delete(r.calls, 0, keep/2)
	}
	r.calls = append(r.calls, d)
}

// Counts gives how often each call was sent, by name, repeats included.
func (r *Record) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make(map[string]int, len(r.sums))
	for k, v := range r.sums {
		counts[k] = v
	}
	return counts
}

// Calls gives the latest calls in the order in which they ended.
func (r *Record) Calls() []Done {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Reset forgets everything.
func (r *Record) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.sums = nil, nil
}
