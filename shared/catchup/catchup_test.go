package catchup_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/catchup"
	"engang/shared/config"
	"engang/shared/inbox"
)

func TestWhatHasChangedIsTakenWithTheTypeThatItWouldHaveComeWith(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60), text: "a"}, thing{id: 2, changed: after(-30), text: "b"}, thing{id: 3, changed: after(-100_000), text: "long ago"})
	w.shop["order"] = []thing{{id: 7, changed: after(-60)}} // which this endpoint does not take
	report := w.run()
	if diff := cmp.Diff(catchup.Report{Pages: 1, Objects: 2, New: 2}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	want := []inbox.Fetched{
		{Endpoint: "woo-shop", Type: "product.updated", Body: []byte(`{"id":1,"text":"a"}`), At: noon},
		{Endpoint: "woo-shop", Type: "product.updated", Body: []byte(`{"id":2,"text":"b"}`), At: noon},
	}
	if diff := cmp.Diff(want, w.order); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"CaughtUp 2"}, w.metrics()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestTheScheduleIsKept(t *testing.T) {
	w := newWorld(t)
	w.run()
	if got := w.asked[0].After; !got.Equal(noon.Add(-20 * time.Minute)) {
		t.Errorf("the first look begins at %s: one interval and the overlap ago", got)
	}
	for _, c := range []struct {
		minute int
		asked  int
		since  time.Time
	}{
		{1, 1, time.Time{}},
		{14, 1, time.Time{}},
		{15, 2, noon.Add(-5 * time.Minute)},
		{29, 2, time.Time{}},
		{40, 3, noon.Add(10 * time.Minute)}, // a run that came late
		{54, 3, time.Time{}},
	} {
		w.now = noon.Add(time.Duration(c.minute) * time.Minute)
		w.run()
		if len(w.asked) != c.asked {
			t.Fatalf("minute %d: asked %d times, want %d", c.minute, len(w.asked), c.asked)
		}
		if last := w.asked[len(w.asked)-1]; !c.since.IsZero() && !last.After.Equal(c.since) {
			t.Errorf("minute %d: asked for what changed after %s, want %s", c.minute, last.After, c.since)
		}
	}
}

func TestTheLocalSystemLooksMoreOften(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits.Speed = 90
	w.run()
	w.now = noon.Add(10 * time.Second)
	w.run()
	if len(w.asked) != 2 {
		t.Errorf("asked %d times", len(w.asked))
	}
}

// A shop's clock that is behind would hide what it stamps with a time that we think is over.
func TestTheNextLookGoesByTheClockThatIsBehind(t *testing.T) {
	for _, c := range []struct {
		name string
		shop time.Time
		want time.Time
	}{
		{"the shop's", noon.Add(-time.Hour), noon.Add(-65 * time.Minute)},
		{"ours", noon.Add(time.Hour), noon.Add(-5 * time.Minute)},
		{"the shop does not say", time.Time{}, noon.Add(-5 * time.Minute)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.items["woo-shop"] = inbox.CatchUp{Since: noon.Add(-3 * time.Hour), Revision: 4}
			w.shopNow = c.shop
			w.run()
			if got := w.items["woo-shop"]; !got.Since.Equal(c.want) || got.Cursor != "" || !got.Due.Equal(noon.Add(15*time.Minute)) {
				t.Errorf("left %+v", got)
			}
		})
	}
}

func TestALookNeverGoesBackForGood(t *testing.T) {
	w := newWorld(t)
	w.items["woo-shop"] = inbox.CatchUp{Since: noon.Add(-time.Minute), Revision: 4}
	w.run()
	if got := w.items["woo-shop"].Since; !got.Equal(noon.Add(-time.Minute)) {
		t.Errorf("since %s", got)
	}
}

func TestALongPauseIsNotCaughtUpWithForEver(t *testing.T) {
	w := newWorld(t)
	w.items["woo-shop"] = inbox.CatchUp{Since: noon.AddDate(-1, 0, 0), Revision: 4}
	w.run()
	if got := w.asked[0].After; !got.Equal(noon.AddDate(0, 0, -30)) {
		t.Errorf("asked for what changed after %s", got)
	}
}

func TestManyPagesOverSeveralRuns(t *testing.T) {
	w := newWorld(t)
	for i := range 1234 {
		w.products(thing{id: i, changed: after(-1000 + i/2), text: fmt.Sprint("x", i), hidden: i%10 == 3})
	}
	for runs := 1; ; runs++ {
		report := w.run()
		if report.Pages > 5 {
			t.Errorf("%d pages in one run", report.Pages)
		}
		if w.items["woo-shop"].Cursor == "" {
			if runs < 3 || runs > 4 {
				t.Errorf("%d runs for 1234 objects", runs)
			}
			break
		}
		if due := w.items["woo-shop"].Due; due.After(w.now) {
			t.Fatalf("there is more, and the next run is not let on before %s", due)
		}
		w.now = w.now.Add(time.Minute)
	}
	w.all("product.updated")
	if got := w.items["woo-shop"].Since; !got.Equal(noon.Add(-5 * time.Minute)) {
		t.Errorf("the next look begins at %s, which must count from when this one began", got)
	}
}

func TestMoreThanAPageInOneSecond(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 900, changed: after(-90), text: "before"}, thing{id: 901, changed: after(-10), text: "after"})
	for i := range 345 {
		w.products(thing{id: i, changed: after(-60), text: fmt.Sprint("x", i)})
	}
	// An object of that second changes while its pages are read, and leaves the second.
	w.onAsk = func(n int) error {
		if n == 3 {
			for i := range 5 {
				w.shop["product"][2+i].changed = after(-5)
			}
		}
		return nil
	}
	w.run()
	w.now = w.now.Add(time.Minute)
	w.run()
	w.all("product.updated")
}

// Whatever changes while pages are read: one look takes every object, as it stands then or as it stood meanwhile
// and then again.
func TestWhatChangesMeanwhileIsTakenAsItIsThen(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t)
		r := rand.New(rand.NewPCG(seed, 1))
		w.deps.Limits.Size, w.deps.Limits.Pages = 10+r.IntN(20), 1+r.IntN(4)
		const many = 200
		for i := range many {
			w.products(thing{id: i, changed: noon.Add(-time.Duration(r.IntN(100_000)) * time.Millisecond), text: "0"})
		}
		clock := noon
		w.onAsk = func(n int) error {
			clock = clock.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
			for range min(r.IntN(4), w.deps.Limits.Size/10) * min(1, 300/n) { // it must come to an end
				o := &w.shop["product"][r.IntN(many)]
				o.changed, o.text = clock, fmt.Sprint(n)
			}
			return nil
		}
		for range 500 {
			w.run()
			if w.items["woo-shop"].Cursor == "" {
				break
			}
		}
		if w.items["woo-shop"].Cursor != "" {
			t.Fatalf("seed %d: it never comes to an end", seed)
		}
		w.all("product.updated")
	}
}

func TestOneOfSeveralGetsIt(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60)})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { _, _ = w.try() })
	}
	all.Wait()
	if len(w.asked) != 1 || len(w.order) != 1 {
		t.Errorf("asked %d times, %d objects taken", len(w.asked), len(w.order))
	}
}

// The one that took over has the place; whoever wakes up late must not put it back.
func TestWhoWasOvertakenMovesNothing(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60)})
	w.onAsk = func(int) error {
		w.items["woo-shop"] = inbox.CatchUp{Since: noon, Revision: 9, Due: noon.Add(time.Hour)}
		return nil
	}
	w.run()
	if got := w.items["woo-shop"].Revision; got != 9 {
		t.Errorf("revision %d", got)
	}
}

func TestACrashRepeatsThePage(t *testing.T) {
	for name, die := range map[string]func(w *world){
		"before the page is fetched":              func(w *world) { w.onAsk = func(int) error { return kill(true) } },
		"between two objects":                     func(w *world) { w.onTake = func(f inbox.Fetched) error { return kill(len(w.order) == 1) } },
		"when the page is taken, before it moves": func(w *world) { w.failMove = func(n int) error { return kill(n == 2) } },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.products(thing{id: 1, changed: after(-60), text: "a"}, thing{id: 2, changed: after(-50), text: "b"})
			die(w)
			var alone sync.WaitGroup
			alone.Go(func() {
				_, _ = w.try()
				t.Error("lived")
			})
			alone.Wait()
			w.mu = sync.Mutex{}
			w.onAsk, w.onTake, w.failMove = nil, nil, nil
			if due := w.items["woo-shop"].Due; !due.Equal(noon.Add(2 * time.Minute)) {
				t.Fatalf("due at %s: it must be left to the dead one for a while, and no longer", due)
			}
			w.now = noon.Add(2 * time.Minute)
			w.run()
			w.all("product.updated")
		})
	}
}

// kill ends who calls it where it stands. A panic would not: it is a bug, and survived.
func kill(now bool) error {
	if now {
		runtime.Goexit()
	}
	return nil
}

func TestEveryKindThatTheEndpointTakesIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.endpoints["woo-shop"].Events["order.updated"] = config.EventRule{}
	w.deps.Limits.Pages = 1
	w.products(thing{id: 1, changed: after(-60)})
	w.shop["order"] = []thing{{id: 7, changed: after(-300)}}
	w.run()
	w.run()
	w.all("product.updated")
	w.all("order.updated")
	if w.items["woo-shop"].Cursor != "" || len(w.asked) != 2 || w.asked[0].After != w.asked[1].After {
		t.Errorf("asked %+v", w.asked)
	}
}

func TestAnEndpointThatTakesAKindNoMoreBeginsAgain(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60)})
	for _, cursor := range []string{`{"type":"order.updated","after":"2026-11-29T11:59:30Z","size":100}`, `{"type":"product.updated","size":0}`, "nonsense"} {
		w.items["woo-shop"] = inbox.CatchUp{Since: after(-300), Cursor: cursor, Revision: 3}
		w.asked = nil
		w.run()
		if len(w.asked) != 1 || !w.asked[0].After.Equal(after(-300)) || w.items["woo-shop"].Cursor != "" {
			t.Errorf("%s: asked %+v, left %+v", cursor, w.asked, w.items["woo-shop"])
		}
	}
}

// A function that is stopped in the middle of a page repeats all of it.
func TestNoPageIsBegunThatTimeDoesNotSufficeFor(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := catchup.New(w.deps).Run(ctx); err != nil || len(w.asked) != 0 || len(w.moves) != 0 {
		t.Errorf("%v, asked %d times, %d moves", err, len(w.asked), len(w.moves))
	}
	w.deps.Limits.Room, w.deps.Limits.Size = 9*time.Second, 1
	w.products(thing{id: 2, changed: after(-30)}, thing{id: 3, changed: after(-20)})
	w.onAsk = func(int) error { time.Sleep(600 * time.Millisecond); return nil }
	if _, err := catchup.New(w.deps).Run(ctx); err != nil || len(w.asked) != 2 {
		t.Fatalf("%v, asked %d times", err, len(w.asked))
	}
	if got := w.items["woo-shop"]; got.Cursor == "" || got.Due.After(noon) {
		t.Errorf("left %+v", got)
	}
}
