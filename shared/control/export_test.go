package control_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/problem"
)

// everything is an export, all pages put together.
func (d *office) everything(t *testing.T) (all control.Export, pages int) {
	t.Helper()
	in := control.Exporting{Object: chair, By: "ann", Reason: "a request"}
	for pages = 1; ; pages++ {
		page, err := d.control().Export(t.Context(), shop, in)
		if err != nil {
			t.Fatal(err)
		}
		if raw := toJSON(t, page); len(raw) > 6<<20 {
			t.Errorf("a page of %d bytes: no function can answer so much", len(raw))
		}
		if pages == 1 {
			all = page
		} else {
			all.Operations, all.Results, all.Events = append(all.Operations, page.Operations...), append(all.Results, page.Results...), append(all.Events, page.Events...)
			all.Acts = append(all.Acts, page.Acts...)
			if len(page.Purposes)+len(page.Recipients) > 0 {
				t.Errorf("page %d says again what it is for", pages)
			}
		}
		if in.After = page.Next; in.After == "" {
			return all, pages
		}
	}
}

func TestAnExportHoldsEverything(t *testing.T) {
	d := newOffice()
	first, lone := d.event(1, "product:794", 600), d.event(2, "product:794", 300)
	ancient := d.event(3, "product:794", 60*24*1200)
	d.operation(first, "aa")
	d.operation(ancient, "bb")
	d.operation(d.event(4, "product:8", 100), "cc")
	d.ops[0].Decision = &operation.Decision{By: "bob", At: noon, Note: "good"}
	d.losing = []operation.Losing{{Key: d.ops[0].Key, Attempt: operation.Attempt{ID: "att_1", FencingToken: 1, Called: true, ModelAsked: "model-b"}}}
	d.bodies = 0

	got, pages := d.everything(t)
	if pages < 2 { // three years without events are more than one call looks through
		t.Errorf("%d pages", pages)
	}
	var events []string
	for _, e := range got.Events {
		events = append(events, e.Event.ID)
		if string(e.Body) != "body" {
			t.Errorf("body of %s: %q", e.Event.ID, e.Body)
		}
	}
	if diff := cmp.Diff([]string{string(ancient.ID), string(lone.ID), string(first.ID)}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if len(got.Operations) != 2 || string(got.Operations[0].Output) != `{"summary":"s"}` && string(got.Operations[1].Output) != `{"summary":"s"}` {
		t.Errorf("operations %+v", got.Operations)
	}
	i := slices.IndexFunc(got.Operations, func(o control.HeldOperation) bool { return o.Operation.Decision != nil })
	if i < 0 || got.Operations[i].Operation.Decision.By != "bob" || len(got.Operations[i].Operation.Attempts) != 2 {
		t.Errorf("no decision, or not all attempts: %+v", got.Operations)
	}
	if len(got.Results) != 2 || string(got.Results[0].Output) != `{"summary":"s"}` {
		t.Errorf("results %+v", got.Results)
	}
	if len(got.Purposes) != 1 || got.Purposes[0].Recipe != "product-card@3" {
		t.Errorf("purposes %+v", got.Purposes)
	}
	if len(got.Recipients) != 1 || got.Recipients[0].Calls != 4 || !slices.Contains(got.Recipients[0].Models, "model-b") {
		t.Errorf("recipients %+v", got.Recipients)
	}
	if n := len(d.trail); n != pages || d.trail[0] != d.trail[n-1] || d.trail[0].Act != "export" || d.trail[0].Target != "product:794" || d.trail[0].By != "ann" {
		t.Errorf("recorded %+v: every call writes the one entry", d.trail)
	}
}

func TestAnExportOfMuchContentComesInPages(t *testing.T) {
	d := newOffice()
	large := bytes.Repeat([]byte("<&\"é\n"), 700_000)
	for n := range 6 {
		e := d.event(n, "product:794", 10+n)
		e.Body = inbox.Body{Packed: large, Bytes: len(large)}
		d.events[e.ID] = e
		d.operation(e, strings.Repeat("a", n+1))
		d.ops[n].Output = append([]byte(`{"x":"`), append(bytes.Repeat([]byte("y"), 800_000), `"}`...)...)
		d.results[n].Output = d.ops[n].Output
	}
	got, pages := d.everything(t)
	if len(got.Events) != 6 || len(got.Operations) != 6 || len(got.Results) != 6 || pages < 8 {
		t.Errorf("%d events, %d operations, %d results on %d pages", len(got.Events), len(got.Operations), len(got.Results), pages)
	}
	seen := map[string]bool{}
	for _, e := range got.Events {
		if seen[e.Event.ID] || !bytes.Equal(e.Body, large) {
			t.Errorf("event %s twice, or with another body", e.Event.ID)
		}
		seen[e.Event.ID] = true
	}
}

func TestAnExportSaysWhenABodyIsGone(t *testing.T) {
	d := newOffice()
	e := d.event(1, "product:794", 60)
	e.Body = inbox.Body{Key: "raw/gone", Bytes: 4}
	d.events[e.ID] = e
	d.goneBodies = true
	got, _ := d.everything(t)
	if len(got.Events) != 1 || got.Events[0].Body != nil || got.Events[0].Event.BodyBytes != 4 {
		t.Errorf("events %+v", got.Events)
	}
	if strings.Contains(toJSON(t, got.Events[0]), "body_base64") {
		t.Error("an empty body looks like one that was empty")
	}
}

func TestAnExportOfNothingIsEmptyListsNotNull(t *testing.T) {
	got, _ := newOffice().everything(t)
	var doc map[string]any
	if err := json.Unmarshal([]byte(toJSON(t, got)), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"purposes", "recipients", "operations", "results", "events"} {
		if list, ok := doc[name].([]any); !ok || len(list) != 0 {
			t.Errorf("%s is %v", name, doc[name])
		}
	}
}

func TestAnExportThatIsNotRecordedShowsNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*control.Exporting, *office)
		want   error
	}{
		{"nobody asks", func(e *control.Exporting, _ *office) { e.By = "" }, problem.ErrIdentity},
		{"no reason", func(e *control.Exporting, _ *office) { e.Reason = "" }, control.ErrReason},
		{"the record cannot be written", func(_ *control.Exporting, d *office) { d.noAudit = problem.ErrUnavailable }, problem.ErrUnavailable},
		{"no cursor of ours", func(e *control.Exporting, _ *office) { e.After = "nonsense" }, control.ErrCursor},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newOffice()
			d.event(1, "product:794", 60)
			in := control.Exporting{Object: chair, By: "ann", Reason: "why"}
			c.change(&in, d)
			got, err := d.control().Export(t.Context(), shop, in)
			if !errors.Is(err, c.want) || len(got.Events) != 0 || d.bodies != 0 {
				t.Errorf("got %v, want %v, %d bodies read", err, c.want, d.bodies)
			}
		})
	}
}
