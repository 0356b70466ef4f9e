package configfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Fault is one reason why a file is refused. It never repeats a value: what stands in a wrong place
// may be a secret.
type Fault struct {
	File   string
	Line   int    // from 1; 0: the file as a whole
	At     string // JSON pointer into the file, where that is known
	Reason string // what is wrong
	Remedy string // what to do about it

	beside bool // the part is readable all the same, so that its other faults can be found
}

// String is "file:line: at: reason; remedy".
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.At != "" {
		b.WriteString(": " + f.At)
	}
	fmt.Fprintf(&b, ": %s; %s", f.Reason, f.Remedy)
	return b.String()
}

// Faults is every reason why files are refused, in the order of files and lines. It is an error when it
// is not empty.
type Faults []Fault

// Error has one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// add notes a fault at a node.
func (f *Faults) add(n *node, at, reason, remedy string) {
	*f = append(*f, Fault{File: n.file, Line: n.line, At: at, Reason: reason, Remedy: remedy})
}

// within tells whether a fault keeps the part at a pointer from being read.
func (f Faults) within(at string) bool {
	return slices.ContainsFunc(f, func(fault Fault) bool {
		return !fault.beside && (fault.At == at || strings.HasPrefix(fault.At, at+"/"))
	})
}

// sort orders faults by file, in the order given, and line.
func (f Faults) sort(files []Source) {
	index := func(name string) int {
		return slices.IndexFunc(files, func(s Source) bool { return s.Name == name })
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(index(a.File), index(b.File)), cmp.Compare(a.Line, b.Line))
	})
}
