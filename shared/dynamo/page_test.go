package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

const events = 100 // several in every shard

func TestDueEventsArePagedByShard(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		var want []inbox.EventID
		for n := range events {
			received(t, table, n)
			if n < 70 {
				want = append(want, eventID(n))
			}
		}
		for _, page := range []int32{1, 3, 100} {
			table.SetPage(page)
			got := open(t.Context(), t, table, later(70+300))
			slices.Sort(got)
			same(t, fmt.Sprint("events due in pages of ", page), slices.Sorted(slices.Values(want)), got)
		}
		for shard := range dynamo.OpenShards {
			ids, _, err := table.Due(t.Context(), shard, later(1e6), "")
			if err != nil || len(ids) < 2 {
				t.Errorf("shard %d has %d events, %v: the case is not met", shard, len(ids), err)
			}
			if !slices.IsSortedFunc(ids, func(a, b inbox.EventID) int { return due(t, table, a).Compare(due(t, table, b)) }) {
				t.Errorf("shard %d is not in the order of due times", shard)
			}
		}
	})
}

func due(t *testing.T, table *dynamo.Table, id inbox.EventID) time.Time {
	t.Helper()
	ev, err := table.Event(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return ev.DueAt
}

// The reconciler changes what it pages through: an event that left the index, or moved in it, between
// two pages neither hides others nor makes the pages begin anew.
func TestDuePagesSurviveWhatHappensBetweenThem(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		for n := range events {
			received(t, table, n)
		}
		table.SetPage(2)
		seen := map[inbox.EventID]int{}
		for shard := range dynamo.OpenShards {
			for after, more := "", true; more; {
				ids, next, err := table.Due(t.Context(), shard, later(1000), after)
				if err != nil {
					t.Fatal(err)
				}
				for i, id := range ids {
					seen[id]++
					ev, err := table.Event(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					if i%2 == 0 {
						err = table.PushSend(t.Context(), id, ev.DueKey, later(5000))
					} else {
						err = table.End(t.Context(), inbox.Ending{Event: id, Outcome: inbox.NoRecipe, At: later(1), ExpiresAt: later(9e6)})
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				after, more = next, next != ""
			}
		}
		if len(seen) != events {
			t.Errorf("%d of %d events were found", len(seen), events)
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("%s was found %d times", id, times)
			}
		}
	})
}

func TestListedEventsArePagedNewestFirst(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		var want []inbox.EventID
		for n := range events {
			received(t, table, n)
			want = append(want, eventID(n))
		}
		slices.Reverse(want)
		// Not of this day, not of this scope, and settled ones stay listed.
		for i, change := range []func(ev *inbox.Event){
			func(ev *inbox.Event) { ev.ReceivedAt = ev.ReceivedAt.AddDate(0, 0, 1) },
			func(ev *inbox.Event) { ev.ReceivedAt = ev.ReceivedAt.AddDate(0, 0, -1) },
			func(ev *inbox.Event) { ev.Scope.Environment = "production" },
		} {
			ev := arrival(1000 + i)
			change(&ev)
			if _, err := table.Receive(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.End(t.Context(), settling(0, 0)); err != nil {
			t.Fatal(err)
		}
		for _, engineLimit := range []int32{0, 1, 7} {
			for _, limit := range []int{1, 7, events, 1000} {
				table.SetPage(engineLimit)
				var got []inbox.EventID
				for after, more := "", true; more; {
					ids, next, err := table.Listed(t.Context(), shop, noon, dynamo.Page{After: after, Limit: limit})
					if err != nil {
						t.Fatal(err)
					}
					if len(ids) > limit || (next != "" && len(ids) < limit) {
						t.Fatalf("a page of %d has %d, next %q", limit, len(ids), next)
					}
					got, after, more = append(got, ids...), next, next != ""
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		}
	})
}

// Everything of an object is found, in any number of pages, and nothing of another one whose key begins alike.
func TestAnObjectIsReadWhole(t *testing.T) {
	odd := object.ID{Kind: "product", Value: "794#x/é 1:2%"}
	recipes := []inbox.RecipeRef{{Name: "a#b@c", Version: 1}, {Name: "card", Version: 12}}
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		want := map[object.ID][]string{}
		for _, id := range []object.ID{product, odd, {Kind: "product", Value: "7940"}, {Kind: "product", Value: "79"}} {
			for _, ref := range recipes {
				for n := range 3 {
					k := operation.Key{Scope: shop, Object: id, Recipe: ref, Digest: fmt.Sprint("d", n)}
					c := asking(n, n, 0)
					c.Key = k
					claimed(t, table, c)
					if err := table.RecordLosing(t.Context(), k, operation.Attempt{ID: attemptID(n), Outcome: operation.Usable}); err != nil {
						t.Fatal(err)
					}
					if _, _, err := table.PutResult(t.Context(), operation.Result{Scope: shop, Object: id, Recipe: ref, Rank: ranked(n), Operation: k, At: noon}); err != nil {
						t.Fatal(err)
					}
					want[id] = append(want[id], "operation "+k.String(), "losing "+k.String())
				}
				want[id] = append(want[id], "result "+operation.Key{Object: id, Recipe: ref, Digest: "d2"}.String())
			}
			slices.Sort(want[id])
		}
		for _, page := range []int32{0, 1, 4} {
			table.SetPage(page)
			for id, all := range want {
				ops, losing, results, err := table.Object(t.Context(), shop, id)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, op := range ops {
					got = append(got, "operation "+op.Key.String())
				}
				for _, l := range losing {
					got = append(got, "losing "+l.Key.String())
				}
				for _, r := range results {
					got = append(got, "result "+r.Operation.String())
				}
				slices.Sort(got)
				same(t, id.String(), all, got)
			}
		}
	})
}

// Whatever a page holds, by our limit and by the engine's, every act of the day comes once, the newest first.
func TestActsArePagedNewestFirst(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		var want []audit.Entry
		for n := range 9 {
			e := audit.Entry{Scope: shop, At: later(n / 2), ID: fmt.Sprint("act_", n), By: "ann", Act: "look", Target: "product:794", Reason: "why", ExpiresAt: later(9e6)}
			must(t, table.Audit(t.Context(), e))
			want = append([]audit.Entry{e}, want...)
			other := e
			other.Scope.Environment = "production"
			must(t, table.Audit(t.Context(), other))
			e.At = e.At.AddDate(0, 0, 1)
			must(t, table.Audit(t.Context(), e))
		}
		for _, engineLimit := range []int32{0, 1, 4} {
			for _, limit := range []int{1, 4, 9, 100} {
				table.SetPage(engineLimit)
				var got []audit.Entry
				for after, more := "", true; more; {
					acts, next, err := table.Acts(t.Context(), shop, noon, dynamo.Page{After: after, Limit: limit})
					must(t, err)
					if len(acts) > limit {
						t.Errorf("a page of %d, of at most %d", len(acts), limit)
					}
					got, after, more = append(got, acts...), next, next != ""
				}
				same(t, fmt.Sprintf("acts, %d a page, %d a request", limit, engineLimit), want, got)
			}
		}
	})
}

func TestTheAuditTrailIsOneDaysInOrder(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		var want []audit.Entry
		for _, n := range []int{3, 1, 2, 90000} {
			e := audit.Entry{Scope: shop, At: later(n), ID: fmt.Sprint("act_", n), By: "ann", Act: "look", Target: "product:794"}
			if err := table.Audit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if n < 1000 {
				want = append(want, e)
			}
		}
		slices.SortFunc(want, func(a, b audit.Entry) int { return strings.Compare(a.ID, b.ID) })
		table.SetPage(1)
		got, err := table.AuditTrail(t.Context(), shop, noon)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "trail", want, got)
	})
}
