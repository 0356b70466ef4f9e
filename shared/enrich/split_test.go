package enrich_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/object"
)

// children are the parts of a batch, always the same ones.
type children struct {
	events []inbox.Event
	left   string
	err    error
}

func (c *children) Parts(context.Context, inbox.Event, []byte) (inbox.Parts, error) {
	return inbox.Parts{Events: c.events, LeftOut: c.left}, c.err
}

// queued keeps what is sent to the work queue.
type queued struct{ ids []inbox.EventID }

func (q *queued) Send(_ context.Context, ref inbox.Reference) error {
	id := ref.Event
	q.ids = append(q.ids, id)
	return nil
}

// batch stores a delivery of many events, and makes the events of n parts about product:7.
func (w *world) batch(n int) (inbox.EventID, *children) {
	w.t.Helper()
	now, raw := w.clock(), []byte(`[]`)
	ev := inbox.Event{ID: inbox.NewEventID(scope, "shop", "batch"), Scope: scope, Endpoint: "shop", Type: "split", ReceivedAt: now, WriteID: w.id(), Digest: "b",
		Rank: "r", Batch: true, Body: inbox.Body{Packed: bodies.Pack(raw), Bytes: len(raw)}, DueAt: now.Add(6 * time.Minute)}
	if _, err := w.table.Receive(w.t.Context(), ev); err != nil {
		w.t.Fatal(err)
	}
	c := &children{}
	for i := range n {
		raw := []byte(fmt.Sprintf(`{"name":"Part %d"}`, i))
		v, _ := object.ParseVersion(fmt.Sprint(i + 1))
		c.events = append(c.events, inbox.Event{ID: inbox.NewEventID(scope, "shop", fmt.Sprint("part ", i)), Scope: scope, Endpoint: "shop", Type: "product.updated",
			Object: object.ID{Kind: "product", Value: "7"}, ReceivedAt: now, WriteID: "w-" + fmt.Sprint(i), Digest: fmt.Sprint("d", i), Rank: object.NewRank(v, now, fmt.Sprint(i)),
			Recipes: []inbox.RecipeRef{{Name: "card", Version: 1}}, Body: inbox.Body{Packed: bodies.Pack(raw), Bytes: len(raw)}, DueAt: now.Add(5 * time.Minute)})
	}
	return ev.ID, c
}

func TestABatchIsStoredPartByPartAndSettledLast(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, parts := w.batch(3)
		sent := &queued{}
		worker := w.worker(nil)
		worker.Parts, worker.Sender = parts, sent
		if err := worker.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if ev := w.event(id); ev.State != inbox.Settled || ev.Outcome != inbox.Split || len(sent.ids) != 3 {
			t.Errorf("batch is %s, %s; sent %v", ev.State, ev.Outcome, sent.ids)
		}
		for _, part := range parts.events {
			w.run(part.ID)
		}
		if w.model.count() != 3 || w.result() != "about Part 2 @ 3" {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

// A crash, or a store that is away, after any number of parts: the batch is done again, each part once.
func TestABatchThatBreaksOffIsDoneAgain(t *testing.T) {
	for _, call := range []string{"W1 put event", "W6 settle"} {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprint(call, applied), func(t *testing.T) {
				each(t, func(t *testing.T, w *world) {
					id, parts := w.batch(3)
					alone := parts.events[1] // one came alone before
					alone.WriteID = "another"
					if _, err := w.table.Receive(t.Context(), alone); err != nil {
						t.Fatal(err)
					}
					w.run(parts.events[1].ID)
					away := w.worker(&dynamotest.Fault{Target: call, Applied: applied, N: dynamotest.Tries})
					away.Parts, away.Sender = parts, &queued{}
					if err := away.Run(t.Context(), id); err == nil {
						t.Error("a batch without an answer was reported as done")
					}
					sent := &queued{}
					worker := w.worker(nil)
					worker.Parts, worker.Sender = parts, sent
					if err := worker.Run(t.Context(), id); err != nil {
						t.Fatal(err)
					}
					for _, id := range sent.ids {
						if id == parts.events[1].ID {
							t.Error("a part that is settled was sent")
						}
					}
					for _, part := range parts.events {
						w.run(part.ID)
					}
					if w.model.count() != 2 || len(w.items().Events()) != 4 { // the first part is older than the one that came alone
						t.Errorf("%d calls, %d events", w.model.count(), len(w.items().Events()))
					}
					w.rest()
				})
			})
		}
	}
}

// What is not stored of a batch is not lost in silence: its end says how much, and why. Once it is redriven and goes
// through, what it was parked with is over.
func TestABatchSaysWhatWasLeftOutOfIt(t *testing.T) {
	for _, left := range []string{"", "left out of 3 events: 2"} {
		each(t, func(t *testing.T, w *world) {
			id, parts := w.batch(1)
			parts.left, parts.err = "left out of 3 events: 1", fmt.Errorf("1 of 3 parts: %w", inbox.ErrPart)
			worker := w.worker(nil)
			worker.Parts, worker.Sender = parts, &queued{}
			if err := worker.Run(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if ev := w.event(id); ev.State != inbox.Parked || ev.Reason != parts.err.Error()+"; "+parts.left {
				t.Errorf("parked %+v", ev)
			}
			if err := w.table.Reopen(t.Context(), id, w.clock()); err != nil {
				t.Fatal(err)
			}
			parts.left, parts.err = left, nil
			if err := worker.Run(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if ev := w.event(id); ev.Outcome != inbox.Split || ev.Reason != left {
				t.Errorf("settled %+v, want %q", ev, left)
			}
		})
	}
}

func TestABatchWithABrokenPartIsParkedBehindTheOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, parts := w.batch(2)
		parts.err = fmt.Errorf("1 of 3 parts: %w", inbox.ErrPart)
		worker := w.worker(nil)
		worker.Parts, worker.Sender = parts, &queued{}
		if err := worker.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts.events {
			w.run(part.ID)
		}
		if ev := w.event(id); ev.State != inbox.Parked || ev.Category != "invalid input" || len(w.sent.all) != 1 {
			t.Errorf("batch is %s, %q, %d notices", ev.State, ev.Category, len(w.sent.all))
		}
		w.rest()
	})
}

// A bucket holds bodies of parts, which are put there before the parts are stored.
type bucket struct {
	inline
	kept map[string]bool
	away error
}

func (b *bucket) Drop(_ context.Context, body inbox.Body) error {
	if b.away == nil {
		delete(b.kept, body.Key)
	}
	return b.away
}

// A part whose event was erased, or is another one, brings a body that nothing will ever name.
func TestNothingOfAPartIsKeptThatNothingNames(t *testing.T) {
	type change func(stored *inbox.Event)
	very := inbox.Body{Key: "raw/part", Bytes: 70_000}
	for _, tt := range []struct {
		name      string
		stored    change // what stands under the part's key; nil: nothing does
		erased    bool
		kept      bool
		conflicts int
	}{
		{"an erased event", func(*inbox.Event) {}, true, false, 0},
		{"another content under its key", func(ev *inbox.Event) { ev.Digest = "another" }, false, false, 1},
		{"the very body, read as another fact by a former version", func(ev *inbox.Event) { ev.Digest, ev.Body = "another", very }, false, true, 1},
		{"a repeat of it", func(ev *inbox.Event) { ev.Body = very }, false, true, 0},
		{"nothing", nil, false, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				id, parts := w.batch(1)
				part := &parts.events[0]
				if stored := *part; tt.stored != nil {
					tt.stored(&stored)
					if _, err := w.table.Receive(t.Context(), stored); err != nil {
						t.Fatal(err)
					}
				}
				if tt.erased {
					if err := w.table.EmptyEvent(t.Context(), part.ID, w.clock()); err != nil {
						t.Fatal(err)
					}
				}
				part.WriteID, part.Body = "w-again", very
				b := &bucket{kept: map[string]bool{very.Key: true}}
				worker := w.worker(nil)
				worker.Parts, worker.Sender, worker.Bodies = parts, &queued{}, b
				if !tt.kept { // a repeat of the batch does it
					b.away = errors.New("bucket down")
					if err := worker.Run(t.Context(), id); !errors.Is(err, b.away) || w.event(id).State != inbox.Received {
						t.Errorf("run: %v, batch is %s", err, w.event(id).State)
					}
					b.away = nil
				}
				if err := worker.Run(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				_, _, conflicts, err := w.table.Deliveries(t.Context(), part.ID)
				if err != nil || w.event(id).State != inbox.Settled || b.kept[very.Key] != tt.kept || len(conflicts) != tt.conflicts {
					t.Errorf("batch is %s, body kept %v, conflicts %v, %v", w.event(id).State, b.kept[very.Key], conflicts, err)
				}
			})
		})
	}
}

// What was not applied is waited for; any other fault is the message's own, and is not told as one of the configuration.
func TestABatchWaitsForItsConfiguration(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault error
		waits bool
	}{
		{"not applied", config.ErrUnknown, true},
		{"not usable", config.ErrUnreadable, true},
		{"a store that is away", errors.New("store down"), false},
		{"a body that is no JSON", document.ErrMalformed, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				id, parts := w.batch(1)
				parts.err = fmt.Errorf("split it: %w", tt.fault)
				worker := w.worker(nil)
				worker.Parts = parts
				err := worker.Run(t.Context(), id)
				if ev := w.event(id); ev.State != inbox.Received || ev.DueAt.Equal(w.clock().Add(limits.Pause)) != tt.waits {
					t.Errorf("event is %s, due at %s", ev.State, ev.DueAt)
				}
				if (err == nil) != tt.waits || err != nil && (!errors.Is(err, tt.fault) || strings.Contains(err.Error(), "configuration")) {
					t.Errorf("run: %v", err)
				}
			})
		})
	}
}
