package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

func eraseContracts() []contract {
	conflicting := func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
		open1(t, db, table)
		must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(2), DeliveryID: "dlv2"}))
		must(t, table.CountSeen(t.Context(), eventID(1), later(3)))
	}
	stopped := func(ev *inbox.Event) {
		ev.State, ev.Outcome, ev.EndedAt, ev.ExpiresAt = inbox.Settled, inbox.Cancelled, later(800), later(800).AddDate(0, 0, 90)
	}
	settled := func(ev *inbox.Event) {
		ev.State, ev.Outcome, ev.EndedAt, ev.ExpiresAt, ev.Sends = inbox.Settled, inbox.Completed, later(50), later(5000), 1
	}
	return []contract{
		emptyContract("erase an open event", open1, stopped),
		emptyContract("erase an open event with a conflict", conflicting, stopped),
		emptyContract("erase a parked event", parked1, stopped),
		emptyContract("erase a dismissed event", dismissed1, stopped),
		emptyContract("erase a settled event", settled1, settled),
		batchContract(stopped),
		deleteContract(),
	}
}

// batchContract is the contract of emptying a delivery of many events, which a worker does that may not query.
func batchContract(stays func(*inbox.Event)) contract {
	c := emptyContract("erase an open delivery of many events", open1, stays)
	c.write = func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.EmptyBatch(ctx, eventID(1), later(800+who))
	}
	return c
}

// emptyContract is the contract of emptying what before leaves: what stays is as wanted then.
func emptyContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table), stays func(*inbox.Event)) contract {
	return contract{
		name: name, call: "erase", before: before, all: true, other: done,
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.EmptyEvent(ctx, eventID(1), later(800+who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			ev, seen, conflicts, err := table.Deliveries(t.Context(), eventID(1))
			must(t, err)
			whole := arrival(1)
			want := inbox.Event{
				ID: whole.ID, Scope: shop, Endpoint: whole.Endpoint, Provider: whole.Provider, Type: whole.Type, ReceivedAt: whole.ReceivedAt, Digest: whole.Digest,
				Rank: whole.Rank, Recipes: whole.Recipes, WriteID: whole.WriteID, Generation: 1, Erased: later(800 + who),
			}
			stays(&want)
			same(t, "event", want, ev)
			for _, c := range conflicts {
				same(t, "conflict", inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(2)}, c)
				same(t, "repeats", 1, seen.Count)
			}
			same(t, "open index", []inbox.EventID(nil), open(t.Context(), t, table, later(1e6)))
			same(t, "review list", []operation.Waiting(nil), reviews(t, table, 9))
		},
	}
}

// deletion is about what was received until the nth event.
func deletion(n int) operation.Deletion {
	return operation.Deletion{Scope: shop, Object: product, Until: ranked(n).ReceivedAt()}
}

// numbered is the nth operation of the object.
func numbered(n int) operation.Key {
	k := work
	k.Digest = fmt.Sprint("digest", n)
	return k
}

// crowded leaves of one object: an operation with a recorded attempt, a result and a head of each of events 1 and
// 2, and an operation of another object.
func crowded(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	for n := 1; n <= 2; n++ {
		c := asking(n, n, 0)
		c.Key = numbered(n)
		claimed(t, table, c)
		must(t, table.RecordLosing(t.Context(), c.Key, operation.Attempt{ID: attemptID(n), Outcome: operation.Usable}))
		ref := inbox.RecipeRef{Name: card.Name, Version: n}
		_, _, err := table.PutResult(t.Context(), operation.Result{Scope: shop, Object: product, Recipe: ref, Rank: ranked(n), Operation: c.Key, Event: eventID(n), Output: []byte("{}"), At: noon})
		must(t, err)
		h := head(n, eventID(n))
		h.Recipe = fmt.Sprint("recipe", n)
		must(t, table.PutHead(t.Context(), h))
	}
	other := asking(3, 1, 0)
	other.Key.Object.Value = "7940"
	claimed(t, table, other)
}

func deleteContract() contract {
	return contract{
		name: "delete the work of an object", call: "erase", before: crowded, all: true, other: done,
		write: func(ctx context.Context, table *dynamo.Table, _ int) error {
			_, err := table.DeleteWork(ctx, deletion(1))
			return err
		},
		effect: func(t *testing.T, table *dynamo.Table, _ int) {
			ops, losing, results, err := table.Object(t.Context(), shop, product)
			must(t, err)
			if len(ops) != 1 || len(losing) != 1 || len(results) != 1 || ops[0].Event != eventID(2) || losing[0].Key != numbered(2) || results[0].Event != eventID(2) {
				t.Errorf("left are %v, %v and %v", ops, losing, results)
			}
			for n := 1; n <= 2; n++ { // a head has the time of a repeat, by that receiver's clock
				_, found, err := table.Head(t.Context(), shop, product, fmt.Sprint("recipe", n))
				must(t, err)
				same(t, fmt.Sprint("head ", n, " is there"), false, found)
			}
			others, _, _, err := table.Object(t.Context(), shop, object.ID{Kind: "product", Value: "7940"})
			must(t, err)
			same(t, "operations of another object", 1, len(others))
		},
	}
}

// What is done is counted, in any number of pages; a repeat finds nothing more.
func TestDeletedWorkIsCounted(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		for _, page := range []int32{0, 1, 3} {
			own := db.Fresh(t)
			table := own.Open(nil)
			crowded(t, own, table)
			table.SetPage(page)
			for i, want := range []operation.Deleted{{Items: 5, Stopped: 1, Kept: 3}, {Kept: 3}} {
				got, err := table.DeleteWork(t.Context(), deletion(1))
				must(t, err)
				same(t, fmt.Sprint("time ", i), want, got)
			}
			got, err := table.DeleteWork(t.Context(), deletion(2))
			must(t, err)
			same(t, "with nothing to keep", operation.Deleted{Items: 3, Stopped: 1}, got)
			same(t, "items left", 1, len(snapshot(t, own)))
		}
	})
}

// A newer event that takes an operation over while it is being deleted keeps it, and what belongs to it.
func TestWorkThatANewerEventTakesOverStays(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		plain := db.Open(nil)
		failed(t, db, plain)
		must(t, plain.RecordLosing(t.Context(), work, operation.Attempt{ID: "att_9", Outcome: operation.Usable}))
		table := db.Open(before{"erase", func() {
			must(t, plain.Raise(t.Context(), operation.Raise{Key: work, Seen: operation.Failed, Listed: true, Before: eventID(1), Rank: ranked(2), Event: eventID(2)}))
		}})
		stays := []string{"B#shop#test#product:794 / O#product-card@000003#9f2c41d0", "B#shop#test#product:794 / O#product-card@000003#9f2c41d0#LOST#att_9"}
		got, err := table.DeleteWork(t.Context(), deletion(1))
		must(t, err)
		same(t, "deleted", operation.Deleted{Kept: 2}, got)
		for _, name := range stays {
			if snapshot(t, db)[name] == nil {
				t.Errorf("%s is gone", name)
			}
		}
	})
}

// What another event takes over that came before as well goes all the same; what never rests is an error.
func TestWorkThatAnOlderEventTakesOverIsDeleted(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes int // how many events take it over, one after the other
		gone  bool
	}{{"once", 1, true}, {"twice", 2, true}, {"at each look", 3, false}} {
		t.Run(c.name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				plain := db.Open(nil)
				held(t, db, plain)
				n := 1
				table := db.Open(before{"erase", func() {
					if n <= c.takes {
						must(t, plain.Raise(t.Context(), operation.Raise{Key: work, Seen: operation.Review, Rank: ranked(n + 1), Event: eventID(n + 1)}))
					}
					n++
				}})
				got, err := table.DeleteWork(t.Context(), deletion(9))
				if (err == nil) != c.gone || (got == operation.Deleted{Items: 1, Stopped: 1}) != c.gone {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// What a later event has made meanwhile is not what was looked at.
func TestWorkThatALaterEventMakesStays(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		plain := db.Open(nil)
		claimed(t, plain, asking(1, 1, 0))
		table := db.Open(before{"erase", func() {
			claimed(t, plain, operation.Claim{
				Key: numbered(2), Attempt: attemptID(2), WriteID: writeID(2), Event: eventID(2), Rank: ranked(2), Now: later(1), Until: later(90), Skew: skew, Limit: limit,
			})
		}})
		for _, want := range []operation.Deleted{{Items: 1, Stopped: 1}, {Kept: 1}} {
			got, err := table.DeleteWork(t.Context(), deletion(1))
			must(t, err)
			same(t, "deleted", want, got)
		}
	})
}

// Whoever had the lease is refused, also where a later event has made the operation anew.
func TestDeletedWorkIsFenced(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		for _, again := range []bool{false, true} {
			old := claimed(t, table, asking(1, 1, 0))
			_, err := table.DeleteWork(t.Context(), deletion(1))
			must(t, err)
			if again {
				if l := claimed(t, table, asking(2, 2, 1)); l.Token != old.Token {
					t.Errorf("token %d, then %d: this is no second life", old.Token, l.Token)
				}
			}
			stored := snapshot(t, db)
			for what, finish := range map[string]func(context.Context, operation.Finish) error{"complete": table.Complete, "retry": table.Retry, "fail": table.Fail, "hold": table.Hold, "pause": table.Pause, "supersede": table.Supersede} {
				if err := finish(t.Context(), ending(old, 1, operation.Usable)); !errors.Is(err, operation.ErrRefused) {
					t.Errorf("%s met %v", what, err)
				}
			}
			if diff := difference(stored, snapshot(t, db)); diff != "" {
				t.Errorf("something changed (-before +after):\n%s", diff)
			}
		}
	})
}

// No word of what a sender sent, and of what a person said about it, is left in the item, whatever became of the
// event before; and nothing that comes later opens it again.
func TestNothingIsLeftOfAnErasedEvent(t *testing.T) {
	for name, before := range map[string]func(*testing.T, dynamotest.DB, *dynamo.Table){
		"open": open1, "parked": parked1, "parked by the reconciler": parkedUnsent, "dismissed": dismissed1, "settled": settled1, "parked with its operation": failed,
		"redriven": func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			failed(t, db, table)
			must(t, table.Redrive(t.Context(), redriving(operation.Failed)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				before(t, db, table)
				was := eventOf(t, table, 1)
				must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(2), DeliveryID: "dlv2"}))
				must(t, table.EmptyEvent(t.Context(), eventID(1), later(800)))
				for key, it := range snapshot(t, db) {
					if !strings.HasPrefix(key, "E#") {
						continue
					}
					stored := map[string]wire{}
					for attribute, value := range it {
						stored[attribute] = toWire(value)
					}
					text, err := json.Marshal(stored)
					must(t, err)
					for _, word := range []string{"794", "dlv", "snd", "no id", "sent once", "person", "a test", "AAH+/w"} { // the last one: the body in base64
						if bytes.Contains(text, []byte(word)) {
							t.Errorf("%s holds %q: %s", key, word, text)
						}
					}
				}
				refusesAll(t, db, was)
			})
		})
	}
}

// refusesAll tries whatever may come to an event that was erased: nothing of it changes anything.
func refusesAll(t *testing.T, db dynamotest.DB, was inbox.Event) {
	t.Helper()
	table := db.Open(nil)
	stored := snapshot(t, db)
	again := arrival(1)
	again.WriteID = "another"
	if got, err := table.Receive(t.Context(), again); err != nil || got != inbox.Forgotten {
		t.Errorf("a repeat is %v, %v", got, err)
	}
	again.Digest = "d3"
	if got, err := table.Receive(t.Context(), again); err != nil || got != inbox.Forgotten {
		t.Errorf("another fact is %v, %v", got, err)
	}
	must(t, table.EmptyEvent(t.Context(), eventID(1), later(900)))
	for what, err := range map[string]error{
		"its worker's end": table.End(t.Context(), settling(0, was.Generation)), "a postponement": table.PushDue(t.Context(), eventID(1), was.Generation, later(900)),
		"the reconciler": table.PushSend(t.Context(), eventID(1), was.DueKey, later(900)), "reopening": table.Reopen(t.Context(), eventID(1), later(900)),
		"a replay":    table.Replay(t.Context(), eventID(1), was.Recipes, []inbox.RecipeRef{card}, later(900)),
		"a dismissal": table.DismissEvent(t.Context(), eventDismissal(9)),
	} {
		if !errors.Is(err, inbox.ErrStale) {
			t.Errorf("%s met %v", what, err)
		}
	}
	if diff := difference(stored, snapshot(t, db)); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

// A redrive that comes after its event was erased, and before its operation is deleted, does nothing.
func TestARedriveDoesNotOpenAnErasedEvent(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		failed(t, db, table)
		must(t, table.EmptyEvent(t.Context(), eventID(1), later(800)))
		stored := snapshot(t, db)
		for _, recipes := range [][]inbox.RecipeRef{nil, arrival(1).Recipes} {
			act := redriving(operation.Failed)
			act.Recipes = recipes
			if err := table.Redrive(t.Context(), act); !errors.Is(err, inbox.ErrNotFound) || errors.Is(err, inbox.ErrStale) {
				t.Errorf("with %d recipes it met %v", len(recipes), err)
			}
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
		if err := table.EmptyEvent(t.Context(), eventID(7), later(800)); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("an unknown event met %v", err)
		}
	})
}

// An event that is settled, or opened again, between two looks is emptied all the same; one that never rests is
// an error.
func TestAMovingEventIsErased(t *testing.T) {
	settle := func(t *testing.T, table *dynamo.Table, generation int) {
		e := settling(0, generation)
		must(t, table.End(t.Context(), e))
	}
	reopen := func(t *testing.T, table *dynamo.Table) {
		must(t, table.Replay(t.Context(), eventID(1), arrival(1).Recipes, arrival(1).Recipes, later(700)))
	}
	for name, moves := range map[string]struct {
		do     []func(t *testing.T, table *dynamo.Table)
		erased bool
	}{
		"settled meanwhile":              {[]func(*testing.T, *dynamo.Table){func(t *testing.T, table *dynamo.Table) { settle(t, table, 0) }}, true},
		"settled and reopened meanwhile": {[]func(*testing.T, *dynamo.Table){func(t *testing.T, table *dynamo.Table) { settle(t, table, 0) }, reopen}, true},
		"never at rest": {[]func(*testing.T, *dynamo.Table){
			func(t *testing.T, table *dynamo.Table) { settle(t, table, 0) }, reopen, func(t *testing.T, table *dynamo.Table) { settle(t, table, 1) },
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				plain := db.Open(nil)
				received(t, plain, 1)
				calls := 0
				table := db.Open(before{"erase", func() {
					if calls < len(moves.do) {
						moves.do[calls](t, plain)
					}
					calls++
				}})
				err := table.EmptyEvent(t.Context(), eventID(1), later(800))
				if (err == nil) != moves.erased || errors.Is(err, inbox.ErrNotFound) {
					t.Errorf("it met %v", err)
				}
				same(t, "erased", moves.erased, eventOf(t, plain, 1).Erased.Equal(later(800)))
			})
		})
	}
}

// Several that erase one event at once do it once.
func TestAnEventIsErasedOnce(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		for _, before := range []func(*testing.T, dynamotest.DB, *dynamo.Table){open1, parked1, settled1} {
			own := db.Fresh(t)
			table := own.Open(nil)
			before(t, own, table)
			for _, err := range dynamotest.AtOnce(func(i int) error { return table.EmptyEvent(t.Context(), eventID(1), later(800+i)) }) {
				must(t, err)
			}
			same(t, "generation", 1, eventOf(t, table, 1).Generation)
		}
	})
}
