package config

import (
	"errors"
	"fmt"
	"strings"
)

// A Fault is one reason why a configuration is refused. It never repeats a value: what stands in a wrong
// place may be a secret.
type Fault struct {
	At     string `json:"at"`     // JSON pointer into the configuration as a file has it: "/endpoints/woo-shop/source"
	Reason string `json:"reason"` // what is wrong
	Remedy string `json:"remedy"` // what to do about it

	// Needs points at the part whose absence is the fault. Who has read only half of a file knows better.
	Needs string `json:"-"`
	// Shape tells that the published schema of files says it too, or what reads them.
	Shape bool `json:"-"`
}

// ErrRefused says that a configuration is refused. Use errors.AsType[Faults] for the reasons.
var ErrRefused = errors.New("configuration refused")

// Faults is every reason why a configuration is refused. It is an error when it is not empty.
type Faults []Fault

// Is makes errors.Is(err, ErrRefused) true.
func (f Faults) Is(target error) bool { return target == ErrRefused }

// Error has one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fmt.Sprintf("%s: %s; %s", fault.At, fault.Reason, fault.Remedy)
	}
	return strings.Join(lines, "\n")
}
