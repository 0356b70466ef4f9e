package program

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A pace is how many things are done in a second at most.
type pace float64

// usualPace is slow enough that workers and provider keep up with it beside what senders deliver.
const usualPace = "5/s"

// parsePace reads "5/s", or a number alone.
func parsePace(text string) (pace, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(n >= 0.01 && n <= 1000) { // what is no number is not between them either
		return 0, usage("--rate %q: so many a second, from 0.01/s to 1000/s", text)
	}
	return pace(n), nil
}

// String is the pace as --rate takes it.
func (r pace) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }

// rest waits as long as n things take, or until ctx ends.
func (r pace) rest(ctx context.Context, n int) {
	timer := time.NewTimer(time.Duration(float64(n) / float64(r) * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// A bar shows on a terminal how far something is. Without a terminal it shows nothing.
type bar struct{ to io.Writer }

const barWidth = 30

// show draws the bar over the one before: the share that is done, and numbers. They must be our own words, since
// nothing makes them visible that a terminal would obey, and few: a line that wraps is not drawn over.
func (b bar) show(share float64, numbers string) {
	if b.to == nil {
		return
	}
	share = min(max(share, 0), 1)
	full := int(share * barWidth)
	fmt.Fprintf(b.to, "\r\x1b[K[%s%s] %3.0f %%  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), 100*share, numbers)
}

// end takes the bar away.
func (b bar) end() {
	if b.to != nil {
		fmt.Fprint(b.to, "\r\x1b[K")
	}
}

// goOn is the command that goes on with what was stopped: this one, with other values of some flags.
func (p *program) goOn(flags map[string]string) string {
	var words []string
	for i := 0; i < len(p.Args); i++ {
		name, _, joined := strings.Cut(strings.TrimPrefix(p.Args[i], "--"), "=")
		if _, replaced := flags[name]; replaced && strings.HasPrefix(p.Args[i], "--") {
			if !joined {
				i++
			}
			continue
		}
		words = append(words, word(p.Args[i]))
	}
	for _, name := range []string{"since", "until", "after"} {
		if value := flags[name]; value != "" {
			words = append(words, "--"+name, word(value))
		}
	}
	return p.Command + " " + strings.Join(words, " ")
}
