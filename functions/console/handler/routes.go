package handler

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/problem"
)

// A Version is the answer of /api/version.
type Version struct {
	Version string `json:"version"`
	You     string `json:"you"` // the caller's identity
}

type serve func(*Handler, context.Context, call) (any, error)

// routes say by address and method who answers.
var routes = map[string]map[string]serve{
	"version":    {http.MethodGet: (*Handler).serveVersion},
	"events":     {http.MethodGet: (*Handler).events},
	"operations": {http.MethodGet: (*Handler).operations},
	"show":       {http.MethodGet: (*Handler).show},
	"endpoints":  {http.MethodGet: (*Handler).endpoint},
	"reveal":     {http.MethodPost: (*Handler).reveal},
	"config":     {http.MethodGet: (*Handler).config, http.MethodPut: (*Handler).apply},
	"plan":       {http.MethodPost: (*Handler).plan},
	"redrive":    {http.MethodPost: (*Handler).redrive},
	"dlq":        {http.MethodGet: (*Handler).letters},
	"dlq/tidy":   {http.MethodPost: (*Handler).tidy},
	"replay":     {http.MethodPost: (*Handler).replay},
	"erase":      {http.MethodPost: (*Handler).erase},
	"export":     {http.MethodPost: (*Handler).export},
	"cancel":     {http.MethodPost: (*Handler).cancel},
	"pause":      {http.MethodPost: (*Handler).pause},
	"resume":     {http.MethodPost: (*Handler).resume},
	"pauses":     {http.MethodGet: (*Handler).pauses},
	"stats":      {http.MethodGet: (*Handler).stats},
	"audit":      {http.MethodGet: (*Handler).audit},

	"review":         {http.MethodGet: (*Handler).review},
	"review/approve": {http.MethodPost: (*Handler).approve},
	"review/reject":  {http.MethodPost: (*Handler).reject},
	"review/dismiss": {http.MethodPost: (*Handler).dismiss},
}

func (h *Handler) route(ctx context.Context, c call) (any, error) {
	methods, ok := routes[c.path]
	if !ok {
		return nil, problem.ErrRoute
	}
	answer, ok := methods[c.method]
	if !ok {
		return nil, &problem.MethodError{Allow: slices.Sorted(maps.Keys(methods))}
	}
	return answer(h, ctx, c)
}

func (h *Handler) serveVersion(_ context.Context, c call) (any, error) {
	return Version{Version: h.version, You: c.caller}, known(c, "tenant", "environment")
}

var spanNames = []string{"tenant", "environment", "since", "until", "after", "limit"}

func (h *Handler) events(ctx context.Context, c call) (any, error) {
	if err := known(c, append(spanNames, "endpoint", "type", "object", "state", "event_id", "duplicates")...); err != nil {
		return nil, err
	}
	f := control.EventFilter{Endpoint: c.query.Get("endpoint"), Type: c.query.Get("type"), Object: c.query.Get("object"), State: c.query.Get("state"), EventID: c.query.Get("event_id")}
	if text := c.query.Get("duplicates"); text != "" {
		var err error
		if f.Duplicates, err = strconv.ParseBool(text); err != nil {
			return nil, &problem.QueryError{Parameter: "duplicates", Want: "true or false"}
		}
	}
	scope, span, err := h.place(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.desk.Events(ctx, scope, f, span)
}

func (h *Handler) operations(ctx context.Context, c call) (any, error) {
	if err := known(c, append(spanNames, "recipe", "state", "category", "object")...); err != nil {
		return nil, err
	}
	f := control.OperationFilter{Recipe: c.query.Get("recipe"), State: c.query.Get("state"), Category: c.query.Get("category"), Object: c.query.Get("object")}
	scope, span, err := h.place(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.desk.Operations(ctx, scope, f, span)
}

func (h *Handler) audit(ctx context.Context, c call) (any, error) {
	if err := known(c, append(spanNames, "object", "target_id")...); err != nil {
		return nil, err
	}
	scope, span, err := h.place(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.desk.Audit(ctx, scope, control.ActFilter{Object: c.query.Get("object"), Target: c.query.Get("target_id")}, span)
}

func (h *Handler) show(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment", "since", "id", "endpoint", "event_id"); err != nil {
		return nil, err
	}
	if id := inbox.EventID(c.query.Get("id")); inbox.IsEventID(string(id)) && named(c) == (object.Scope{}) {
		scope, err := h.desk.ScopeOf(ctx, id)
		if err != nil {
			return nil, err
		}
		c.query.Set("tenant", scope.Tenant)
		c.query.Set("environment", scope.Environment)
	}
	scope, span, err := h.place(ctx, c)
	if err != nil {
		return nil, err
	}
	if id := c.query.Get("event_id"); id != "" {
		return h.desk.Find(ctx, scope, c.query.Get("endpoint"), id, span.Since)
	}
	return h.desk.Show(ctx, scope, c.query.Get("id"), span.Since)
}

func (h *Handler) endpoint(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment", "name"); err != nil {
		return nil, err
	}
	e, err := h.desk.Endpoint(ctx, c.query.Get("name"))
	if err == nil && !control.Within(named(c), object.Scope{Tenant: e.Tenant, Environment: e.Environment}) {
		err = config.ErrUnknown
	}
	return e, err
}

func (h *Handler) reveal(ctx context.Context, c call) (any, error) {
	var in struct {
		ID     string `json:"id"`
		Reason string `json:"reason"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	scope, err := h.desk.Scope(ctx, named(c), "")
	if err != nil {
		return nil, err
	}
	return h.desk.Reveal(ctx, scope, control.Look{ID: in.ID, By: c.caller, Reason: in.Reason})
}

// known refuses a parameter that would be overlooked: a misspelt filter must not list everything.
func known(c call, names ...string) error {
	for name := range c.query {
		if !slices.Contains(names, name) {
			return &problem.QueryError{Parameter: "of this name", Want: fmt.Sprintf("one of %v", names)}
		}
	}
	return nil
}

func named(c call) object.Scope {
	return object.Scope{Tenant: c.query.Get("tenant"), Environment: c.query.Get("environment")}
}

// place reads what every look has: scope, time and page.
func (h *Handler) place(ctx context.Context, c call) (object.Scope, control.Span, error) {
	span := control.Span{After: c.query.Get("after")}
	for name, to := range map[string]*time.Time{"since": &span.Since, "until": &span.Until} {
		text := c.query.Get(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return object.Scope{}, span, &problem.QueryError{Parameter: name, Want: "a time as RFC 3339 writes it"}
		}
		*to = t
	}
	if text := c.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > control.MaxLimit {
			return object.Scope{}, span, &problem.QueryError{Parameter: "limit", Want: fmt.Sprintf("a number from 1 to %d", control.MaxLimit)}
		}
		span.Limit = n
	}
	scope, err := h.desk.Scope(ctx, named(c), c.query.Get("endpoint"))
	return scope, span, err
}

func body(e events.APIGatewayV2HTTPRequest, path string) ([]byte, error) {
	raw := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, fmt.Errorf("decode base64 of the gateway: %w", problem.ErrMalformed)
		}
	}
	limit := MaxCall
	if path == "config" || path == "plan" {
		limit = MaxConfig
	}
	if len(raw) > limit {
		return nil, problem.ErrTooLarge
	}
	return raw, nil
}
