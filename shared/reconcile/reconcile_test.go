package reconcile_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/bodies"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/reconcile"
)

var (
	scope = object.Scope{Tenant: "shop", Environment: "test"}
	noon  = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

// A desk is a sweeper on a table of its own, with a queue and a clock in the test's hand.
type desk struct {
	t       *testing.T
	db      dynamotest.DB
	table   *dynamo.Table
	now     time.Time
	limits  reconcile.Limits
	backlog int
	down    error // what the queue answers
	unseen  error // what it answers to who asks how much it holds

	mu      sync.Mutex
	sent    []inbox.EventID
	notices []inbox.Notice
}

func each(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		t.Parallel()
		test(t, &desk{t: t, db: db, table: db.Open(nil), now: noon, limits: reconcile.Limits{
			Age: 5 * time.Minute, MaxWait: time.Hour, Sends: 3, Backlog: 100, Shards: dynamo.OpenShards,
		}})
	})
}

func (d *desk) Send(_ context.Context, ref inbox.Reference) error {
	id, tenant := ref.Event, ref.Tenant
	d.mu.Lock()
	defer d.mu.Unlock()
	if tenant != scope.Tenant {
		d.t.Errorf("sent with group %q", tenant)
	}
	if d.down != nil {
		return d.down
	}
	d.sent = append(d.sent, id)
	return nil
}

func (d *desk) Backlog(context.Context) (int, error) { return d.backlog, d.unseen }

func (d *desk) Notify(_ context.Context, n inbox.Notice) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notices = append(d.notices, n)
	return nil
}

func (d *desk) sweeper(transport http.RoundTripper) *reconcile.Sweeper {
	return reconcile.New(reconcile.Deps{
		Events: d.db.Open(transport), Queue: d, Notices: d, Limits: d.limits,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return d.now },
	})
}

// receive stores an event that is due age from now.
func (d *desk) receive(key string) inbox.EventID {
	d.t.Helper()
	ev := inbox.Event{
		ID: inbox.NewEventID(scope, "shop", key), Scope: scope, Endpoint: "shop", Type: "product.updated", Object: object.ID{Kind: "product", Value: "7"},
		ReceivedAt: d.now, WriteID: "w" + key, Digest: key, Rank: "r", DueAt: d.now.Add(d.limits.Age), Body: inbox.Body{Packed: bodies.Pack([]byte("{}")), Bytes: 2},
	}
	if _, err := d.table.Receive(d.t.Context(), ev); err != nil {
		d.t.Fatal(err)
	}
	return ev.ID
}

func (d *desk) sweep() reconcile.Report {
	d.t.Helper()
	r, err := d.sweeper(nil).Sweep(d.t.Context())
	if err != nil {
		d.t.Fatalf("sweep: %v", err)
	}
	return r
}

func (d *desk) event(id inbox.EventID) inbox.Event {
	d.t.Helper()
	ev, err := d.table.Event(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return ev
}

func TestWhatWasNeverQueuedIsFound(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		var all []inbox.EventID
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} { // on several shards
			all = append(all, d.receive(key))
		}
		if r := d.sweep(); r.Due != 0 || len(d.sent) != 0 {
			t.Errorf("sent before their age: %+v", r)
		}
		d.now = d.now.Add(d.limits.Age + time.Second)
		r := d.sweep()
		slices.Sort(all)
		slices.Sort(d.sent)
		if !slices.Equal(all, d.sent) || r.Sent != len(all) || r.Oldest != d.limits.Age+time.Second {
			t.Errorf("sent %v, want %v; %+v", d.sent, all, r)
		}
		if r := d.sweep(); r.Sent != 0 {
			t.Errorf("sent again at once: %+v", r)
		}
	})
}

func TestTheWaitDoublesAndThenTheEventIsParked(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		id := d.receive("a")
		for _, wait := range []time.Duration{d.limits.Age, d.limits.Age, 2 * d.limits.Age, 4 * d.limits.Age} {
			d.now = d.now.Add(wait - time.Second)
			before := len(d.sent)
			if d.sweep(); len(d.sent) != before {
				t.Fatalf("sent before %s were over", wait)
			}
			d.now = d.now.Add(time.Second + time.Millisecond)
			d.sweep()
		}
		ev := d.event(id)
		if len(d.sent) != d.limits.Sends || ev.State != inbox.Parked || ev.Reason == "" {
			t.Errorf("sent %d times, event is %s, %q", len(d.sent), ev.State, ev.Reason)
		}
		if len(d.notices) != 1 || d.notices[0].Event != id || d.notices[0].Reason != ev.Reason || d.notices[0].Scope != scope {
			t.Errorf("notices %+v", d.notices)
		}
		if r := d.sweep(); r.Due != 0 {
			t.Errorf("a parked event is still due: %+v", r)
		}
	})
}

func TestASlowQueueIsNotALostEvent(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		id := d.receive("a")
		d.backlog = d.limits.Backlog + 1
		for range 10 {
			d.now = d.now.Add(time.Hour)
			if r := d.sweep(); r.Due != 1 || r.Sent != 0 {
				t.Fatalf("sweep %+v", r)
			}
		}
		if ev := d.event(id); ev.State != inbox.Received || ev.Sends != 0 {
			t.Errorf("event is %s after %d counted sends", ev.State, ev.Sends)
		}
	})
}

// What was held for hours is due all at once: it drains at a stated rate, and no shard waits for ever.
func TestWhatWasHeldDrainsAtARate(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.limits.Rate = 5
		const events = 24
		for i := range events {
			d.receive(strconv.Itoa(i))
		}
		d.now = d.now.Add(d.limits.Age + time.Minute)
		for sent := 0; sent < events; d.now = d.now.Add(time.Minute) {
			r := d.sweep()
			if want := min(d.limits.Rate, events-sent); r.Sent != want {
				t.Fatalf("sent %d after %d, want %d", r.Sent, sent, want)
			}
			sent += r.Sent
		}
		slices.Sort(d.sent)
		if n := len(slices.Compact(d.sent)); n != events {
			t.Errorf("%d events sent, want each of %d once", n, events)
		}
	})
}

func TestASweepBeginsWithAnotherShardEachMinute(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.limits.Rate = 1
		for i := range 64 { // on every shard
			d.receive(strconv.Itoa(i))
		}
		d.now = d.now.Add(d.limits.Age + time.Minute)
		shards := map[string]bool{}
		for range dynamo.OpenShards {
			d.sweep()
			d.now = d.now.Add(time.Minute)
		}
		for _, id := range d.sent {
			out, err := d.db.Client().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &d.db.TableName, Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "E#" + string(id)}, "sk": &types.AttributeValueMemberS{Value: "EVENT"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			shards[out.Item["oq"].(*types.AttributeValueMemberS).Value] = true
		}
		if len(shards) != dynamo.OpenShards {
			t.Errorf("%d sweeps sent from %d shards", dynamo.OpenShards, len(shards))
		}
	})
}

func TestAnEventThatAWorkerPostponedIsLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		id := d.receive("a")
		d.now = d.now.Add(d.limits.Age + time.Second)
		d.sweep()
		if err := d.table.PushDue(t.Context(), id, 0, d.now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(30 * time.Minute)
		if r := d.sweep(); r.Sent != 0 || d.event(id).Sends != 0 {
			t.Errorf("sweep %+v, %d sends", r, d.event(id).Sends)
		}
	})
}

func TestTwoReconcilersSendOnce(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			d.receive(key)
		}
		d.now = d.now.Add(d.limits.Age + time.Second)
		for i, err := range dynamotest.AtOnce(func(int) error { _, err := d.sweeper(nil).Sweep(t.Context()); return err }) {
			if err != nil {
				t.Errorf("sweep %d: %v", i, err)
			}
		}
		slices.Sort(d.sent)
		if len(d.sent) != 6 || len(slices.Compact(d.sent)) != 6 {
			t.Errorf("sent %v", d.sent)
		}
	})
}

// A crash, or a queue that is down, between W11 and the send: the event comes one wait later.
func TestAnEventThatCouldNotBeSentComesAtItsNextDueTime(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		a, b := d.receive("a"), d.receive("b")
		d.now = d.now.Add(d.limits.Age + time.Second)
		d.down = errors.New("queue down")
		if r, err := d.sweeper(nil).Sweep(t.Context()); err == nil || r.Faults != 2 {
			t.Errorf("sweep %+v, %v; want both faults reported", r, err)
		}
		d.down = nil
		d.now = d.now.Add(d.limits.Age + time.Second)
		d.sweep()
		slices.Sort(d.sent)
		want := []inbox.EventID{a, b}
		slices.Sort(want)
		if !slices.Equal(d.sent, want) {
			t.Errorf("sent %v", d.sent)
		}
	})
}

func TestALostAnswerOfThePushSendsOneWaitLater(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		id := d.receive("a")
		d.now = d.now.Add(d.limits.Age + time.Second)
		fault := &dynamotest.Fault{Target: "W11", Applied: true, N: 1}
		if _, err := d.sweeper(fault).Sweep(t.Context()); err != nil || fault.Hits() != 1 {
			t.Fatalf("sweep: %v, %d hits", err, fault.Hits())
		}
		d.now = d.now.Add(d.limits.Age + time.Second)
		d.sweep()
		if len(d.sent) != 1 || d.sent[0] != id {
			t.Errorf("sent %v", d.sent)
		}
	})
}
