package intake

import (
	"context"
	"fmt"
	"net/url"

	"engang/shared/config"
	"engang/shared/problem"
	"engang/shared/webhook"
)

// A source is an endpoint with what is live around it.
type source struct {
	endpoint config.Endpoint
	pointer  config.Pointer
	scheme   webhook.Scheme
}

// lookUp finds the endpoint and its provider's row. Whatever is wrong with what was applied is not the
// sender's fault: it must come again.
func lookUp(ctx context.Context, endpoints Endpoints, name string) (source, error) {
	e, pointer, err := endpoints.Endpoint(ctx, name)
	if err != nil {
		return source{}, unlessUnknown(err)
	}
	row, ok := webhook.Lookup(e.Provider)
	if !ok {
		return source{}, fmt.Errorf("endpoint %s has the provider %q, which this version does not know: %w", e.Name, e.Provider, problem.ErrUnavailable)
	}
	scheme, err := row.For(e.Adds())
	if err != nil {
		return source{}, fmt.Errorf("endpoint %s: %w: %w", e.Name, problem.ErrUnavailable, err)
	}
	if scheme.SignsURL() && e.PublicURL == "" {
		return source{}, fmt.Errorf("endpoint %s has no public_url, which %s signs: %w", e.Name, e.Provider, problem.ErrUnavailable)
	}
	return source{endpoint: e, pointer: pointer, scheme: scheme}, nil
}

// addressed is the request under the address that the sender knows, where that is signed: behind a
// gateway the receiver sees another one. The query is the delivery's own.
func (s source) addressed(req webhook.Request) webhook.Request {
	if !s.scheme.SignsURL() {
		return req
	}
	seen, err := url.Parse(req.URL)
	req.URL = s.endpoint.PublicURL
	if err == nil && seen.RawQuery != "" {
		req.URL += "?" + seen.RawQuery
	}
	return req
}

// elsewhere tells whether the sender says that the event is of the other environment.
func (s source) elsewhere(f webhook.Fact) bool {
	return f.Environment != "" && f.Environment != s.endpoint.Scope.Environment
}
