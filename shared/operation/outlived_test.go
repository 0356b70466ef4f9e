package operation_test

import (
	"testing"
	"time"

	"engang/shared/operation"
)

func TestOutlived(t *testing.T) {
	const day = 24 * time.Hour
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(days int) time.Time { return start.AddDate(0, 0, days) }
	call := func(days int) operation.Attempt { return operation.Attempt{StartedAt: at(days), Called: true} }
	for _, c := range []struct {
		name     string
		log      []operation.Attempt
		received time.Time
		now      time.Time
		want     bool
	}{
		{"called within the life of results", []operation.Attempt{call(0)}, at(0), at(399), false},
		{"called that long ago", []operation.Attempt{call(0)}, at(0), at(400), true},
		{"a moment before: the look came before the call", []operation.Attempt{call(0)}, at(0), at(400).Add(-time.Minute), true},
		{"the last call counts", []operation.Attempt{call(0), call(300)}, at(0), at(600), false},
		{"also when attempts without a call follow", []operation.Attempt{call(0), {StartedAt: at(300)}}, at(0), at(400), true},
		{"never called, and just received", nil, at(400), at(400), false},
		{"never called, received long ago", nil, at(0), at(400), true},
		{"never called, received within the life of results", nil, at(0), at(399), false},
		{"the same content came again not long ago", []operation.Attempt{call(0)}, at(399), at(401), false},
		{"nothing is known", nil, time.Time{}, at(4000), false},
		{"a draft, whose event is gone", []operation.Attempt{call(0)}, time.Time{}, at(400), true},
	} {
		if got := operation.Outlived(c.log, c.received, c.now, 400*day); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	for _, kept := range []int{1, 7, 30, 31, 60} { // results may live for a day
		if operation.Outlived(nil, at(0), at(0).Add(22*time.Hour), time.Duration(kept)*day) || operation.Outlived([]operation.Attempt{call(0)}, at(0), at(0).Add(22*time.Hour), time.Duration(kept)*day) {
			t.Errorf("with results that live for %d days, what came today is outlived", kept)
		}
	}
	if !operation.Outlived([]operation.Attempt{call(0)}, at(0), at(8), 7*day) || operation.Outlived([]operation.Attempt{call(0)}, at(0), at(6), 7*day) {
		t.Error("with results that live for a week, the last call decides")
	}
}
