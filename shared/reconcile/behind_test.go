package reconcile_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/inbox"
	"engang/shared/reconcile"
	"engang/shared/telemetry"
)

// before is a transport that does something before the first call of a name, and notes all calls.
type before struct {
	call  string
	do    func()
	calls *[]string
}

func (b before) RoundTrip(r *http.Request) (*http.Response, error) {
	call := telemetry.Call(r.Context())
	if call == b.call && !slices.Contains(*b.calls, call) {
		b.do()
	}
	*b.calls = append(*b.calls, call)
	return http.DefaultTransport.RoundTrip(r)
}

// settle ends an event as a worker does.
func (d *desk) settle(id inbox.EventID) {
	d.t.Helper()
	if err := d.table.End(d.t.Context(), inbox.Ending{Event: id, Outcome: inbox.Completed, At: d.now, ExpiresAt: d.now.Add(time.Hour)}); err != nil {
		d.t.Fatal(err)
	}
}

// vanish removes an event, as TTL does.
func (d *desk) vanish(id inbox.EventID) {
	d.t.Helper()
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "E#" + string(id)}, "sk": &types.AttributeValueMemberS{Value: "EVENT"}}
	if _, err := d.db.Client().DeleteItem(d.t.Context(), &dynamodb.DeleteItemInput{TableName: &d.db.TableName, Key: key}); err != nil {
		d.t.Fatal(err)
	}
}

// The index is read before the event, and the event before it is written: each may be over by the next.
func TestWhatIsOverSinceItWasSeenIsNoFault(t *testing.T) {
	for _, tt := range []struct {
		name  string
		call  string // before which it is over
		over  func(d *desk, id inbox.EventID)
		sends int // that were made before
		look  bool
	}{
		{"settled before it is read", "read event", (*desk).settle, 0, true},
		{"gone before it is read", "read event", (*desk).vanish, 0, true},
		{"settled before it is pushed", "W11 push send", (*desk).settle, 0, false},
		{"settled before it is parked", "W12 park unsent", (*desk).settle, 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, d *desk) {
				id := d.receive("a")
				for range tt.sends {
					d.now = d.now.Add(2 * d.limits.MaxWait)
					d.sweep()
				}
				d.now = d.now.Add(2 * d.limits.MaxWait)
				sent := len(d.sent)
				var calls []string
				r, err := d.sweeper(before{tt.call, func() { tt.over(d, id) }, &calls}).Sweep(t.Context())
				if err != nil || r.Faults != 0 || r.Sent != 0 || r.Parked != 0 || len(d.sent) != sent {
					t.Errorf("%+v, %v, sent %v", r, err, d.sent)
				}
				writes := slices.Contains(calls, "W11 push send") || slices.Contains(calls, "W12 park unsent")
				if tt.look && (writes || r.Oldest != 0) { // seen to be over: nothing is written, and it is no old event
					t.Errorf("calls %v, oldest %s", calls, r.Oldest)
				}
			})
		})
	}
}

// deaf is a dead-letter queue that takes nothing.
type deaf struct{ *desk }

func (deaf) Notify(context.Context, inbox.Notice) error { return errors.New("unavailable") }

func TestAnEventIsNotParkedWithoutItsNotice(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		id := d.receive("a")
		for range d.limits.Sends {
			d.now = d.now.Add(2 * d.limits.MaxWait)
			d.sweep()
		}
		d.now = d.now.Add(2 * d.limits.MaxWait)
		s := reconcile.New(reconcile.Deps{Events: d.table, Queue: d, Notices: deaf{d}, Limits: d.limits, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return d.now }})
		if r, err := s.Sweep(t.Context()); err == nil || r.Faults != 1 || r.Parked != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if ev := d.event(id); ev.State != inbox.Received {
			t.Errorf("parked, and nobody was told: %+v", ev)
		}
		if r := d.sweep(); r.Parked != 1 || len(d.notices) != 1 {
			t.Errorf("the next sweep: %+v, notices %v", r, d.notices)
		}
	})
}

// poison is a table with an event that a bug of ours cannot stand.
type poison struct {
	reconcile.Events
	id inbox.EventID
}

func (p poison) Event(ctx context.Context, id inbox.EventID) (inbox.Event, error) {
	if id == p.id {
		panic("hush")
	}
	return p.Events.Event(ctx, id)
}

func TestOnePoisonEventDoesNotEndASweep(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for _, key := range []string{"a", "b", "c", "d"} {
			d.receive(key)
		}
		bad := d.receive("poison")
		d.now = d.now.Add(d.limits.Age + time.Second)
		s := reconcile.New(reconcile.Deps{Events: poison{d.table, bad}, Queue: d, Notices: d, Limits: d.limits, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return d.now }})
		r, err := s.Sweep(t.Context())
		if err == nil || !strings.Contains(err.Error(), string(bad)) || strings.Contains(err.Error(), "hush") || r.Sent != 4 || r.Faults != 1 || !r.Complete || r.AgeKnown {
			t.Errorf("%+v, %v", r, err)
		}
		if r := d.sweep(); r.Sent != 1 || d.sent[4] != bad { // when the bug is mended
			t.Errorf("the next sweep: %+v, sent %v", r, d.sent)
		}
	})
}
