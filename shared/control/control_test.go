package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/secrets"

	"github.com/google/go-cmp/cmp"
)

type secretsRef = secrets.Ref

func TestScope(t *testing.T) {
	prod := object.Scope{Tenant: "shop", Environment: "production"}
	other := object.Scope{Tenant: "other", Environment: "test"}
	for _, c := range []struct {
		name     string
		have     []object.Scope
		named    object.Scope
		endpoint string
		want     object.Scope
		err      error
	}{
		{"the only one there is", []object.Scope{shop}, object.Scope{}, "", shop, nil},
		{"the one that is named, stored or not", []object.Scope{shop}, prod, "", prod, nil},
		{"that of the endpoint", []object.Scope{shop, prod}, object.Scope{}, "woo-shop", shop, nil},
		{"the one with this environment", []object.Scope{shop, prod}, object.Scope{Environment: "test"}, "", shop, nil},
		{"one of two is meant", []object.Scope{shop, prod}, object.Scope{}, "", object.Scope{}, control.ErrScope},
		{"two fit a half name", []object.Scope{shop, other}, object.Scope{Environment: "test"}, "", object.Scope{}, control.ErrScope},
		{"nothing was applied", nil, object.Scope{}, "", object.Scope{}, config.ErrUnknown},
		{"an endpoint that is not configured", []object.Scope{shop}, object.Scope{}, "who", object.Scope{}, config.ErrUnknown},
		{"an endpoint where it is", []object.Scope{shop, prod}, shop, "woo-shop", shop, nil},
		{"an endpoint of another tenant", []object.Scope{shop, other}, object.Scope{Tenant: "other"}, "woo-shop", object.Scope{}, config.ErrUnknown},
		{"an endpoint of another environment", []object.Scope{shop, prod}, object.Scope{Environment: "production"}, "woo-shop", object.Scope{}, config.ErrUnknown},
		{"an endpoint that is not in what is named", []object.Scope{shop, prod}, prod, "woo-shop", object.Scope{}, config.ErrUnknown},
		{"an endpoint of a tenant that there is not", []object.Scope{shop}, object.Scope{Tenant: "nosuch"}, "woo-shop", object.Scope{}, config.ErrUnknown},
		{"an endpoint that is not configured in half a name", []object.Scope{shop}, object.Scope{Tenant: "shop"}, "who", object.Scope{}, config.ErrUnknown},
		{"an endpoint that is configured no more, where it was", []object.Scope{shop, prod}, prod, "who", prod, nil},
	} {
		m := newMemory()
		m.scopes = c.have
		got, err := m.control().Scope(t.Context(), c.named, c.endpoint)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestWhichTenantIsMeantIsAskedByName(t *testing.T) {
	m := newMemory()
	m.scopes = nil
	for n := range 22 {
		m.scopes = append(m.scopes, object.Scope{Tenant: fmt.Sprint("t", n), Environment: "test"})
	}
	_, err := m.control().Scope(t.Context(), object.Scope{}, "")
	if !errors.Is(err, control.ErrScope) || !strings.Contains(err.Error(), "one of t0/test, t1/test, ") || !strings.HasSuffix(err.Error(), "t19/test, and 2 more") {
		t.Error(err)
	}
}

func TestEventsAreFilteredNewestFirst(t *testing.T) {
	m := newMemory()
	a := m.event(1, "product:1", 3)
	b := m.event(2, "product:2", 2)
	old := m.event(3, "product:1", 2*24*60)
	ancient := m.event(4, "product:1", 10*24*60)
	b.Type, b.State, b.Outcome = "product.created", inbox.Received, ""
	m.events[b.ID] = b
	m.seen[a.ID] = inbox.Seen{Count: 2, FirstAt: noon, LastAt: noon}
	for _, c := range []struct {
		name   string
		filter control.EventFilter
		span   control.Span
		want   []inbox.Event
	}{
		{"of the last three days", control.EventFilter{}, control.Span{}, []inbox.Event{b, a, old}},
		{"of two weeks", control.EventFilter{}, control.Span{Since: noon.AddDate(0, 0, -14)}, []inbox.Event{b, a, old, ancient}},
		{"until a time, which is left out", control.EventFilter{}, control.Span{Until: b.ReceivedAt}, []inbox.Event{a, old}},
		{"since a time, which is taken in", control.EventFilter{}, control.Span{Since: a.ReceivedAt}, []inbox.Event{b, a}},
		{"by type", control.EventFilter{Type: "product.created"}, control.Span{}, []inbox.Event{b}},
		{"by object", control.EventFilter{Object: "product:1"}, control.Span{}, []inbox.Event{a, old}},
		{"by state", control.EventFilter{State: "received"}, control.Span{}, []inbox.Event{b}},
		{"by how it was settled", control.EventFilter{State: "completed"}, control.Span{}, []inbox.Event{a, old}},
		{"by another endpoint", control.EventFilter{Endpoint: "other"}, control.Span{}, nil},
		{"by the sender's id", control.EventFilter{EventID: "sender-3"}, control.Span{}, []inbox.Event{old}},
		{"delivered again", control.EventFilter{Duplicates: true}, control.Span{}, []inbox.Event{a}},
		{"at most so many", control.EventFilter{}, control.Span{Limit: 2}, []inbox.Event{b, a}},
	} {
		list, err := m.control().Events(t.Context(), shop, c.filter, c.span)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, e := range c.want {
			want = append(want, string(e.ID))
		}
		for _, e := range list.Items {
			got = append(got, e.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if more := list.Next != ""; more != (c.span.Limit == 2) {
			t.Errorf("%s: next %q", c.name, list.Next)
		}
	}
}

// Whatever the size of a page, following the cursor gives every event once.
func TestPagesJoinUp(t *testing.T) {
	m := newMemory()
	var want []string
	for n := range 60 {
		e := m.event(n, "product:1", n*70) // over three days
		if e.ReceivedAt.After(noon.AddDate(0, 0, -3)) || e.ReceivedAt.Equal(noon.AddDate(0, 0, -3)) {
			want = append(want, string(e.ID))
		}
	}
	for _, limit := range []int{1, 7, 59, 500} {
		var got []string
		span := control.Span{Limit: limit}
		for {
			list, err := m.control().Events(t.Context(), shop, control.EventFilter{}, span)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Items) > limit {
				t.Fatalf("%d items on a page of %d", len(list.Items), limit)
			}
			for _, e := range list.Items {
				got = append(got, e.ID)
			}
			if span.After = list.Next; span.After == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d: %s", limit, diff)
		}
	}
	for _, bad := range []string{"x", "eHg", "MjAyNg"} {
		if _, err := m.control().Events(t.Context(), shop, control.EventFilter{}, control.Span{After: bad}); !errors.Is(err, control.ErrCursor) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

// A look may read only so much: then the page is short, and its cursor goes on.
func TestAPageEndsBeforeItReadsTooMuch(t *testing.T) {
	m := newMemory()
	for n := range 1_200 {
		m.event(n, "product:1", n/2)
	}
	rare := m.event(5_000, "product:2", 700)
	f := control.EventFilter{Object: "product:2"}
	first, err := m.control().Events(t.Context(), shop, f, control.Span{})
	if err != nil || len(first.Items) != 0 || first.Next == "" {
		t.Fatalf("first page: %d items, next %q, %v", len(first.Items), first.Next, err)
	}
	second, err := m.control().Events(t.Context(), shop, f, control.Span{After: first.Next})
	if err != nil || len(second.Items) != 1 || second.Items[0].ID != string(rare.ID) || second.Next != "" {
		t.Errorf("second page: %+v, %v", second, err)
	}
}

func TestAnOperationIsListedOnceWhereItsNewestEventIs(t *testing.T) {
	m := newMemory()
	first := m.event(1, "product:1", 30)
	other := m.event(2, "product:2", 20)
	echo := m.event(3, "product:1", 10)
	a := m.operation(first, "aa11")
	b := m.operation(other, "bb22")
	b2 := b
	b2.Key.Recipe, b2.State, b2.Category = inbox.RecipeRef{Name: "tags", Version: 1}, operation.Failed, operation.CategoryUnusableOutput
	m.ops = append(m.ops, b2)
	_ = echo // asked for the same work: no operation stands here
	for _, c := range []struct {
		name   string
		filter control.OperationFilter
		want   []string
	}{
		{"all", control.OperationFilter{}, []string{b.Key.String(), b2.Key.String(), a.Key.String()}},
		{"by recipe", control.OperationFilter{Recipe: "product-card"}, []string{b.Key.String(), a.Key.String()}},
		{"by recipe version", control.OperationFilter{Recipe: "tags@1"}, []string{b2.Key.String()}},
		{"by a version that is not there", control.OperationFilter{Recipe: "tags@2"}, nil},
		{"by state", control.OperationFilter{State: "failed"}, []string{b2.Key.String()}},
		{"by category", control.OperationFilter{Category: "unusable output"}, []string{b2.Key.String()}},
		{"by object", control.OperationFilter{Object: "product:1"}, []string{a.Key.String()}},
	} {
		list, err := m.control().Operations(t.Context(), shop, c.filter, control.Span{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range list.Items {
			got = append(got, o.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || list.Next != "" {
			t.Errorf("%s: next %q %s", c.name, list.Next, diff)
		}
	}
}

func TestShowFindsWhatAnIDNames(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 30)
	one, two := m.operation(e, "9f2c41d0"), m.operation(e, "9f2d0000")
	thirty := one
	thirty.Key.Recipe.Version = 30
	slip := one
	slip.Key.Recipe.Name = "slip"
	slips := slip
	slips.Key.Recipe.Name = "slips"
	m.ops = append(m.ops, thirty, slip, slips)
	lonely := m.event(2, "product:8", 5)
	foreign := m.event(3, "product:9", 5)
	foreign.Scope.Tenant = "other"
	m.events[foreign.ID] = foreign
	for _, c := range []struct {
		name, id, want string
		err            error
	}{
		{"an event", string(e.ID), string(e.ID), nil},
		{"an object", "product:794", "product:794", nil},
		{"an object without work", "product:8", "product:8", nil},
		{"a whole operation", one.Key.String(), one.Key.String(), nil},
		{"a unique beginning of the digest", "product:794/product-card@3/9f2d", two.Key.String(), nil},
		{"a beginning of two digests", "product:794/product-card@3/9f2", "", control.ErrAmbiguous},
		{"a recipe version, not one that begins like it", "product:794/product-card@3", "", control.ErrAmbiguous},
		{"the other version", "product:794/product-card@30", thirty.Key.String(), nil},
		{"a recipe of several versions", "product:794/product-card", "", control.ErrAmbiguous},
		{"the only operation of a recipe", "product:794/slip", slip.Key.String(), nil},
		{"a beginning of two recipes", "product:794/sl", "", control.ErrAmbiguous},
		{"no such recipe", "product:794/other", "", operation.ErrNotFound},
		{"neither such a recipe nor such an object", "product:7/other", "", inbox.ErrNotFound},
		{"no such digest", "product:794/product-card@3/77", "", operation.ErrNotFound},
		{"no such object", "product:7", "", inbox.ErrNotFound},
		{"no such event", "evt_aaaaaaaaaaaaaaaa", "", inbox.ErrNotFound},
		{"another tenant's event", string(foreign.ID), "", inbox.ErrNotFound},
		{"no id", "what", "", object.ErrNoID},
	} {
		got, err := m.control().Show(t.Context(), shop, c.id, time.Time{})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" && !strings.Contains(toJSON(t, got), `"id":"`+c.want+`"`) {
			t.Errorf("%s: %s", c.name, toJSON(t, got))
		}
	}
	_ = lonely
}

func TestFindKnowsAnEventAsItsSenderDoes(t *testing.T) {
	m := newMemory()
	old := m.event(1, "product:1", 60*24*60) // its key is "1": no search is needed
	recent := m.event(2, "product:1", 5)
	for _, c := range []struct {
		name, id string
		want     inbox.Event
	}{{"by the event key, however old", "1", old}, {"by the sender's id", "sender-2", recent}} {
		got, err := m.control().Find(t.Context(), shop, "woo-shop", c.id, time.Time{})
		if err != nil || got.Event.ID != string(c.want.ID) {
			t.Errorf("%s: %s, %v", c.name, toJSON(t, got), err)
		}
	}
	if _, err := m.control().Find(t.Context(), shop, "woo-shop", "nobody", time.Time{}); !errors.Is(err, inbox.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestAnObjectShowsItsDeliveriesWorkAndResults(t *testing.T) {
	m := newMemory()
	old := m.event(1, "product:794", 10*24*60) // before the span, and named by the operation
	op := m.operation(old, "9f2c")
	echo := m.event(2, "product:794", 5)
	echo.Operations = []string{op.Key.String()}
	m.events[echo.ID] = echo
	m.event(3, "product:7", 5)
	m.seen[echo.ID] = inbox.Seen{Count: 49, FirstAt: noon, LastAt: noon}
	got, err := m.control().Show(t.Context(), shop, "product:794", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	o := got.Object
	if len(o.Events) != 2 || o.Events[0].ID != string(old.ID) || o.Deliveries != 51 || !o.FirstAt.Equal(old.ReceivedAt) || !o.LastAt.Equal(noon) || !o.Complete {
		t.Errorf("object %s", toJSON(t, o))
	}
	if len(o.Operations) != 1 || o.Operations[0].Deliveries != 51 || !slices.Equal(o.Operations[0].Events, []string{string(old.ID), string(echo.ID)}) {
		t.Errorf("operations %s", toJSON(t, o.Operations))
	}
	if len(o.Results) != 1 || o.Results[0].Operation != op.Key.String() || !o.Results[0].OutputKept {
		t.Errorf("results %s", toJSON(t, o.Results))
	}
}

// What a fenced worker recorded of its call stands where its successor could only say "lost".
func TestALosingAttemptShowsWhatItCost(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:1", 5)
	op := m.operation(e, "aa")
	m.losing = []operation.Losing{{Key: op.Key, Attempt: operation.Attempt{ID: "att_1", FencingToken: 1, Called: true, Outcome: operation.Usable, Tokens: &operation.Tokens{Input: 400}, CostUSD: 200_000_000}}}
	got, err := m.control().Show(t.Context(), shop, op.Key.String(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	attempts := got.Operation.Attempts
	if len(attempts) != 2 || attempts[0].Outcome != "lost" || !*attempts[0].Called || attempts[0].CostUSD.String() != "0.000200" || got.Operation.CostUSD.String() != "0.000518" || got.Operation.CostAtLeast {
		t.Errorf("attempts %s, cost %s", toJSON(t, attempts), got.Operation.CostUSD)
	}
}

func TestWhatWaitsForAPersonSaysWhy(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:1", 5)
	op := m.operation(e, "aa")
	m.ops[0].State, m.ops[0].Reason, m.ops[0].QueuedAt = operation.Review, "policy draft", noon
	got, err := m.control().Show(t.Context(), shop, op.Key.String(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Operation.Review; r == nil || r.Digest != "sha256:cd" || !slices.Equal(r.Reasons, []string{"policy draft"}) || !r.OpenedAt.Equal(noon) {
		t.Errorf("review %s", toJSON(t, r))
	}
}

func TestDocumentsKeepTheirShape(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 5)
	op := m.operation(e, "9f2c")
	got, err := m.control().Show(t.Context(), shop, op.Key.String(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"operation","id":"product:794/product-card@3/9f2c","state":"completed","tenant":"shop","environment":"test","object":"product:794",` +
		`"object_version":"2026-11-29T11:55:00Z","recipe":"product-card@3","input_digest":"sha256:9f2c","fencing_token":2,"claims":2,"due_at":null,"cost_usd":"0.000318","cost_is_lower_bound":true,` +
		`"attempts":[{"id":"att_1","fencing_token":1,"started_at":"2026-11-29T11:55:00Z","ended_at":null,"outcome":"lost","category":"transient","called":null,"cost_usd":null},` +
		`{"id":"att_2","fencing_token":2,"started_at":"2026-11-29T11:55:00Z","ended_at":"2026-11-29T11:55:01Z","outcome":"usable","called":true,` +
		`"tokens":{"input":412,"cached":0,"cache_write":0,"output":96,"reasoning":0},"cost_usd":"0.000318"}],` +
		`"events":["` + string(e.ID) + `"],"deliveries":1,"result":{"recipe":"product-card@3","object_version":"2026-11-29T11:55:00Z","digest":"sha256:cd","output_kept":true},` +
		`"review":null,"effects":[]}`
	if diff := cmp.Diff(want, toJSON(t, got)); diff != "" {
		t.Error(diff)
	}
	var back control.Any
	if err := back.UnmarshalJSON([]byte(want)); err != nil || toJSON(t, back) != want {
		t.Errorf("read back %v: %s", err, toJSON(t, back))
	}
	if strings.Contains(want, "summary") {
		t.Error("the document holds the output")
	}
}

func TestAnEndpointShowsReferencesAndLiveVersions(t *testing.T) {
	got, err := newMemory().control().Endpoint(t.Context(), "woo-shop")
	if err != nil {
		t.Fatal(err)
	}
	want := control.Endpoint{
		Kind: "endpoint", Name: "woo-shop", Version: 7, Tenant: "shop", Environment: "test", Provider: "woocommerce", Secrets: []string{"ssm:hooks/woo-shop/1"},
		Events: map[string]control.EventRule{"product.updated": {Recipes: []string{"product-card@3"}}, "product.deleted": {Ignore: true, Recipes: []string{}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A list without entries is [] and never null: the published schema says array, and programs go through it.
func TestAnEventWithoutOperationsOrRecipesHasEmptyLists(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 5)
	e.Operations, e.Recipes = nil, nil
	m.events[e.ID] = e
	got, err := m.control().Show(t.Context(), shop, string(e.ID), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if raw := toJSON(t, got); !strings.Contains(raw, `"operations":[]`) || !strings.Contains(raw, `"recipes":[]`) {
		t.Error(raw)
	}
}
