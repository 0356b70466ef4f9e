package catchup_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/problem"
)

func TestASourceThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		due  time.Duration
	}{
		{"a failure", &inbox.SourceError{Reason: "failed", Status: 500}, 15 * time.Minute},
		{"too often, for a moment", &inbox.SourceError{Status: 429, RetryAfter: time.Minute}, 15 * time.Minute},
		{"too often, for an hour", &inbox.SourceError{Status: 429, RetryAfter: time.Hour}, time.Hour},
		{"its key cannot be had", errThrottled, 15 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.deps.Limits.Size = 2
			for i := range 5 {
				w.products(thing{id: i, changed: after(-60 + 3*i), text: fmt.Sprint(i)})
			}
			w.onAsk = func(n int) error {
				if n == 2 {
					return c.err
				}
				return nil
			}
			report := w.run()
			if diff := cmp.Diff([]string{"woo-shop"}, report.Failed); diff != "" || len(w.asked) != 2 {
				t.Errorf("asked %d times, failed (-want +got):\n%s", len(w.asked), diff)
			}
			if got := w.items["woo-shop"].Due; !got.Equal(noon.Add(c.due)) {
				t.Errorf("asked again at %s, want %s", got, noon.Add(c.due))
			}
			if diff := cmp.Diff([]string{"CatchUpFailed 1", "CaughtUp 2"}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			w.now = noon.Add(c.due)
			w.run()
			w.all("product.updated")
			if n := w.taken[`product.updated {"id":0,"text":"0"}`]; n != 1 {
				t.Errorf("the first page was taken %d times: the place was lost", n)
			}
		})
	}
}

func TestAPageThatIsTooMuchIsAskedForInParts(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.products(thing{id: i, changed: after(-60 + i), text: "xxxxxxxxxxxxxxxxxxxx"})
	}
	w.shop["product"][17].text = "longer than anything that would ever be taken: no page holds it, however small, and it must not keep the others"
	w.largest = 110
	for range 100 {
		w.run()
		if w.items["woo-shop"].Cursor == "" {
			break
		}
	}
	w.shop["product"][17].hidden = true
	w.all("product.updated")
	if w.items["woo-shop"].Cursor != "" {
		t.Error("it never comes to an end")
	}
}

func TestWhatCannotBeTakenKeepsNothingWaiting(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60), text: "bad"}, thing{id: 2, changed: after(-50), text: "good"})
	w.onTake = func(f inbox.Fetched) error {
		if string(f.Body) == `{"id":1,"text":"bad"}` {
			return fmt.Errorf("body: %w", problem.ErrTooLarge)
		}
		return nil
	}
	report := w.run()
	if report.New != 1 || w.items["woo-shop"].Cursor != "" {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff([]string{"CatchUpFailed 1", "CaughtUp 1"}, w.metrics()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestAStoreThatCannotBeHadIsAFault(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60), text: "a"}, thing{id: 2, changed: after(-50), text: "b"})
	w.onTake = func(inbox.Fetched) error { return fmt.Errorf("%w: %w", problem.ErrUnavailable, errThrottled) }
	if _, err := w.try(); !errors.Is(err, errThrottled) {
		t.Errorf("got %v", err)
	}
	w.onTake, w.now = nil, noon.Add(2*time.Minute)
	w.run()
	w.all("product.updated")

	w.noTable = errThrottled
	if _, err := w.try(); !errors.Is(err, errThrottled) {
		t.Errorf("got %v", err)
	}
	w.noTable, w.failMove, w.now = nil, func(int) error { return errThrottled }, noon.Add(time.Hour)
	if _, err := w.try(); !errors.Is(err, errThrottled) {
		t.Errorf("got %v", err)
	}
}

func TestOneEndpointsFaultIsItsOwn(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60)})
	odd := func(change func(*config.Endpoint)) config.Endpoint {
		e := w.endpoints["woo-shop"]
		change(&e)
		return e
	}
	w.endpoints["a-broken"] = config.Endpoint{} // cannot be read
	w.endpoints["b-target"] = odd(func(e *config.Endpoint) {
		e.Name, e.CatchUp = "b-target", &config.CatchUp{Target: "gone", EverySeconds: 900}
	})
	w.endpoints["c-types"] = odd(func(e *config.Endpoint) {
		e.Name, e.Events = "c-types", map[string]config.EventRule{"product.created": {}, "product.updated": {Ignore: true}, "customer.updated": {}}
	})
	w.endpoints["d-sender"] = odd(func(e *config.Endpoint) { e.Name, e.Provider = "d-sender", "stripe" })
	w.endpoints["e-none"] = odd(func(e *config.Endpoint) { e.Name, e.CatchUp = "e-none", nil })
	report, err := w.try()
	if !errors.Is(err, config.ErrUnreadable) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"b-target", "c-types", "d-sender"}, report.Failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if report.New != 1 || len(w.asked) != 1 {
		t.Errorf("report %+v, asked %d times", report, len(w.asked))
	}
	for _, name := range report.Failed {
		if got := w.items[name].Due; !got.Equal(noon.Add(15 * time.Minute)) {
			t.Errorf("%s is tried again at %s", name, got)
		}
	}
	if _, there := w.items["e-none"]; there {
		t.Error("e-none was not to be caught up")
	}
}

// One endpoint whose objects a bug of ours cannot stand keeps no other one waiting.
func TestOneEndpointsBugIsItsOwn(t *testing.T) {
	w := newWorld(t)
	w.products(thing{id: 1, changed: after(-60)})
	bad := w.endpoints["woo-shop"]
	bad.Name = "a-bug"
	w.endpoints["a-bug"] = bad
	w.onTake = func(f inbox.Fetched) error {
		if f.Endpoint == "a-bug" {
			panic("hush")
		}
		return nil
	}
	report, err := w.try()
	if err == nil || !strings.Contains(err.Error(), "a-bug") || strings.Contains(err.Error()+w.log.String(), "hush") {
		t.Errorf("%v, log %s", err, &w.log)
	}
	if report.New != 1 || len(w.order) != 1 {
		t.Errorf("report %+v, %d objects taken", report, len(w.order))
	}
}
