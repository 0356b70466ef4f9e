// Package live tells on a terminal what a local system does while it runs: the story of the first run,
// and later what comes in and what becomes of it.
package live

import (
	"fmt"
	"io"
	"time"
)

// A Screen is where lines are told.
type Screen struct {
	Out     io.Writer
	Local   bool                     // times in the zone of this machine, not in UTC
	Suggest func(args string) string // a command to type next
}

func (s Screen) line(at time.Time, kind, format string, args ...any) {
	zone := at.UTC()
	if s.Local {
		zone = at.Local()
	}
	fmt.Fprintf(s.Out, "  %s  %-9s  %s\n", zone.Format("15:04:05.00"), kind, fmt.Sprintf(format, args...))
}
