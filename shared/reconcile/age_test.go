package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/reconcile"
)

// Between two due times an event stands in no list of what is due: its age is measured all the same.
func TestAnEventThatNobodyTakesKeepsItsAge(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		s, begun := d.sweeper(nil), d.now
		d.receive("a")
		ages := func() (r reconcile.Report) {
			r, err := s.Sweep(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for d.now = d.now.Add(d.limits.Age + time.Second); d.now.Before(begun.Add(40 * time.Minute)); d.now = d.now.Add(time.Minute) {
			if r := ages(); r.Oldest != d.now.Sub(begun) || !r.Complete {
				t.Fatalf("after %s: %+v", d.now.Sub(begun), r)
			}
		}
	})
}

func TestWhatShowsASignOfLifeIsNotCountedAsOld(t *testing.T) {
	for name, sign := range map[string]func(d *desk, id inbox.EventID) error{
		"postponed by a worker": func(d *desk, id inbox.EventID) error {
			return d.table.PushDue(d.t.Context(), id, 0, d.now.Add(time.Hour))
		},
		"settled": func(d *desk, id inbox.EventID) error {
			return d.table.End(d.t.Context(), inbox.Ending{Event: id, At: d.now, Outcome: inbox.NoRecipe, ExpiresAt: d.now.Add(time.Hour)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, d *desk) {
				s := d.sweeper(nil)
				id := d.receive("a")
				d.now = d.now.Add(d.limits.Age + time.Second)
				if r, err := s.Sweep(t.Context()); err != nil || r.Oldest == 0 {
					t.Fatalf("%+v, %v", r, err)
				}
				if err := sign(&desk{t: t, table: d.table, now: d.now}, id); err != nil {
					t.Fatal(err)
				}
				d.now = d.now.Add(time.Minute)
				if r, err := s.Sweep(t.Context()); err != nil || r.Oldest != 0 {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

func TestTheFirstOfTheReviewListTellsHowLongPersonsAreWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		if r := d.sweep(); r.Waits != 0 {
			t.Errorf("an empty list waits %s", r.Waits)
		}
		for _, key := range []string{"a", "b"} {
			end := inbox.Ending{Event: d.receive(key), At: d.now, Parked: true, Reason: "a reason", Category: "bug"}
			if err := d.table.End(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			d.now = d.now.Add(time.Hour)
		}
		if r := d.sweep(); r.Waits != 2*time.Hour {
			t.Errorf("waits %s, want the 2h0m0s of the first", r.Waits)
		}
	})
}

// A shard that cannot be read is not looked after: that is no heartbeat.
func TestASweepThatMissesAShardIsNotComplete(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		fault := &dynamotest.Fault{Target: "query open", N: dynamotest.Tries}
		if r, err := d.sweeper(fault).Sweep(t.Context()); err == nil || r.Complete || fault.Hits() == 0 {
			t.Errorf("%+v, %v after %d hits", r, err, fault.Hits())
		}
		fault = &dynamotest.Fault{Target: "query review", N: dynamotest.Tries}
		if r, err := d.sweeper(fault).Sweep(t.Context()); err == nil || !r.Complete {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// An age that nobody saw must not be told as none. What waits is measured also while the work queue cannot be seen.
func TestASweepTellsWhichAgesItSaw(t *testing.T) {
	const age = 6 * time.Minute
	for _, tt := range []struct {
		name   string
		target string // which call fails
		unseen error  // of the queue
		want   reconcile.Report
	}{
		{"all of them", "none", nil, reconcile.Report{Due: 1, Sent: 1, Oldest: age, Waits: age, Complete: true, AgeKnown: true, WaitsKnown: true}},
		{"a queue that cannot be looked at: nothing is sent", "none", errors.New("throttled"), reconcile.Report{Backlog: -1, Due: 1, Oldest: age, Waits: age, AgeKnown: true, WaitsKnown: true}},
		{"a shard that cannot be read", "query open", nil, reconcile.Report{Waits: age, WaitsKnown: true}},
		{"an event that cannot be read", "read event", nil, reconcile.Report{Due: 1, Faults: 1, Waits: age, Complete: true, WaitsKnown: true}},
		{"a review list that cannot be read", "query review", nil, reconcile.Report{Due: 1, Sent: 1, Oldest: age, Complete: true, AgeKnown: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, d *desk) {
				d.receive("a")
				end := inbox.Ending{Event: d.receive("b"), At: d.now, Parked: true, Reason: "a reason", Category: "bug"}
				if err := d.table.End(t.Context(), end); err != nil {
					t.Fatal(err)
				}
				d.now, d.unseen = d.now.Add(age), tt.unseen
				r, err := d.sweeper(&dynamotest.Fault{Target: tt.target, N: -1}).Sweep(t.Context())
				if diff := cmp.Diff(tt.want, r); diff != "" || (err == nil) != (r.AgeKnown && r.WaitsKnown && r.Backlog == 0) {
					t.Errorf("%v, (-want +got)\n%s", err, diff)
				}
			})
		})
	}
}
