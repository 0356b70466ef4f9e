package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
	"engang/shared/control"

	"github.com/google/go-cmp/cmp"
)

// asks are the pages of a replay that the API was asked for.
func (c *canned) asks(t *testing.T) (all []client.Replaying) {
	t.Helper()
	for _, body := range c.bodies {
		var in client.Replaying
		if err := json.Unmarshal([]byte(body), &in); err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
	return all
}

func TestAReplayAsksForWhatWasChosen(t *testing.T) {
	for _, c := range []struct {
		args []string
		want client.Replaying
	}{
		{[]string{"--dry-run"}, client.Replaying{Since: noon.AddDate(0, 0, -3), Runs: 5, DryRun: true}},
		{[]string{"--since", "2h", "--until", "2026-11-29T12:30:00+01:00", "--endpoint", "e", "--object", "o:1", "--recipe", "r@2", "--after", "c", "--rate", "0.5/s", "--reason", "why"},
			client.Replaying{Since: noon.Add(-2 * time.Hour), Until: noon.Add(-30 * time.Minute), Endpoint: "e", Object: "o:1", Recipe: "r@2", After: "c", Runs: 1, Reason: "why"}},
		{[]string{"--rate", "900/s", "--reason", "why"}, client.Replaying{Since: noon.AddDate(0, 0, -3), Runs: control.MaxRuns, Reason: "why"}},
	} {
		api := serveCanned(t)
		code, _, stderr := run(t, t.Context(), append(append([]string{"replay"}, c.args...), "--target", api.url)...)
		if diff := cmp.Diff([]client.Replaying{c.want}, api.asks(t)); diff != "" || code != 0 {
			t.Errorf("%v: exit %d %s %s", c.args, code, stderr, diff)
		}
	}
}

func TestAReplayIsRefusedWithItsExitCode(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer any
		args   []string
		code   int
		says   string
	}{
		{"no reason", nil, []string{}, 2, "--reason"},
		{"no time", nil, []string{"--since", "yesterday", "--dry-run"}, 2, "is no time"},
		{"no time", nil, []string{"--until", "tomorrow", "--dry-run"}, 2, "is no time"},
		{"nothing between", nil, []string{"--since", "1h", "--until", "2h", "--dry-run"}, 2, "nothing between"},
		{"no object", nil, []string{"--object", "chair", "--dry-run"}, 2, "kind:id"},
		{"no rate", nil, []string{"--rate", "-1", "--dry-run"}, 2, "--rate"},
		{"a recipe that is not live", refusal{400, `{"title":"Unusable parameter","detail":"recipe"}`}, []string{"--recipe", "r@1", "--dry-run"}, 2, "recipe"},
		{"no answer", refusal{503, `{"title":"Temporarily unavailable"}`}, []string{"--dry-run"}, 6, "Temporarily"},
		{"a body that is gone", control.Replayed{Events: 2, Unreadable: 1, WouldRun: 1, Sent: 1}, []string{"--reason", "why"}, 1, "1 event could not be run"},
		{"a body that is gone, in a dry run", control.Replayed{Events: 1, Unreadable: 1}, []string{"--dry-run"}, 0, ""},
	} {
		api := serveCanned(t)
		if c.answer != nil {
			api.answer["/api/replay"] = c.answer
		}
		code, _, stderr := run(t, t.Context(), append(append([]string{"replay"}, c.args...), "--target", api.url)...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, want %d: %s", c.name, code, c.code, stderr)
		}
	}
}

// pages answers a replay with n pages, and does something before the given one is answered.
func (c *canned) pages(n int, at int, do func() any) {
	asked := 0
	c.answer["/api/replay"] = func() any {
		asked++
		reached := noon.Add(-time.Duration(asked) * 24 * time.Hour)
		page := control.Replayed{Kind: "replay", Events: 500, Finished: 499, WouldRun: 1, Sent: 1, Calls: 1, CostUSD: 450_000_000, Reached: &reached}
		if asked < n {
			page.Next = "cursor-" + string(rune('0'+asked))
		}
		if asked == at {
			if other := do(); other != nil {
				return other
			}
		}
		return page
	}
}

func TestAReplayGoesThroughAllPages(t *testing.T) {
	api := serveCanned(t)
	api.pages(3, 0, nil)
	var screen bytes.Buffer
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Progress = []string{"replay", "--since", "4d", "--rate", "1000", "--reason", "why", "--target", api.url}, &screen
	})
	if code != 0 || stdout != "1500 events: 1497 finished, nothing to do; 3 run for the first time.\nModel calls: 3, at most $0.00135. Effects: 0.\n" || stderr != "" {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	asks := api.asks(t)
	if len(asks) != 3 || asks[0].After != "" || asks[2].After != "cursor-2" || asks[2].Since != noon.AddDate(0, 0, -4) {
		t.Errorf("asked %+v", asks)
	}
	// How far it is, is told by the time: one day of four.
	if got := screen.String(); !strings.HasPrefix(got, "\r\x1b[K[#######.......................]  25 %  500 events, 1 to run\r") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("%q", got)
	}
}

// Interrupted, it finishes the page in hand, says what was done, and prints the very command that goes on.
func TestAnInterruptedReplayGoesOnWithTheCommandThatItPrints(t *testing.T) {
	api := serveCanned(t)
	ctx, cancel := context.WithCancel(t.Context())
	api.pages(3, 2, func() any { cancel(); return nil })
	args := []string{"replay", "--since=4d", "--until", "1h", "--rate", "1000/s", "--reason", "it's version 4", "--target", api.url}
	code, stdout, stderr := run(t, ctx, args...)
	goOn := "engang replay --rate 1000/s --reason 'it'\\''s version 4' --target " + api.url + " --since 2026-11-25T12:00:00Z --until 2026-11-29T11:00:00Z --after cursor-2\n"
	if code != 1 || !strings.HasPrefix(stdout, "1000 events: ") || !strings.HasPrefix(stderr, "engang: interrupted; ") || !strings.HasSuffix(stderr, "Go on with:\n  "+goOn) {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if n := len(api.asks(t)); n != 2 {
		t.Errorf("asked for %d pages", n)
	}
	code, stdout, stderr = run(t, t.Context(), "replay", "--rate", "1000/s", "--reason", "it's version 4", "--target", api.url, "--since", "2026-11-25T12:00:00Z", "--until", "2026-11-29T11:00:00Z", "--after", "cursor-2")
	if asks := api.asks(t); code != 0 || len(asks) != 3 || asks[2].After != "cursor-2" || !strings.HasPrefix(stdout, "500 events: ") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

// A page that is not answered is the place where it goes on.
func TestAReplayThatIsCutOffSaysWhereItStands(t *testing.T) {
	api := serveCanned(t)
	api.pages(3, 2, func() any {
		return refusal{503, `{"type":"urn:engang:problem:unavailable","title":"Temporarily unavailable","detail":"Later."}`}
	})
	code, stdout, stderr := run(t, t.Context(), "replay", "--since", "4d", "--rate", "1000", "--reason", "why", "--target", api.url)
	if code != 6 || !strings.HasPrefix(stdout, "500 events: ") || !strings.HasSuffix(stderr, "--since 2026-11-25T12:00:00Z --after cursor-1\n") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	api = serveCanned(t)
	api.pages(3, 2, func() any { return refusal{503, `{"title":"Temporarily unavailable"}`} })
	code, stdout, _ = run(t, t.Context(), "replay", "--since", "4d", "--rate", "1000", "--reason", "why", "--target", api.url, "--json")
	var sum control.Replayed
	if err := json.Unmarshal([]byte(stdout), &sum); err != nil || code != 6 || sum.Events != 500 || sum.Next != "cursor-1" {
		t.Errorf("exit %d %s", code, stdout)
	}
}

// It rests between pages as long as what was opened needs at its rate, and never after the last one.
func TestAReplayKeepsToItsRate(t *testing.T) {
	api := serveCanned(t)
	api.pages(3, 0, nil)
	begun := time.Now()
	if code, _, stderr := run(t, t.Context(), "replay", "--since", "4d", "--rate", "20/s", "--reason", "why", "--target", api.url); code != 0 {
		t.Fatal(stderr)
	}
	if took := time.Since(begun); took < 100*time.Millisecond {
		t.Errorf("three at 20 a second took %s", took)
	}
	begun = time.Now()
	if code, _, stderr := run(t, t.Context(), "replay", "--rate", "0.01/s", "--reason", "why", "--target", serveCanned(t).url); code != 0 || time.Since(begun) > 50*time.Second {
		t.Errorf("one page took %s: %s", time.Since(begun), stderr)
	}
}
