package control_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/operation"
	"engang/shared/problem"

	"github.com/google/go-cmp/cmp"
)

// everyKind has one of each kind, the draft the oldest.
func everyKind() (*counter, []string) {
	d := newCounter()
	d.groups = map[string][]string{"product-card": {"catalogue", "shop"}}
	draft, failed, parked := d.draft(1, 60), d.failed(2, 50), d.parked(3, 40)
	x := d.conflict(parked, "beef", 30)
	return d, []string{draft.Key.String(), failed.Key.String(), string(parked.ID), string(parked.ID) + "/" + x.Digest}
}

func TestWhatWaitsForAPersonIsListed(t *testing.T) {
	d, ids := everyKind()
	list, err := d.control().Review(t.Context(), shop, control.ReviewFilter{}, control.Span{})
	if err != nil || list.Next != "" {
		t.Fatalf("next %q, %v", list.Next, err)
	}
	of := func(minutes, seconds int) time.Time {
		return noon.Add(time.Duration(-minutes)*time.Minute + time.Duration(seconds)*time.Second)
	}
	want := []control.Waiting{
		{Kind: "draft", ID: ids[0], Object: "product:794", ObjectVersion: "2026-11-29T11:00:00Z", Recipe: "product-card@3", Reason: "policy draft", AgeS: 3599, OpenedAt: of(60, 1),
			Owner: "catalogue", Digest: "sha256:" + d.ops[0].Digest, Event: string(d.ops[0].Event)},
		{Kind: "failed", ID: ids[1], Object: "product:794", ObjectVersion: "2026-11-29T11:10:00Z", Recipe: "product-card@3", Reason: "refusal", Category: "unusable output", AgeS: 2999,
			OpenedAt: of(50, 1), Owner: "catalogue", Event: string(d.ops[1].Event), Seen: "1/" + string(d.ops[1].Event)},
		{Kind: "parked", ID: ids[2], Object: "product:794", ObjectVersion: "2026-11-29T11:20:00Z", Recipe: "product-card@3", Reason: "the payload names no object", Category: "invalid input",
			AgeS: 2399, OpenedAt: of(40, 1), Owner: "catalogue", Digest: "sha256:ab", Event: ids[2], Seen: "0"},
		{Kind: "conflict", ID: ids[3], Object: "product:794", ObjectVersion: "2026-11-29T11:20:00Z", Recipe: "product-card@3",
			Reason: "another fact under the key of this event; nothing was done with it", AgeS: 1800, OpenedAt: of(30, 0), Owner: "catalogue", Digest: "sha256:beef", Event: ids[2]},
	}
	if diff := cmp.Diff(want, list.Items); diff != "" {
		t.Error(diff)
	}
}

// Whoever looks at a draft sees whose list it is on.
func TestADraftIsShownWithItsOwner(t *testing.T) {
	d, ids := everyKind()
	one, err := d.control().Show(t.Context(), shop, ids[0], time.Time{})
	if err != nil || one.Operation.Review.Owner != "catalogue" {
		t.Errorf("%+v, %v", one.Operation, err)
	}
	list, err := d.control().Operations(t.Context(), shop, control.OperationFilter{State: "review"}, control.Span{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Review.Owner != "catalogue" {
		t.Errorf("%+v, %v", list.Items, err)
	}
}

func TestTheReviewListIsFiltered(t *testing.T) {
	d, ids := everyKind()
	d.ops[0].Key.Recipe.Name = "contact-note" // nobody's
	ids[0] = d.ops[0].Key.String()
	other := d.draft(4, 55)
	d.at(other.Key).Key.Scope.Tenant = "other"
	foreign := d.parked(5, 54)
	foreign.Scope.Tenant = "other"
	d.events[foreign.ID] = foreign
	for _, c := range []struct {
		name   string
		filter control.ReviewFilter
		want   []string
	}{
		{"all of this tenant", control.ReviewFilter{}, ids},
		{"drafts", control.ReviewFilter{Kind: "draft"}, ids[:1]},
		{"failed", control.ReviewFilter{Kind: "failed"}, ids[1:2]},
		{"parked", control.ReviewFilter{Kind: "parked"}, ids[2:3]},
		{"conflicts", control.ReviewFilter{Kind: "conflict"}, ids[3:]},
		{"of an owner", control.ReviewFilter{Owner: "catalogue"}, ids[1:]},
		{"of a group that owns nothing", control.ReviewFilter{Owner: "shop"}, nil},
		{"older than that, which is left out", control.ReviewFilter{Older: d.ops[1].QueuedAt}, ids[:1]},
		{"older than a moment later", control.ReviewFilter{Older: d.ops[1].QueuedAt.Add(1)}, ids[:2]},
		{"older than anything", control.ReviewFilter{Older: noon.AddDate(-1, 0, 0)}, nil},
	} {
		for _, limit := range []int{0, 1} {
			var got []string
			for span := (control.Span{Limit: limit}); ; {
				list, err := d.control().Review(t.Context(), shop, c.filter, span)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range list.Items {
					got = append(got, w.ID)
				}
				if span.After = list.Next; span.After == "" || limit == 0 {
					break
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, page of %d: %s", c.name, limit, diff)
			}
		}
	}
	if _, err := d.control().Review(t.Context(), shop, control.ReviewFilter{Kind: "drafts"}, control.Span{}); !errors.Is(err, problem.ErrQuery) {
		t.Errorf("a kind that there is not: %v", err)
	}
	for _, place := range []string{"~", "\x7f", "1764417600000", "176441760000#x", "17644176000000#x", "-764417600000#x", "#x"} { // beyond an end of the list, no store can look
		after := base64.RawURLEncoding.EncodeToString([]byte(place))
		if _, err := d.control().Review(t.Context(), shop, control.ReviewFilter{}, control.Span{After: after}); !errors.Is(err, control.ErrCursor) {
			t.Errorf("place %q: %v", place, err)
		}
	}
	if _, err := d.control().Review(t.Context(), shop, control.ReviewFilter{}, control.Span{After: "!"}); !errors.Is(err, control.ErrCursor) {
		t.Errorf("a place that is none: %v", err)
	}
}

// The index may be a moment old: what does not wait any more is left out.
func TestAnOldReviewListIsHeldAgainstWhatStands(t *testing.T) {
	d, ids := everyKind()
	stale := &staleList{counter: d}
	stale.list, _, _ = d.Reviews(t.Context(), "", 10)
	k := control.New(control.Deps{Store: stale, Endpoints: d, Now: func() time.Time { return noon }, NewID: func() string { return "a" }})
	d.ops[0].State, d.ops[0].QueuedAt = operation.Completed, time.Time{}
	d.ops[1].Dismissed, d.ops[1].QueuedAt = decision("ann", "no", noon), time.Time{}
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(ids[2])); err != nil {
		t.Fatal(err)
	}
	list, err := k.Review(t.Context(), shop, control.ReviewFilter{}, control.Span{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != ids[3] {
		t.Errorf("%+v, %v", list.Items, err)
	}
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(ids[3])); err != nil {
		t.Fatal(err)
	}
	d.ops = nil
	delete(d.events, d.parked(8, 1).ID)
	if list, err := k.Review(t.Context(), shop, control.ReviewFilter{}, control.Span{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list.Items, err)
	}
}

// A staleList shows what waited a moment ago.
type staleList struct {
	*counter
	list []operation.Waiting
}

func (s *staleList) Reviews(context.Context, string, int) ([]operation.Waiting, string, error) {
	return s.list, "", nil
}

// One look at a long list of others' things comes to an end, and says where to go on.
func TestALookAtALongReviewListEnds(t *testing.T) {
	d := newCounter()
	for range 1200 {
		d.draft(1, 60)
		d.ops[len(d.ops)-1].Key.Digest = fmt.Sprint(len(d.ops))
		d.ops[len(d.ops)-1].Key.Scope.Tenant = "other"
	}
	own := d.draft(2, 1)
	pages := 0
	for span := (control.Span{Limit: 100}); ; pages++ {
		list, err := d.control().Review(t.Context(), shop, control.ReviewFilter{}, span)
		if err != nil {
			t.Fatal(err)
		}
		if list.Next == "" {
			if len(list.Items) != 1 || list.Items[0].ID != own.Key.String() || pages == 0 {
				t.Errorf("after %d pages %+v", pages, list.Items)
			}
			return
		}
		if _, err := base64.RawURLEncoding.DecodeString(list.Next); err != nil || len(list.Items) != 0 {
			t.Errorf("page %d: %+v, next %q", pages, list.Items, list.Next)
		}
		span.After = list.Next
	}
}
