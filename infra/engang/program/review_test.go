package program_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"engang/infra/engang/program"
	"engang/shared/control"
)

func waiting() control.List[control.Waiting] {
	item := func(kind, id string, age int64) control.Waiting {
		return control.Waiting{
			Kind: kind, ID: id, Object: "product:794", ObjectVersion: "2026-11-29T11:59:58Z", Recipe: "product-card@3", AgeS: age, OpenedAt: *at(-int(age)), Event: "evt_aaaaaaaaaaaaaaaa",
		}
	}
	draft := item("draft", inReview().ID, 3*24*3600)
	draft.Object = "product:8"
	draft.Reason, draft.Owner, draft.Digest = "policy draft", "catalogue", "sha256:ee"
	failed := item("failed", completed().ID, 7200)
	failed.Reason, failed.Category, failed.Owner = "refusal", "unusable output", "catalogue"
	parked := item("parked", "evt_bbbbbbbbbbbbbbbb", 720)
	parked.Object, parked.Recipe, parked.Reason, parked.Category = "", "", "the payload names no object", "invalid input"
	conflict := item("conflict", "evt_aaaaaaaaaaaaaaaa/beefbeefbeef", 12)
	conflict.Reason, conflict.Digest = "another fact under the key of this event; nothing was done with it", "sha256:beefbeefbeef"
	return control.List[control.Waiting]{Items: []control.Waiting{draft, failed, parked, conflict}}
}

func decided(word string, already bool) control.Decided {
	return control.Decided{
		Kind: "decision", ID: inReview().ID, Decision: word, Already: already, By: "ann", At: *at(60), Note: "reads well",
		Object: "product:8", ObjectVersion: "2026-11-29T11:59:58Z", Recipe: "product-card@3", Digest: "sha256:eeeeeeeeeeee",
	}
}

func TestOutputOfTheReview(t *testing.T) {
	list := waiting()
	list.Next = "cursor-1"
	id, digest := inReview().ID, []string{"--digest", "sha256:ee", "--reason", "reads well"}
	for _, c := range []struct {
		name, path string
		answer     any
		args       []string
	}{
		{"review", "review", waiting(), []string{"review"}},
		{"review-more", "review", list, []string{"review", "--limit", "4"}},
		{"review-none", "review", control.List[control.Waiting]{Items: []control.Waiting{}}, []string{"review"}},
		{"review-none-like", "review", control.List[control.Waiting]{Items: []control.Waiting{}}, []string{"review", "--kind", "conflict"}},
		{"review-none-like", "review", control.List[control.Waiting]{Items: []control.Waiting{}}, []string{"review", "--owner", "catalogue"}},
		{"review-none-like", "review", control.List[control.Waiting]{Items: []control.Waiting{}}, []string{"review", "--older", "2d"}},
		{"approve", "review/approve", decided("approved", false), append([]string{"review", "approve", id}, digest...)},
		{"approve-again", "review/approve", decided("approved", true), append([]string{"approve", id}, digest...)},
		{"reject", "review/reject", decided("rejected", false), append([]string{"review", "reject", id}, digest...)},
		{"dismiss", "review/dismiss", decided("dismissed", false), []string{"review", "dismiss", id, "--reason", "gone"}},
		{"dismiss-again", "review/dismiss", decided("dismissed", true), []string{"dismiss", id, "--reason", "gone"}},
	} {
		outputs(t, c.name, map[string]any{"/api/" + c.path: c.answer}, c.args)
	}
}

func TestWhatIsDecidedIsWhatIsAsked(t *testing.T) {
	for _, c := range []struct {
		args  []string
		asked string
	}{
		{[]string{"review", "approve", "o", "--digest", "sha256:ee", "--reason", "why"}, `{"id":"o","digest":"sha256:ee","reason":"why"}`},
		{[]string{"approve", "o", "--digest", "sha256:ee", "--reason", "why", "--although-newer"}, `{"id":"o","digest":"sha256:ee","reason":"why","although_newer":true}`},
		{[]string{"reject", "o", "--digest", "sha256:ee", "--reason", "why"}, `{"id":"o","digest":"sha256:ee","reason":"why"}`},
		{[]string{"dismiss", "o", "--reason", "why"}, `{"id":"o","reason":"why"}`},
		{[]string{"dismiss", "o", "--seen", "2/evt_1", "--reason", "why"}, `{"id":"o","seen":"2/evt_1","reason":"why"}`},
	} {
		api := serveCanned(t)
		for _, path := range []string{"approve", "reject", "dismiss"} {
			api.answer["/api/review/"+path] = decided("approved", false)
		}
		code, _, stderr := run(t, t.Context(), append(c.args, "--target", api.url, "--as", "ann")...)
		if code != 0 || len(api.bodies) != 1 || api.bodies[0] != c.asked || api.as[0] != "ann" {
			t.Errorf("%v: exit %d %s, asked %q as %v", c.args, code, stderr, api.bodies, api.as)
		}
	}
	api := serveCanned(t)
	api.answer["/api/review"] = waiting()
	run(t, t.Context(), "review", "--kind", "draft", "--owner", "catalogue", "--older", "2h", "--after", "c", "--limit", "7", "--target", api.url)
	if got := api.asked[0].Encode(); got != "after=c&kind=draft&limit=7&older=2026-11-29T10%3A00%3A00Z&owner=catalogue" {
		t.Errorf("asked %s", got)
	}
}

func TestADecisionIsRefusedBeforeItIsSent(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no reason", []string{"approve", "o", "--digest", "sha256:ee"}, "--reason"},
		{"a digest as lists show it", []string{"approve", "o", "--digest", "sha256:3d96081f", "--reason", "why"}, "--digest sha256:3d96081f: give the whole digest, which engang show o --json"},
		{"a blank reason", []string{"reject", "o", "--digest", "sha256:ee", "--reason", " "}, "--reason"},
		{"no digest in a script", []string{"approve", "o", "--reason", "why"}, "--digest"},
		{"a dismissal without a reason", []string{"dismiss", "o"}, "--reason"},
		{"no id", []string{"review", "approve", "--reason", "why"}, "takes one ID"},
		{"two ids", []string{"dismiss", "o", "p", "--reason", "why"}, "takes one ID"},
		{"a newer draft does not matter to a rejection", []string{"reject", "o", "--digest", "sha256:ee", "--reason", "why", "--although-newer"}, "unknown flag"},
		{"no time", []string{"review", "--older", "yesterday"}, "is no time"},
		{"no limit", []string{"review", "--limit", "0"}, "--limit"},
		{"a watch from a place", []string{"review", "--watch", "--after", "c"}, "--watch"},
		{"an argument of the list", []string{"review", "o"}, "takes no argument"},
	} {
		api := serveCanned(t)
		code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", api.url)...)
		if code != 2 || !strings.Contains(stderr, c.says) || stdout != "" || len(api.bodies) != 0 {
			t.Errorf("%s: exit %d %s%s, asked %q", c.name, code, stdout, stderr, api.bodies)
		}
	}
}

// What stands where a decision is refused is told, with its exit code.
func TestARefusedDecisionSaysWhatStands(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/review/approve"] = refusal{http.StatusConflict, `{"type":"urn:engang:problem:decided","title":"Decided already","status":409,"detail":"The draft is rejected, decided by bob at 2026-11-29T12:00:00Z.",` +
		`"stands":{"id":"o","state":"rejected","digest":"sha256:ee","by":"bob","at":"2026-11-29T12:00:00Z","note":"too long"}}`}
	args := []string{"approve", "o", "--digest", "sha256:ee", "--reason", "why", "--target", api.url}
	if code, _, stderr := run(t, t.Context(), args...); code != 4 || !strings.Contains(stderr, "decided by bob at 2026-11-29T12:00:00Z") {
		t.Errorf("exit %d %s", code, stderr)
	}
	code, _, stderr := run(t, t.Context(), append(args, "--json")...)
	var p struct {
		Exit   int
		Stands struct{ State, By, Note string }
	}
	if err := json.Unmarshal([]byte(stderr), &p); err != nil || code != 4 || p.Exit != 4 || p.Stands.State != "rejected" || p.Stands.By != "bob" || p.Stands.Note != "too long" {
		t.Errorf("exit %d %s", code, stderr)
	}
	fits(t, answers(t), "a refused decision", stderr)
}

// A person sees the content, the target and the digest, and then decides on those very bytes.
func TestAPersonIsShownWhatIsDecided(t *testing.T) {
	const newer = `{"type":"urn:engang:problem:newer-draft","title":"A newer draft waits","status":409,"detail":"A newer draft of this object waits."}`
	draft, gone := inReview(), completed()
	draft.Review.Owner = "catalogue"
	gone.State = "completed"
	for _, c := range []struct {
		name    string
		shown   control.Operation
		content string // digest of what is shown
		args    []string
		answers []bool // of the person, in order
		newer   bool   // a newer draft waits, until a second word is said
		code    int
		asked   []string // decisions sent
		says    string
	}{
		{"yes", draft, "sha256:ee", []string{"approve"}, []bool{true}, false, 0, []string{`{"id":"` + draft.ID + `","digest":"sha256:ee","reason":"why"}`}, "approved product:8"},
		{"no", draft, "sha256:ee", []string{"approve"}, []bool{false}, false, 1, nil, "nothing was decided"},
		{"a rejection", draft, "sha256:ee", []string{"reject"}, []bool{true}, false, 0, []string{`{"id":"` + draft.ID + `","digest":"sha256:ee","reason":"why"}`}, "approved"},
		{"the digest that was meant", draft, "sha256:ee", []string{"approve", "--digest", "sha256:ee"}, []bool{true}, false, 0, []string{`{"id":"` + draft.ID + `","digest":"sha256:ee","reason":"why"}`}, "approved"},
		{"another digest than was meant", draft, "sha256:ee", []string{"approve", "--digest", "sha256:00"}, nil, false, 4, nil, "sha256:ee, not sha256:00"},
		{"the content is of another draft than the look before", draft, "sha256:ff", []string{"approve"}, []bool{true}, false, 0, []string{`{"id":"` + draft.ID + `","digest":"sha256:ff","reason":"why"}`}, "approved"},
		{"a newer draft, and a second word", draft, "sha256:ee", []string{"approve"}, []bool{true, true}, true, 0,
			[]string{`{"id":"` + draft.ID + `","digest":"sha256:ee","reason":"why"}`, `{"id":"` + draft.ID + `","digest":"sha256:ee","reason":"why","although_newer":true}`}, "approved"},
		{"a newer draft, and no second word", draft, "sha256:ee", []string{"approve"}, []bool{true, false}, true, 1, []string{`{"id":"` + draft.ID + `","digest":"sha256:ee","reason":"why"}`}, "nothing was decided"},
		{"approved already: nothing is asked", gone, "", []string{"approve"}, nil, false, 0, []string{`{"id":"` + gone.ID + `","digest":"sha256:cdcdcdcdcdcd","reason":"why"}`}, "approved"},
	} {
		api := serveCanned(t)
		api.answer["/api/show"] = c.shown
		api.answer["/api/reveal"] = control.Content{Kind: "output", ID: draft.ID, Digest: c.content, Bytes: 21, Output: json.RawMessage(`{"summary":"A chair."}`)}
		decide := func() any {
			if c.newer && !strings.Contains(api.bodies[len(api.bodies)-1], "although_newer") {
				return refusal{http.StatusConflict, newer}
			}
			return decided("approved", false)
		}
		api.answer["/api/review/approve"], api.answer["/api/review/reject"] = decide, decide
		n := 0
		confirm := func(context.Context, string) bool { n++; return c.answers[n-1] }
		code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
			e.Args, e.Confirm = append(append(c.args, c.shown.ID[:20]), "--reason", "why", "--target", api.url), confirm
		})
		if code != c.code || n != len(c.answers) || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit %d, asked %d times: %s%s", c.name, code, n, stdout, stderr)
		}
		if n > 0 { // the person saw it before the first question
			for _, want := range []string{`"summary": "A chair."`, c.content, "the result of product:8 under product-card@3", "for catalogue", "policy draft"} {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s: %q is not shown: %s", c.name, want, stdout)
				}
			}
		}
		var sent []string
		for _, body := range api.bodies {
			if strings.Contains(body, `"digest"`) {
				sent = append(sent, body)
			}
		}
		if strings.Join(sent, "\n") != strings.Join(c.asked, "\n") {
			t.Errorf("%s: sent %q, want %q", c.name, sent, c.asked)
		}
	}
}

// The look before a decision is one that is recorded, with the reason of the decision.
func TestTheLookBeforeADecisionIsRecorded(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/show"] = inReview()
	api.answer["/api/reveal"] = control.Content{Kind: "output", ID: inReview().ID, Digest: "sha256:ee", Bytes: 2, Output: json.RawMessage(`{}`)}
	code, stdout, _ := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Confirm = []string{"approve", "product:8/product-card@3", "--reason", "why", "--target", api.url}, func(context.Context, string) bool { return false }
	})
	if want := `{"id":"` + inReview().ID + `","reason":"why"}`; code != 1 || len(api.bodies) != 2 || api.bodies[1] != want {
		t.Errorf("exit %d, asked %q, want %s", code, api.bodies, want)
	}
	golden(t, "approve-look", stdout)
}

// On a stack a decision is announced; a script says --yes, a person is asked once.
func TestADecisionOnAStackIsAnnounced(t *testing.T) {
	api, _ := deployed(t)
	api.answer["/api/show"] = inReview()
	api.answer["/api/reveal"] = control.Content{Kind: "output", ID: inReview().ID, Digest: "sha256:ee", Bytes: 2, Output: json.RawMessage(`{}`)}
	for _, path := range []string{"approve", "dismiss"} {
		api.answer["/api/review/"+path] = decided("approved", false)
	}
	const first = "stack my-stack, account 123456789012, region eu-north-1\n"
	approve := []string{"approve", "o", "--digest", "sha256:ee", "--reason", "why", "--target", "my-stack"}
	dismiss := []string{"dismiss", "o", "--reason", "why", "--target", "my-stack"}
	for _, c := range []struct {
		name   string
		args   []string
		asked  int
		person bool
		code   int
	}{
		{"a script without --yes", approve, 0, false, 2},
		{"a script with --yes", append(approve, "--yes"), 0, false, 0},
		{"a person", approve, 1, true, 0},
		{"a person with --yes: as a script", append(approve, "--yes"), 0, true, 0},
		{"a dismissal by a script without --yes", dismiss, 0, false, 2},
		{"a dismissal by a person", dismiss, 1, true, 0},
	} {
		n := 0
		code, _, stderr := runIn(t.Context(), func(e *program.Env) {
			e.Args = c.args
			if c.person {
				e.Confirm = func(context.Context, string) bool { n++; return true }
			}
		})
		if code != c.code || n != c.asked || !strings.HasPrefix(stderr, first) {
			t.Errorf("%s: exit %d, asked %d times, %s", c.name, code, n, stderr)
		}
	}
}

// A person sees what failed before the question, and dismisses that failure; what cannot be looked at so is asked for
// as it was given.
func TestAPersonIsShownWhatIsDismissed(t *testing.T) {
	failed := inReview()
	failed.State, failed.Review.Seen, failed.Review.Reasons = "failed", "2/evt_1", []string{"refusal"}
	gone := completed()
	for _, c := range []struct {
		name, id string
		shown    any
		args     []string
		yes      bool // what the person says
		code     int
		asked    string
		says     string
	}{
		{"yes", failed.ID[:20], failed, nil, true, 0, `{"id":"` + failed.ID + `","seen":"2/evt_1","reason":"why"}`, "refusal"},
		{"no", failed.ID[:20], failed, nil, false, 2, "", "refusal"},
		{"another failure than was meant", failed.ID, failed, []string{"--seen", "1/evt_1"}, true, 0, `{"id":"` + failed.ID + `","seen":"1/evt_1","reason":"why"}`, "refusal"},
		{"what does not wait", gone.ID, gone, nil, true, 0, `{"id":"` + gone.ID + `","reason":"why"}`, ""},
		{"an event", "evt_aaaaaaaaaaaaaaaa", nil, nil, true, 0, `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}`, ""},
		{"what is not there", "o", refusal{http.StatusNotFound, `{"type":"urn:engang:problem:not-found","title":"Not found","status":404,"detail":"No such thing."}`}, nil, true, 3, "", "No such thing"},
	} {
		api, _ := deployed(t)
		api.answer["/api/show"], api.answer["/api/review/dismiss"] = c.shown, decided("dismissed", false)
		code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
			e.Args, e.Confirm = append([]string{"dismiss", c.id, "--reason", "why", "--target", "my-stack"}, c.args...), func(context.Context, string) bool { return c.yes }
		})
		if code != c.code || strings.Join(api.bodies, "") != c.asked || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit %d, asked %q: %s%s", c.name, code, api.bodies, stdout, stderr)
		}
	}
}

// Nothing but white space is between what is stored and what is shown.
func TestContentIsShownAsItIsStored(t *testing.T) {
	api := serveCanned(t)
	api.answer["/api/show"] = completed()
	api.answer["/api/reveal"] = refusal{http.StatusOK, `{"kind":"output","id":"o","bytes":30,"output":{"summary":"Cups & <b>mugs</b>, Å","tags":[]}}`}
	code, stdout, stderr := run(t, t.Context(), "show", completed().ID, "--output", "--reason", "why", "--target", api.url)
	if code != 0 || !strings.Contains(stdout, `"summary": "Cups & <b>mugs</b>, Å",`) {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}
