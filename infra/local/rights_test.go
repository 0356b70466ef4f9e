package local_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/infra/rights/rightstest"
)

// asked remembers what functions needed, and were refused.
type asked struct {
	mu      sync.Mutex
	refused []string
	allowed int
}

func (a *asked) told(u local.Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u.Allowed {
		a.allowed++
		return
	}
	a.refused = append(a.refused, u.Function+" "+u.Call+" "+u.Action)
}

// without starts a system whose template lacks one statement.
func without(t *testing.T, where string, a *asked) *local.System {
	t.Helper()
	raw, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return localtest.Start(t, local.Options{
		Manual: true, OnUse: a.told, ConfigFiles: []string{"../local.yaml"}, TemplatePath: rightstest.Saved(t, rightstest.Without(t, string(raw), where)),
	})
}

func TestARoleRefusesWhatItDoesNotAllow(t *testing.T) {
	t.Parallel()
	a := &asked{}
	s := without(t, "ReceiverRole EnqueueReferences", a)
	if status, body := deliver(t, s, product); status != http.StatusOK || !strings.Contains(body, "accepted") {
		t.Fatalf("%d %s", status, body)
	}
	if n, err := s.Work(t.Context()); n != 0 || err != nil {
		t.Errorf("%d messages were sent: %v", n, err)
	}
	if want := []string{"receiver send event sqs:SendMessage"}; !slices.Equal(a.refused, want) || a.allowed == 0 {
		t.Errorf("refused %q, want %q; allowed %d", a.refused, want, a.allowed)
	}
}

// Lambda's event source takes messages with the role of the function that it feeds.
func TestTheEventSourceHasTheRoleOfItsFunction(t *testing.T) {
	t.Parallel()
	a := &asked{}
	s := without(t, "EnrichmentRole TakeMessages", a)
	deliver(t, s, product)
	if n, err := s.Work(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), "api error AccessDenied: ") {
		t.Errorf("%d messages, %v", n, err)
	}
	if want := []string{"enrichment receive messages sqs:ReceiveMessage"}; !slices.Equal(a.refused, want) {
		t.Errorf("refused %q, want %q", a.refused, want)
	}
}
