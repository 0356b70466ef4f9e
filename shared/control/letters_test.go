package control_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"

	"github.com/google/go-cmp/cmp"
)

// notice is the one that a worker sends for a failed operation.
func notice(o operation.Operation) inbox.Letter {
	n := inbox.Notice{Event: o.Event, Scope: o.Key.Scope, Operation: o.Key.String(), Token: o.Token, Reason: o.Reason, Category: string(o.Category)}
	return inbox.Letter{Event: o.Event, Notice: &n, Bytes: 200}
}

// aboutEvent is a notice for an event without an operation.
func aboutEvent(e inbox.Event) inbox.Letter {
	n := inbox.Notice{Event: e.ID, Scope: e.Scope, Generation: e.Generation, Reason: e.Reason, Category: e.Category}
	return inbox.Letter{Event: e.ID, Notice: &n}
}

func (w *works) list(t *testing.T, scope object.Scope) []control.Letter {
	t.Helper()
	list, err := w.control().Letters(t.Context(), scope, "")
	if err != nil || list.Next != "" {
		t.Fatalf("next %q, %v", list.Next, err)
	}
	return list.Items
}

func tidying(native bool) control.Tidying {
	return control.Tidying{Native: native, By: "ann", Reason: "spring"}
}

func TestALetterIsJoinedWithWhatItTellsOf(t *testing.T) {
	op := func(change func(o *operation.Operation)) func(w *works, e inbox.Event) inbox.Letter {
		return func(w *works, e inbox.Event) inbox.Letter {
			l := notice(w.fail(e, "9f2c"))
			w.change(operation.Key{Scope: shop, Object: e.Object, Recipe: card, Digest: "9f2c"}, change)
			return l
		}
	}
	parked := func(change func(e *inbox.Event)) func(w *works, e inbox.Event) inbox.Letter {
		return func(w *works, e inbox.Event) inbox.Letter {
			e = w.park(e)
			l := aboutEvent(e)
			change(&e)
			w.events[e.ID] = e
			return l
		}
	}
	native := func(state inbox.State) func(w *works, e inbox.Event) inbox.Letter {
		return func(w *works, e inbox.Event) inbox.Letter {
			e.State = state
			w.events[e.ID] = e
			return inbox.Letter{Event: e.ID}
		}
	}
	for _, c := range []struct {
		name     string
		letter   func(w *works, e inbox.Event) inbox.Letter
		standing string
		state    string
		over     bool
		sent     bool // by tidying with native ones
	}{
		{"still failed", op(func(*operation.Operation) {}), control.LetterFailed, "failed", false, false},
		{"redriven, and at work", op(func(o *operation.Operation) { o.State, o.Token = operation.Running, 3 }), control.LetterRedriven, "running", true, false},
		{"redriven, and not begun", op(func(o *operation.Operation) { o.State = operation.Pending }), control.LetterRedriven, "pending", true, false},
		{"redriven, and failed again", op(func(o *operation.Operation) { o.Token = 3 }), control.LetterRedriven, "failed", true, false},
		{"redriven, and done", op(func(o *operation.Operation) { o.State = operation.Completed }), control.LetterRedriven, "completed", true, false},
		{"dismissed", op(func(o *operation.Operation) { o.Dismissed = &operation.Decision{By: "bob"} }), control.LetterDismissed, "failed", true, false},
		{"redriven and cancelled", op(func(o *operation.Operation) { o.Category, o.Token = operation.CategoryCancelled, 3 }), control.LetterCancelled, "failed", true, false},
		{"not kept any more", func(w *works, e inbox.Event) inbox.Letter { l := notice(w.fail(e, "9f2c")); w.ops = nil; return l }, control.LetterGone, "", true, false},
		{"an event that is still parked", parked(func(*inbox.Event) {}), control.LetterParked, "parked", false, false},
		{"an event that was opened", parked(func(e *inbox.Event) { e.State = inbox.Received }), control.LetterRedriven, "received", true, false},
		{"an event that was parked again", parked(func(e *inbox.Event) { e.Generation++ }), control.LetterRedriven, "parked", true, false},
		{"an event that was dismissed", parked(func(e *inbox.Event) { e.Dismissed = &inbox.Dismissed{} }), control.LetterDismissed, "parked", true, false},
		{"an event that is not kept any more", func(w *works, e inbox.Event) inbox.Letter {
			l := aboutEvent(w.park(e))
			delete(w.events, e.ID)
			return l
		}, control.LetterGone, "", true, false},
		{"set aside by the queue, and open", native(inbox.Received), control.LetterNative, "received", false, true},
		{"set aside by the queue, and settled", native(inbox.Settled), control.LetterNative, "settled", true, false},
		{"set aside by the queue, and parked", native(inbox.Parked), control.LetterNative, "parked", true, false},
		{"set aside by the queue, of nobody", func(*works, inbox.Event) inbox.Letter { return inbox.Letter{Event: "evt_aaaaaaaaaaaaaaaa"} }, control.LetterGone, "", false, false},
		{"not ours", func(*works, inbox.Event) inbox.Letter { return inbox.Letter{Bytes: 7} }, control.LetterForeign, "", false, false},
		{"a notice that names no operation", func(w *works, e inbox.Event) inbox.Letter {
			return inbox.Letter{Event: e.ID, Notice: &inbox.Notice{Event: e.ID, Scope: shop, Operation: "order 12"}}
		}, control.LetterForeign, "", false, false},
	} {
		w := newWorks()
		e := w.event(1, "product:794", 5)
		w.put(c.letter(w, e))
		got := w.list(t, object.Scope{})
		if len(got) != 1 || got[0].Standing != c.standing || got[0].State != c.state || got[0].Over != c.over || len(w.hidden) != 0 {
			t.Errorf("%s: %+v, hidden %v", c.name, got, w.hidden)
		}
		done, err := w.control().Tidy(t.Context(), object.Scope{}, tidying(true))
		if err != nil || done.Letters != 1 || done.Deleted+done.Left != 1 || (done.Deleted == 1) != (c.over || c.sent) || (done.Sent == 1) != c.sent || len(w.sent) != done.Sent || len(w.deleted) != done.Deleted {
			t.Errorf("%s: %+v, %v, deleted %v, sent %v", c.name, done, err, w.deleted, w.sent)
		}
	}
}

func TestALetterSaysAllThatIsKnown(t *testing.T) {
	w := newWorks()
	o := w.fail(w.event(1, "product:794", 5), "9f2c")
	w.put(notice(o))
	e := w.event(2, "product:8", 4)
	e.State = inbox.Received
	w.events[e.ID] = e
	w.operation(e, "aa")
	w.operation(w.event(4, "product:8", 2), "bb") // of another event
	w.put(inbox.Letter{Event: e.ID, Bytes: 30})
	never := w.event(3, "product:9", 3)
	w.put(inbox.Letter{Event: never.ID, Bytes: 30})
	got := w.list(t, shop)
	if len(got) != 3 || got[0].Operation != o.Key.String() || got[0].Object != "product:794" || got[0].Reason != "refusal" || got[0].Category != "unusable output" ||
		got[0].Attempts != 2 || got[0].Receives != 1 || got[0].Bytes != 200 || got[0].Tenant != "shop" || got[0].Event != string(o.Event) || !got[0].SentAt.Equal(noon) {
		t.Errorf("%+v", got)
	}
	if got[1].Attempts != 2 || got[1].Object != "product:8" || got[1].Operation != "product:8/product-card@3/aa" || got[1].Reason != "" {
		t.Errorf("%+v", got[1])
	}
	if got[2].Attempts != 0 || got[2].Object != "product:9" { // no worker ever began
		t.Errorf("%+v", got[2])
	}
}

// A named tenant sees and tidies its own; what is nobody's is shown to all, and left by all.
func TestLettersOfOthersAreLeft(t *testing.T) {
	w := newWorks()
	o := w.fail(w.event(1, "product:794", 5), "9f2c")
	w.change(o.Key, func(o *operation.Operation) { o.State = operation.Completed })
	w.put(notice(o))
	w.put(inbox.Letter{})
	other := object.Scope{Tenant: "shop", Environment: "production"}
	if got := w.list(t, other); len(got) != 1 || got[0].Standing != control.LetterForeign {
		t.Errorf("%+v", got)
	}
	done, err := w.control().Tidy(t.Context(), other, tidying(true))
	if err != nil || done.Left != 2 || len(w.deleted)+len(w.trail)+len(w.hidden) != 0 {
		t.Errorf("%+v, %v, deleted %v", done, err, w.deleted)
	}
	if done, err = w.control().Tidy(t.Context(), shop, tidying(true)); err != nil || done.Deleted != 1 || done.Left != 1 {
		t.Errorf("%+v, %v, deleted %v", done, err, w.deleted)
	}
	if diff := cmp.Diff([]string{"ann: tidy dead letters of dead-letter queue: 0 to send again, 1 to delete because spring"}, w.done()); diff != "" {
		t.Error(diff)
	}
}

func TestNativeLettersAreSentOnlyWhenAskedFor(t *testing.T) {
	w := newWorks()
	e := w.event(1, "product:794", 5)
	e.State = inbox.Received
	w.events[e.ID] = e
	w.put(inbox.Letter{Event: e.ID})
	done, err := w.control().Tidy(t.Context(), shop, tidying(false))
	if err != nil || done.Left != 1 || len(w.sent)+len(w.deleted)+len(w.trail)+len(w.hidden) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

// First sent, then deleted: whatever fails, the letter or the message is there.
func TestALetterIsSentBeforeItIsDeleted(t *testing.T) {
	w := newWorks()
	e := w.event(1, "product:794", 5)
	e.State = inbox.Received
	w.events[e.ID] = e
	w.put(inbox.Letter{Event: e.ID})
	w.sendErr = errDownstairs
	if _, err := w.control().Tidy(t.Context(), shop, tidying(true)); !errors.Is(err, errDownstairs) || len(w.deleted)+len(w.hidden) != 0 {
		t.Errorf("%v, deleted %v, hidden %v", err, w.deleted, w.hidden)
	}
	w.sendErr, w.noAudit = nil, errDownstairs
	if _, err := w.control().Tidy(t.Context(), shop, tidying(true)); !errors.Is(err, errDownstairs) || len(w.deleted)+len(w.hidden)+len(w.sent) != 0 {
		t.Errorf("without a record: %v, deleted %v, hidden %v, sent %v", err, w.deleted, w.hidden, w.sent)
	}
	if _, err := w.control().Tidy(t.Context(), shop, control.Tidying{By: "ann"}); !errors.Is(err, control.ErrReason) {
		t.Errorf("without a reason: %v", err)
	}
}

// A queue that breaks off gives back what it gave.
func TestLettersComeBackAfterAFault(t *testing.T) {
	w := newWorks()
	w.put(notice(w.fail(w.event(1, "product:794", 5), "9f2c")))
	w.peekErr = errDownstairs
	if _, err := w.control().Letters(t.Context(), shop, ""); !errors.Is(err, errDownstairs) || len(w.hidden) != 0 {
		t.Errorf("%v, hidden %v", err, w.hidden)
	}
	if _, err := w.control().Letters(t.Context(), shop, "elsewhere"); !errors.Is(err, control.ErrCursor) {
		t.Error(err)
	}
}

// Each page hides what it showed, so that the next one brings the rest, and nothing twice.
func TestManyLettersComeInPages(t *testing.T) {
	w := newWorks()
	for n := range 2*control.MaxLetters + 7 {
		o := w.fail(w.event(n, fmt.Sprint("product:", n), 5), "9f2c")
		if n%2 == 0 {
			w.change(o.Key, func(o *operation.Operation) { o.State = operation.Completed })
		}
		w.put(notice(o))
	}
	var ids []string
	pages, after := 0, ""
	for {
		list, err := w.control().Letters(t.Context(), shop, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list.Items {
			ids = append(ids, l.ID)
		}
		pages++
		if after = list.Next; after == "" {
			break
		}
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); pages != 3 || n != len(w.letters) {
		t.Errorf("%d letters in %d pages", n, pages)
	}
	clear(w.hidden)
	sum := control.Tidied{}
	for {
		done, err := w.control().Tidy(t.Context(), shop, control.Tidying{After: after, By: "ann", Reason: "spring"})
		if err != nil {
			t.Fatal(err)
		}
		sum.Deleted, sum.Left = sum.Deleted+done.Deleted, sum.Left+done.Left
		if after = done.Next; after == "" {
			break
		}
	}
	if sum.Deleted != control.MaxLetters+4 || sum.Left != control.MaxLetters+3 {
		t.Errorf("%+v", sum)
	}
}
