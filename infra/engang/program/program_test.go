package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra"
	"engang/infra/engang/program"
	"engang/shared/control"

	"github.com/google/go-cmp/cmp"
)

func TestOutputOfEachCommand(t *testing.T) {
	event, parked, op, review := settledEvent(), parkedEvent(), completed(), inReview()
	more := control.List[control.Event]{Items: []control.Event{event}, Next: "cursor-1"}
	for _, c := range []struct {
		name string
		show any // the answer of /api/show, or of the list
		args []string
	}{
		{"events", nil, []string{"events"}},
		{"events-more", more, []string{"events", "--limit", "1"}},
		{"events-none", control.List[control.Event]{}, []string{"events"}},
		{"operations", nil, []string{"operations"}},
		{"audit", nil, []string{"audit"}},
		{"audit-more", control.List[control.Act]{Items: cannedActsDone().Items[:1], Next: "cursor-1"}, []string{"audit", "--object", "product:8", "--limit", "1"}},
		{"audit-none", control.List[control.Act]{Items: []control.Act{}}, []string{"audit"}},
		{"show-object", nil, []string{"show", "product:794"}},
		{"show-event", event, []string{"show", event.ID}},
		{"show-parked", parked, []string{"show", parked.ID}},
		{"show-operation", op, []string{"show", op.ID}},
		{"show-review", review, []string{"show", review.ID}},
		{"show-body", event, []string{"show", event.ID, "--body", "--reason", "why"}},
		{"version", nil, []string{"version"}},
		{"dlq", nil, []string{"dlq"}},
		{"dlq-filtered", nil, []string{"dlq", "--category", "unusable output", "--since", "1h", "--limit", "1"}},
		{"dlq-none-like-that", nil, []string{"dlq", "--category", "bug"}},
		{"dlq-none", control.List[control.Letter]{}, []string{"dlq"}},
		{"dlq-tidy", nil, []string{"dlq", "tidy", "--reason", "why"}},
		{"redrive", nil, []string{"redrive", completed().ID, "--reason", "why"}},
		{"redrive-unsent", unsentRedriven(), []string{"redrive", "evt_bbbbbbbbbbbbbbbb", "--reason", "why"}},
		{"redrive-former", formerRedriven(), []string{"redrive", "evt_bbbbbbbbbbbbbbbb", "--reason", "why"}},
		{"redrive-all", nil, []string{"redrive", "--all", "--rate", "1000/s", "--reason", "why"}},
		{"redrive-dry-run", nil, []string{"redrive", "--category", "transient", "--dry-run"}},
		{"redrive-none", nil, []string{"redrive", "--category", "configuration", "--dry-run"}},
		{"replay", nil, []string{"replay", "--since", "30d", "--reason", "why"}},
		{"replay-dry-run", dryReplay(), []string{"replay", "--since", "30d", "--dry-run"}},
		{"replay-finished", control.Replayed{Kind: "replay", Events: 10_000, Finished: 10_000, Reached: at(-60)}, []string{"replay", "--reason", "why"}},
		{"replay-none", control.Replayed{Kind: "replay"}, []string{"replay", "--reason", "why"}},
	} {
		answers := map[string]any{}
		if c.show != nil {
			answers["/api/"+c.args[0]] = c.show
		}
		outputs(t, c.name, answers, c.args)
	}
}

func TestFlagsBecomeTheQuery(t *testing.T) {
	for _, c := range []struct {
		args []string
		want map[string]string
	}{
		{[]string{"events"}, map[string]string{"since": "2026-11-26T12:00:00Z", "limit": "50"}},
		{[]string{"events", "--since", "2h", "--until", "2026-11-29T12:00:00+01:00", "--after", "c", "--limit", "7", "--endpoint", "e", "--type", "t", "--object", "o:1", "--state", "parked", "--event-id", "m", "--duplicates", "--tenant", "a", "--environment", "test"},
			map[string]string{"since": "2026-11-29T10:00:00Z", "until": "2026-11-29T11:00:00Z", "after": "c", "limit": "7", "endpoint": "e", "type": "t", "object": "o:1", "state": "parked", "event_id": "m", "duplicates": "true", "tenant": "a", "environment": "test"}},
		{[]string{"operations", "--recipe", "r", "--state", "failed", "--category", "unusable output", "--object", "o:1", "--since", "30d"},
			map[string]string{"since": "2026-10-30T12:00:00Z", "limit": "50", "recipe": "r", "state": "failed", "category": "unusable output", "object": "o:1"}},
		{[]string{"audit", "--object", "o:1", "--target-id", "evt_1", "--since", "2h", "--until", "1h", "--after", "c", "--limit", "7"},
			map[string]string{"since": "2026-11-29T10:00:00Z", "until": "2026-11-29T11:00:00Z", "after": "c", "limit": "7", "object": "o:1", "target_id": "evt_1"}},
		{[]string{"show", "product:1/r@1/ab", "--since", "1d"}, map[string]string{"id": "product:1/r@1/ab", "since": "2026-11-28T12:00:00Z"}},
		{[]string{"show", "--endpoint", "crm", "--event-id", "msg_1"}, map[string]string{"endpoint": "crm", "event_id": "msg_1", "since": "2026-11-26T12:00:00Z"}},
	} {
		api := serveCanned(t)
		code, _, stderr := run(t, t.Context(), append(c.args, "--target", api.url, "--as", "ann")...)
		got := map[string]string{}
		for name := range api.asked[0] {
			got[name] = api.asked[0].Get(name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || code != 0 || api.as[0] != "ann" {
			t.Errorf("%v: exit %d %s as %s: %s", c.args, code, stderr, api.as[0], diff)
		}
	}
}

// A list asks on until it has as many as it shall show, since a page may be short.
func TestAListFollowsShortPages(t *testing.T) {
	api := serveCanned(t)
	n := 0
	api.answer["/api/events"] = func() any {
		n++
		page := control.List[control.Event]{Items: []control.Event{}, Next: "c"}
		if n%2 == 0 {
			page.Items = append(page.Items, settledEvent())
		}
		return page
	}
	code, stdout, _ := run(t, t.Context(), "events", "--limit", "2", "--json", "--target", api.url)
	var list control.List[control.Event]
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list.Items) != 2 || n != 4 || list.Next != "c" {
		t.Errorf("exit %d after %d pages: %s", code, n, stdout)
	}
	if last := api.asked[3]; last.Get("after") != "c" || last.Get("limit") != "1" {
		t.Errorf("asked %v", last)
	}
}

func TestAWatchTellsWhatIsNewAndWhatHasChanged(t *testing.T) {
	api := serveCanned(t)
	ctx, cancel := context.WithCancel(t.Context())
	e := settledEvent()
	n := 0
	api.answer["/api/events"] = func() any {
		n++
		list := control.List[control.Event]{Items: []control.Event{e}}
		switch n {
		case 1:
			list.Items[0].State, list.Items[0].Outcome = "received", ""
		case 3:
			list.Items = append([]control.Event{parkedEvent()}, list.Items...)
		case 4:
			cancel()
		}
		return list
	}
	code, stdout, stderr := run(t, ctx, "events", "--watch", "--json", "--target", api.url)
	var got []string
	for line := range strings.Lines(stdout) {
		var e control.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, e.ID[4:5]+" "+e.State)
	}
	if diff := cmp.Diff([]string{"a received", "a settled", "b parked"}, got); diff != "" || code != 0 {
		t.Errorf("exit %d %s %s", code, stderr, diff)
	}
}

// An exit is how a command ends, and what it says then.
type exit struct {
	name   string
	answer any // of the API; nil: it is not asked
	args   []string
	code   int
	says   string
}

// wrongUsage is what a person may type that means nothing.
var wrongUsage = []exit{
	{"an unknown command", nil, []string{"shwo"}, 2, "unknown command"},
	{"an unknown flag", nil, []string{"events", "--stat", "x"}, 2, "unknown flag"},
	{"a surplus argument", nil, []string{"events", "x"}, 2, "takes no argument"},
	{"no argument", nil, []string{"show"}, 2, "say one ID"},
	{"half of a sender's id", nil, []string{"show", "--event-id", "x"}, 2, "say one ID"},
	{"no time", nil, []string{"events", "--since", "yesterday"}, 2, "is no time"},
	{"a time that nobody can read", nil, []string{"events", "--since", ""}, 2, "is no time"},
	{"a time before all calendars", nil, []string{"operations", "--since", "999999999d"}, 2, "is no time"},
	{"a span that ends before it begins", nil, []string{"events", "--since", "1h", "--until", "2h"}, 2, "later than 2h"},
	{"a span in the future", nil, []string{"operations", "--since", "2026-11-29T12:00:01Z"}, 2, "later than now"},
	{"no limit", nil, []string{"events", "--limit", "0"}, 2, "--limit"},
	{"a state that no event has", nil, []string{"events", "--state", "running"}, 2, `--state "running": one of received, settled, parked, completed`},
	{"a state that no operation has", nil, []string{"operations", "--state", "typo"}, 2, "one of pending, running, completed, review"},
	{"a category that nothing has", nil, []string{"operations", "--category", "transcient"}, 2, "one of transient, provider paused"},
	{"an object that is none", nil, []string{"operations", "--object", "794"}, 2, "kind:id"},
	{"an object that is none, of events", nil, []string{"events", "--object", "794"}, 2, "kind:id"},
	{"an environment that there is not", nil, []string{"events", "--environment", "staging"}, 2, "one of test, production"},
	{"a name in two lines", nil, []string{"events", "--as", "ann\nbob"}, 2, `--as "ann\nbob"`},
	{"a name with spaces around it", nil, []string{"events", "--as", " ann"}, 2, "--as"},
	{"a name that turns the direction", nil, []string{"show", "product:1", "--as", "ann\u202e"}, 2, "--as"},
	{"a name without end", nil, []string{"show", "product:1", "--as", strings.Repeat("a", 129)}, 2, "at most 128 bytes"},
	{"no time to wait", nil, []string{"events", "--timeout", "0s"}, 2, "--timeout"},
	{"a watch of the past", nil, []string{"events", "--watch", "--until", "1h"}, 2, "--watch"},
	{"no such case", nil, []string{"send", "nothing"}, 2, "no such case"},
	{"an unknown twist", nil, []string{"send", "--twist", "sideways"}, 2, "sideways"},
	{"a change that is none", nil, []string{"send", "--set", "id=1"}, 2, "/path=value"},
	{"a file without a sender", nil, []string{"send", "../../../go.mod"}, 2, "--endpoint"},
	{"a case of another provider", nil, []string{"send", "standard-webhooks/contact.created", "--endpoint", "woo-shop"}, 2, "takes deliveries of woocommerce"},
	{"an address elsewhere", nil, []string{"events", "--target", "http://example.com"}, 2, "of this machine"},
}

func TestEachExitCodeIsReached(t *testing.T) {
	problem := func(status int) refusal {
		return refusal{status, `{"type":"urn:engang:problem:x","title":"Title","status":` + http.StatusText(status)[:0] + `0,"detail":"What to do."}`}
	}
	for _, c := range append([]exit{
		{"done", object(), []string{"show", "product:794"}, 0, ""},
		{"a fault of theirs", problem(500), []string{"show", "product:794"}, 1, "Title: What to do."},
		{"throttled by the gateway", refusal{429, `{"message":"Too Many Requests"}`}, []string{"show", "product:794"}, 1, "Too Many Requests"},
		{"not engang", refusal{200, `<html>`}, []string{"show", "product:794"}, 1, "it is not engang that answers"},
		{"a parameter they refuse", problem(400), []string{"show", "product:794"}, 2, "Title"},
		{"no such thing", problem(404), []string{"show", "product:794"}, 3, "Title"},
		{"refused by its state", problem(409), []string{"show", "product:794"}, 4, "Title"},
		{"not allowed", problem(403), []string{"show", "product:794"}, 5, "Title"},
		{"the function did not answer the gateway", refusal{503, `{"message":"Service Unavailable"}`}, []string{"show", "product:794"}, 6, "Service Unavailable"},
		{"content without a reason", object(), []string{"show", "product:794", "--body"}, 2, "--reason"},
		{"the bytes of several events", object(), []string{"show", "product:794", "--raw", "x", "--reason", "why"}, 2, "name an event"},
	}, wrongUsage...) {
		api := serveCanned(t)
		if c.answer != nil {
			api.answer["/api/show"] = c.answer
		}
		args := c.args
		if !strings.Contains(strings.Join(args, " "), "--target") {
			args = append(args, "--target", api.url)
		}
		code, _, stderr := run(t, t.Context(), args...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, want %d: %s", c.name, code, c.code, stderr)
		}
		code, stdout, stderr := run(t, t.Context(), append(args, "--json")...)
		var p struct {
			Type, Title string
			Exit        int
			Status      *int
		}
		if code == 0 {
			continue
		}
		if err := json.Unmarshal([]byte(stderr), &p); err != nil || p.Exit != c.code || p.Title == "" || p.Type == "" || stdout != "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %s", c.name, code, stdout, stderr)
		}
		if answer, ok := c.answer.(refusal); (p.Status != nil) != (ok && answer.status != 200) || p.Status != nil && *p.Status != answer.status {
			t.Errorf("%s: the status of an answer over HTTP: %s", c.name, stderr)
		}
	}
}

func TestAnAbsentOrSlowTargetEndsWith6(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection seen
		<-r.Context().Done()
	}))
	defer slow.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, args := range [][]string{{"events"}, {"operations"}, {"show", "product:1"}, {"send"}, {"cancel", "evt_aaaaaaaaaaaaaaaa", "--reason", "why"}, {"pause"}, {"pause", "everything", "--reason", "why"}, {"resume", "everything", "--reason", "why"}, {"stats"}} {
		for target, says := range map[string]string{slow.URL: "no answer in time", gone.URL: "Start it with: engang local"} {
			code, _, stderr := run(t, t.Context(), append(args, "--target", target, "--timeout", "50ms")...)
			if code != 6 || !strings.Contains(stderr, says) {
				t.Errorf("%v: exit %d %s", args, code, stderr)
			}
		}
	}
	// ENGANG_TARGET names the target where no flag does.
	code, _, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args = []string{"events", "--timeout", "50ms"}
		e.Getenv = func(name string) string { return map[string]string{"ENGANG_TARGET": slow.URL}[name] }
	})
	if code != 6 {
		t.Errorf("exit %d %s", code, stderr)
	}
}

func TestRawBytesAreWrittenAsTheyWere(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/show"] = settledEvent()
	file := filepath.Join(t.TempDir(), "body")
	if code, stdout, stderr := run(t, t.Context(), "show", "evt_aaaaaaaaaaaaaaaa", "--raw", file, "--reason", "why", "--target", api.url); code != 0 || !strings.Contains(stdout, "10 bytes") {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	looks := len(api.bodies)
	if code, stdout, stderr := run(t, t.Context(), "show", "evt_aaaaaaaaaaaaaaaa", "--raw", file, "--reason", "why", "--target", api.url); code != 2 || !strings.Contains(stderr, "there is such a file") || len(api.bodies) != looks {
		t.Errorf("over a file: exit %d %s%s, asked %d times", code, stdout, stderr, len(api.bodies)-looks)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != `{"id":794}` {
		t.Errorf("%s, %v", raw, err)
	}
	if _, stdout, _ := run(t, t.Context(), "show", "evt_aaaaaaaaaaaaaaaa", "--raw", "-", "--reason", "why", "--target", api.url); stdout != `{"id":794}` {
		t.Errorf("%q", stdout)
	}
	if last := api.bodies[len(api.bodies)-1]; last != `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}` {
		t.Errorf("asked %s", last)
	}
}

// Each flag of --help is in an example, and each example is a command that runs.
func TestExamplesRunAndShowEveryFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"body.json": `{"id":1}`, "secret.txt": "local-woo-secret\n", "new-secret.txt": secondSecret, "key.txt": "sk-" + firstSecret, "prices.json": string(infra.Prices), "rest-key.txt": "ck_" + firstSecret + ":cs_" + secondSecret} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeCaptures(t)
	for _, folder := range []string{"infra", "config"} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"infra/local.yaml", "config/all.yaml", "shop.yaml", "crm.yaml"} { // of no secret and no sender
		write(t, name, "version: 1\ntenant: shop\nenvironment: test\n")
	}
	for _, command := range []string{"", "local", "send", "events", "operations", "show", "version", "secret", "secret set", "secret rotate", "secret retire", "apply", "config", "init", "verify", "erase", "export", "dlq", "dlq tidy", "redrive", "replay", "cancel", "pause", "resume", "stats", "audit", "doctor", "cost",
		"review", "review approve", "review reject", "review dismiss", "approve", "reject", "dismiss"} {
		_, help, _ := run(t, t.Context(), strings.Fields(command+" --help")...)
		_, after, _ := strings.Cut(help, "Examples:\n")
		examples, flags, _ := strings.Cut(after, "Flags:\n")
		flags, _, _ = strings.Cut(flags, "\n\n")
		for line := range strings.Lines(flags) {
			_, name, ok := strings.Cut(line, "--")
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			if ok && name != "help" && !strings.Contains(examples, "--"+name) {
				t.Errorf("%s: --%s is in no example", command, name)
			}
		}
		for line := range strings.Lines(examples) {
			words := shellWords(line)
			if len(words) < 2 || words[0] != "engang" || words[1] == "local" || strings.Contains(line, "my-stack") {
				continue // a system is started in its own tests, a stack found in its own
			}
			example(t, words[1:])
		}
	}
}

func example(t *testing.T, args []string) {
	t.Helper()
	api := serveCanned(t)
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "evt_"), a == "--event-id":
			api.answer["/api/show"] = settledEvent()
		case a == "standard-webhooks/contact.created":
			api.answer["/api/endpoints"] = control.Endpoint{Name: "crm", Provider: "standard-webhooks", Secrets: []string{"ssm:hooks/crm/1"}}
		case a == "stripe/invoice.paid":
			api.answer["/api/endpoints"] = control.Endpoint{Name: "shop-pay", Provider: "stripe", Secrets: []string{"ssm:hooks/woo-shop/1"}}
		case a == "--wait":
			api.answer["/api/show"] = settledEvent()
		}
	}
	if len(args) > 2 && args[0] == "secret" && args[1] == "retire" {
		api.names(both)
		if code, _, stderr := given(t, secondSecret, "secret", "rotate", "woo-shop", "--overlap", "0s", "--target", api.url); code != 0 {
			t.Fatal(stderr)
		}
	}
	var input []byte
	if at := slices.Index(args, "<"); at > 0 {
		var err error
		if input, err = os.ReadFile(args[at+1]); err != nil {
			t.Fatal(err)
		}
		args = args[:at]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	code, _, stderr := runIn(ctx, func(e *program.Env) { e.Args, e.Stdin = append(args, "--target", api.url), bytes.NewReader(input) })
	if code != 0 && !(code == 7 && args[0] == "verify") { // a delivery with faults is what it is for
		t.Errorf("engang %s: exit %d %s", strings.Join(args, " "), code, stderr)
	}
}

// shellWords splits a line at spaces outside of double quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(strings.TrimSpace(line), `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
