package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
)

// batch stores a delivery of many events that was taken apart a second after it came.
func (d *office) batch(n, minutes int, body string, change func(*inbox.Event)) inbox.Event {
	p := d.event(n, "product:0", minutes)
	p.Object, p.Type, p.Batch, p.Outcome, p.Endpoint, p.Provider = object.ID{}, "split", true, inbox.Split, "hub", "hubspot"
	p.Body = inbox.Body{Packed: []byte(body), Bytes: len(body)}
	if change != nil {
		change(&p)
	}
	d.events[p.ID] = p
	return p
}

// whole tells whether a delivery of many events still holds what it brought.
func (d *office) whole(p inbox.Event) bool { return len(d.events[p.ID].Body.Packed) > 0 }

func held(ids ...string) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf(`{"objectId":%s,"is":"someone"}`, id))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// Its others have bodies of their own, whenever and wherever it came: a part may stand in several deliveries.
func TestEveryDeliveryThatHoldsAnErasedObjectIsEmptied(t *testing.T) {
	for _, c := range []struct {
		name    string
		body    string
		minutes int
		change  func(*inbox.Event)
		emptied bool
	}{
		{"the one that brought it", held("794", "8"), 60, nil, true},
		{"another one", held("8", "794"), 600, nil, true},
		{"its id as a text", held(`"794"`), 60, nil, true},
		{"its id with an escape", held(`"7\u00394"`), 60, nil, true},
		{"an endpoint that there is no more", held("794"), 60, func(e *inbox.Event) { e.Endpoint = "gone" }, true},
		{"dismissed", held("794"), 60, func(e *inbox.Event) {
			e.State, e.Dismissed = inbox.Parked, &inbox.Dismissed{By: "ann", At: noon}
		}, true},
		{"another id that begins so", held("7940", `"794 "`), 60, nil, false},
		{"its id as a name alone", `[{"794":1}]`, 60, nil, false},
		{"received after the erasure began", held("794"), -1, nil, false},
		{"an event that is no such delivery", held("794"), 60, func(e *inbox.Event) { e.Batch = false }, false},
		{"of another tenant", held("794"), 60, func(e *inbox.Event) { e.Scope.Tenant = "other" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newOffice()
			mine := d.event(1, "product:794", 60)
			p := d.batch(2, c.minutes, c.body, c.change)
			want := map[bool]int{true: 1}[c.emptied]
			if got := d.some(t, control.Erasure{DryRun: true}); got.Batches != want || got.Events != 1 || !d.whole(p) {
				t.Errorf("counted %+v", got)
			}
			first := d.some(t, control.Erasure{})
			if first.Batches != want || first.Events != 1 || d.whole(p) == c.emptied || len(d.events[mine.ID].Body.Packed) != 0 {
				t.Errorf("%+v; the delivery is %+v", first, d.events[p.ID])
			}
			if rest := d.rest(t, first); rest.Batches != 0 || d.whole(p) == c.emptied {
				t.Errorf("then %+v", rest)
			}
		})
	}
}

// Until it is taken apart it is all that there is of the others, and it brings the object's event later, with the time
// at which it came itself.
func TestAnErasureWaitsForADeliveryOfManyThatIsNotTakenApart(t *testing.T) {
	for name, change := range map[string]func(*inbox.Event){
		"open":                        func(e *inbox.Event) { e.State = inbox.Received },
		"in review":                   func(e *inbox.Event) { e.State = inbox.Parked },
		"for longer than any is late": func(e *inbox.Event) { e.State, e.ReceivedAt = inbox.Received, noon.AddDate(0, 0, -20) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newOffice()
			p := d.batch(1, 60, held("794", "8"), change)
			if got := d.some(t, control.Erasure{DryRun: true}); got.Batches != 1 || len(got.WaitsFor) != 0 {
				t.Errorf("counted %+v", got)
			}
			got := d.some(t, control.Erasure{})
			for range 3 {
				if got.AgainAt == nil || !slices.Equal(got.WaitsFor, []string{string(p.ID)}) || got.Batches != 0 || !d.whole(p) {
					t.Fatalf("%+v", got)
				}
				d.now = *got.AgainAt
				got = d.some(t, control.Erasure{After: got.Next})
			}
			p.State, p.Outcome, p.EndedAt = inbox.Settled, inbox.Split, d.now
			d.events[p.ID] = p
			part := d.event(2, "product:794", 0)
			delete(d.events, part.ID)
			part.ReceivedAt = p.ReceivedAt
			d.events[part.ID] = part
			if rest := d.rest(t, got); rest.Batches != 1 || rest.Events != 1 || d.whole(p) || d.left(t) != nil {
				t.Errorf("%+v, left %v", rest, d.left(t))
			}
		})
	}
}

// What a delivery brought a moment ago may not stand in the list yet.
func TestWhatADeliveryOfManyBroughtAMomentAgoIsLookedFor(t *testing.T) {
	d := newOffice()
	d.now = noon.Add(time.Second)
	p := d.batch(1, 60*24*20, held("794"), func(e *inbox.Event) { e.EndedAt = noon })
	first := d.some(t, control.Erasure{})
	if first.Batches != 1 || first.AgainAt == nil {
		t.Fatalf("%+v", first)
	}
	part := d.event(2, "product:794", 60*24*20)
	if rest := d.rest(t, first); rest.Events != 1 || d.left(t) != nil || d.whole(p) {
		t.Errorf("%+v, left %v of %s", rest, d.left(t), part.ID)
	}
}

// One call looks through so many bytes and no more, and the next goes on behind them.
func TestDeliveriesOfManyAreLookedThroughInSeveralCalls(t *testing.T) {
	d := newOffice()
	for n := range 6 {
		d.batch(n, 60+n, `["`+strings.Repeat("x", 2<<20)+`",794]`, nil)
	}
	calls := 0
	for in := (control.Erasure{}); ; calls++ {
		got := d.ask(t, in)
		if got.Batches > 3 {
			t.Errorf("%d in one call", got.Batches)
		}
		if in.After = got.Next; got.AgainAt != nil {
			break
		}
	}
	for _, e := range d.events {
		if d.whole(e) {
			t.Errorf("%s holds it", e.ID)
		}
	}
	if calls < 2 {
		t.Errorf("%d calls", calls)
	}
}

// A console that died between the bucket and the event leaves a delivery whose body is gone. What is left of it goes
// too; one that still has to be taken apart is not this object's, as far as anybody can tell.
func TestADeliveryOfManyWhoseBodyIsGoneIsEmptied(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*inbox.Event)
		emptied int
	}{
		{"taken apart", nil, 1},
		{"not taken apart", func(e *inbox.Event) { e.State, e.Outcome = inbox.Received, "" }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newOffice()
			d.goneBodies = true
			p := d.batch(2, 60, "x", func(e *inbox.Event) {
				e.Body = inbox.Body{Key: "raw/x", Bytes: 1}
				if tt.change != nil {
					tt.change(e)
				}
			})
			got := d.some(t, control.Erasure{})
			if kept := d.events[p.ID].Body.Key != ""; got.Batches != tt.emptied || kept != (tt.emptied == 0) || len(got.WaitsFor) != 0 {
				t.Errorf("%+v; kept %v", got, kept)
			}
		})
	}
}
