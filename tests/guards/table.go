package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// A row of the table says what sees that a guard is out.
type row struct {
	guard string
	tests []killer
	why   string // why nothing can see it
}

// A killer is a test, or some of its parts, that fails without a guard.
type killer struct {
	pack string // its folder in the repository
	test string // "TestWritesKeepTheirContracts/W4_complete"
}

func (k killer) String() string { return k.pack + " " + k.test }

const (
	unseen  = "unseen: "
	unknown = "?" // stands for a killer that is still to be found
)

// read reads a table: a guard a line, and below it, indented, the tests that fail without it, or why none can.
func read(text string) (rows []row, err error) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		said, indented := strings.CutPrefix(line, "\t")
		switch pack, test, isTest := strings.Cut(said, " "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			rows = append(rows, row{guard: line})
		case len(rows) == 0:
			return nil, fmt.Errorf("line %d says of no guard: %q", n, line)
		case strings.HasPrefix(said, unseen):
			rows[len(rows)-1].why = strings.TrimPrefix(said, unseen)
		case said == unknown:
		case isTest:
			last := &rows[len(rows)-1]
			last.tests = append(last.tests, killer{pack, test})
		default:
			return nil, fmt.Errorf("line %d is no test: %q", n, line)
		}
	}
	return rows, lines.Err()
}

const heading = `# Each guard, and below it the tests that fail when it is out, or why nothing can see that.
# The guards are found in the source; ` + "`go test ./tests/guards`" + ` demands that all of them stand here, in their order, and
# ` + "`go test ./tests/guards -update`" + ` writes those that are new. ` + "`go run ./tests/guards`" + ` takes out one after the other and
# demands that its tests fail.
#
# "without X": X need not hold any more. "never X": X holds no more. "no case X": X is treated like anything else.
`

// write is the table as text.
func write(rows []row) string {
	var b strings.Builder
	b.WriteString(heading)
	for _, r := range rows {
		fmt.Fprintf(&b, "\n%s\n", r.guard)
		for _, k := range r.tests {
			fmt.Fprintf(&b, "\t%s\n", k)
		}
		switch {
		case r.why != "":
			fmt.Fprintf(&b, "\t%s%s\n", unseen, r.why)
		case len(r.tests) == 0:
			fmt.Fprintf(&b, "\t%s\n", unknown)
		}
	}
	return b.String()
}

// ordered are the rows of all guards in their order: those that the table has, and new ones with the tests that are
// likely to fail.
func ordered(guards []guard, rows []row) []row {
	known := map[string]row{}
	for _, r := range rows {
		known[r.guard] = r
	}
	all := make([]row, len(guards))
	for i, g := range guards {
		if r, ok := known[g.id]; ok {
			all[i] = r
			continue
		}
		all[i] = row{guard: g.id}
		if !g.live {
			all[i].why = "nothing refuses it, and a repeat does no harm"
		}
	}
	return all
}

// compared says what the table and the guards of the source do not have in common.
func compared(guards []guard, rows []row) error {
	var faults []error
	there := map[string]bool{}
	for _, r := range rows {
		switch {
		case there[r.guard]:
			faults = append(faults, fmt.Errorf("%q stands twice", r.guard))
		case r.why == "" && len(r.tests) == 0:
			faults = append(faults, fmt.Errorf("%q has no test", r.guard))
		case r.why != "" && len(r.tests) > 0:
			faults = append(faults, fmt.Errorf("%q has tests, and a reason why there are none", r.guard))
		}
		there[r.guard] = true
	}
	for _, g := range guards {
		if !there[g.id] {
			faults = append(faults, fmt.Errorf("%q is missing", g.id))
		}
		delete(there, g.id)
	}
	for id := range there {
		faults = append(faults, fmt.Errorf("%q is no guard of the source", id))
	}
	return errors.Join(faults...)
}
