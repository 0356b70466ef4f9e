package enrich_test

import (
	"strings"
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// resultLeaves removes what stands for product:7 once its time is over, as the table's TTL does.
func (w *world) resultLeaves() {
	w.t.Helper()
	r, found, err := w.table.Result(w.t.Context(), scope, object.ID{Kind: "product", Value: "7"}, inbox.RecipeRef{Name: "card", Version: 1})
	if err != nil || !found || r.ExpiresAt.After(w.clock()) {
		w.t.Fatalf("found %t, to leave at %s, %v", found, r.ExpiresAt, err)
	}
	for _, i := range w.items() {
		if strings.HasPrefix(i["sk"], "R#") {
			key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: i["pk"]}, "sk": &types.AttributeValueMemberS{Value: i["sk"]}}
			if _, err := w.db.Client().DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: &w.db.TableName, Key: key}); err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
	w.t.Fatal("no item of a result")
}

// An older failure is redriven after the newer version's result left by its age: nothing shows any more that there
// was a newer one, so it is not called again.
func TestAnOldFailureBringsNoOlderVersionBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		failed := w.refused(arrival{name: "A", version: one})
		w.run(w.receive(arrival{name: "B", version: two}))
		w.pass(401 * 24 * time.Hour)
		w.resultLeaves()
		w.redrive("A")
		w.run(failed)
		if op, ev := w.operation("A"), w.event(failed); w.result() != "none" || w.model.count() != 2 || op.State != operation.Failed || op.QueuedAt.IsZero() ||
			op.Category != operation.CategoryInvalidInput || ev.State != inbox.Parked {
			t.Errorf("result %s, %d calls, operation %+v, event %s", w.result(), w.model.count(), op, ev.State)
		}

		// The same content comes once more: it is known to be the newest, as far as senders are late.
		again := w.receive(arrival{name: "A", version: three})
		w.run(again)
		w.redrive("A")
		w.run(again)
		if w.result() != "about A @ "+three || w.model.count() != 3 {
			t.Errorf("result %s, %d calls", w.result(), w.model.count())
		}
	})
}

// As long as results are kept, or where one stands, the result itself says which is newer.
func TestAFailureIsRedrivenAsLongAsResultsAreKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		failed := w.refused(arrival{name: "A", version: two})
		w.run(w.receive(arrival{name: "B", version: one}))
		w.pass(401 * 24 * time.Hour) // the older one's result stands, although it is old enough to leave
		w.redrive("A")
		w.run(failed)
		if w.model.count() != 3 || w.operation("A").State != operation.Completed {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
	each(t, func(t *testing.T, w *world) {
		failed := w.refused(arrival{name: "A", version: one})
		w.pass(399 * 24 * time.Hour)
		w.redrive("A")
		w.run(failed)
		if w.model.count() != 2 || w.operation("A").State != operation.Completed {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

// A draft that was rejected long ago is not taken up again either, nor called for.
func TestAnOldDraftIsNotRenewed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.apply("card", 1, recipe.PolicyDraft)
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.run(id)
		op := w.operation("A", ref)
		if err := w.table.Reject(t.Context(), operation.Rejection{Key: op.Key, Digest: op.Digest, By: "ann", Note: "no", WriteID: w.id(), Now: w.clock()}); err != nil {
			t.Fatal(err)
		}
		w.pass(401 * 24 * time.Hour)
		w.redrive("A", ref)
		w.run(id)
		if op := w.operation("A", ref); op.State != operation.Failed || op.Category != operation.CategoryInvalidInput || w.model.count() != 1 {
			t.Errorf("%s, %s, %d calls", op.State, op.Category, w.model.count())
		}
	})
}
