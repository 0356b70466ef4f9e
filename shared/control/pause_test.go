package control_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/pause"
	"engang/shared/problem"
)

const mini = "openai/gpt-5.4-mini-2026-03-17"

var miniModel = pause.Model{Scope: shop, Provider: "openai", Name: "gpt-5.4-mini-2026-03-17"}

// pausing is a desk over the configuration of the tests.
func (m *memory) pausing(t *testing.T) *control.Control {
	t.Helper()
	c := desk(m, newShelf())
	if _, err := c.Apply(t.Context(), control.Proposal{Set: configuration(), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	m.trail = nil
	return c
}

func target(kind pause.Kind, name string) pause.Target {
	return pause.Target{Scope: shop, Kind: kind, Name: name}
}

// openFor stores an open event of an endpoint for recipes.
func (m *memory) openFor(n int, endpoint string, recipes ...inbox.RecipeRef) inbox.Event {
	e := m.opened(n, "product:1", n)
	e.Endpoint, e.Recipes = endpoint, recipes
	m.events[e.ID] = e
	return e
}

func TestAPauseSaysWhatItHolds(t *testing.T) {
	live, old := inbox.RecipeRef{Name: "card", Version: 3}, inbox.RecipeRef{Name: "gone", Version: 1}
	for _, c := range []struct {
		target pause.Target
		held   int
	}{
		{target(pause.Everything, ""), 4},
		{target(pause.Endpoint, "woo-shop"), 3},
		{target(pause.Recipe, "card"), 2},
		{target(pause.AModel, mini), 2},
	} {
		m := newMemory()
		desk := m.pausing(t)
		m.openFor(1, "woo-shop", live)
		m.openFor(2, "woo-shop", live, live) // once, however many of its recipes are held
		m.openFor(3, "woo-shop", old)        // of a version that is stored no more
		m.openFor(4, "crm")
		m.event(5, "product:1", 5) // settled
		got, err := desk.Pause(t.Context(), control.Pausing{Target: c.target, Until: noon.Add(time.Hour), By: "ann", Reason: "feed broken"})
		until := noon.Add(time.Hour)
		want := control.Hold{
			Kind: "pause", What: string(c.target.Kind), Name: c.target.Name, Tenant: "shop", Environment: "test", At: &noon, Until: &until, By: "ann", Reason: "feed broken",
			Held: control.Held{EventsAtLeast: c.held, LookedSince: noon.AddDate(0, 0, -3), Complete: true},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.target, err, diff)
		}
		stored := pause.Pauses{{Target: c.target, Until: until, By: "ann", Reason: "feed broken", At: noon}}
		if diff := cmp.Diff(stored, m.pauses); diff != "" {
			t.Errorf("%s: %s", c.target, diff)
		}
		act := audit.Entry{Scope: shop, At: noon, ID: "id-3", By: "ann", Act: "pause", Target: c.target.String(), Reason: "feed broken", ExpiresAt: noon.AddDate(0, 0, 400)}
		if diff := cmp.Diff([]audit.Entry{act}, m.trail); diff != "" {
			t.Errorf("%s: %s", c.target, diff)
		}
	}
}

// What one person holds, another one neither cuts short nor takes over unseen.
func TestAPauseOfSomebodyElseIsNotCutShort(t *testing.T) {
	forever, hour, later := time.Time{}, noon.Add(time.Hour), noon.Add(2*time.Hour)
	for _, c := range []struct {
		name     string
		stands   time.Time // until when ann's pause holds
		asked    time.Time
		refused  bool
		replaced bool
	}{
		{name: "sooner than without an end", stands: forever, asked: noon.Add(8 * time.Second), refused: true},
		{name: "sooner", stands: later, asked: hour, refused: true},
		{name: "at the same time", stands: hour, asked: hour, replaced: true},
		{name: "later", stands: hour, asked: later, replaced: true},
		{name: "without an end", stands: later, asked: forever, replaced: true},
		{name: "after one that is over", stands: noon, asked: hour},
	} {
		m := newMemory()
		desk := m.pausing(t)
		before := pause.Pause{Target: target(pause.Everything, ""), Until: c.stands, By: "ann", Reason: "hold", At: noon.Add(-time.Minute)}
		m.pauses = pause.Pauses{before, {Target: target(pause.Endpoint, "woo-shop"), By: "cid", At: noon}}
		got, err := desk.Pause(t.Context(), control.Pausing{Target: before.Target, Until: c.asked, By: "bob", Reason: "why"})
		act := "pause"
		if c.refused {
			act = "pause, refused"
			longer, ok := errors.AsType[*pause.LongerError](err)
			if !ok || longer.Stored != before || m.pauses[0] != before || len(m.pauses) != 2 {
				t.Errorf("%s: %v, %+v", c.name, err, m.pauses)
			}
		} else if last := m.pauses[len(m.pauses)-1]; err != nil || last.By != "bob" || !last.Until.Equal(c.asked) {
			t.Errorf("%s: %v, %+v", c.name, err, m.pauses)
		}
		if e := m.trail; len(e) != 1 || e[0].Act != act || e[0].By != "bob" || e[0].Target != "everything" {
			t.Errorf("%s: trail %+v", c.name, e)
		}
		var want *control.Replaced
		if c.replaced {
			since := noon.Add(-time.Minute)
			want = &control.Replaced{By: "ann", At: &since, Reason: "hold"}
			if !c.stands.IsZero() {
				want.Until = &c.stands
			}
		}
		if diff := cmp.Diff(want, got.Replaced); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Whoever gets no answer and asks again is told of no pause but the one that was there before.
func TestAPauseThatIsAskedForTwiceReplacesNothing(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	for range 2 {
		got, err := desk.Pause(t.Context(), control.Pausing{Target: target(pause.Everything, ""), Until: noon.Add(time.Hour), By: "ann", Reason: "why"})
		if err != nil || got.Replaced != nil || len(m.pauses) != 1 {
			t.Errorf("%v, %+v", err, got)
		}
	}
}

func TestWhatIsNoTargetIsNotPaused(t *testing.T) {
	for _, c := range []struct {
		name string
		p    control.Pausing
		err  error
	}{
		{"without a reason", control.Pausing{Target: target(pause.Everything, ""), By: "ann"}, control.ErrReason},
		{"by nobody", control.Pausing{Target: target(pause.Everything, ""), Reason: "why"}, problem.ErrIdentity},
		{"everything, with a name", control.Pausing{Target: target(pause.Everything, "card"), By: "ann", Reason: "why"}, problem.ErrQuery},
		{"an endpoint without a name", control.Pausing{Target: target(pause.Endpoint, ""), By: "ann", Reason: "why"}, problem.ErrQuery},
		{"a version of a recipe", control.Pausing{Target: target(pause.Recipe, "card@3"), By: "ann", Reason: "why"}, problem.ErrQuery},
		{"a model without its provider", control.Pausing{Target: target(pause.AModel, "gpt-5.4-mini-2026-03-17"), By: "ann", Reason: "why"}, problem.ErrQuery},
		{"a provider without a model", control.Pausing{Target: target(pause.AModel, "openai/"), By: "ann", Reason: "why"}, problem.ErrQuery},
		{"until a time that is over", control.Pausing{Target: target(pause.Everything, ""), Until: noon, By: "ann", Reason: "why"}, problem.ErrQuery},
		{"an endpoint that is not live", control.Pausing{Target: target(pause.Endpoint, "woo-shpo"), By: "ann", Reason: "why"}, config.ErrUnknown},
		{"a recipe that is not live", control.Pausing{Target: target(pause.Recipe, "cards"), By: "ann", Reason: "why"}, config.ErrUnknown},
		{"a model that nothing asks", control.Pausing{Target: target(pause.AModel, "openai/gpt-2"), By: "ann", Reason: "why"}, config.ErrUnknown},
		{"everything, where nothing was applied", control.Pausing{Target: pause.Target{Scope: object.Scope{Tenant: "none", Environment: "test"}, Kind: pause.Everything}, By: "ann", Reason: "why"}, config.ErrUnknown},
	} {
		m := newMemory()
		if _, err := m.pausing(t).Pause(t.Context(), c.p); !errors.Is(err, c.err) || len(m.pauses)+len(m.trail) != 0 {
			t.Errorf("%s: %v, %+v", c.name, err, m.pauses)
		}
	}
}

func TestThePausesOfATenantAndItsOpenBreakersAreListed(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	m.openFor(1, "woo-shop", inbox.RecipeRef{Name: "card", Version: 3})
	elsewhere := target(pause.Everything, "")
	elsewhere.Scope.Environment = "production"
	for _, p := range []pause.Pause{
		{Target: target(pause.Recipe, "card"), At: noon, By: "ann"},
		{Target: target(pause.Everything, ""), At: noon, By: "ann"},
		{Target: target(pause.Endpoint, "old"), Until: noon, At: noon.Add(-time.Hour), By: "ann"}, // its time is over
		{Target: elsewhere, At: noon},
	} {
		m.pauses = append(m.pauses, p)
	}
	next := noon.Add(5 * time.Minute)
	m.breakers = map[pause.Model]pause.Breaker{
		miniModel: {Model: miniModel, State: pause.Open, Until: next, Reason: "quota used up", At: noon},
		{Scope: shop, Provider: "openai", Name: "gpt-2"}: {State: pause.Open}, // nothing asks it
	}
	got, err := desk.Pauses(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	held := control.Held{EventsAtLeast: 1, LookedSince: noon.AddDate(0, 0, -3), Complete: true}
	want := []control.Hold{
		{Kind: "pause", What: "everything", Tenant: "shop", Environment: "test", At: &noon, By: "ann", Held: held},
		{Kind: "pause", What: "recipe", Name: "card", Tenant: "shop", Environment: "test", At: &noon, By: "ann", Held: held},
		{Kind: "breaker", What: "model", Name: mini, Tenant: "shop", Environment: "test", At: &noon, Until: &next, Reason: "quota used up", Held: held},
	}
	if diff := cmp.Diff(want, got.Items); diff != "" || got.Next != "" {
		t.Error(diff)
	}
}

// A version of a recipe that is live no more may still have events, and its own model.
func TestABreakerOfAnOlderVersionIsListed(t *testing.T) {
	m := newMemory()
	s := newShelf()
	desk := desk(m, s)
	set := configuration()
	if _, err := desk.Apply(t.Context(), control.Proposal{Set: set, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	older := inbox.RecipeRef{Name: "card", Version: 2}
	s.versions[s.key(shop, config.KindRecipe, older.Name, older.Version)] = config.Version{JSON: []byte(`{"model":{"provider":"openai","name":"gpt-2"}}`)}
	m.openFor(1, "woo-shop", older)
	model := pause.Model{Scope: shop, Provider: "openai", Name: "gpt-2"}
	m.breakers = map[pause.Model]pause.Breaker{model: {Model: model, State: pause.Open}}
	got, err := desk.Pauses(t.Context(), shop)
	if err != nil || len(got.Items) != 1 || got.Items[0].Name != "openai/gpt-2" || got.Items[0].Held.EventsAtLeast != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A look reads only so much: then the number says that it is not all.
func TestWhatIsHeldIsCountedWithinBounds(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	for n := range 1_200 {
		m.openFor(n, "woo-shop")
	}
	got, err := desk.Pause(t.Context(), control.Pausing{Target: target(pause.Endpoint, "woo-shop"), By: "ann", Reason: "why"})
	if h := got.Held; err != nil || h.Complete || h.EventsAtLeast < 900 || h.EventsAtLeast >= 1_200 || got.Until != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestResumeSaysWhatGoesOnAndWhatIsHeldAllTheSame(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	m.openFor(1, "woo-shop")
	m.pauses = pause.Pauses{{Target: target(pause.Endpoint, "woo-shop"), At: noon, By: "ann"}, {Target: target(pause.Recipe, "card"), At: noon, By: "bea"}}
	resume := control.Pausing{Target: target(pause.Endpoint, "woo-shop"), By: "cid", Reason: "feed mended"}
	got, err := desk.Resume(t.Context(), resume)
	if err != nil {
		t.Fatal(err)
	}
	since := noon.AddDate(0, 0, -3)
	want := control.Resumption{
		Kind: "resumption", What: "endpoint", Name: "woo-shop", Tenant: "shop", Environment: "test", DueWithinS: 300,
		Resumed:   []control.Hold{{Kind: "pause", What: "endpoint", Name: "woo-shop", Tenant: "shop", Environment: "test", At: &noon, By: "ann", Held: control.Held{EventsAtLeast: 1, LookedSince: since, Complete: true}}},
		Remaining: []control.Hold{{Kind: "pause", What: "recipe", Name: "card", Tenant: "shop", Environment: "test", At: &noon, By: "bea", Held: control.Held{LookedSince: since, Complete: true}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(m.pauses) != 1 || len(m.closings) != 0 {
		t.Errorf("%+v %s", m.pauses, diff)
	}
	if e := m.trail[0]; len(m.trail) != 1 || e.Act != "resume" || e.Target != "endpoint woo-shop" || e.By != "cid" || e.Reason != "feed mended" || e.ExpiresAt.IsZero() {
		t.Errorf("trail %+v", m.trail)
	}
	again, err := desk.Resume(t.Context(), resume)
	if err != nil || len(again.Resumed) != 0 || len(again.Remaining) != 1 || len(m.trail) != 2 {
		t.Errorf("again %+v, %v", again, err)
	}
	// What is not configured any more can be resumed, and a pause whose time is over goes for good.
	m.pauses = append(m.pauses, pause.Pause{Target: target(pause.Endpoint, "old")}, pause.Pause{Target: target(pause.Recipe, "late"), Until: noon})
	for _, x := range []pause.Target{target(pause.Endpoint, "old"), target(pause.Recipe, "late")} {
		if _, err := desk.Resume(t.Context(), control.Pausing{Target: x, By: "ann", Reason: "why"}); err != nil {
			t.Errorf("%s: %v", x, err)
		}
	}
	if len(m.pauses) != 1 {
		t.Errorf("left %+v", m.pauses)
	}
}

// A person need not have probed to close a breaker; one that closed meanwhile is no fault.
func TestResumingAModelClosesItsBreaker(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	m.breakers = map[pause.Model]pause.Breaker{miniModel: {Model: miniModel, State: pause.Open, Owner: "att_1", At: noon}}
	m.pauses = pause.Pauses{{Target: target(pause.AModel, mini), At: noon}}
	resume := control.Pausing{Target: target(pause.AModel, mini), By: "ann", Reason: "quota raised"}
	got, err := desk.Resume(t.Context(), resume)
	if err != nil || len(got.Resumed) != 2 || got.Resumed[1].Kind != "breaker" || len(m.pauses) != 0 {
		t.Errorf("%+v, %v, %+v", got, err, m.pauses)
	}
	if diff := cmp.Diff([]pause.Closing{{Model: miniModel, WriteID: "id-3", Now: noon}}, m.closings); diff != "" || got.DueWithinS != 300 {
		t.Errorf("due within %d s %s", got.DueWithinS, diff)
	}
	if again, err := desk.Resume(t.Context(), resume); err != nil || len(again.Resumed) != 0 {
		t.Errorf("again %+v, %v", again, err)
	}
	// A provider may ask for a longer wait than ours: so long are events postponed that met the breaker.
	m.breakers[miniModel] = pause.Breaker{Model: miniModel, State: pause.Open, Until: noon.Add(20*time.Minute + time.Millisecond)}
	if late, err := desk.Resume(t.Context(), resume); err != nil || late.DueWithinS != 1201 {
		t.Errorf("late %+v, %v", late, err)
	}
}

func TestResumeRefusesWhatPauseRefuses(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	for _, c := range []struct {
		p   control.Pausing
		err error
	}{
		{control.Pausing{Target: target(pause.Everything, ""), By: "ann"}, control.ErrReason},
		{control.Pausing{Target: target(pause.Everything, ""), Reason: "why"}, problem.ErrIdentity},
		{control.Pausing{Target: target(pause.Recipe, "card@3"), By: "ann", Reason: "why"}, problem.ErrQuery},
	} {
		if _, err := desk.Resume(t.Context(), c.p); !errors.Is(err, c.err) || len(m.trail) != 0 {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}

func TestAPauseThatIsNotRecordedIsAFault(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	m.noAudit = errors.New("store down")
	p := control.Pausing{Target: target(pause.Everything, ""), By: "ann", Reason: "why"}
	_, paused := desk.Pause(t.Context(), p)
	_, resumed := desk.Resume(t.Context(), p)
	for _, err := range []error{paused, resumed} {
		if !errors.Is(err, m.noAudit) {
			t.Errorf("%v", err)
		}
	}
}
