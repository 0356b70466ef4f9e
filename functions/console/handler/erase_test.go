package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engang/shared/control"
	"engang/shared/object"
	"engang/shared/problem"
)

func (d *desk) Erase(_ context.Context, s object.Scope, e control.Erasure) (control.Erased, error) {
	return control.Erased{Kind: "erasure"}, d.note("erase %s %+v", s, e)
}

func (d *desk) Export(_ context.Context, s object.Scope, e control.Exporting) (control.Export, error) {
	return control.Export{Kind: "export"}, d.note("export %s %+v", s, e)
}

func TestErasureAndExportReachTheUseCase(t *testing.T) {
	for _, c := range []struct{ path, query, body, asked string }{
		{"/api/erase", "", `{"object":"product:794","reason":"why"}`, "erase shop/test {Object:product:794 By:arn:ann Reason:why DryRun:false After:}"},
		{"/api/erase", "tenant=a&environment=b", `{"object":"product:794","dry_run":true,"after":"more"}`, "erase a/b {Object:product:794 By:arn:ann Reason: DryRun:true After:more}"},
		{"/api/export", "", `{"object":"customer:ann/1","reason":"why","after":"more"}`, "export shop/test {Object:customer:ann/1 By:arn:ann Reason:why After:more}"},
	} {
		d := &desk{}
		out, _ := answer(t, d, request("POST", c.path, c.query, c.body))
		if out.StatusCode != http.StatusOK || d.asked != c.asked || !json.Valid([]byte(out.Body)) || out.Headers["Cache-Control"] != "no-store" {
			t.Errorf("%s %s: %d %s\nasked %s\nwant  %s", c.path, c.body, out.StatusCode, out.Body, d.asked, c.asked)
		}
	}
}

func TestErasureAndExportAreRefused(t *testing.T) {
	for _, path := range []string{"/api/erase", "/api/export"} {
		for _, c := range []struct {
			name, method, query, body string
			err                       error
			status                    int
			says                      string
		}{
			{"no object", "POST", "", `{"reason":"why"}`, nil, 400, "id"},
			{"no id of an object", "POST", "", `{"object":"794","reason":"why"}`, nil, 400, "kind:id"},
			{"a misspelt key", "POST", "", `{"object":"product:794","resaon":"why"}`, nil, 400, "malformed"},
			{"a parameter in the query", "POST", "object=product:794", `{"object":"product:794"}`, nil, 400, "bad-parameter"},
			{"no JSON", "POST", "", "", nil, 400, "malformed"},
			{"a look in place of an act", "GET", "object=product:794", "", nil, 405, "method-not-allowed"},
			{"no reason", "POST", "", `{"object":"product:794"}`, control.ErrReason, 400, "reason"},
			{"nobody", "POST", "", `{"object":"product:794"}`, problem.ErrIdentity, 403, "no-identity"},
			{"a strange cursor", "POST", "", `{"object":"product:794"}`, control.ErrCursor, 400, "after"},
			{"the store cannot be had", "POST", "", `{"object":"product:794"}`, fmt.Errorf("%w: CANARY", problem.ErrUnavailable), 503, "unavailable"},
		} {
			out, _ := answer(t, &desk{err: c.err}, request(c.method, path, c.query, c.body))
			if out.StatusCode != c.status || !strings.Contains(out.Body, c.says) || strings.Contains(out.Body, "CANARY") {
				t.Errorf("%s, %s: %d %s", path, c.name, out.StatusCode, out.Body)
			}
		}
	}
}
