package control_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/control"
	"engang/shared/object"
)

// did records an act, so many minutes ago.
func (m *memory) did(n, minutes int, target string) {
	m.trail = append(m.trail, audit.Entry{Scope: shop, At: noon.Add(-time.Duration(minutes) * time.Minute), ID: fmt.Sprintf("act-%03d", n), By: "ann", Act: "look", Target: target, Reason: "why"})
}

// told is the log by numbers, all pages put together.
func (m *memory) told(t *testing.T, f control.ActFilter, span control.Span) (ids []string, pages int) {
	t.Helper()
	for pages = 1; ; pages++ {
		page, err := m.control().Audit(t.Context(), shop, f, span)
		if err != nil {
			t.Fatal(err)
		}
		if span.Limit > 0 && len(page.Items) > span.Limit {
			t.Errorf("a page of %d", len(page.Items))
		}
		for _, a := range page.Items {
			ids = append(ids, a.ID)
		}
		if span.After = page.Next; span.After == "" {
			return ids, pages
		}
	}
}

func TestTheAuditLogIsToldNewestFirst(t *testing.T) {
	m := newMemory()
	const day = 24 * 60
	for n, minutes := range []int{1, 5, 5, 2*day - 1, 2 * day, 2*day + 1, 4 * day} {
		m.did(n, minutes, "product:794")
	}
	other := m.trail[0]
	other.Scope.Environment = "production"
	m.trail = append(m.trail, other)
	for _, c := range []struct {
		name string
		span control.Span
		want []string
	}{
		{"three days", control.Span{}, []string{"act-000", "act-002", "act-001", "act-003", "act-004", "act-005"}},
		{"five days", control.Span{Since: noon.AddDate(0, 0, -5)}, []string{"act-000", "act-002", "act-001", "act-003", "act-004", "act-005", "act-006"}},
		{"until yesterday", control.Span{Until: noon.AddDate(0, 0, -1)}, []string{"act-003", "act-004", "act-005"}},
		{"since two days", control.Span{Since: noon.AddDate(0, 0, -2)}, []string{"act-000", "act-002", "act-001", "act-003", "act-004"}},
	} {
		for _, limit := range []int{0, 1, 2, 6} {
			c.span.Limit = limit
			if got, _ := m.told(t, control.ActFilter{}, c.span); cmp.Diff(c.want, got) != "" {
				t.Errorf("%s, %d a page: %s", c.name, limit, cmp.Diff(c.want, got))
			}
		}
	}
	page, err := m.control().Audit(t.Context(), shop, control.ActFilter{}, control.Span{Limit: 1})
	want := control.Act{Kind: "act", ID: "act-000", Tenant: "shop", Environment: "test", At: noon.Add(-time.Minute), By: "ann", Act: "look", Target: "product:794", Reason: "why"}
	if diff := cmp.Diff([]control.Act{want}, page.Items); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// An act is found by what it was on: an object with its work and its events, or one of them.
func TestActsAreChosenByWhatTheyWereOn(t *testing.T) {
	m := newMemory()
	own, foreign := m.event(1, "product:794", 5), m.event(2, "product:8", 5)
	gone := m.event(3, "product:794", 5)
	delete(m.events, gone.ID)
	for n, target := range []string{
		"product:794", "product:794/product-card@3/9f2c41d0", "product:794/product-card@30/9f2c41d0", string(own.ID), string(own.ID) + "/beef",
		"product:7", "product:7945/product-card@3/9f", string(foreign.ID), string(gone.ID), "everything", "endpoint woo-shop",
	} {
		m.did(n, 60-n, target)
	}
	for _, c := range []struct {
		filter control.ActFilter
		want   []string
	}{
		{control.ActFilter{Object: "product:794"}, []string{"act-004", "act-003", "act-002", "act-001", "act-000"}},
		{control.ActFilter{Object: "product:7"}, []string{"act-005"}},
		{control.ActFilter{Target: "product:794/product-card@3"}, []string{"act-001"}},
		{control.ActFilter{Target: "product:794/product-card@3/9f"}, []string{"act-001"}},
		{control.ActFilter{Target: "product:794"}, []string{"act-002", "act-001", "act-000"}},
		{control.ActFilter{Target: string(own.ID)}, []string{"act-004", "act-003"}},
		{control.ActFilter{Target: string(gone.ID)}, []string{"act-008"}},
		{control.ActFilter{Target: "endpoint woo-shop"}, []string{"act-010"}},
		{control.ActFilter{Target: "endpoint woo"}, nil},
		{control.ActFilter{Object: "product:794", Target: string(own.ID)}, []string{"act-004", "act-003"}},
	} {
		for _, limit := range []int{0, 1} {
			if got, _ := m.told(t, c.filter, control.Span{Limit: limit}); cmp.Diff(c.want, got) != "" {
				t.Errorf("%+v: %s", c.filter, cmp.Diff(c.want, got))
			}
		}
	}
}

// One look reads only so much, and then says where it goes on.
func TestALongAuditLogIsReadWithinBounds(t *testing.T) {
	m := newMemory()
	for n := range 999 {
		m.did(n, n, "product:8")
	}
	m.did(999, 60*24*300, "product:794")
	got, pages := m.told(t, control.ActFilter{Object: "product:794"}, control.Span{Since: noon.AddDate(-1, 0, 0)})
	if diff := cmp.Diff([]string{"act-999"}, got); diff != "" || pages < 3 {
		t.Errorf("%d pages: %s", pages, diff)
	}
}

func TestAnAuditLogThatCannotBeReadIsNotEmpty(t *testing.T) {
	m := newMemory()
	m.did(1, 1, "product:794")
	m.did(2, 1, "evt_aaaaaaaaaaaaaaaa")
	if list, err := m.control().Audit(t.Context(), shop, control.ActFilter{Object: "product"}, control.Span{}); !errors.Is(err, object.ErrNoID) || list.Items == nil {
		t.Errorf("no object: %v", err)
	}
	for _, after := range []string{"?", "eA"} {
		if _, err := m.control().Audit(t.Context(), shop, control.ActFilter{}, control.Span{After: after}); !errors.Is(err, control.ErrCursor) {
			t.Errorf("after %q: %v", after, err)
		}
	}
	m.noActs = errors.New("store down")
	if _, err := m.control().Audit(t.Context(), shop, control.ActFilter{}, control.Span{}); !errors.Is(err, m.noActs) {
		t.Errorf("%v", err)
	}
}

// What is exported holds what was done: to the object, its work and its events.
func TestAnExportHoldsWhatWasDone(t *testing.T) {
	d := newOffice()
	e := d.event(1, "product:794", 600)
	d.did(1, 60, string(e.ID))
	d.did(2, 60*24*900, "product:794/product-card@3/9f2c")
	d.did(3, 50, "product:8")
	all, _ := d.everything(t)
	var acts []string
	for _, a := range all.Acts {
		acts = append(acts, a.Act+" "+a.Target)
	}
	acts = slices.Compact(acts) // each page writes the one entry of the export again
	if diff := cmp.Diff([]string{"export product:794", "look " + string(e.ID), "look product:794/product-card@3/9f2c"}, acts); diff != "" {
		t.Error(diff)
	}
}
