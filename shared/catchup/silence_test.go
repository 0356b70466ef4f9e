package catchup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
)

func TestSendersThatAreSilentForLongerThanUsual(t *testing.T) {
	w := newWorld(t)
	w.endpoints = map[string]config.Endpoint{
		"daily":  {Name: "daily", Scope: scope, Provider: "woocommerce", SilentAfterSeconds: 86_400},
		"hourly": {Name: "hourly", Scope: scope, Provider: "stripe", SilentAfterSeconds: 3600},
		"never":  {Name: "never", Scope: scope, Provider: "stripe"},
	}
	w.heard["daily"] = noon
	for _, c := range []struct {
		name   string
		after  time.Duration
		silent []string
		metric string
	}{
		{"one was never heard: it counts from now", 0, nil, "SilentEndpoints 0"},
		{"within its gap", time.Hour, nil, "SilentEndpoints 0"},
		{"beyond it, within what is not noted", 80 * time.Minute, nil, "SilentEndpoints 0"},
		{"beyond", 80*time.Minute + time.Second, []string{"hourly"}, "SilentEndpoints 1"},
		{"both", 25 * time.Hour, []string{"daily", "hourly"}, "SilentEndpoints 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.log.Reset()
			w.now = noon.Add(c.after)
			if diff := cmp.Diff(c.silent, w.run().Silent); diff != "" {
				t.Errorf("silent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{c.metric}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			for _, name := range c.silent {
				if !strings.Contains(w.log.String(), name) {
					t.Errorf("%s is not named:\n%s", name, w.log.String())
				}
			}
		})
	}
	w.heard["daily"], w.heard["hourly"] = w.now, w.now
	if got := w.run().Silent; got != nil {
		t.Errorf("heard again, and still silent: %v", got)
	}
	if _, noted := w.heard["never"]; noted {
		t.Error("noted for an endpoint that nobody listens to")
	}
}

func TestNothingIsMeasuredWhereNobodyListens(t *testing.T) {
	w := newWorld(t)
	w.run()
	if got := w.metrics(); got != nil {
		t.Errorf("metrics %v", got)
	}
}
