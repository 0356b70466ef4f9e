package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/problem"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// known is every error that has a place in the table.
var known = []struct {
	err    error
	status int
	title  string
}{
	{problem.ErrUnavailable, 503, "Temporarily unavailable"},
	{webhook.ErrSecret, 503, "Temporarily unavailable"},
	{secrets.ErrUnusable, 503, "Temporarily unavailable"},
	{context.DeadlineExceeded, 503, "Temporarily unavailable"},
	{context.Canceled, 503, "Temporarily unavailable"},
	{problem.ErrFinal, 500, "Refused for good"},
	{webhook.ErrSignature, 401, "Not verified"},
	{webhook.ErrTimestamp, 401, "Not verified"},
	{webhook.ErrSource, 401, "Not verified"},
	{problem.ErrIdentity, 403, "No identity"},
	{problem.ErrRoute, 404, "No such address"},
	{config.ErrUnknown, 404, "Not configured"},
	{inbox.ErrNotFound, 404, "Not found"},
	{operation.ErrNotFound, 404, "Not found"},
	{problem.ErrMethod, 405, "Method not allowed"},
	{problem.ErrTooLarge, 413, "Body too large"},
	{problem.ErrQuery, 400, "Unusable parameter"},
	{object.ErrNoID, 400, "Unusable parameter"},
	{problem.ErrMalformed, 400, "Malformed"},
	{document.ErrMalformed, 400, "Malformed"},
	{webhook.ErrMalformed, 400, "Malformed"},
	{operation.ErrDecided, 409, "Decided already"},
	{errors.Join(operation.ErrDecided, &operation.RefusedError{Stored: operation.Operation{State: operation.Rejected, Output: []byte("CANARY")}}), 409, "Decided already"},
	{operation.ErrOtherDraft, 409, "Another draft"},
	{operation.ErrNewerDraft, 409, "A newer draft waits"},
	{operation.ErrOutlived, 409, "Older than results are kept"},
	{operation.ErrOtherFailure, 409, "Another failure"},
	{operation.ErrInWork, 409, "Still in work"},
	{operation.ErrFormerRecipe, 409, "Under a raised recipe"},
	{operation.ErrNewerResult, 409, "Set aside"},
	{&operation.OvertakenError{Newer: operation.Result{Output: []byte("CANARY")}}, 409, "Set aside"},
	{operation.ErrNotWaiting, 409, "Does not wait for this"},
	{operation.ErrRefused, 409, "Refused by its state"},
	{&operation.RefusedError{Stored: operation.Operation{State: operation.Running, Output: []byte("CANARY")}}, 409, "Refused by its state"},
	{&operation.RefusedError{}, 409, "Refused by its state"},
	{inbox.ErrStale, 409, "Refused by its state"},
	{&inbox.RefusedError{Stored: inbox.Event{State: inbox.Received, Body: inbox.Body{Packed: []byte("CANARY")}}}, 409, "Refused by its state"},
	{pause.ErrLonger, 409, "Paused for longer"},
	{&pause.LongerError{}, 409, "Paused for longer"},
	{config.ErrChanged, 409, "Refused by its state"},
	{config.ErrMoved, 409, "Refused by its state"},
	{config.ErrRefused, 422, "Configuration refused"},
	{config.Faults{{At: "/recipes/a", Reason: "r", Remedy: "d"}}, 422, "Configuration refused"},
}

func TestEveryKnownErrorHasItsAnswer(t *testing.T) {
	for _, k := range known {
		for _, err := range []error{k.err, fmt.Errorf("read CANARY: %w", k.err), errors.Join(errors.New("CANARY"), k.err)} {
			p := problem.Of(err, "req-1")
			if p.Status != k.status || p.Title != k.title {
				t.Errorf("%v: %d %s", err, p.Status, p.Title)
			}
			if p.Instance != "" || strings.Contains(string(p.JSON()), "CANARY") {
				t.Errorf("%v: says too much: %s", err, p.JSON())
			}
			if !strings.HasPrefix(p.Type, "urn:engang:problem:") || len(p.Detail) < 40 || !strings.HasSuffix(p.Detail, ".") {
				t.Errorf("%v: says too little: %s", err, p.JSON())
			}
			if retry := p.Header().Get("Retry-After"); (p.Status == 503) != (retry != "") {
				t.Errorf("%v: Retry-After %q with status %d", err, retry, p.Status)
			}
		}
	}
}

// Whoever tries signatures learns nothing from the answers: they are the same to the byte.
func TestNoAnswerTellsWhichPartFailed(t *testing.T) {
	want := problem.Of(fmt.Errorf("verify: %w", webhook.ErrSignature), "a")
	for _, err := range []error{webhook.ErrTimestamp, webhook.ErrSource, errors.Join(webhook.ErrSource, webhook.ErrTimestamp)} {
		got := problem.Of(err, "b")
		if diff := cmp.Diff(string(want.JSON()), string(got.JSON())); diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
		if diff := cmp.Diff(want.Header(), got.Header()); diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
	}
	// Nor does an endpoint without a secret differ from a store that is down.
	if diff := cmp.Diff(problem.Of(problem.ErrUnavailable, ""), problem.Of(webhook.ErrSecret, "")); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsTemporaryNeverLooksFinal(t *testing.T) {
	for _, k := range known {
		for _, down := range []error{problem.ErrUnavailable, context.DeadlineExceeded, webhook.ErrSecret} {
			for _, err := range []error{errors.Join(k.err, down), fmt.Errorf("%w: %w", k.err, down)} {
				if p := problem.Of(err, ""); p.Status != 503 {
					t.Errorf("%v: %d", err, p.Status)
				}
			}
		}
	}
}

func TestWhatIsUnknownStaysInside(t *testing.T) {
	for _, err := range []error{errors.New("ResourceNotFoundException: table engang CANARY"), nil} {
		p := problem.Of(err, "6f1c")
		want := problem.Problem{
			Type: "urn:engang:problem:internal", Title: "Internal error", Status: 500,
			Detail:   "Internal error: nothing was acknowledged. The operator finds the cause in the log under the reference 6f1c.",
			Instance: "urn:engang:reference:6f1c",
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Error(diff)
		}
	}
	if p := problem.Of(errors.New("x"), ""); p.Instance != "" || strings.Contains(p.Detail, "reference") {
		t.Errorf("without a reference: %+v", p)
	}
	// A reference that is no plain id, as a caller's own header could be, is not handed back.
	for _, odd := range []string{"a b", `"><script>`, "a\r\nb", strings.Repeat("x", 129), "å"} {
		if p := problem.Of(errors.New("x"), odd); p.Instance != "" || strings.Contains(string(p.JSON()), odd) {
			t.Errorf("reference %q: %s", odd, p.JSON())
		}
	}
}

func TestErrorsThatKnowMore(t *testing.T) {
	method := problem.Of(fmt.Errorf("receive: %w", &problem.MethodError{Allow: []string{"POST", "GET"}}), "")
	if method.Status != 405 || method.Header().Get("Allow") != "POST, GET" {
		t.Errorf("%d, Allow %q", method.Status, method.Header().Get("Allow"))
	}
	query := problem.Of(fmt.Errorf("list events: %w", &problem.QueryError{Parameter: "limit", Want: "a whole number from 1 to 200"}), "")
	if query.Status != 400 || query.Detail != "The parameter limit is not usable: a whole number from 1 to 200 is expected. Nothing was done." {
		t.Errorf("%d, %s", query.Status, query.Detail)
	}
	if (&problem.MethodError{Allow: []string{"POST"}}).Error() != "method not allowed, only POST" || (&problem.QueryError{Parameter: "limit", Want: "a number"}).Error() != "unusable parameter limit: want a number" {
		t.Error("texts for the log")
	}
	state := problem.Of(&operation.RefusedError{Stored: operation.Operation{State: operation.Completed}}, "")
	if state.Status != 409 || !strings.HasPrefix(state.Detail, "The operation is completed, ") {
		t.Errorf("%d, %s", state.Status, state.Detail)
	}
	faults := config.Faults{{At: "/recipes/a", Reason: "r", Remedy: "d", Needs: "x"}}
	if p := problem.Of(fmt.Errorf("apply: %w", faults), ""); !strings.Contains(string(p.JSON()), `"faults":[{"at":"/recipes/a","reason":"r","remedy":"d"}]`) {
		t.Errorf("%s", p.JSON())
	}
	// What one error added must not stay for the next.
	if p := problem.Of(problem.ErrMethod, ""); p.Allow != nil {
		t.Errorf("Allow of an earlier error: %v", p.Allow)
	}
	if p := problem.Of(problem.ErrQuery, ""); strings.Contains(p.Detail, "limit") {
		t.Errorf("detail of an earlier error: %s", p.Detail)
	}
}

// A refused decision says what stands there, by whom and since when, and nothing of its content.
func TestADecisionThatIsRefusedSaysWhatStands(t *testing.T) {
	version, err := object.ParseVersion("2026-11-29T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)
	key := operation.Key{Object: object.ID{Kind: "product", Value: "794"}, Recipe: inbox.RecipeRef{Name: "card", Version: 3}, Digest: "9f"}
	stored := operation.Operation{
		Key: key, State: operation.Rejected, Rank: object.NewRank(version, at, "k"), Digest: "cd", Output: []byte("CANARY"),
		Decision: &operation.Decision{By: "ann", At: at, Note: "too long"},
	}
	dismissed := stored
	dismissed.Decision, dismissed.Dismissed = nil, stored.Decision
	standing := problem.Standing{ID: "product:794/card@3/9f", State: "rejected", ObjectVersion: "2026-11-29T12:00:00Z", Digest: "sha256:cd", By: "ann", At: &at, Note: "too long"}
	result := problem.Standing{ID: standing.ID, State: "result", ObjectVersion: standing.ObjectVersion, Digest: standing.Digest}
	for _, c := range []struct {
		name   string
		err    error
		says   string
		stands problem.Standing
	}{
		{"decided", errors.Join(operation.ErrDecided, &operation.RefusedError{Stored: stored}), "The draft was rejected by ann at 2026-11-29T12:30:00Z, ", standing},
		{"another draft", errors.Join(operation.ErrOtherDraft, &operation.RefusedError{Stored: stored}), "The digest is not that of the draft", standing},
		{"a newer draft", errors.Join(operation.ErrNewerDraft, &operation.RefusedError{Stored: stored}), "is of version 2026-11-29T12:00:00Z: product:794/card@3/9f.", standing},
		{"a newer result", &operation.OvertakenError{Newer: operation.Result{Operation: key, Rank: stored.Rank, Digest: "cd", Output: []byte("CANARY")}}, "is of version 2026-11-29T12:00:00Z", result},
		{"dismissed", errors.Join(operation.ErrNotWaiting, &operation.RefusedError{Stored: dismissed}), "It does not wait for this decision", standing},
		{"another failure", errors.Join(operation.ErrOtherFailure, &operation.RefusedError{Stored: stored}), "Look at it again", standing},
		{"another failure of an event", errors.Join(operation.ErrOtherFailure, &inbox.RefusedError{Stored: inbox.Event{ID: "evt_1", State: inbox.Parked, Rank: stored.Rank, Body: inbox.Body{Packed: []byte("CANARY")}}}), "Look at it again",
			problem.Standing{ID: "evt_1", State: "parked", ObjectVersion: standing.ObjectVersion}},
		{"in work", errors.Join(operation.ErrInWork, &operation.RefusedError{Stored: stored}), "still in work", standing},
		{"refused by its state", &operation.RefusedError{Stored: stored}, "The operation is rejected, ", standing},
	} {
		p := problem.Of(fmt.Errorf("decide: %w", c.err), "")
		if diff := cmp.Diff(&c.stands, p.Stands); diff != "" || !strings.Contains(p.Detail, c.says) || strings.Contains(string(p.JSON()), "CANARY") {
			t.Errorf("%s: %s %s", c.name, p.JSON(), diff)
		}
	}
	approved := stored
	approved.State = operation.Completed
	for o, again := range map[*operation.Operation]bool{&stored: true, &approved: false} { // what is approved has nothing to be done again
		if p := problem.Of(errors.Join(operation.ErrDecided, &operation.RefusedError{Stored: *o}), ""); strings.Contains(p.Detail, "redrive") != again {
			t.Errorf("%s: %s", o.State, p.Detail)
		}
	}
	if p := problem.Of(operation.ErrDecided, ""); p.Stands != nil {
		t.Errorf("what stands of an earlier error: %+v", p.Stands)
	}
}

func TestDocumentAndHeader(t *testing.T) {
	p := problem.Of(webhook.ErrSignature, "")
	var members map[string]any
	if err := json.Unmarshal(p.JSON(), &members); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "urn:engang:problem:not-verified", "title": "Not verified", "status": 401.0, "detail": p.Detail}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Error(diff)
	}
	if h := p.Header(); h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" || len(h) != 2 {
		t.Errorf("header %v", h)
	}
	if got := problem.Of(problem.ErrUnavailable, "").Header().Get("Retry-After"); got != "5" {
		t.Errorf("Retry-After %q", got)
	}
	if got := (problem.Problem{Status: 503, RetryAfter: 1}).Header().Get("Retry-After"); got != "1" {
		t.Errorf("a wait below a second is rounded to %q", got)
	}
}

func ExampleOf() {
	err := fmt.Errorf("verify woocommerce delivery: none of 2 keys made one of 1 signatures: %w", webhook.ErrSignature)
	p := problem.Of(err, "1f0c8f2e")
	fmt.Println(p.Status, p.Header().Get("Content-Type"))
	fmt.Println(p.Title, p.Type)
	// Output:
	// 401 application/problem+json
	// Not verified urn:engang:problem:not-verified
}
