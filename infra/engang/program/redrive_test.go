package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
	"engang/shared/control"

	"github.com/google/go-cmp/cmp"
)

func cannedLetters() control.List[control.Letter] {
	letter := func(n int, standing, state string) control.Letter {
		return control.Letter{Kind: "letter", ID: "letter-" + string(rune('a'+n)), Standing: standing, State: state, Tenant: "shop", Environment: "test", SentAt: at(-60 * n), Receives: 1, Bytes: 240}
	}
	failed, redriven, parked := letter(0, control.LetterFailed, "failed"), letter(1, control.LetterRedriven, "completed"), letter(2, control.LetterParked, "parked")
	failed.Operation, failed.Object, failed.Event, failed.Reason, failed.Category, failed.Attempts = "product:8/product-card@3/77aa00112233", "product:8", "evt_cccccccccccccccc", "refusal", "unusable output", 1
	redriven.Operation, redriven.Object, redriven.Event, redriven.Reason, redriven.Category, redriven.Attempts, redriven.Over = completed().ID, "product:794", "evt_aaaaaaaaaaaaaaaa", "5 attempts used up", "transient", 6, true
	parked.Event, parked.Reason, parked.Category = "evt_bbbbbbbbbbbbbbbb", "the payload names no object", "invalid input"
	native, foreign := letter(3, control.LetterNative, "received"), letter(4, control.LetterForeign, "")
	native.Event, native.Object = "evt_dddddddddddddddd", "product:9"
	foreign.Tenant, foreign.Environment, foreign.Bytes = "", "", 17
	return control.List[control.Letter]{Items: []control.Letter{failed, redriven, parked, native, foreign}}
}

func cannedRedriven() control.Redriven {
	return control.Redriven{
		Kind: "redriven", ID: "product:8/product-card@3/77aa00112233", Tenant: "shop", Environment: "test", Was: "failed",
		Operations: []string{"product:8/product-card@3/77aa00112233"}, Events: []string{"evt_cccccccccccccccc"}, Sent: true,
	}
}

// formerRedriven runs under one recipe that was raised, and under one that is gone.
func formerRedriven() control.Redriven {
	r := unsentRedriven()
	r.Sent, r.Former = true, []control.Former{{Recipe: "product-card@3", Live: "product-card@4"}, {Recipe: "slip@1"}}
	return r
}

func unsentRedriven() control.Redriven {
	return control.Redriven{Kind: "redriven", ID: "evt_bbbbbbbbbbbbbbbb", Tenant: "shop", Environment: "test", Was: "parked", Operations: []string{}, Events: []string{"evt_bbbbbbbbbbbbbbbb"}}
}

func cannedReview() control.List[control.Waiting] {
	return control.List[control.Waiting]{Items: []control.Waiting{
		{Kind: "draft", ID: inReview().ID, Object: "product:8", Reason: "policy draft", OpenedAt: *at(-7200)},
		{Kind: "failed", ID: "product:8/product-card@3/77aa00112233", Object: "product:8", Reason: "5 attempts used up", Category: "transient", OpenedAt: *at(-3600)},
		{Kind: "conflict", ID: "evt_aaaaaaaaaaaaaaaa/ab", Object: "product:794", OpenedAt: *at(-1800)},
		{Kind: "parked", ID: "evt_bbbbbbbbbbbbbbbb", Reason: "the payload names no object", Category: "invalid input", OpenedAt: *at(-60)},
	}}
}

func dryReplay() control.Replayed {
	return control.Replayed{Kind: "replay", DryRun: true, Events: 412, Finished: 409, WouldRun: 2, Waiting: 1, Calls: 2, CostUSD: 900_000_000, Reached: at(-60)}
}

// calls are what the API was asked to do, by the ids.
func (c *canned) ids(t *testing.T) (ids []string, listed bool) {
	t.Helper()
	for _, body := range c.bodies {
		var in client.Redriving
		if body == "" {
			continue
		}
		if err := json.Unmarshal([]byte(body), &in); err != nil {
			t.Fatal(err)
		}
		if in.ID != "" {
			ids, listed = append(ids, in.ID), in.Listed
		}
	}
	return ids, listed
}

func TestARedriveTakesWhatWasChosen(t *testing.T) {
	const op, event = "product:8/product-card@3/77aa00112233", "evt_bbbbbbbbbbbbbbbb"
	for _, c := range []struct {
		args   []string
		ids    []string
		listed bool
	}{
		{[]string{"product:8/product-card@3/77", event}, []string{"product:8/product-card@3/77", event}, false},
		{[]string{"--all"}, []string{op, event}, true},
		{[]string{"--category", "transient"}, []string{op}, true},
		{[]string{"--since", "30m"}, []string{event}, true},
		{[]string{"--since", "2h", "--category", "invalid input"}, []string{event}, true},
		{[]string{"--all", "--dry-run"}, nil, false},
	} {
		api := serveCanned(t)
		code, _, stderr := run(t, t.Context(), append(append([]string{"redrive"}, c.args...), "--rate", "1000", "--reason", "why", "--target", api.url)...)
		ids, listed := api.ids(t)
		if diff := cmp.Diff(c.ids, ids); diff != "" || code != 0 || listed != c.listed {
			t.Errorf("%v: exit %d %s, listed %v: %s", c.args, code, stderr, listed, diff)
		}
	}
}

func TestARedriveIsRefusedWithItsExitCode(t *testing.T) {
	refused := refusal{409, `{"type":"urn:engang:problem:refused-by-state","title":"Refused by its state","status":409,"detail":"The operation is running."}`}
	gone := refusal{404, `{"type":"urn:engang:problem:not-found","title":"Not found","status":404,"detail":"No such thing."}`}
	silent := refusal{503, `{"type":"urn:engang:problem:unavailable","title":"Temporarily unavailable","status":503,"detail":"Later."}`}
	for _, c := range []struct {
		name   string
		answer any
		args   []string
		code   int
		says   string
	}{
		{"what runs", refused, []string{"a:1/r@1/9f"}, 4, "The operation is running"},
		{"what is not there", gone, []string{"a:1/r@1/9f"}, 3, "No such thing"},
		{"one of two runs", refused, []string{"a:1/r@1/9f", "a:2/r@1/9f"}, 4, "2 of 2 refused"},
		{"no answer", silent, []string{"a:1/r@1/9f", "a:2/r@1/9f"}, 6, "Later"},
		{"somebody was faster with what is listed", refused, []string{"--all"}, 0, ""},
		{"no reason", nil, []string{"--all", "--reason", " "}, 2, "--reason"},
		{"nothing named", nil, nil, 2, "say which"},
		{"named and chosen", nil, []string{"a:1/r@1/9f", "--all"}, 2, "say which"},
		{"a category that there is not", nil, []string{"--category", "rain"}, 2, "one of transient"},
		{"no time", nil, []string{"--since", "yesterday"}, 2, "is no time"},
		{"no rate", nil, []string{"--all", "--rate", "0/s"}, 2, "--rate"},
		{"a rate that is none", nil, []string{"--all", "--rate", "often"}, 2, "--rate"},
	} {
		api := serveCanned(t)
		if c.answer != nil {
			api.answer["/api/redrive"] = c.answer
		}
		args := append([]string{"redrive", "--reason", "why", "--target", api.url, "--rate", "1000/s"}, c.args...)
		code, _, stderr := run(t, t.Context(), args...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, want %d: %s", c.name, code, c.code, stderr)
		}
	}
	for name, show := range map[string]any{"a running operation": inReview(), "an event at work": control.Event{Kind: "event", ID: "evt_aaaaaaaaaaaaaaaa", State: "received"}} {
		api := serveCanned(t)
		api.answer["/api/show"] = show
		if code, stdout, _ := run(t, t.Context(), "redrive", "x", "--dry-run", "--target", api.url); code != 4 || !strings.Contains(stdout, "refused") || len(api.asked) != 1 {
			t.Errorf("a dry run of %s: exit %d %s", name, code, stdout)
		}
	}
}

// What a person rejected or cancelled left no letter.
func TestOnlyWhatLeftALetterIsSaidToHaveOne(t *testing.T) {
	for _, c := range []struct {
		was, category string
		letter        bool
	}{{"failed", "transient", true}, {"parked", "", true}, {"failed", "cancelled", false}, {"rejected", "", false}} {
		api := serveCanned(t)
		done := cannedRedriven()
		done.Was, done.Category = c.was, c.category
		api.answer["/api/redrive"] = done
		code, stdout, stderr := run(t, t.Context(), "redrive", "product:8", "--reason", "why", "--target", api.url)
		if code != 0 || strings.Contains(stdout, "dead-letter queue") != c.letter {
			t.Errorf("%+v: exit %d %s%s", c, code, stdout, stderr)
		}
	}
}

// A dry run takes a name as the act does: an object's only operation is meant by the object.
func TestADryRunTakesABeginningAsTheActDoes(t *testing.T) {
	one := inReview()
	one.State = "failed"
	for n, want := range []int{2, 0, 2} {
		api := serveCanned(t)
		doc := control.Object{Kind: "object", ID: "product:8"}
		for range n {
			doc.Operations = append(doc.Operations, one)
		}
		api.answer["/api/show"] = doc
		if code, stdout, stderr := run(t, t.Context(), "redrive", "product:8", "--dry-run", "--target", api.url); code != want || n == 1 && !strings.Contains(stdout, "1 would be redriven") {
			t.Errorf("%d operations: exit %d %s%s", n, code, stdout, stderr)
		}
	}
}

// Interrupted, it finishes what it has in hand, and says where it stands; what is left is not touched.
func TestAnInterruptedRedriveSaysWhereItStands(t *testing.T) {
	api := serveCanned(t)
	ctx, cancel := context.WithCancel(t.Context())
	api.answer["/api/redrive"] = func() any { cancel(); return cannedRedriven() }
	code, stdout, stderr := run(t, ctx, "redrive", "--all", "--reason", "why", "--target", api.url)
	ids, _ := api.ids(t)
	if code != 1 || len(ids) != 1 || !strings.Contains(stderr, "1 of 2 are done") || !strings.Contains(stdout, "1 redriven, 0 refused, 1 left") || strings.Contains(stdout, "dead-letter queue: ") || strings.Contains(stderr, "cleared") {
		t.Errorf("exit %d, redriven %v: %s%s", code, ids, stdout, stderr)
	}
}

func TestARedriveKeepsToItsRate(t *testing.T) {
	api := serveCanned(t)
	begun := time.Now()
	if code, _, stderr := run(t, t.Context(), "redrive", "a:1/r@1/9f", "a:2/r@1/9f", "a:3/r@1/9f", "--rate", "20/s", "--reason", "why", "--target", api.url); code != 0 {
		t.Fatal(stderr)
	}
	if took := time.Since(begun); took < 100*time.Millisecond {
		t.Errorf("three at 20 a second took %s", took)
	}
}

// A gateway that has no room is asked again; nothing was done.
func TestAnActThatIsThrottledIsAskedForAgain(t *testing.T) {
	api := serveCanned(t)
	n := 0
	api.answer["/api/redrive"] = func() any {
		if n++; n == 1 {
			return refusal{http.StatusTooManyRequests, `{"message":"Too Many Requests"}`}
		}
		return cannedRedriven()
	}
	if code, _, stderr := run(t, t.Context(), "redrive", "a:1/r@1/9f", "--reason", "why", "--target", api.url); code != 0 || n != 2 {
		t.Errorf("exit %d after %d calls: %s", code, n, stderr)
	}
}

// What could not be cleared from the queue is no failure of the redrive.
func TestAQueueThatIsNotClearedIsToldBeside(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/dlq/tidy"] = refusal{503, `{"title":"Temporarily unavailable","status":503}`}
	code, stdout, stderr := run(t, t.Context(), "redrive", "--all", "--rate", "1000", "--reason", "why", "--target", api.url)
	if code != 0 || !strings.Contains(stderr, "was not cleared") || !strings.Contains(stdout, "2 redriven") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

func TestLettersOfAllPagesAreListedOnce(t *testing.T) {
	api := serveCanned(t)
	n := 0
	api.answer["/api/dlq"] = func() any {
		list := cannedLetters()
		if n++; n < 3 {
			list.Next = "more"
		}
		for i := range list.Items {
			if i > 0 {
				list.Items[i].ID += string(rune('0' + n)) // the first comes on every page
			}
		}
		return list
	}
	code, stdout, stderr := run(t, t.Context(), "dlq", "--json", "--target", api.url)
	var list control.List[control.Letter]
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list.Items) != 13 || n != 3 {
		t.Errorf("exit %d after %d pages, %d letters: %s", code, n, len(list.Items), stderr)
	}
	if api.asked[0].Get("after") != "" || api.asked[2].Get("after") != "more" {
		t.Errorf("asked %v", api.asked)
	}
}

func TestTidyingGoesThroughAllPages(t *testing.T) {
	api := serveCanned(t)
	n := 0
	api.answer["/api/dlq/tidy"] = func() any {
		done := control.Tidied{Kind: "tidied", Letters: 100, Sent: 10, Deleted: 60, Left: 40}
		if n++; n < 3 {
			done.Next = "more"
		}
		return done
	}
	code, stdout, _ := run(t, t.Context(), "dlq", "tidy", "--reason", "why", "--target", api.url)
	if code != 0 || stdout != "300 letters: 30 sent again, 150 deleted, 120 left\n" {
		t.Errorf("exit %d %s", code, stdout)
	}
	if api.bodies[0] != `{"native":true,"reason":"why"}` || api.bodies[2] != `{"native":true,"after":"more","reason":"why"}` {
		t.Errorf("asked %q", api.bodies)
	}
	if code, _, stderr := run(t, t.Context(), "dlq", "tidy", "--target", api.url); code != 2 || !strings.Contains(stderr, "--reason") {
		t.Errorf("exit %d %s", code, stderr)
	}
}

// Progress is drawn on a terminal alone, and taken away at the end.
func TestProgressIsShownOnATerminal(t *testing.T) {
	api := serveCanned(t)
	var screen bytes.Buffer
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Progress = []string{"redrive", "--all", "--rate", "1000", "--reason", "why", "--target", api.url}, &screen
	})
	if code != 0 || stderr != "" || strings.Contains(stdout, "#") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if got := screen.String(); !strings.Contains(got, "[###############...............]  50 %  1 of 2, 0 refused") || !strings.HasSuffix(got, "100 %  2 of 2, 0 refused\r\x1b[K") {
		t.Errorf("%q", got)
	}
}
