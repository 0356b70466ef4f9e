// Search goes through the whole model of the core protocol and prints what it found: every scenario with its whole
// budget, each weakened form, which must break, and each permitted variant, which must not. It ends with 1 if something
// is not as it should be. One search runs at a time; the largest needs about 6 GB.
//
//	go run ./tests/model/search                        # everything
//	go run ./tests/model/search -only dup,order        # scenarios, weakenings and variants by name
//	go run ./tests/model/search -only echo-no-raise -trace
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"engang/tests/model"
	"engang/tests/model/explore"
)

func main() {
	var s search
	only := flag.String("only", "", "names with commas; empty is all")
	flag.IntVar(&s.limit, "limit", 24_000_000, "states after which a search is given up")
	flag.BoolVar(&s.trace, "trace", false, "print the steps to what is broken")
	flag.Parse()
	debug.SetGCPercent(30) // most of the memory is states, which stay
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	s.scenarios()
	s.weakened()
	s.variants()
	if s.ran == 0 || s.wrong > 0 {
		fmt.Printf("%d of %d searches are not as they should be\n", s.wrong, s.ran)
		os.Exit(1)
	}
	fmt.Printf("%d searches, %d states, all as they should be\n", s.ran, s.states)
}

// A search counts what was run.
type search struct {
	only   []string
	limit  int
	trace  bool
	ran    int
	wrong  int
	states int
}

func (s *search) wants(name string) bool { return len(s.only) == 0 || slices.Contains(s.only, name) }

func (s *search) scenarios() {
	for _, sc := range model.Scenarios() {
		if !s.wants(sc.Name) {
			continue
		}
		for _, transaction := range []bool{false, true} {
			if transaction && !sc.Transaction {
				continue
			}
			name := sc.Name
			if transaction {
				name += " tx"
			}
			out, _ := model.Case{Scenario: sc, Transaction: transaction}.Run(s.limit)
			s.print(name, out, out.Complete && out.Broken == "")
		}
	}
}

func (s *search) weakened() {
	for _, w := range model.Weakened() {
		if s.wants(w.Name) {
			out, _ := w.Case().Run(s.limit)
			s.print(w.Name+" in "+w.Scenario, out, out.Broken != "" && strings.HasPrefix(out.Broken, w.Breaks))
		}
	}
}

func (s *search) variants() {
	for _, w := range model.Variants() {
		if s.wants(w.Name) {
			out, _ := w.Case().Run(s.limit)
			s.print(w.Name+" in "+w.Scenario, out, out.Complete && out.Broken == "")
		}
	}
}

func (s *search) print(name string, out explore.Outcome, right bool) {
	s.ran++
	s.states += out.States
	verdict := "holds"
	switch {
	case out.Broken != "":
		verdict = fmt.Sprintf("breaks after %d steps: %s", len(out.Trace), out.Broken)
	case !out.Complete:
		verdict = "not complete"
	}
	if !right {
		s.wrong++
		verdict = "NOT AS IT SHOULD BE: " + verdict
	}
	fmt.Printf("%-44s %10d states %7.1f s  %s\n", name, out.States, out.Took.Seconds(), verdict)
	if s.trace {
		for i, step := range out.Trace {
			fmt.Printf("    %2d. %s\n", i+1, step)
		}
	}
}
