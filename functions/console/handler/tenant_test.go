package handler_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"engang/functions/console/handler"
	"engang/shared/control"
)

// located knows one endpoint, of a tenant and environment.
type located struct{ desk }

func (l *located) Endpoint(_ context.Context, name string) (control.Endpoint, error) {
	return control.Endpoint{Name: name, Tenant: "shop", Environment: "test"}, nil
}

// What a person has to add is called as the program calls it.
func TestWhoseIsMeantIsAskedForByTheFlags(t *testing.T) {
	out, _ := answer(t, &desk{err: control.ErrScope}, request("GET", "/api/events", "", ""))
	if out.StatusCode != http.StatusBadRequest || !strings.Contains(out.Body, "a name for each (`--tenant`, `--environment`), since the stack has more than one") {
		t.Errorf("%d %s", out.StatusCode, out.Body)
	}
}

// Who names a tenant is told of no endpoint of another one: what is done next is done there.
func TestAnEndpointOfAnotherTenantIsNotConfigured(t *testing.T) {
	for query, status := range map[string]int{
		"name=pay": http.StatusOK, "name=pay&tenant=shop": http.StatusOK, "name=pay&environment=test": http.StatusOK, "name=pay&tenant=shop&environment=test": http.StatusOK,
		"name=pay&tenant=all": http.StatusNotFound, "name=pay&environment=production": http.StatusNotFound, "name=pay&tenant=shop&environment=production": http.StatusNotFound,
	} {
		out, err := handler.Over(&located{}, "v1", slog.New(slog.DiscardHandler)).Handle(t.Context(), request("GET", "/api/endpoints", query, ""))
		if err != nil || out.StatusCode != status || (status == http.StatusNotFound) != strings.Contains(out.Body, "not-configured") {
			t.Errorf("%s: %d %s, %v", query, out.StatusCode, out.Body, err)
		}
	}
}
