package compiled

import (
	"fmt"
	"strings"
)

// A Fault is one reason why a recipe is refused.
type Fault struct {
	At     string // JSON pointer into the recipe as a file has it: "/output/schema/properties/tags"
	Reason string // what is wrong
	Remedy string // what to do about it
}

// Faults is every reason why a recipe is refused. It is an error when it is not empty.
type Faults []Fault

// Error has one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fmt.Sprintf("%s: %s; %s", fault.At, fault.Reason, fault.Remedy)
	}
	return strings.Join(lines, "\n")
}

// add notes a fault.
func (f *Faults) add(at, reason, remedy string) {
	*f = append(*f, Fault{At: at, Reason: reason, Remedy: remedy})
}

// check notes a fault unless ok.
func (f *Faults) check(ok bool, at, reason, remedy string) {
	if !ok {
		f.add(at, reason, remedy)
	}
}

// under appends the steps to a JSON pointer, escaped.
func under(at string, steps ...string) string {
	for _, s := range steps {
		at += "/" + strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
	}
	return at
}
