package program

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestAQuestionIsAnsweredByYesAlone(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Y\n": true, "yes\n": true, " YES \r\n": true, "n\n": false, "\n": false, "": false, "yeah\n": false, "ja\n": false} {
		var out bytes.Buffer
		if got := asked(t.Context(), strings.NewReader(answer), &out, "Go on?"); got != want || out.String() != "Go on? [y/N] " {
			t.Errorf("%q: %v %q", answer, got, out.String())
		}
	}
}

// A person who interrupts has said no, whatever the terminal still waits for.
func TestAQuestionEndsWithItsContext(t *testing.T) {
	nobody, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if asked(ctx, nobody, &out, "Go on?") || out.String() != "Go on? [y/N] \n" {
		t.Errorf("%q", out.String())
	}
	if asked(ctx, strings.NewReader("y\n"), io.Discard, "Go on?") {
		t.Error("an answer counts that came after the end")
	}
}

// Backquotes in what a flag says are taken for what its value is called.
func TestNoFlagCallsItsValueByAnAccident(t *testing.T) {
	types := []string{"", "string", "stringArray", "int", "int64", "uint", "uint64", "duration", "float"}
	line := regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--([a-z-]+)(?: (.*?))?   `)
	n := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, m := range line.FindAllStringSubmatch(c.UsageString(), -1) {
			if n++; !slices.Contains(types, m[2]) {
				t.Errorf("%s: --%s takes %q", c.CommandPath(), m[1], m[2])
			}
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk((&program{Env: Env{Command: "engang"}}).root())
	if n < 200 {
		t.Errorf("%d flags were looked at", n)
	}
}
