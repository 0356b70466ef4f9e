package integration_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"engang/infra/configfile"
	"engang/infra/local"
	"engang/shared/secrets"

	"github.com/google/go-cmp/cmp"
)

// TestScenario33ATestEndpointGetsAProductionEvent sends what Stripe signs with the secret of a test endpoint
// and calls live: it is verified, counted with an alarm's metric, answered as ignored, and nothing is left
// of it. The same event at the endpoint of production is worked on.
func TestScenario33ATestEndpointGetsAProductionEvent(t *testing.T) {
	sideBySide(t)
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log, o := &logbook{to: t.Output()}, caseOptions()
		o.Log = log
		s := begin(o)
		s.inProduction("billing", "billing-live")
		test := subscription("evt_1", "created", "active", 1795982400)
		live := strings.Replace(test, `"livemode":false`, `"livemode":true`, 1)

		log.take()
		before, counts := s.stored(), s.Record().Counts()
		for range 2 { // a sender that sends it again learns nothing else
			a := s.stripe(live)
			if a.Code != http.StatusOK || a.Status != "ignored" || a.Event != "" {
				t.Errorf("answered %d %s, want ignored", a.Code, a.Body)
			}
		}
		text := log.take()
		quiet(t, "the log", text, `"livemode"`, "sub_1")
		if n := counted(t, text, "OtherEnvironment", "billing"); n != 2 {
			t.Errorf("OtherEnvironment is counted %d times at the endpoint, want 2", n)
		}
		if n := counted(t, text, "Ignored", "billing"); n != 2 {
			t.Errorf("Ignored is counted %d times at the endpoint, want 2", n)
		}
		if left := cmp.Diff(before, s.stored()); left != "" {
			t.Errorf("stored:\n%s", left)
		}
		for _, call := range s.asked(counts) {
			if call != "read config" && call != "read secrets" {
				t.Errorf("an event of the other environment led to the call %q", call)
			}
		}
		if n := s.step(); n != 0 || len(s.objects()) != 0 || len(s.notices()) != 0 || s.calls() != 0 {
			t.Errorf("%d messages, bodies %v, letters %v, %d model calls", n, s.objects(), s.notices(), s.calls())
		}

		// Not the signature, and not the endpoint's type, made the difference: each environment takes its own.
		s.accept(s.stripe(test))
		s.accept(s.from("stripe", "billing-live", live))
		if a := s.from("stripe", "billing-live", strings.Replace(test, "evt_1", "evt_2", 1)); a.Status != "ignored" {
			t.Errorf("a test event in production: answered %d %s", a.Code, a.Body)
		}
		if n := counted(t, log.take(), "OtherEnvironment", ""); n != 1 {
			t.Errorf("OtherEnvironment is counted %d times more, want 1", n)
		}
		s.rest()
		for _, e := range s.items().Events() {
			if e["st"] != "settled" {
				t.Errorf("%s is %s: %s", e["pk"], e["st"], e["why"])
			}
		}
		if len(s.items().Events()) != 2 || s.calls() != 2 {
			t.Errorf("%d events, %d model calls, want 2 of each", len(s.items().Events()), s.calls())
		}
	})
}

// inProduction applies an endpoint of the test configuration under another name to production, with a
// secret of its own.
func (s *system) inProduction(name, live string) {
	s.t.Helper()
	set, err := configfile.Read(caseOptions().ConfigFiles...)
	if err != nil {
		s.t.Fatal(err)
	}
	set.Scope.Environment = "production"
	all := set.Endpoints
	set.Endpoints = nil
	for _, e := range all {
		if e.Name == name {
			e.Name, e.Scope, e.Secrets = live, set.Scope, []secrets.Ref{secrets.Ref("ssm:hooks/" + live + "/1")}
			set.Endpoints = append(set.Endpoints, e)
		}
	}
	if _, err := s.Apply(s.t.Context(), set); err != nil {
		s.t.Fatal(err)
	}
}

// counted sums a metric up that CloudWatch makes of log lines: under an endpoint's name, or under the
// function's alone, on which alarms stand.
func counted(t testing.TB, log, metric, endpoint string) (sum int) {
	t.Helper()
	for line := range strings.Lines(log) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("a log line that is no JSON: %s", line)
		}
		var said struct {
			AWS struct {
				CloudWatchMetrics []struct {
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		for _, d := range said.AWS.CloudWatchMetrics {
			for _, m := range d.Metrics {
				of, _ := fields["endpoint"].(string)
				if n, ok := fields[m.Name].(float64); ok && m.Name == metric && (endpoint == "" || of == endpoint) && alone(d.Dimensions) {
					sum += int(n)
				}
			}
		}
	}
	return sum
}

// alone tells whether the metric is also counted under the function's name and nothing else.
func alone(dimensions [][]string) bool {
	for _, d := range dimensions {
		if len(d) == 1 && d[0] == "FunctionName" {
			return true
		}
	}
	return false
}
