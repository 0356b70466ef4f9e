package dynamo_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"engang/shared/audit"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// before is a transport that does something before each call of a name.
type before struct {
	call string
	do   func()
}

func (b before) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) == b.call {
		b.do()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TTL may remove an item between the refusal of a put and the look at what refused it, on an engine that
// sends no item with the refusal: then there is nothing to be a duplicate of, and the put is made again.
func TestAnItemMayVanishBeforeItIsLookedAt(t *testing.T) {
	t.Run("event", func(t *testing.T) {
		db := dynamotest.Embedded(t)
		received(t, db.Open(nil), 1)
		table := db.Open(before{"read event", func() { remove(t, db, "E#"+string(eventID(1)), "EVENT") }})
		ev := arrival(1)
		ev.WriteID = "another"
		if got, err := table.Receive(t.Context(), ev); err != nil || got != inbox.Accepted {
			t.Errorf("receipt %v, %v", got, err)
		}
		same(t, "write id", "another", eventOf(t, db.Open(nil), 1).WriteID)
	})
	t.Run("result", func(t *testing.T) {
		db := dynamotest.Embedded(t)
		result := operation.Result{Scope: shop, Object: product, Recipe: card, Rank: ranked(2), Operation: work, Output: []byte("new"), At: noon}
		put := func(table *dynamo.Table) (operation.Result, bool, error) { return table.PutResult(t.Context(), result) }
		if _, _, err := put(db.Open(nil)); err != nil {
			t.Fatal(err)
		}
		result.Output = []byte("newer")
		table := db.Open(before{"read result", func() { remove(t, db, "B#shop#test#product:794", "R#product-card#000003") }})
		if _, written, err := put(table); err != nil || !written {
			t.Errorf("written: %t, %v", written, err)
		}
	})
	t.Run("act", func(t *testing.T) {
		db := dynamotest.Embedded(t)
		first := audit.Entry{Scope: shop, At: noon, ID: "act_1", By: "ann", Act: "export", Target: "product:794", Reason: "asked to"}
		must(t, db.Open(nil).Audit(t.Context(), first))
		other := first
		other.Target = "product:8"
		table := db.Open(before{"read operation", func() {
			remove(t, db, "A#shop#test#"+noon.Format(time.DateOnly), fmt.Sprintf("%013d#act_1", noon.UnixMilli()))
		}})
		must(t, table.Audit(t.Context(), other))
		got, err := table.AuditTrail(t.Context(), shop, noon)
		must(t, err)
		same(t, "trail", []audit.Entry{other}, got)
	})
	t.Run("again and again", func(t *testing.T) {
		db := dynamotest.Embedded(t)
		plain := db.Open(nil)
		remake := before{"W1 put event", func() { _, _ = plain.Receive(t.Context(), arrival(1)) }}
		table := db.Open(both{before{"read event", func() { remove(t, db, "E#"+string(eventID(1)), "EVENT") }}, remake})
		ev := arrival(1)
		ev.WriteID = "another"
		if got, err := table.Receive(t.Context(), ev); err == nil {
			t.Errorf("receipt %v though nothing was stored", got)
		}
	})
}

// both is two transports: what the first does, then the second.
type both struct{ first, second before }

func (b both) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) == b.first.call {
		b.first.do()
	}
	return b.second.RoundTrip(r)
}
