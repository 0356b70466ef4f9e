package control_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// draft stores an operation in review that works for the nth event of product 794, received so many minutes
// before noon.
func (d *counter) draft(n, minutes int) operation.Operation {
	e := d.event(n, "product:794", minutes)
	hex := strings.Repeat(string(rune('a'+n)), 8)
	o := operation.Operation{
		Key: operation.Key{Scope: shop, Object: e.Object, Recipe: card, Digest: hex}, State: operation.Review, Token: 1, Claims: 1, Event: e.ID, Rank: e.Rank,
		Output: []byte(`{"summary":"` + hex + `"}`), Digest: "dd" + hex, Reason: "policy draft", QueuedAt: e.ReceivedAt.Add(time.Second),
	}
	d.ops = append(d.ops, o)
	return o
}

// result stores a result of the same recipe version that another operation brought, as new as the event.
func (d *counter) result(n, minutes int) operation.Result {
	d.operation(d.event(n, "product:794", minutes), "ffff")
	return d.results[len(d.results)-1]
}

func deciding(o operation.Operation) control.Deciding {
	return control.Deciding{ID: o.Key.String(), Digest: "sha256:" + o.Digest, By: "ann", Reason: "reads well"}
}

var plain = cmpopts.IgnoreUnexported(control.Decided{})

func TestAnApprovalMakesTheDraftTheResult(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	asked := deciding(o)
	asked.ID = "product:794/product-card@3/bb" // a unique beginning
	got, err := d.control().Approve(t.Context(), shop, asked)
	want := control.Decided{
		Kind: "decision", ID: o.Key.String(), Decision: "approved", By: "ann", At: noon, Note: "reads well",
		Object: "product:794", ObjectVersion: "2026-11-29T11:55:00Z", Recipe: "product-card@3", Digest: "sha256:" + o.Digest,
	}
	if diff := cmp.Diff(want, got, plain); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	end := noon.AddDate(0, 0, 400)
	result := operation.Result{Scope: shop, Object: o.Key.Object, Recipe: card, Rank: o.Rank, Operation: o.Key, Event: o.Event, Output: o.Output, Digest: o.Digest, At: noon, ExpiresAt: end}
	if diff := cmp.Diff([]operation.Result{result}, d.results); diff != "" {
		t.Error(diff)
	}
	stored := d.at(o.Key)
	if stored.State != operation.Completed || stored.WriteID != "act-1" || !stored.ExpiresAt.Equal(end) {
		t.Errorf("stored %+v", stored)
	}
	if diff := cmp.Diff([]string{"act-1 ann: approve draft of " + o.Key.String() + ", draft sha256:" + o.Digest + " because reads well"}, d.trailOf()); diff != "" || !d.trail[0].ExpiresAt.Equal(end) {
		t.Error(diff)
	}
}

func TestARejectionLeavesNoResult(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.draft(2, 1) // neither a newer draft
	d.result(3, 2)
	got, err := d.control().Reject(t.Context(), shop, deciding(o)) // nor a newer result matters
	if err != nil || got.Decision != "rejected" || got.By != "ann" || got.Already {
		t.Errorf("%+v, %v", got, err)
	}
	if stored := d.at(o.Key); stored.State != operation.Rejected || len(stored.Output) == 0 || !stored.ExpiresAt.IsZero() || len(d.results) != 1 {
		t.Errorf("stored %+v, %d results", stored, len(d.results))
	}
}

// What stands decides, however the operation came to stand so.
func TestADecisionThatIsRefusedChangesNothing(t *testing.T) {
	ann, bob := decision("ann", "fine", noon.Add(-time.Minute)), decision("bob", "no", noon.Add(-time.Minute))
	for _, c := range []struct {
		name   string
		stored func(o *operation.Operation)
		change func(a *control.Deciding)
		err    error
		reject error // the same of a rejection; nil: as err
	}{
		{"another digest", nil, func(a *control.Deciding) { a.Digest = "sha256:00" }, operation.ErrOtherDraft, nil},
		{"a beginning of the digest", nil, func(a *control.Deciding) { a.Digest = a.Digest[:12] }, operation.ErrOtherDraft, nil},
		{"a digest of nothing", nil, func(a *control.Deciding) { a.Digest = "sha256:" }, problem.ErrQuery, nil},
		{"no digest", nil, func(a *control.Deciding) { a.Digest = "" }, problem.ErrQuery, nil},
		{"no reason", nil, func(a *control.Deciding) { a.Reason = " \n" }, control.ErrReason, nil},
		{"nobody", nil, func(a *control.Deciding) { a.By = "" }, problem.ErrIdentity, nil},
		{"another object", nil, func(a *control.Deciding) { a.ID = "product:795" }, operation.ErrNotFound, nil},
		{"an event", nil, func(a *control.Deciding) { a.ID = "evt_aaaaaaaaaaaaaaaa" }, object.ErrNoID, nil},
		{"no such operation", nil, func(a *control.Deciding) { a.ID = "product:794/product-card@3/00" }, operation.ErrNotFound, nil},
		{"redriven, and in work", func(o *operation.Operation) { o.State, o.Output, o.Digest = operation.Running, nil, "" }, nil, operation.ErrNotWaiting, nil},
		{"failed", func(o *operation.Operation) { o.State = operation.Failed }, nil, operation.ErrNotWaiting, nil},
		{"completed by its policy", func(o *operation.Operation) { o.State = operation.Completed }, nil, operation.ErrNotWaiting, nil},
		{"set aside, and the newer result is gone", func(o *operation.Operation) { o.State = operation.Superseded }, nil, operation.ErrNotWaiting, nil},
		{"cancelled", func(o *operation.Operation) { o.State, o.Decision = operation.Failed, bob }, nil, operation.ErrDecided, nil},
		{"approved with another content", func(o *operation.Operation) { o.State, o.Decision, o.Digest = operation.Completed, ann, "00" }, nil, operation.ErrDecided, nil},
		{"redriven, and another draft", func(o *operation.Operation) { o.Digest = "00" }, nil, operation.ErrOtherDraft, nil},
	} {
		for what, decide := range map[string]func(*control.Control, control.Deciding) (control.Decided, error){
			"approve": func(k *control.Control, a control.Deciding) (control.Decided, error) {
				return k.Approve(t.Context(), shop, a)
			},
			"reject": func(k *control.Control, a control.Deciding) (control.Decided, error) {
				return k.Reject(t.Context(), shop, a)
			},
		} {
			d := newCounter()
			o := d.draft(1, 5)
			asked := deciding(o)
			if c.stored != nil {
				c.stored(&d.ops[0])
			}
			if c.change != nil {
				c.change(&asked)
			}
			before := d.ops[0]
			got, err := decide(d.control(), asked)
			if !errors.Is(err, c.err) || got.Kind != "" || len(d.writes) != 0 || len(d.results) != 0 {
				t.Errorf("%s, %s: %+v, %v, writes %v", what, c.name, got, err, d.writes)
			}
			if diff := cmp.Diff(before, d.ops[0]); diff != "" {
				t.Errorf("%s, %s: %s", what, c.name, diff)
			}
			// The audit log holds each decision that was asked for, and nothing that was no decision.
			if refused := errors.Is(err, operation.ErrRefused); refused != (len(d.trail) == 1) || refused && d.trail[0].Act != what+" draft, refused" {
				t.Errorf("%s, %s: recorded %q", what, c.name, d.trailOf())
			}
		}
	}
}

func TestOneDecisionIsAllThereIs(t *testing.T) {
	approve := func(d *counter, o operation.Operation, by string) (control.Decided, error) {
		a := deciding(o)
		a.By, a.Reason = by, by+" says so"
		return d.control().Approve(t.Context(), shop, a)
	}
	reject := func(d *counter, o operation.Operation, by string) (control.Decided, error) {
		a := deciding(o)
		a.By, a.Reason = by, by+" says so"
		return d.control().Reject(t.Context(), shop, a)
	}
	type decide = func(*counter, operation.Operation, string) (control.Decided, error)
	for _, c := range []struct {
		name          string
		first, second decide
		already       bool
		word          string
	}{
		{"approved, and approved again", approve, approve, true, "approved"},
		{"rejected, and rejected again", reject, reject, true, "rejected"},
		{"approved, then rejected", approve, reject, false, ""},
		{"rejected, then approved", reject, approve, false, ""},
	} {
		for _, atOnce := range []bool{false, true} {
			d := newCounter()
			o := d.draft(1, 5)
			act := func(d *counter) {
				if got, err := c.first(d, o, "ann"); err != nil || got.Already || got.By != "ann" {
					t.Errorf("%s: the first: %+v, %v", c.name, got, err)
				}
			}
			if atOnce {
				d.between = act // bob looked before ann decided
			} else {
				act(d)
			}
			got, err := c.second(d, o, "bob")
			if c.already && (err != nil || !got.Already || got.By != "ann" || got.Note != "ann says so" || got.Decision != c.word) {
				t.Errorf("%s, at once %v: %+v, %v", c.name, atOnce, got, err)
			}
			stored, ok := errors.AsType[*operation.RefusedError](err)
			if !c.already && (!errors.Is(err, operation.ErrDecided) || !ok || stored.Stored.Decision.By != "ann") {
				t.Errorf("%s, at once %v: %+v, %v", c.name, atOnce, got, err)
			}
			if by := d.at(o.Key).Decision.By; by != "ann" || len(d.results) > 1 {
				t.Errorf("%s: decided by %s, %d results", c.name, by, len(d.results))
			}
			if last := d.trail[len(d.trail)-1]; len(d.trail) != 2 || last.By != "bob" || !strings.HasSuffix(last.Act, "refused") && !strings.HasSuffix(last.Act, "done already") {
				t.Errorf("%s: recorded %q", c.name, d.trailOf())
			}
		}
	}
}

// A newer draft asks for a second word; a newer result leaves nothing to approve.
func TestTheNewestApprovedVersionIsTheResult(t *testing.T) {
	d := newCounter()
	older, newer := d.draft(1, 5), d.draft(2, 3)
	d.draft(3, 4)
	foreign := d.draft(4, 1) // of another recipe version: it has a result of its own
	d.at(foreign.Key).Key.Recipe.Version = 4
	_, err := d.control().Approve(t.Context(), shop, deciding(older))
	if stored, ok := errors.AsType[*operation.RefusedError](err); !errors.Is(err, operation.ErrNewerDraft) || !ok || stored.Stored.Key != newer.Key || len(d.writes) != 0 {
		t.Fatalf("with a newer draft: %v, writes %v", err, d.writes)
	}
	asked := deciding(older)
	asked.AlthoughNewer = true
	if _, err := d.control().Approve(t.Context(), shop, asked); err != nil || d.results[0].Rank != older.Rank {
		t.Fatalf("a second word: %v, results %+v", err, d.results)
	}
	if _, err := d.control().Approve(t.Context(), shop, deciding(newer)); err != nil || len(d.results) != 1 || d.results[0].Rank != newer.Rank || d.results[0].Operation != newer.Key {
		t.Fatalf("the newer one replaces it: %v, results %+v", err, d.results)
	}
	last := d.ops[2] // between the two, and decided last
	for range 2 {    // a repeat is told the same
		_, err = d.control().Approve(t.Context(), shop, deciding(last))
		overtaken, ok := errors.AsType[*operation.OvertakenError](err)
		if !errors.Is(err, operation.ErrNewerResult) || !ok || overtaken.Newer.Operation != newer.Key {
			t.Fatalf("after a newer result: %v", err)
		}
	}
	if stored := d.at(last.Key); stored.State != operation.Superseded || stored.ExpiresAt.IsZero() || len(stored.Output) == 0 || d.results[0].Rank != newer.Rank || stored.Decision != nil {
		t.Errorf("set aside: %+v, results %+v", stored, d.results)
	}
	if got := d.trail[len(d.trail)-1].Act; got != "approve draft, set aside" {
		t.Errorf("recorded %q", got)
	}
}

// What others do between the look and the write is met by another look.
func TestWhatChangesMeanwhileIsLookedAtAgain(t *testing.T) {
	raise := func(minutes int) func(d *counter) {
		return func(d *counter) {
			e := d.event(9, "product:794", minutes)
			d.ops[0].Rank, d.ops[0].Event = e.Rank, e.ID
		}
	}
	for _, c := range []struct {
		name    string
		between func(d *counter)
		err     error
		state   operation.State
		writes  []string
	}{
		{"an echo raises the rank: the bytes are those looked at", raise(2), nil, operation.Completed, []string{"approve", "approve"}},
		{"a newer result appears", func(d *counter) { d.result(8, 1) }, operation.ErrNewerResult, operation.Superseded, []string{"approve", "set aside"}},
		{"an older result appears", func(d *counter) { d.result(8, 50) }, nil, operation.Completed, []string{"approve"}},
		{"a newer draft appears", func(d *counter) { d.draft(2, 1); raise(4)(d) }, operation.ErrNewerDraft, operation.Review, []string{"approve"}},
		{"another draft takes its place", func(d *counter) { d.ops[0].Digest = "00" }, operation.ErrOtherDraft, operation.Review, []string{"approve"}},
		{"it is cancelled", func(d *counter) { d.ops[0].State, d.ops[0].Decision = operation.Failed, decision("bob", "no", noon) }, operation.ErrDecided, operation.Failed, []string{"approve"}},
		{"it is gone", func(d *counter) { d.ops = nil }, operation.ErrNotFound, "", []string{"approve"}},
	} {
		d := newCounter()
		o := d.draft(1, 5)
		d.between = c.between
		_, err := d.control().Approve(t.Context(), shop, deciding(o))
		if stored := d.at(o.Key); !errors.Is(err, c.err) || stored.State != c.state {
			t.Errorf("%s: %v, stored %s", c.name, err, stored.State)
		}
		if diff := cmp.Diff(c.writes, d.writes); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if c.state == operation.Completed && (d.results[0].Rank != d.ops[0].Rank || d.results[0].Digest != o.Digest || d.results[0].Event != d.ops[0].Event) {
			t.Errorf("%s: result %+v", c.name, d.results[0])
		}
	}
}

// A draft that is about to be set aside is raised by an echo: then it is the newest, and becomes the result.
func TestADraftThatIsRaisedIsNotSetAside(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.result(8, 3)
	d.between = func(d *counter) { d.ops[0].Rank = d.event(9, "product:794", 1).Rank }
	if got, err := d.control().Approve(t.Context(), shop, deciding(o)); err != nil || got.ObjectVersion != "2026-11-29T11:59:00Z" || d.results[0].Operation != o.Key {
		t.Errorf("%+v, %v, writes %v", got, err, d.writes)
	}
}

// What a beginning of a name meant at the first look is what the decision is about.
func TestADecisionStaysWithWhatItBeganWith(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.between = func(d *counter) {
		other := d.draft(2, 50)
		d.at(other.Key).Key.Digest = "b0"
		d.ops[0].Rank = d.event(9, "product:794", 4).Rank
	}
	asked := deciding(o)
	asked.ID = "product:794/product-card@3/b"
	if got, err := d.control().Approve(t.Context(), shop, asked); err != nil || got.ID != o.Key.String() {
		t.Errorf("%+v, %v", got, err)
	}
}

// A newer result under another recipe version is not in the way: each version has a result of its own.
func TestAResultOfAnotherRecipeVersionIsNotInTheWay(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.result(2, 1)
	d.results[0].Recipe.Version = 4
	if got, err := d.control().Approve(t.Context(), shop, deciding(o)); err != nil || got.Decision != "approved" || len(d.results) != 2 {
		t.Errorf("%+v, %v, results %+v", got, err, d.results)
	}
}

// Without an answer the decision may stand. The same asked again says that it does, and the audit log then
// holds it as it was made.
func TestADecisionWithoutAnAnswerIsKeptByItsRepeat(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.lost, d.noAudit = errDown, errDown
	if _, err := d.control().Approve(t.Context(), shop, deciding(o)); !errors.Is(err, errDown) || len(d.trail) != 0 {
		t.Fatalf("%v, recorded %q", err, d.trailOf())
	}
	d.lost, d.noAudit = nil, nil
	again := deciding(o)
	again.Reason = "once more"
	got, err := d.control().Approve(t.Context(), shop, again)
	if err != nil || !got.Already || got.Note != "reads well" || len(d.writes) != 1 {
		t.Errorf("%+v, %v, writes %v", got, err, d.writes)
	}
	target := o.Key.String() + ", draft sha256:" + o.Digest
	want := []string{"act-1 ann: approve draft of " + target + " because reads well", "act-3 ann: approve draft, done already of " + target + " because once more"}
	if diff := cmp.Diff(want, d.trailOf()); diff != "" {
		t.Error(diff)
	}
}

// An outcome that is not known is not recorded as if it were.
func TestAWriteWithoutAnAnswerIsRecordedAsSuch(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.lost = errDown
	if _, err := d.control().Reject(t.Context(), shop, deciding(o)); !errors.Is(err, errDown) || len(d.trail) != 1 || d.trail[0].Act != "reject draft, outcome unknown" {
		t.Errorf("%v, recorded %q", err, d.trailOf())
	}
	d.lost = nil // and the decision itself as soon as it is found to stand
	if got, err := d.control().Reject(t.Context(), shop, deciding(o)); err != nil || !got.Already || len(d.trail) != 3 || d.trail[1].Act != "reject draft" || d.trail[1].ID != "act-1" {
		t.Errorf("%+v, %v, recorded %q", got, err, d.trailOf())
	}
}

// A decision that cannot be kept in the audit log is told as unfinished, and can be asked for again.
func TestADecisionThatIsNotRecordedIsNotReported(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.noAudit = errDown
	if _, err := d.control().Reject(t.Context(), shop, deciding(o)); !errors.Is(err, errDown) {
		t.Error(err)
	}
	d.noAudit = nil
	if got, err := d.control().Reject(t.Context(), shop, deciding(o)); err != nil || !got.Already || len(d.trail) != 2 || d.trail[0].Act != "reject draft" {
		t.Errorf("%+v, %v, recorded %q", got, err, d.trailOf())
	}
}

func TestWhatChangesWithoutEndIsNoDecision(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	n := 0
	var again func(d *counter)
	again = func(d *counter) {
		n++
		d.ops[0].Rank += "1"
		d.between = again
	}
	d.between = again
	if _, err := d.control().Approve(t.Context(), shop, deciding(o)); !errors.Is(err, problem.ErrUnavailable) || n != 10 {
		t.Errorf("%v after %d looks", err, n)
	}
}
