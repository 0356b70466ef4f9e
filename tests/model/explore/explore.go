// Package explore searches every state that a system can reach, breadth first, and compares whole states.
//
// A state is right or broken by itself, a step may be broken by what it did, and from every state a way
// without a fault must lead to rest. What is broken is shown by the shortest way to it. A search that was
// not stopped by its limit is a proof for the system as it was described, and for nothing else.
package explore

import (
	"fmt"
	"hash/maphash"
	"time"
)

// An Emit takes one step: the state it leads to, what it did, whether it is a fault, and what is wrong with
// it, if something is. It may change next.
type Emit[S comparable, N fmt.Stringer] func(next *S, note N, fault bool, broken string)

// A System is what is searched. S is one global state, N tells what a step did.
type System[S comparable, N fmt.Stringer] struct {
	Start S
	Steps func(s *S, emit Emit[S, N])       // every step that can be taken in s
	Plain func(s *S)                        // carries out what is no step of its own
	Same  func(s *S)                        // Plain, and makes states equal that differ by names alone
	Check func(s *S) (broken string)        // what is wrong with a state
	Rest  func(s *S) (bool, string)         // whether nothing is owed any more, and what is wrong then
	Moved func(from, to *S) (broken string) // what is wrong with the change of a step; may be nil
}

// An Outcome says what a search found.
type Outcome struct {
	States   int
	Edges    int // without a fault
	Depth    int
	Complete bool     // every state was seen
	Broken   string   // empty: nothing was found
	Trace    []string // the steps that lead to it
	Took     time.Duration
}

// DeadEnd is what is broken where no way without a fault leads to rest.
const DeadEnd = "no-dead-ends: from here no fault-free run settles everything"

// Search goes through all states of a system, up to limit of them.
func Search[S comparable, N fmt.Stringer](sys System[S, N], limit int) Outcome {
	began := time.Now()
	x := &explorer[S, N]{System: sys, table: make([]uint32, 1<<16), seed: maphash.MakeSeed()}
	x.walk(limit)
	if x.out.Broken == "" && x.n <= limit {
		x.out.Complete = true
		x.live()
	}
	x.out.States, x.out.Edges, x.out.Took = x.n, len(x.edges), time.Since(began)
	return x.out
}

type explorer[S comparable, N fmt.Stringer] struct {
	System[S, N]
	chunks [][]S
	n      int
	parent []uint32
	table  []uint32 // open addressing: number of the state + 1
	seed   maphash.Seed
	edges  []uint32 // without a fault, by the state where they begin
	start  []uint32 // where each state's edges begin
	out    Outcome
}

const chunk = 1 << 14

func (x *explorer[S, N]) at(i uint32) *S { return &x.chunks[i/chunk][i%chunk] }

// number gives a state its number; fresh tells that it is a new one.
func (x *explorer[S, N]) number(s *S) (id uint32, fresh bool) {
	mask := uint64(len(x.table) - 1)
	for h := maphash.Comparable(x.seed, *s) & mask; ; h = (h + 1) & mask {
		id := x.table[h]
		if id == 0 {
			if x.n%chunk == 0 {
				x.chunks = append(x.chunks, make([]S, chunk))
			}
			x.chunks[x.n/chunk][x.n%chunk] = *s
			x.n++
			x.table[h] = uint32(x.n)
			if x.n*10 > len(x.table)*6 {
				x.grow()
			}
			return uint32(x.n - 1), true
		}
		if *x.at(id - 1) == *s {
			return id - 1, false
		}
	}
}

func (x *explorer[S, N]) grow() {
	x.table = make([]uint32, len(x.table)*2)
	mask := uint64(len(x.table) - 1)
	for i := range x.n {
		h := maphash.Comparable(x.seed, *x.at(uint32(i))) & mask
		for x.table[h] != 0 {
			h = (h + 1) & mask
		}
		x.table[h] = uint32(i + 1)
	}
}

// walk numbers every state, until something is broken.
func (x *explorer[S, N]) walk(limit int) {
	first := x.Start
	x.Same(&first)
	x.number(&first)
	x.parent = append(x.parent, 0)
	var from S
	var at uint32
	emit := func(next *S, _ N, fault bool, broken string) {
		if x.out.Broken != "" {
			return
		}
		if broken == "" && x.Moved != nil {
			broken = x.Moved(&from, next)
		}
		x.Same(next)
		if broken != "" {
			last := *next
			x.out.Broken, x.out.Trace = broken, x.trace(at, &last)
			return
		}
		id, fresh := x.number(next)
		if fresh {
			x.parent = append(x.parent, at)
			if broken := x.Check(next); broken != "" {
				x.out.Broken, x.out.Trace = broken, x.trace(id, nil)
				return
			}
		}
		if !fault {
			x.edges = append(x.edges, id)
		}
	}
	for end := 1; int(at) < x.n && x.n <= limit && x.out.Broken == ""; at++ {
		if int(at) == end {
			x.out.Depth++
			end = x.n
		}
		x.start = append(x.start, uint32(len(x.edges)))
		from = *x.at(at)
		s := from
		x.Steps(&s, emit)
	}
	x.start = append(x.start, uint32(len(x.edges)))
}

// live looks at every state at rest, and for a way to rest from every other.
func (x *explorer[S, N]) live() {
	ok := make([]bool, x.n)
	var work []uint32
	for i := range x.n {
		rest, broken := x.Rest(x.at(uint32(i)))
		if broken != "" {
			x.out.Broken, x.out.Trace = broken, x.trace(uint32(i), nil)
			return
		}
		if rest {
			ok[i] = true
			work = append(work, uint32(i))
		}
	}
	first, back := x.backwards()
	for len(work) > 0 {
		to := work[len(work)-1]
		work = work[:len(work)-1]
		for _, from := range back[first[to]:first[to+1]] {
			if !ok[from] {
				ok[from] = true
				work = append(work, from)
			}
		}
	}
	for i := range ok {
		if !ok[i] {
			x.out.Broken, x.out.Trace = DeadEnd, x.trace(uint32(i), nil)
			return
		}
	}
}

// backwards turns the edges round.
func (x *explorer[S, N]) backwards() (first, back []uint32) {
	first = make([]uint32, x.n+2)
	for _, to := range x.edges {
		first[to+2]++
	}
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	back = make([]uint32, len(x.edges))
	for i := range x.n {
		for _, to := range x.edges[x.start[i]:x.start[i+1]] {
			back[first[to+1]] = uint32(i)
			first[to+1]++
		}
	}
	return first, back
}

// trace tells the steps that lead to a state, and to one more that has no number. Names stay what they were: each
// step is found again from the state before it.
func (x *explorer[S, N]) trace(to uint32, last *S) []string {
	path := []S{}
	if last != nil {
		path = append(path, *last)
	}
	for i := to; ; i = x.parent[i] {
		path = append(path, *x.at(i))
		if i == 0 {
			break
		}
	}
	var told []string
	now := path[len(path)-1]
	for k := len(path) - 2; k >= 0; k-- {
		text, as := "(step not found again)", path[k]
		found := false
		x.Steps(&now, func(next *S, note N, _ bool, broken string) {
			t := *next
			x.Same(&t)
			if found || t != path[k] || k == 0 && last != nil && broken == "" && x.brokenStep(&now, next) == "" {
				return
			}
			found, text, as = true, note.String(), *next
			x.Plain(&as)
		})
		told = append(told, text)
		now = as
	}
	return told
}

func (x *explorer[S, N]) brokenStep(from, to *S) string {
	if x.Moved == nil {
		return ""
	}
	return x.Moved(from, to)
}
