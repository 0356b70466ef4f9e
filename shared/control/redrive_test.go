package control_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"

	"github.com/google/go-cmp/cmp"
)

func redrive(id string) control.Redriving {
	return control.Redriving{ID: id, By: "ann", Reason: "the model was changed"}
}

func TestAFailedOperationIsOpenedWithItsEvent(t *testing.T) {
	w := newWorks()
	e := w.event(1, "product:794", 5)
	o := w.fail(e, "9f2c")
	got, err := w.control().Redrive(t.Context(), shop, redrive("product:794/product-card@3/9f"))
	if err != nil {
		t.Fatal(err)
	}
	want := control.Redriven{
		Kind: "redriven", ID: o.Key.String(), Tenant: "shop", Environment: "test", Was: "failed", Category: "unusable output", Operations: []string{o.Key.String()}, Events: []string{string(e.ID)}, Sent: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if now, _ := w.Operation(t.Context(), o.Key); now.State != operation.Pending || now.Claims != 0 || now.Token != o.Token {
		t.Errorf("operation %+v", now)
	}
	if now := w.events[e.ID]; now.State != inbox.Received || now.Generation != 1 || !now.DueAt.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("event %+v", now)
	}
	if diff := cmp.Diff([]string{"shop " + string(e.ID)}, w.sent); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ann: redrive of " + o.Key.String() + " because the model was changed"}, w.done()); diff != "" {
		t.Error(diff)
	}
	if w.trail[0].ExpiresAt != noon.Add(400*24*time.Hour) {
		t.Errorf("the record is kept until %s", w.trail[0].ExpiresAt)
	}
}

// The event that waits is the newest that asked, not the one that the operation failed for.
func TestTheNewestEventIsTheOneThatIsOpened(t *testing.T) {
	w := newWorks()
	older, newer := w.event(1, "product:794", 5), w.event(2, "product:794", 3)
	o := w.fail(older, "9f2c")
	w.fail(newer, "9f2c")
	w.ops = w.ops[:1]
	w.change(o.Key, func(o *operation.Operation) { o.Event, o.Rank = newer.ID, newer.Rank })
	got, err := w.control().Redrive(t.Context(), shop, redrive(string(older.ID)))
	if err != nil || len(got.Events) != 1 || got.Events[0] != string(newer.ID) || w.events[older.ID].State != inbox.Parked {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAParkedEventIsOpenedAsItStands(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(w *works, e inbox.Event)
		want    []string // operations that are opened
	}{
		"without an operation": {func(w *works, e inbox.Event) { w.park(e) }, []string{}},
		"with two that failed": {func(w *works, e inbox.Event) {
			a, b := w.fail(e, "aa"), w.fail(e, "bb")
			e = w.events[e.ID]
			e.Operations = []string{a.Key.String(), b.Key.String()}
			w.events[e.ID] = e
		}, []string{"product:794/product-card@3/aa", "product:794/product-card@3/bb"}},
		// The reconciler parked it: its operation was in work, and no worker came to an end.
		"with one that did not fail": {func(w *works, e inbox.Event) {
			w.change(w.fail(e, "aa").Key, func(o *operation.Operation) { o.State = operation.Running })
		}, []string{}},
		"with one that is gone": {func(w *works, e inbox.Event) { w.fail(e, "aa"); w.ops = nil }, []string{}},
	} {
		w := newWorks()
		e := w.event(1, "product:794", 5)
		c.prepare(w, e)
		got, err := w.control().Redrive(t.Context(), shop, redrive(string(e.ID)))
		if err != nil || got.ID != string(e.ID) || got.Was != "parked" || !got.Sent {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if diff := cmp.Diff(c.want, got.Operations); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]string{"shop " + string(e.ID)}, w.sent); diff != "" || w.events[e.ID].State != inbox.Received {
			t.Errorf("%s: event %s, %s", name, w.events[e.ID].State, diff)
		}
		if len(w.trail) != max(1, len(c.want)) {
			t.Errorf("%s: recorded %q", name, w.done())
		}
	}
}

// What a person decided is opened by name only, whatever a selection found a moment ago.
func TestWhatAPersonDecidedIsOpenedOnlyByName(t *testing.T) {
	for name, change := range map[string]func(o *operation.Operation){
		"rejected":  func(o *operation.Operation) { o.State = operation.Rejected },
		"cancelled": func(o *operation.Operation) { o.Category = operation.CategoryCancelled },
		"dismissed": func(o *operation.Operation) { o.Dismissed = &operation.Decision{By: "bob", At: noon} },
	} {
		w := newWorks()
		o := w.fail(w.event(1, "product:794", 5), "9f2c")
		w.change(o.Key, change)
		ask := redrive(o.Key.String())
		ask.Listed = true
		if _, err := w.control().Redrive(t.Context(), shop, ask); !errors.Is(err, operation.ErrRefused) || len(w.trail)+len(w.sent) != 0 {
			t.Errorf("%s, out of a list: %v, recorded %q", name, err, w.done())
		}
		ask.Listed = false
		if got, err := w.control().Redrive(t.Context(), shop, ask); err != nil || len(got.Operations) != 1 {
			t.Errorf("%s, by name: %+v, %v", name, got, err)
		}
	}
	w := newWorks()
	e := w.park(w.event(1, "product:794", 5))
	e.Dismissed = &inbox.Dismissed{By: "bob", At: noon}
	w.events[e.ID] = e
	ask := redrive(string(e.ID))
	ask.Listed = true
	if _, err := w.control().Redrive(t.Context(), shop, ask); !errors.Is(err, inbox.ErrStale) || len(w.trail) != 0 {
		t.Errorf("a dismissed event, out of a list: %v", err)
	}
	ask.Listed = false
	if _, err := w.control().Redrive(t.Context(), shop, ask); err != nil {
		t.Errorf("a dismissed event, by name: %v", err)
	}
}

func TestWhatDoesNotWaitIsRefused(t *testing.T) {
	for _, state := range []operation.State{operation.Pending, operation.Running, operation.Completed, operation.Review, operation.Superseded} {
		w := newWorks()
		o := w.fail(w.event(1, "product:794", 5), "9f2c")
		w.change(o.Key, func(o *operation.Operation) { o.State = state })
		_, err := w.control().Redrive(t.Context(), shop, redrive(o.Key.String()))
		if refused, ok := errors.AsType[*operation.RefusedError](err); !ok || refused.Stored.State != state || len(w.sent) != 0 || len(w.trail) != 1 || w.trail[0].Act != "redrive, refused" {
			t.Errorf("%s: %v, recorded %q", state, err, w.done())
		}
	}
	for _, state := range []inbox.State{inbox.Received, inbox.Settled} {
		w := newWorks()
		e := w.event(1, "product:794", 5)
		e.State = state
		w.events[e.ID] = e
		_, err := w.control().Redrive(t.Context(), shop, redrive(string(e.ID)))
		if refused, ok := errors.AsType[*inbox.RefusedError](err); !ok || refused.Stored.State != state || len(w.sent) != 0 || len(w.trail) != 1 || w.trail[0].Act != "redrive, refused" {
			t.Errorf("%s: %v, recorded %q", state, err, w.done())
		}
	}
}

// Somebody was faster between the look and the write: nothing is done twice, and the record says so.
func TestARaceIsLostWithARecord(t *testing.T) {
	w := newWorks()
	o := w.fail(w.event(1, "product:794", 5), "9f2c")
	w.before = func(w *works) {
		w.change(o.Key, func(o *operation.Operation) { o.State, o.Token = operation.Running, o.Token+1 })
	}
	_, err := w.control().Redrive(t.Context(), shop, redrive(o.Key.String()))
	if refused, ok := errors.AsType[*operation.RefusedError](err); !ok || refused.Stored.State != operation.Running || len(w.sent) != 0 {
		t.Errorf("%v, sent %q", err, w.sent)
	}
	w = newWorks()
	e := w.park(w.event(1, "product:794", 5))
	w.before = func(w *works) { w.open(e.ID, noon) }
	if _, err := w.control().Redrive(t.Context(), shop, redrive(string(e.ID))); !errors.Is(err, inbox.ErrStale) || len(w.sent) != 0 {
		t.Errorf("%v, sent %q", err, w.sent)
	}
	if len(w.trail) != 2 || w.trail[0].Act != "redrive" || w.trail[1].Act != "redrive, refused" {
		t.Errorf("recorded %q", w.done())
	}
}

// One operation of an event was redriven, the other is refused: the event is open, and must be sent.
func TestHalfAnActIsSent(t *testing.T) {
	w := newWorks()
	e := w.event(1, "product:794", 5)
	a, b := w.fail(e, "aa"), w.fail(e, "bb")
	e = w.events[e.ID]
	e.Operations = []string{a.Key.String(), b.Key.String()}
	w.events[e.ID] = e
	w.change(b.Key, func(o *operation.Operation) { o.Dismissed = &operation.Decision{By: "bob"} })
	ask := redrive(string(e.ID))
	ask.Listed = true
	_, err := w.control().Redrive(t.Context(), shop, ask)
	if !errors.Is(err, operation.ErrRefused) || len(w.sent) != 1 {
		t.Errorf("%v, sent %q", err, w.sent)
	}
}

func TestAnActNeedsAPersonAReasonAndARecord(t *testing.T) {
	w := newWorks()
	o := w.fail(w.event(1, "product:794", 5), "9f2c")
	for _, c := range []struct {
		by, reason string
		want       error
	}{{"ann", "", control.ErrReason}, {"ann", " \n", control.ErrReason}, {"", "why", problem.ErrIdentity}} {
		_, err := w.control().Redrive(t.Context(), shop, control.Redriving{ID: o.Key.String(), By: c.by, Reason: c.reason})
		if !errors.Is(err, c.want) {
			t.Errorf("%q, %q: %v", c.by, c.reason, err)
		}
	}
	w.noAudit = errDownstairs
	if _, err := w.control().Redrive(t.Context(), shop, redrive(o.Key.String())); !errors.Is(err, errDownstairs) {
		t.Error(err)
	}
	e := w.park(w.event(2, "product:8", 5))
	if _, err := w.control().Redrive(t.Context(), shop, redrive(string(e.ID))); !errors.Is(err, errDownstairs) {
		t.Error(err)
	}
	if now, _ := w.Operation(t.Context(), o.Key); now.State != operation.Failed || w.events[e.ID].State != inbox.Parked || len(w.sent) != 0 {
		t.Error("something was done without a record")
	}
}

// A queue that does not answer keeps nothing back: the event is open, and the reconciler finds it.
func TestAnEventThatIsNotSentIsOpenAllTheSame(t *testing.T) {
	w := newWorks()
	o := w.fail(w.event(1, "product:794", 5), "9f2c")
	w.sendErr = errDownstairs
	got, err := w.control().Redrive(t.Context(), shop, redrive(o.Key.String()))
	if err != nil || got.Sent || w.events[o.Event].State != inbox.Received {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsNotThereCannotBeRedriven(t *testing.T) {
	w := newWorks()
	e := w.event(1, "product:794", 5)
	w.fail(e, "9f2c")
	w.fail(w.event(2, "product:794", 4), "9f2d")
	for id, want := range map[string]error{
		"evt_aaaaaaaaaaaaaaaa":            inbox.ErrNotFound,
		"product:8/product-card@3/9f":     operation.ErrNotFound,
		"product:794/product-card@3/9f":   control.ErrAmbiguous,
		"product:794":                     control.ErrAmbiguous,
		"nothing":                         object.ErrNoID,
		"product:794/product-card@4/9f2c": operation.ErrNotFound,
	} {
		if _, err := w.control().Redrive(t.Context(), shop, redrive(id)); !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), "redrive "+id) {
			t.Errorf("%s: %v", id, err)
		}
	}
	other := object.Scope{Tenant: "shop", Environment: "production"}
	if _, err := w.control().Redrive(t.Context(), other, redrive(string(e.ID))); !errors.Is(err, inbox.ErrNotFound) {
		t.Errorf("the event of others: %v", err)
	}
	delete(w.events, e.ID)
	if _, err := w.control().Redrive(t.Context(), shop, redrive("product:794/product-card@3/9f2c")); !errors.Is(err, inbox.ErrNotFound) || len(w.sent) != 0 {
		t.Errorf("its event is gone: %v", err)
	}
}

// A draft of a former version may still be rejected, and its event may run under the raised one by then: nobody would
// come to work on what is opened for it.
func TestAnOperationOfAFormerRecipeIsNotOpened(t *testing.T) {
	for _, state := range []operation.State{operation.Failed, operation.Rejected} {
		t.Run(string(state), func(t *testing.T) {
			w := newWorks()
			e := w.event(1, "product:794", 5)
			o := w.fail(e, "9f2c")
			w.change(o.Key, func(o *operation.Operation) { o.State = state })
			raised := w.events[e.ID]
			raised.Recipes = []inbox.RecipeRef{{Name: o.Key.Recipe.Name, Version: o.Key.Recipe.Version + 1}}
			w.events[e.ID] = raised
			_, err := w.control().Redrive(t.Context(), shop, redrive(o.Key.String()))
			if !errors.Is(err, operation.ErrFormerRecipe) || !errors.Is(err, operation.ErrRefused) {
				t.Errorf("%v", err)
			}
			if now, _ := w.Operation(t.Context(), o.Key); now.State != state || w.events[e.ID].Generation != 0 || len(w.trail) != 1 || w.trail[0].Act != "redrive, refused" {
				t.Errorf("it is %s, its event has generation %d, recorded %q", now.State, w.events[e.ID].Generation, w.done())
			}
		})
	}
}

// The event may be replayed under a raised recipe between the look and the write.
func TestAnOperationWhoseEventIsReplayedMeanwhileIsNotOpened(t *testing.T) {
	w := newWorks()
	e := w.event(1, "product:794", 5)
	o := w.fail(e, "9f2c")
	w.before = func(w *works) {
		raised := w.events[e.ID]
		raised.Recipes = []inbox.RecipeRef{{Name: o.Key.Recipe.Name, Version: o.Key.Recipe.Version + 1}}
		w.events[e.ID] = raised
	}
	_, err := w.control().Redrive(t.Context(), shop, redrive(o.Key.String()))
	if now, _ := w.Operation(t.Context(), o.Key); !errors.Is(err, operation.ErrFormerRecipe) || now.State != operation.Failed || len(w.sent) != 0 {
		t.Errorf("%v, it is %s", err, now.State)
	}
}
