package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/program"
	"engang/infra/engang/text"
	"engang/shared/control"
)

// odd is what a sender may call something: it clears a screen, turns the direction, and makes a line of its own.
const odd = "\x1b[2J\u202egpj\u009b\x00\n2026 all is well"

func oddEvent() control.Event {
	e := parkedEvent()
	e.Type, e.Object, e.Reason, e.Category, e.EventID, e.DeliveryID, e.ObjectVersion, e.Operations = odd, "product:"+odd, odd, odd, odd, odd, odd, []string{odd}
	e.Endpoint, e.Provider, e.Tenant, e.Deliveries = odd, odd, odd, 2
	e.Conflicts = []control.Conflict{{At: noon, Digest: odd}}
	return e
}

func oddOperation() control.Operation {
	o := inReview()
	o.ID, o.Object, o.Recipe, o.Reason, o.Category, o.ObjectVersion = odd, odd, odd, odd, odd, odd
	o.Attempts[0].Reason, o.Attempts[0].Outcome = odd, odd
	o.Decision = &control.Decision{By: odd, At: noon, Note: odd}
	return o
}

func oddWaiting() control.Waiting {
	w := waiting().Items[0]
	w.ID, w.Object, w.Owner, w.Reason, w.Category = odd, odd, odd, odd, odd
	return w
}

// Whatever comes from outside is shown so that a terminal obeys none of it, and takes no line of its own.
func TestATerminalObeysNothingThatIsShown(t *testing.T) {
	whole := object()
	whole.ID, whole.Tenant = "product:"+odd, odd
	whole.Events, whole.Operations = append(whole.Events, oddEvent()), append(whole.Operations, oddOperation())
	whole.Results[0].Recipe, whole.Results[0].ObjectVersion = odd, odd
	plain := object()
	plain.Events, plain.Operations = append(plain.Events, oddEvent()), append(plain.Operations, oddOperation())
	body := control.Content{Kind: "body", ID: "evt_aaaaaaaaaaaaaaaa", Bytes: 9, Body: []byte(`{"name":"` + "\u202e\u009b\x7f" + `"}`)}
	for _, c := range []struct {
		name   string
		path   string
		answer any
		args   []string
		lines  int // of stdout
	}{
		{"events", "/api/events", control.List[control.Event]{Items: []control.Event{oddEvent()}, Next: "n\x1b"}, []string{"events", "--limit", "1"}, 4},
		{"operations", "/api/operations", control.List[control.Operation]{Items: []control.Operation{oddOperation()}}, []string{"operations"}, 2},
		{"an event", "/api/show", oddEvent(), []string{"show", "evt_bbbbbbbbbbbbbbbb"}, 15},
		{"an operation", "/api/show", oddOperation(), []string{"show", "product:794/r@1"}, 14},
		{"an object", "/api/show", whole, []string{"show", "product:794"}, 13},
		{"acts", "/api/audit", control.List[control.Act]{Items: []control.Act{{Kind: odd, ID: odd, By: odd, Act: odd, Target: odd, Reason: odd}}}, []string{"audit"}, 2},
		{"a pause in place of another", "/api/pause", control.Hold{What: odd, Name: odd, Replaced: &control.Replaced{By: odd, Reason: odd}}, []string{"pause", "everything", "--reason", "r"}, 5},
		{"what waits", "/api/review", control.List[control.Waiting]{Items: []control.Waiting{oddWaiting()}, Next: "n\x1b"}, []string{"review", "--limit", "1"}, 4},
		{"a decision", "/api/review/approve", control.Decided{Decision: "approved", ID: odd, By: odd, Note: odd, Digest: odd, ObjectVersion: odd}, []string{"approve", "o", "--digest", "d", "--reason", "r"}, 1},
		{"a decision of somebody else", "/api/review/dismiss", control.Decided{Decision: "dismissed", Already: true, ID: odd, By: odd, Note: odd}, []string{"dismiss", "o", "--reason", "r"}, 1},
		{"a body", "/api/reveal", body, []string{"show", "product:794", "--body", "--reason", "why"}, 12},
		{"a refusal", "/api/show", refusal{404, string(marshal(t, map[string]string{"title": odd, "detail": odd}))}, []string{"show", "product:794"}, 0},
		{"an argument", "", nil, []string{"send", odd}, 0},
	} {
		for _, flags := range [][]string{nil, {"--json"}} {
			api := serveCanned(t)
			if c.path != "" {
				api.answer[c.path] = c.answer
			}
			_, stdout, stderr := run(t, t.Context(), append(append(c.args, "--target", api.url), flags...)...)
			if all := stdout + stderr; text.Plain(all) != all || all == "" || strings.Contains(all, "\n2026 all") {
				t.Errorf("%s %v: %q", c.name, flags, all)
			}
			if flags == nil && strings.Count(stdout, "\n") != c.lines {
				t.Errorf("%s: not %d lines:\n%s", c.name, c.lines, stdout)
			}
			if flags != nil && !json.Valid([]byte(stdout+stderr)) {
				t.Errorf("%s: no JSON: %s%s", c.name, stdout, stderr)
			}
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// JSON holds the same texts as without its escapes.
func TestJSONKeepsWhatItEscapes(t *testing.T) {
	for _, flags := range [][]string{{"--json"}, {"--json", "--watch", "--timeout", "1s"}} {
		api := serveCanned(t)
		api.answer["/api/events"] = control.List[control.Event]{Items: []control.Event{oddEvent()}}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, stdout, _ := run(t, ctx, append([]string{"events", "--target", api.url}, flags...)...)
		cancel()
		var list control.List[control.Event]
		var one control.Event
		if len(flags) == 1 {
			if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Items) != 1 {
				t.Fatalf("%v %s", err, stdout)
			}
			one = list.Items[0]
		} else if err := json.Unmarshal([]byte(stdout), &one); err != nil {
			t.Fatalf("%v %s", err, stdout)
		}
		if diff := cmp.Diff(oddEvent(), one); diff != "" {
			t.Error(diff)
		}
	}
}

// Bytes that were asked for are the one thing that goes out as it is.
func TestRawBytesPassTheGuard(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/show"] = settledEvent()
	api.answer["/api/reveal"] = control.Content{Kind: "body", ID: "evt_aaaaaaaaaaaaaaaa", Bytes: 4, Body: []byte(odd + "\xff")}
	args := []string{"show", "evt_aaaaaaaaaaaaaaaa", "--raw", "-", "--reason", "why", "--target", api.url}
	if code, stdout, stderr := run(t, t.Context(), args...); code != 0 || stdout != odd+"\xff" {
		t.Errorf("exit %d %q %s", code, stdout, stderr)
	}
}

// JSON was asked for: what cannot be JSON is refused, and its refusal is.
func TestWhatIsNoJSONIsRefusedWithIt(t *testing.T) {
	for _, args := range [][]string{
		{"local"}, {"local", "--once"}, {"send", "--curl"}, {"show", "evt_aaaaaaaaaaaaaaaa", "--raw", "-", "--reason", "why"},
	} {
		code, stdout, stderr := run(t, t.Context(), append(args, "--json")...)
		var p struct{ Exit int }
		if err := json.Unmarshal([]byte(stderr), &p); err != nil || code != 2 || p.Exit != 2 || stdout != "" || !strings.Contains(stderr, "not with --json") {
			t.Errorf("%v: exit %d %s%s", args, code, stdout, stderr)
		}
	}
}

func TestUsageErrorsNameTheCommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		see  string
	}{
		{[]string{"events", "--stat", "x"}, "See: engang events --help\n"},
		{[]string{"events", "--state", "typo"}, "See: engang events --help\n"},
		{[]string{"events", "surplus"}, "See: engang events --help\n"},
		{[]string{"local", "--port", "99999"}, "See: engang local --help\n"},
		{[]string{"secret", "set"}, "See: engang secret set --help\n"},
		{[]string{"shwo"}, "See: engang --help\n"},
	} {
		if code, _, stderr := run(t, t.Context(), c.args...); code != 2 || !strings.HasSuffix(stderr, c.see) {
			t.Errorf("%v: exit %d %s", c.args, code, stderr)
		}
	}
}

// noHooks answers everything but deliveries.
type noHooks struct{}

func (noHooks) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/hooks/") {
		return nil, errors.New("the connection was reset")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Nothing was answered: there is no status to tell.
func TestADeliveryWithoutAnAnswerHasNoStatus(t *testing.T) {
	api := serveCanned(t)
	code, stdout, _ := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.HTTP.Transport = []string{"send", "--target", api.url}, noHooks{}
	})
	if code != 6 || !strings.Contains(stdout, "no answer") || strings.Contains(stdout, "status") {
		t.Errorf("exit %d %s", code, stdout)
	}
}

// What senders put into types and ids is told on the terminal too, while the system runs.
func TestTheLiveFeedIsPlainText(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte(`{"id":"7\u202e7\u2028","name":"Mug","date_modified_gmt":"2026-11-29T11:59:58"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, address, out := child(t, "local", "--port", "0", "--no-sample")
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"send", file, "--endpoint", "woo-shop", "--type", "product.updated", "--target", address}, time.Now
	})
	if code != 0 {
		t.Fatal(stdout, stderr)
	}
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text.Plain(line) != line || strings.Contains(line, "parked") {
			t.Fatalf("%q", line)
		}
		if strings.Contains(line, "settled completed") {
			if !strings.Contains(line, `product:7\u{202e}7\u{2028}`) {
				t.Errorf("%q", line)
			}
			return
		}
	}
}
