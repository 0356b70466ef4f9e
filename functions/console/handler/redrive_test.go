package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

func (d *desk) Redrive(_ context.Context, s object.Scope, r control.Redriving) (control.Redriven, error) {
	return control.Redriven{Kind: "redriven", ID: r.ID}, d.note("redrive %s %+v", s, r)
}

func (d *desk) Letters(_ context.Context, s object.Scope, after string) (control.List[control.Letter], error) {
	return control.List[control.Letter]{Items: []control.Letter{}}, d.note("letters %s %q", s, after)
}

func (d *desk) Tidy(_ context.Context, s object.Scope, t control.Tidying) (control.Tidied, error) {
	return control.Tidied{Kind: "tidied"}, d.note("tidy %s %+v", s, t)
}

func (d *desk) Replay(_ context.Context, s object.Scope, r control.Replaying) (control.Replayed, error) {
	return control.Replayed{Kind: "replay"}, d.note("replay %s %s %s %s %d; %s %s %s %d %v %s %s", s, stamp(r.Since), stamp(r.Until), r.After, r.Limit, r.Endpoint, r.Object, r.Recipe, r.Runs, r.DryRun, r.By, r.Reason)
}

func TestActsOnSetAsideWorkReachTheUseCase(t *testing.T) {
	for _, c := range []struct{ method, path, query, body, asked string }{
		{"POST", "/api/redrive", "", `{"id":"product:794/r@1/9f","reason":"why"}`, "redrive shop/test {ID:product:794/r@1/9f Listed:false By:arn:ann Reason:why}"},
		{"POST", "/api/redrive", "tenant=a&environment=b", `{"id":"evt_aaaaaaaaaaaaaaaa","listed":true,"reason":"why"}`, "redrive a/b {ID:evt_aaaaaaaaaaaaaaaa Listed:true By:arn:ann Reason:why}"},
		{"POST", "/api/redrive", "", `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}`, "redrive of/evt_aaaaaaaaaaaaaaaa {ID:evt_aaaaaaaaaaaaaaaa Listed:false By:arn:ann Reason:why}"},
		{"GET", "/api/dlq", "", "", `letters / ""`},
		{"GET", "/api/dlq", "tenant=a&after=more", "", `letters a/ "more"`},
		{"POST", "/api/dlq/tidy", "", `{"reason":"why"}`, "tidy / {Native:false After: By:arn:ann Reason:why}"},
		{"POST", "/api/dlq/tidy", "tenant=a&environment=b", `{"native":true,"after":"more","reason":"why"}`, "tidy a/b {Native:true After:more By:arn:ann Reason:why}"},
		{"POST", "/api/replay", "", `{"dry_run":true}`, "replay shop/test - -  0;    0 true arn:ann "},
		{"POST", "/api/replay", "tenant=a&environment=b", `{"since":"2026-11-01T00:00:00Z","until":"2026-11-02T00:00:00Z","endpoint":"e","object":"o:1","recipe":"r@2","after":"c","limit":500,"runs":50,"reason":"why"}`,
			"replay a/b 2026-11-01T00:00:00Z 2026-11-02T00:00:00Z c 500; e o:1 r@2 50 false arn:ann why"},
	} {
		d := &desk{}
		out, _ := answer(t, d, request(c.method, c.path, c.query, c.body))
		if out.StatusCode != http.StatusOK || d.asked != c.asked || !json.Valid([]byte(out.Body)) {
			t.Errorf("%s %s?%s: %d %s\nasked %s\nwant  %s", c.method, c.path, c.query, out.StatusCode, out.Body, d.asked, c.asked)
		}
	}
}

func TestActsOnSetAsideWorkAreRefusedWithWhatStands(t *testing.T) {
	running := &operation.RefusedError{Stored: operation.Operation{State: operation.Running, Output: []byte("CANARY")}}
	settled := &inbox.RefusedError{Stored: inbox.Event{State: inbox.Settled}}
	for _, c := range []struct {
		name, method, path, query, body string
		err                             error
		status                          int
		says                            string
	}{
		{"a redrive of what runs", "POST", "/api/redrive", "", `{"id":"x"}`, fmt.Errorf("redrive x: %w", running), 409, "The operation is running"},
		{"a redrive of what is settled", "POST", "/api/redrive", "", `{"id":"x"}`, settled, 409, "The event is settled"},
		{"a misspelt key", "POST", "/api/redrive", "", `{"id":"x","resaon":"why"}`, nil, 400, "malformed"},
		{"a parameter in the query", "POST", "/api/redrive", "id=x", `{"id":"x"}`, nil, 400, "bad-parameter"},
		{"an event of nobody", "POST", "/api/redrive", "", `{"id":"evt_aaaaaaaaaaaaaaaa"}`, inbox.ErrNotFound, 404, "not-found"},
		{"a look with a filter", "GET", "/api/dlq", "category=bug", "", nil, 400, "bad-parameter"},
		{"another method", "POST", "/api/dlq", "", "", nil, 405, "method-not-allowed"},
		{"another method", "GET", "/api/dlq/tidy", "", "", nil, 405, "method-not-allowed"},
		{"no JSON", "POST", "/api/dlq/tidy", "", "", nil, 400, "malformed"},
		{"no JSON", "POST", "/api/replay", "", "since", nil, 400, "malformed"},
		{"no time", "POST", "/api/replay", "", `{"since":"yesterday"}`, nil, 400, "malformed"},
		{"too many at once", "POST", "/api/replay", "", `{"runs":51}`, nil, 400, "runs"},
		{"too long a page", "POST", "/api/replay", "", `{"limit":501}`, nil, 400, "limit"},
		{"a strange cursor", "POST", "/api/replay", "", `{}`, control.ErrCursor, 400, "after"},
	} {
		out, _ := answer(t, &desk{err: c.err}, request(c.method, c.path, c.query, c.body))
		if out.StatusCode != c.status || !strings.Contains(out.Body, c.says) || strings.Contains(out.Body, "CANARY") {
			t.Errorf("%s: %d %s", c.name, out.StatusCode, out.Body)
		}
	}
}

// A queue or a table that cannot be had is told as that, and never as a refusal.
func TestActsWaitForTheStore(t *testing.T) {
	h := withoutStore(t)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/redrive", `{"id":"product:794/r@1/9f","reason":"why"}`},
		{"POST", "/api/redrive", `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}`},
		{"GET", "/api/dlq", ""},
		{"POST", "/api/dlq/tidy", `{"reason":"why"}`},
		{"POST", "/api/replay", `{"dry_run":true}`},
	} {
		out, err := h.Handle(t.Context(), request(c.method, c.path, "tenant=shop&environment=test", c.body))
		if err != nil || out.StatusCode != http.StatusServiceUnavailable || out.Headers["Retry-After"] == "" {
			t.Errorf("%s %s: %d %s, %v", c.method, c.path, out.StatusCode, out.Body, err)
		}
	}
}
