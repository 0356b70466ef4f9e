package handler_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"engang/functions/console/handler"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/problem"
)

func (d *desk) Cancel(_ context.Context, s object.Scope, stop control.Stop) (control.Cancellation, error) {
	return control.Cancellation{ID: stop.ID}, d.note("cancel %s %+v", s, stop)
}

func (d *desk) Pauses(_ context.Context, s object.Scope) (control.List[control.Hold], error) {
	return control.List[control.Hold]{Items: []control.Hold{}}, d.note("pauses %s", s)
}

func (d *desk) Pause(_ context.Context, p control.Pausing) (control.Hold, error) {
	return control.Hold{}, d.note("pause %s", pausing(p))
}

func (d *desk) Resume(_ context.Context, p control.Pausing) (control.Resumption, error) {
	return control.Resumption{}, d.note("resume %s", pausing(p))
}

func (d *desk) Stats(_ context.Context, s object.Scope, span control.Span) (control.Stats, error) {
	return control.Stats{}, d.note("stats %s %s %s %s", s, stamp(span.Since), stamp(span.Until), span.After)
}

func pausing(p control.Pausing) string {
	return strings.Join([]string{p.Target.Scope.String(), p.Target.String(), stamp(p.Until), p.By, p.Reason}, "|")
}

func TestActsOnWorkReachTheUseCaseAsTheyAreMeant(t *testing.T) {
	for _, c := range []struct{ method, path, query, body, asked string }{
		{"POST", "/api/cancel", "", `{"id":"product:1/r@1/ab","reason":"why"}`, "cancel shop/test {ID:product:1/r@1/ab By:arn:ann Reason:why}"},
		{"POST", "/api/cancel", "", `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}`, "cancel of/evt_aaaaaaaaaaaaaaaa {ID:evt_aaaaaaaaaaaaaaaa By:arn:ann Reason:why}"},
		{"POST", "/api/cancel", "tenant=a&environment=b", `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}`, "cancel a/b {ID:evt_aaaaaaaaaaaaaaaa By:arn:ann Reason:why}"},
		{"POST", "/api/pause", "", `{"kind":"everything","reason":"why"}`, "pause shop/test|everything|-|arn:ann|why"},
		{"POST", "/api/pause", "tenant=a&environment=b", `{"kind":"model","name":"openai/m","until":"2026-11-30T01:00:00Z","reason":"why"}`, "pause a/b|model openai/m|2026-11-30T01:00:00Z|arn:ann|why"},
		{"POST", "/api/resume", "", `{"kind":"recipe","name":"card","reason":"why"}`, "resume shop/test|recipe card|-|arn:ann|why"},
		{"GET", "/api/pauses", "", "", "pauses shop/test"},
		{"GET", "/api/stats", "tenant=a&environment=b&since=2026-11-01T00:00:00Z&until=2026-11-02T00:00:00Z&after=c", "", "stats a/b 2026-11-01T00:00:00Z 2026-11-02T00:00:00Z c"},
	} {
		d := &desk{}
		out, _ := answer(t, d, request(c.method, c.path, c.query, c.body))
		if out.StatusCode != http.StatusOK || d.asked != c.asked || !json.Valid([]byte(out.Body)) {
			t.Errorf("%s %s?%s: %d %s\nasked %s\nwant  %s", c.method, c.path, c.query, out.StatusCode, out.Body, d.asked, c.asked)
		}
	}
}

// places knows one endpoint, which says where it is.
type places struct{ desk }

func (p *places) Scope(_ context.Context, named object.Scope, endpoint string) (object.Scope, error) {
	switch {
	case named != (object.Scope{}):
		return named, nil
	case endpoint == "woo-shop":
		return object.Scope{Tenant: "woo", Environment: "production"}, nil
	case endpoint != "":
		return object.Scope{}, config.ErrUnknown
	}
	return shop, nil
}

// An endpoint says by itself which tenant is meant; one that is configured no more is looked for in the only one.
func TestAnEndpointSaysWhereItIsPaused(t *testing.T) {
	for _, c := range []struct{ path, query, name, asked string }{
		{"/api/pause", "", "woo-shop", "pause woo/production|endpoint woo-shop|-|arn:ann|why"},
		{"/api/pause", "tenant=a&environment=b", "woo-shop", "pause a/b|endpoint woo-shop|-|arn:ann|why"},
		{"/api/resume", "", "gone", "resume shop/test|endpoint gone|-|arn:ann|why"},
	} {
		p := &places{}
		h := handler.Over(p, "v1", slog.New(slog.DiscardHandler))
		out, err := h.Handle(t.Context(), request("POST", c.path, c.query, `{"kind":"endpoint","name":"`+c.name+`","reason":"why"}`))
		if out.StatusCode != http.StatusOK || p.asked != c.asked || err != nil {
			t.Errorf("%+v: %d %s, asked %s, %v", c, out.StatusCode, out.Body, p.asked, err)
		}
	}
}

func TestActsOnWorkAreRefusedAsProblemDocuments(t *testing.T) {
	running := &operation.RefusedError{Stored: operation.Operation{State: operation.Completed}}
	for _, c := range []struct {
		name, method, path, query, body string
		err                             error
		status                          int
		says                            string
	}{
		{"by GET", "GET", "/api/cancel", "", "", nil, 405, "method-not-allowed"},
		{"no JSON", "POST", "/api/cancel", "", "id=1", nil, 400, "malformed"},
		{"a misspelt parameter", "POST", "/api/cancel", "id=x", "{}", nil, 400, "bad-parameter"},
		{"no reason", "POST", "/api/cancel", "", "{}", control.ErrReason, 400, "reason"},
		{"by nobody", "POST", "/api/cancel", "", "{}", problem.ErrIdentity, 403, "no-identity"},
		{"what is final", "POST", "/api/cancel", "", "{}", running, 409, "The operation is completed"},
		{"an event that is over", "POST", "/api/cancel", "", "{}", &inbox.RefusedError{Stored: inbox.Event{State: inbox.Settled}}, 409, "The event is settled"},
		{"no such operation", "POST", "/api/cancel", "", "{}", operation.ErrNotFound, 404, "not-found"},
		{"no kind", "POST", "/api/pause", "", `{"reason":"why"}`, nil, 400, "everything, endpoint, recipe or model"},
		{"a kind that is none", "POST", "/api/resume", "", `{"kind":"hook","reason":"why"}`, nil, 400, "everything, endpoint, recipe or model"},
		{"sooner than somebody else's", "POST", "/api/pause", "", `{"kind":"everything","reason":"why"}`, &pause.LongerError{Stored: pause.Pause{Target: pause.Target{Kind: pause.Everything}, By: "bob", Reason: "night shift"}}, 409, "`resume` ends it first"},
		{"no time", "POST", "/api/pause", "", `{"kind":"everything","until":"2h","reason":"why"}`, nil, 400, "RFC 3339"},
		{"a resumption later on", "POST", "/api/resume", "", `{"kind":"everything","until":"2026-11-30T01:00:00Z","reason":"why"}`, nil, 400, "at once"},
		{"what is not configured", "POST", "/api/pause", "", `{"kind":"recipe","name":"x","reason":"why"}`, config.ErrUnknown, 404, "not-configured"},
		{"a limit of sums", "GET", "/api/stats", "limit=5", "", nil, 400, "bad-parameter"},
		{"no time of sums", "GET", "/api/stats", "since=yesterday", "", nil, 400, "since"},
	} {
		out, _ := answer(t, &desk{err: c.err}, request(c.method, c.path, c.query, c.body))
		if out.StatusCode != c.status || out.Headers["Content-Type"] != "application/problem+json" || !strings.Contains(out.Body, c.says) {
			t.Errorf("%s: %d %s", c.name, out.StatusCode, out.Body)
		}
	}
}
