package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engang/shared/control"
)

// erased is one answer of an erasure.
func erased(change func(*control.Erased)) control.Erased {
	e := control.Erased{Kind: "erasure", Object: "product:794", Tenant: "shop", Environment: "test", At: noon, EffectsSent: []json.RawMessage{}, WaitsFor: []string{}}
	change(&e)
	return e
}

// inTurn answers one after the other, and then the last again.
func inTurn(all ...any) func() any {
	n := 0
	return func() any {
		n++
		return all[min(n, len(all))-1]
	}
}

// lookingAgain is what is said before the last look.
const lookingAgain = `product:794: 1 operation stopped, 3 events emptied, 1 delivery of many events emptied, 1 body removed from the bucket, 3 operations, attempts and results removed
evt_a holds it among others, and is not taken apart: engang show evt_a
evt_b holds it among others, and is not taken apart: engang show evt_b
what came before it began may be under way: the next look is at 2026-11-29 12:00:00
`

func TestErasuresAreTold(t *testing.T) {
	soon := noon.Add(10 * time.Millisecond)
	pages := func() func() any {
		return inTurn(
			erased(func(e *control.Erased) {
				e.Events, e.Items, e.Cancelled, e.WaitsFor, e.Next = 2, 3, 1, []string{"evt_a"}, "more"
			}),
			erased(func(e *control.Erased) {
				e.Events, e.Bodies, e.Batches, e.WaitsFor, e.AgainAt, e.Next = 1, 1, 1, []string{"evt_b"}, &soon, "last"
			}),
			erased(func(e *control.Erased) { e.Items = 1 }),
		)
	}
	for _, c := range []struct {
		name   string
		answer func() any
		args   []string
		bodies []string
	}{
		{"erase", pages(), []string{"erase", "--object", "product:794", "--reason", "asked to"}, []string{
			`{"object":"product:794","reason":"asked to"}`, `{"object":"product:794","reason":"asked to","after":"more"}`, `{"object":"product:794","reason":"asked to","after":"last"}`,
		}},
		{"erase-json", pages(), []string{"erase", "--object", "product:794", "--reason", "asked to", "--json"}, nil},
		{"erase-dry-run", inTurn(erased(func(e *control.Erased) { e.DryRun, e.Events, e.Items, e.Cancelled = true, 1, 3, 2 })), []string{"erase", "--object", "product:794", "--dry-run"}, []string{
			`{"object":"product:794","dry_run":true}`,
		}},
		{"erase-going-on", inTurn(erased(func(e *control.Erased) { e.Events = 1 })), []string{"erase", "--object", "product:794", "--reason", "asked to", "--after", "last"}, []string{
			`{"object":"product:794","reason":"asked to","after":"last"}`,
		}},
	} {
		api := serveCanned(t)
		api.answer["/api/erase"] = c.answer
		code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", api.url)...)
		if code != 0 {
			t.Errorf("%s: exit %d: %s", c.name, code, stderr)
		}
		golden(t, c.name, stdout)
		if waits := c.name == "erase" || c.name == "erase-json"; waits != strings.HasSuffix(strings.ReplaceAll(stderr, " --target "+api.url, ""), lookingAgain) {
			t.Errorf("%s: stderr %s", c.name, stderr)
		}
		if c.bodies != nil && strings.Join(c.bodies, "\n") != strings.Join(api.bodies, "\n") {
			t.Errorf("%s: asked\n%s", c.name, strings.Join(api.bodies, "\n"))
		}
	}
}

// What is not there, or not any more, is no success: the name may be wrong.
func TestNothingIsHeldOfWhatIsNotThere(t *testing.T) {
	nothing := control.Export{Kind: "export", Object: "product:nosuch", Purposes: []control.Purpose{}, Recipients: []control.Recipient{}}
	file := filepath.Join(t.TempDir(), "export.json")
	for _, args := range [][]string{
		{"erase", "--reason", "asked to"}, {"erase", "--dry-run"}, {"erase", "--reason", "asked to", "--json"},
		{"export", "--reason", "a request"}, {"export", "--reason", "a request", "--out", file},
	} {
		api := serveCanned(t)
		api.answer["/api/erase"], api.answer["/api/export"] = erased(func(*control.Erased) {}), nothing
		code, stdout, stderr := run(t, t.Context(), append(args, "--object", "product:nosuch", "--target", api.url)...)
		if code != 3 || stdout != "" || !strings.Contains(stderr, "nothing is held of product:nosuch") {
			t.Errorf("%v: exit %d %s%s", args, code, stdout, stderr)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}

// Whoever interrupts is told so, and not that nobody answers: with Ctrl-C in the middle of a call, too.
func TestWhatIsInterruptedInACallSaysSo(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"erase", "--reason", "asked to"}, `go on with: engang erase --reason 'asked to' --object product:794 --target http://127.0.0.1:`},
		{[]string{"erase", "--reason", "asked to", "--json"}, `go on with: engang erase --reason 'asked to' --json --object product:794 --target http://127.0.0.1:`},
		{[]string{"erase", "--dry-run"}, "nothing was changed, and not everything was counted"},
		{[]string{"export", "--reason", "a request"}, "nothing was written; the same command begins again"},
		{[]string{"export", "--reason", "a request", "--json"}, "nothing was written; the same command begins again"},
	} {
		api := serveCanned(t)
		ctx, cancel := context.WithCancel(t.Context())
		api.answer["/api/erase"] = func() any { cancel(); return erased(func(e *control.Erased) { e.Events, e.Next = 1, "last" }) }
		api.answer["/api/export"] = func() any { cancel(); return control.Export{Kind: "export", Next: "more"} }
		code, stdout, stderr := run(t, ctx, append(c.args, "--object", "product:794", "--target", api.url)...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, "interrupted") || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "No answer") || strings.Contains(stderr, "Is it running") || len(api.bodies) != 1 {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
}

// Begun again, it would not know what was under way.
func TestAnErasureThatIsInterruptedSaysHowToGoOn(t *testing.T) {
	late := noon.Add(time.Hour)
	for _, c := range []struct {
		name string
		last any
		code int
	}{
		{"by a person", erased(func(e *control.Erased) { e.AgainAt, e.Next = &late, "last" }), 1},
		{"by a fault", refusal{503, `{"title":"Temporarily unavailable"}`}, 6},
	} {
		api := serveCanned(t)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		api.answer["/api/erase"] = inTurn(erased(func(e *control.Erased) { e.Next = "last" }), c.last)
		code, stdout, stderr := run(t, ctx, "erase", "--object", "product:794", "--reason", "asked to", "--target", api.url)
		if code != c.code || stdout != "" || !strings.Contains(stderr, `go on with: engang erase --object product:794 --reason 'asked to' --target `+api.url+" --after last") {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
	}
}

// The command that goes on is pasted into a shell. What stands in a name or a reason is of people and of senders, and no
// command; where it is to be done stands in it too.
func TestTheCommandThatGoesOnIsWhatWasMeant(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/erase"] = inTurn(erased(func(e *control.Erased) { e.Next = "last" }), refusal{503, `{"title":"Temporarily unavailable"}`})
	args := []string{"erase", "--object", "customer:17;echo hurt", "--reason", "a refund of $5, `echo it's`\n\"done\"", "--target", api.url}
	_, _, stderr := run(t, t.Context(), args...)
	_, command, ok := strings.Cut(stderr, "go on with: engang ")
	if !ok {
		t.Fatal(stderr)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+command).Output()
	if want := strings.Join(append(args, "--after", "last", ""), "\x00"); err != nil || string(out) != want {
		t.Errorf("%s\nis read by a shell as %q, want %q; %v", command, out, want, err)
	}
}

func exportPages() func() any {
	first := control.Export{
		Kind: "export", Object: "product:794", Tenant: "shop", Environment: "test", At: noon, By: "ann", Reason: "a request",
		Purposes:   []control.Purpose{{Recipe: "product-card@3", Fields: []string{"description", "name"}}},
		Recipients: []control.Recipient{{Name: "openai", Models: []string{"gpt-5.4-mini-2026-03-17"}, Calls: 1}},
		Operations: []control.HeldOperation{{Operation: completed(), Output: json.RawMessage(`{"summary":"A <b> chair"}`)}},
		Results:    []control.HeldResult{{Result: object().Results[0], Output: json.RawMessage(`{"summary":"A <b> chair"}`)}},
		Events:     []control.HeldEvent{{Event: settledEvent(), Body: []byte(`{"id":794,"name":"A & \u202e"}`)}},
		Next:       "more",
	}
	second := control.Export{
		Kind: "export", Object: "product:794", Tenant: "shop", Environment: "test", At: noon, By: "ann", Reason: "a request",
		Purposes: []control.Purpose{}, Recipients: []control.Recipient{}, Operations: []control.HeldOperation{}, Results: []control.HeldResult{},
		Events: []control.HeldEvent{{Event: parkedEvent(), Body: []byte("no JSON")}, {Event: parkedEvent()}},
	}
	acts := cannedActsDone().Items
	first.Acts, second.Acts = acts[:1], acts[1:2]
	return inTurn(first, second)
}

func TestAnExportIsOneDocument(t *testing.T) {
	for _, args := range [][]string{{"export"}, {"export", "--json"}} {
		api := serveCanned(t)
		api.answer["/api/export"] = exportPages()
		code, stdout, stderr := run(t, t.Context(), append(args, "--object", "product:794", "--reason", "a request", "--target", api.url)...)
		if code != 0 || stderr != "" {
			t.Errorf("exit %d: %s", code, stderr)
		}
		golden(t, "export-json", stdout)
		if strings.Join(api.bodies, "\n") != `{"object":"product:794","reason":"a request"}`+"\n"+`{"object":"product:794","reason":"a request","after":"more"}` {
			t.Errorf("asked %v", api.bodies)
		}
	}
}

func TestAnExportToAFileIsForItsOwnerAlone(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/export"] = exportPages()
	file := filepath.Join(t.TempDir(), "export.json")
	code, stdout, stderr := run(t, t.Context(), "export", "--object", "product:794", "--reason", "a request", "--out", file, "--target", api.url)
	if code != 0 || stdout != file+": 3 events, 1 operation, 1 result of product:794\n" {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || !json.Valid(raw) || !strings.Contains(string(raw), `"name": "A & \u202e"`) {
		t.Errorf("%s, %v", raw, err)
	}

	code, _, stderr = run(t, t.Context(), "export", "--object", "product:794", "--reason", "a request", "--out", file, "--target", api.url)
	if again, _ := os.ReadFile(file); code != 2 || !strings.Contains(stderr, "there is such a file") || string(again) != string(raw) {
		t.Errorf("over another file: exit %d %s", code, stderr)
	}

	api.answer["/api/export"] = inTurn(exportPages()(), refusal{503, `{"title":"Temporarily unavailable"}`})
	other := filepath.Join(t.TempDir(), "other.json")
	code, stdout, _ = run(t, t.Context(), "export", "--object", "product:794", "--reason", "a request", "--out", other, "--json", "--target", api.url)
	if _, err := os.Stat(other); code != 6 || stdout != "" || !os.IsNotExist(err) && err != fs.ErrNotExist {
		t.Errorf("half an export was left: exit %d, %v", code, err)
	}
}

func TestErasuresAndExportsThatAreRefused(t *testing.T) {
	api := serveCanned(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"erase", "--reason", "why"}, "--object"},
		{[]string{"erase", "--object", "794", "--reason", "why"}, "kind:id"},
		{[]string{"erase", "--object", "product:794"}, "--reason"},
		{[]string{"erase", "--object", "product:794", "--reason", " "}, "--reason"},
		{[]string{"erase", "product:794", "--reason", "why"}, "takes no argument"},
		{[]string{"export", "--object", "product:794"}, "--reason"},
		{[]string{"export", "--reason", "why"}, "--object"},
		{[]string{"export", "--object", "product:794", "--reason", "why", "--out", t.TempDir()}, "there is such a file"},
	} {
		code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", api.url)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, c.says) || len(api.bodies) != 0 {
			t.Errorf("%v: exit %d %s%s, %d calls", c.args, code, stdout, stderr, len(api.bodies))
		}
	}
}
