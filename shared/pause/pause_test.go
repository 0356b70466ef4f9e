package pause_test

import (
	"testing"
	"time"

	"engang/shared/lifecycle/lifecycletest"
	"engang/shared/object"
	"engang/shared/pause"
)

func TestPictureIsTheTable(t *testing.T) { lifecycletest.Picture(t, pause.Lifecycle) }

func TestLifecycleHasNoFault(t *testing.T) {
	if err := pause.Lifecycle.Check(); err != nil {
		t.Error(err)
	}
}

func TestABreakerHoldsUntilItIsClosed(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name       string
		breaker    pause.Breaker
		holds, due bool
	}{
		{"never opened", pause.Breaker{}, false, false},
		{"closed again", pause.Breaker{State: pause.Closed, Until: now.Add(-time.Hour)}, false, false},
		{"open, the probe time ahead", pause.Breaker{State: pause.Open, Until: now.Add(time.Millisecond)}, true, false},
		{"open, the probe time reached", pause.Breaker{State: pause.Open, Until: now}, true, true},
		{"open, the probe time long gone", pause.Breaker{State: pause.Open, Until: now.Add(-time.Hour)}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.breaker.Holds() != tt.holds || tt.breaker.Due(now) != tt.due {
				t.Errorf("holds %v, due %v; want %v, %v", tt.breaker.Holds(), tt.breaker.Due(now), tt.holds, tt.due)
			}
		})
	}
}

func TestAPauseHoldsItsOwnTargetOnly(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	shop, other := object.Scope{Tenant: "shop", Environment: "test"}, object.Scope{Tenant: "shop", Environment: "production"}
	card := pause.Target{Scope: shop, Kind: pause.Recipe, Name: "product-card"}
	all := pause.Pauses{
		{Target: pause.Target{Scope: shop, Kind: pause.Endpoint, Name: "product-card"}},
		{Target: card, Until: now.Add(time.Minute), By: "ann"},
		{Target: pause.Target{Scope: shop, Kind: pause.Recipe, Name: "over"}, Until: now},
		{Target: pause.Target{Scope: other, Kind: pause.Everything}},
	}
	tests := []struct {
		name   string
		now    time.Time
		target pause.Target
		holds  bool
	}{
		{"itself", now, card, true},
		{"itself, once its time is over", now.Add(time.Minute), card, false},
		{"of another environment", now, pause.Target{Scope: other, Kind: pause.Recipe, Name: "product-card"}, false},
		{"over exactly now", now, pause.Target{Scope: shop, Kind: pause.Recipe, Name: "over"}, false},
		{"without an end", now.AddDate(10, 0, 0), pause.Target{Scope: other, Kind: pause.Everything}, true},
		{"everything of another environment", now, pause.Target{Scope: shop, Kind: pause.Everything}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, holds := all.Of(tt.now, pause.Target{Scope: shop, Kind: pause.Recipe, Name: "none"}, tt.target); holds != tt.holds {
				t.Errorf("holds %v, want %v", holds, tt.holds)
			}
		})
	}
	if p, _ := all.Of(now, card); p.By != "ann" {
		t.Errorf("found the pause by %q", p.By)
	}
}

func TestKinds(t *testing.T) {
	for _, text := range []string{"everything", "endpoint", "recipe", "model"} {
		if k, err := pause.ParseKind(text); err != nil || string(k) != text {
			t.Errorf("%q: %q, %v", text, k, err)
		}
	}
	if _, err := pause.ParseKind("breaker"); err == nil {
		t.Error("an unknown kind was read")
	}
}
