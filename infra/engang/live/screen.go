// Package live tells on a terminal what a local system does while it runs: the story of the first run,
// and later what comes in and what becomes of it.
package live

import (
	"fmt"
	"io"
	"time"

	"engang/infra/engang/text"
)

// A Screen is where lines are told.
type Screen struct {
	Out     io.Writer
	Local   bool                     // times in the zone of this machine, not in UTC
	Suggest func(args string) string // a command to type next
}

// line tells one line, whatever senders have put into what it is made of.
func (s Screen) line(at time.Time, kind, format string, args ...any) {
	fmt.Fprintf(s.Out, "  %s  %-9s  %s\n", s.clock(at, "15:04:05.00"), kind, text.Line(fmt.Sprintf(format, args...)))
}

func (s Screen) clock(at time.Time, layout string) string {
	if s.Local {
		return at.Local().Format(layout)
	}
	return at.UTC().Format(layout)
}
