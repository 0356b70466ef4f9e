// Package handler is the console function without its process: it turns an event of API Gateway into a
// look at what is stored or into an act, and the answer into JSON.
//
// The API is read by the operator program and by scripts:
//
//	GET  /api/version
//	GET  /api/events        ?endpoint type object state event_id duplicates since until after limit
//	GET  /api/operations    ?recipe state category object since until after limit
//	GET  /api/show          ?id since, or ?endpoint event_id
//	GET  /api/endpoints     ?name
//	POST /api/reveal        {"id","reason"}: shows content, and is recorded
//	GET  /api/config        what is live, by version
//	GET  /api/review        ?kind owner older after limit: what waits for a person, the longest first
//	POST /api/review/approve {"id","digest","reason","although_newer"}: makes a draft the result
//	POST /api/review/reject  {"id","digest","reason"}: refuses a draft
//	POST /api/review/dismiss {"id","reason","seen"}: takes what failed, is parked or in conflict off the list; with seen, as the list shows it, only that failure
//	POST /api/plan          {"set","allow_model_change"}: what applying would change
//	PUT  /api/config        {"set","allow_model_change","revision"}: applies over that revision, and is recorded
//	POST /api/redrive       {"id","listed","reason"}: has work done again that was set aside, and is recorded
//	GET  /api/dlq           ?after: dead letters, with what became of what they tell
//	POST /api/dlq/tidy      {"native","after","reason"}: deletes letters that nothing waits for, and is recorded
//	POST /api/replay        {"since","until","endpoint","object","recipe","after","limit","runs","dry_run","reason"}: one page of a
//	                        replay; what it opens is recorded
//	POST /api/erase         {"object","reason","dry_run","after"}: one call of an erasure, which is recorded
//	POST /api/export        {"object","reason","after"}: one page of everything that is held, and is recorded
//	POST /api/cancel        {"id","reason"}: stops what is not final
//	GET  /api/pauses        what is held, by persons and by breakers
//	POST /api/pause         {"kind","name","until","reason"}: holds everything, an endpoint, a recipe or a model
//	POST /api/resume        {"kind","name","reason"}
//	GET  /api/stats         ?since until after: sums of one page of events
//	GET  /api/audit         ?object target_id since until after limit: what was done, the newest first
//
// Each takes tenant and environment where a stack has more than one; a set says them itself. A body is one JSON
// document, read to the last key. A call without an identity of IAM is refused. Errors are RFC 9457 documents.
package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/shared/control"
	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
	"engang/shared/telemetry"
)

// The largest body that a call may have, and one with a configuration in it.
const (
	MaxCall   = 64 << 10
	MaxConfig = 4 << 20
)

// desk is the use case.
type desk interface {
	Scope(ctx context.Context, named object.Scope, endpoint string) (object.Scope, error)
	Events(ctx context.Context, scope object.Scope, f control.EventFilter, span control.Span) (control.List[control.Event], error)
	Operations(ctx context.Context, scope object.Scope, f control.OperationFilter, span control.Span) (control.List[control.Operation], error)
	Show(ctx context.Context, scope object.Scope, id string, since time.Time) (control.Any, error)
	Audit(ctx context.Context, scope object.Scope, f control.ActFilter, span control.Span) (control.List[control.Act], error)
	Find(ctx context.Context, scope object.Scope, endpoint, eventID string, since time.Time) (control.Any, error)
	Endpoint(ctx context.Context, name string) (control.Endpoint, error)
	Reveal(ctx context.Context, scope object.Scope, l control.Look) (control.Content, error)
	ScopeOf(ctx context.Context, id inbox.EventID) (object.Scope, error)
	Config(ctx context.Context, scope object.Scope) (control.Config, error)
	Plan(ctx context.Context, p control.Proposal) (control.Application, error)
	Apply(ctx context.Context, p control.Proposal) (control.Application, error)
	reopening
	protecting
	stopper
	holder
	counter
	reviewer
}

// A Handler answers the HTTP events of the console function. It is safe for concurrent use.
type Handler struct {
	desk    desk
	version string
	log     *slog.Logger
}

// Over returns a handler over a use case of the caller's own. [New] wires the deployed one.
func Over(d desk, version string, log *slog.Logger) *Handler {
	return &Handler{desk: d, version: version, log: log}
}

// A call is one request as the routes see it.
type call struct {
	path   string // behind /api/
	method string
	query  url.Values
	body   []byte
	caller string
}

// Handle answers one call, and never with an error: that would be the gateway's own 500, which says nothing.
func (h *Handler) Handle(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	c, body, err := h.serve(ctx, e)
	if err != nil {
		return h.refuse(ctx, e, err), nil
	}
	h.log.InfoContext(ctx, "call", "path", c.path, "caller", c.caller, "request_id", e.RequestContext.RequestID)
	return events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusOK,
		Headers:    map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
		Body:       body,
	}, nil
}

// serve does what a call asks for, and gives the answer as JSON. A panic is a bug: it costs this call an answer of 500,
// and not the process.
func (h *Handler) serve(ctx context.Context, e events.APIGatewayV2HTTPRequest) (c call, _ string, err error) {
	defer telemetry.Recover(ctx, h.log, &err, slog.String("request_id", e.RequestContext.RequestID))
	if c, err = read(e); err != nil {
		return c, "", err
	}
	doc, err := h.route(ctx, c)
	if err != nil {
		return c, "", err
	}
	var body strings.Builder
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // an output is shown as it is stored, but for white space
	err = encoder.Encode(doc)
	return c, body.String(), err
}

func (h *Handler) refuse(ctx context.Context, e events.APIGatewayV2HTTPRequest, err error) events.APIGatewayV2HTTPResponse {
	p := problem.Of(translate(err), e.RequestContext.RequestID)
	level := slog.LevelInfo
	if p.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	h.log.Log(ctx, level, "call refused", "status", p.Status, "request_id", e.RequestContext.RequestID, "err", err)
	headers := map[string]string{}
	for name := range p.Header() {
		headers[name] = p.Header().Get(name)
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: p.Status, Headers: headers, Body: string(p.JSON())}
}

// translate says in words of the edge what the use case refused.
func translate(err error) error {
	switch {
	case errors.Is(err, control.ErrScope):
		want := "a name for each (`--tenant`, `--environment`), since the stack has more than one"
		if e, ok := errors.AsType[*control.ScopeError](err); ok {
			want += " (" + strings.TrimPrefix(e.Error(), control.ErrScope.Error()+": ") + ")"
		}
		return &problem.QueryError{Parameter: "tenant and environment", Want: want}
	case errors.Is(err, control.ErrCursor):
		return &problem.QueryError{Parameter: "after", Want: "either nothing, to begin again, or the cursor that this version gave the same caller for the same list or act, with the same reason,"}
	case errors.Is(err, control.ErrAmbiguous):
		return &problem.QueryError{Parameter: "id", Want: "the whole name of one operation, or a beginning that no other has,"}
	case errors.Is(err, object.ErrNoID):
		return &problem.QueryError{Parameter: "id", Want: "evt_…, kind:id or object/recipe@version/digest"}
	case errors.Is(err, control.ErrReason):
		return &problem.QueryError{Parameter: "reason", Want: "a text that says why: it is kept in the audit log"}
	case errors.Is(err, control.ErrGone):
		return fmt.Errorf("%w: %w", operation.ErrNotFound, err)
	case errors.Is(err, dynamo.ErrTooLarge):
		return fmt.Errorf("%w: %w", problem.ErrTooLarge, err)
	}
	return err
}

// read refuses a call without an identity before anything of it is looked at: it came by a route that asks for none,
// and what stands behind this function is nothing that just anybody may read.
func read(e events.APIGatewayV2HTTPRequest) (call, error) {
	c := call{path: strings.TrimPrefix(e.RawPath, "/api/"), method: e.RequestContext.HTTP.Method, caller: caller(e)}
	if strings.TrimSpace(c.caller) == "" {
		return c, problem.ErrIdentity
	}
	var err error
	if c.query, err = url.ParseQuery(e.RawQueryString); err != nil {
		return c, fmt.Errorf("read query: %w", problem.ErrMalformed)
	}
	if c.body, err = body(e, c.path); err != nil {
		return c, err
	}
	return c, nil
}

// caller is who IAM says it is. A route without IAM has none.
func caller(e events.APIGatewayV2HTTPRequest) string {
	if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
		return a.IAM.UserARN
	}
	return ""
}
