package diagnose

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"engang/infra/engang/capture"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// What was not tried is not said to be tried.
func TestASearchThatIsCutShortSaysSo(t *testing.T) {
	scheme, _ := webhook.Lookup("woocommerce")
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	req, err := scheme.Sign(webhook.Request{Header: http.Header{}, Body: []byte(`{"id":1}`)}, secrets.NewValue("one secret of the sender"), now)
	if err != nil {
		t.Fatal(err)
	}
	c := Case{
		Endpoint: control.Endpoint{Name: "here", Provider: "woocommerce"}, Secrets: []Secret{{Name: "hooks/here/1", Value: secrets.NewValue("zz-another-secret-zz")}}, Now: now,
		Request: capture.Request{Method: http.MethodPost, Body: req.Body},
	}
	for name := range req.Header {
		c.Request.Headers = append(c.Request.Headers, capture.Header{Name: name, Value: req.Header.Get(name)})
	}
	s, err := newSearch(c)
	if err != nil {
		t.Fatal(err)
	}
	s.budget = 10 * 2 * (overhead + len(req.Body)) // ten questions
	s.explain()
	if !slices.Contains(s.report.NotIt, causes[0].name) || slices.Contains(s.report.NotIt, causes[len(causes)-1].name) {
		t.Errorf("not it: %q", s.report.NotIt)
	}
	if !slices.ContainsFunc(s.report.Found, func(f Finding) bool { return f.Cause == "too-large" }) {
		t.Errorf("found: %+v", s.report.Found)
	}
}

// Every cause has a word and a name of its own.
func TestCausesAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range causes {
		if c.code == "" || c.name == "" || c.tries == nil || seen[c.code] || seen[c.name] {
			t.Errorf("%+v", c.code)
		}
		seen[c.code], seen[c.name] = true, true
	}
}
