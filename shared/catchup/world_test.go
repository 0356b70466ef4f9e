package catchup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/shared/catchup"
	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
)

var (
	scope = object.Scope{Tenant: "shop", Environment: "test"}
	noon  = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

// A thing is an object of the shop.
type thing struct {
	id      int
	changed time.Time
	text    string
	hidden  bool // the key may not see it: counted, and never shown
}

func (o thing) body() string { return fmt.Sprintf(`{"id":%d,"text":%q}`, o.id, o.text) }

// A world is everything around a runner: a table, a shop, an intake, a clock.
type world struct {
	mu        sync.Mutex
	t         *testing.T
	now       time.Time
	endpoints map[string]config.Endpoint
	targets   map[string]config.Target

	items    map[string]inbox.CatchUp
	moves    []inbox.CatchUpMove
	heard    map[string]time.Time
	failMove func(n int) error // of the nth move
	noTable  error

	shop    map[string][]thing // by kind
	asked   []inbox.Search
	shopNow time.Time
	onAsk   func(n int) error // before the nth answer
	largest int               // bytes on a page; zero: any
	taken   map[string]int    // by type and body
	order   []inbox.Fetched
	onTake  func(f inbox.Fetched) error
	log     bytes.Buffer
	deps    catchup.Deps
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, now: noon, items: map[string]inbox.CatchUp{}, heard: map[string]time.Time{}, shop: map[string][]thing{}, taken: map[string]int{},
		endpoints: map[string]config.Endpoint{"woo-shop": {
			Name: "woo-shop", Scope: scope, Provider: "woocommerce", CatchUp: &config.CatchUp{Target: "shop", EverySeconds: 900},
			Events: map[string]config.EventRule{"product.created": {}, "product.updated": {}, "product.deleted": {Ignore: true}},
		}},
		targets: map[string]config.Target{"shop": {Kind: "woocommerce", BaseURL: "https://shop.example.com", Key: "ssm:targets/shop"}},
	}
	w.deps = catchup.Deps{
		Table: w, Configs: w, Source: w, Intake: w, Log: slog.New(slog.NewJSONHandler(&w.log, nil)),
		Limits: catchup.Limits{Pause: time.Nanosecond}, Now: func() time.Time { return w.now }, NewID: func() string { return "id" },
	}
	return w
}

// run makes one run, and demands that it is without fault.
func (w *world) run() catchup.Report {
	w.t.Helper()
	report, err := w.try()
	if err != nil {
		w.t.Fatalf("run: %v", err)
	}
	return report
}

func (w *world) try() (catchup.Report, error) { return catchup.New(w.deps).Run(w.t.Context()) }

// products puts products into the shop, changed at a second after noon each.
func (w *world) products(all ...thing) { w.shop["product"] = append(w.shop["product"], all...) }

func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func (w *world) Scopes(context.Context) ([]object.Scope, error) {
	return []object.Scope{{Tenant: "other", Environment: "test"}, scope}, w.noTable
}

func (w *world) Pointer(_ context.Context, s object.Scope) (config.Pointer, error) {
	if s != scope {
		return config.Pointer{}, config.ErrUnknown
	}
	p := config.Pointer{Endpoints: map[string]int{}}
	for name := range w.endpoints {
		p.Endpoints[name] = 1
	}
	return p, nil
}

func (w *world) Endpoint(_ context.Context, name string) (config.Endpoint, config.Pointer, error) {
	e, ok := w.endpoints[name]
	if !ok || e.Name == "" {
		return e, config.Pointer{}, config.ErrUnreadable
	}
	return e, config.Pointer{}, nil
}

func (w *world) Common(context.Context, object.Scope) (config.Common, error) {
	return config.Common{Targets: w.targets}, nil
}

func (w *world) CatchUp(_ context.Context, _ object.Scope, endpoint string) (inbox.CatchUp, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.items[endpoint], nil
}

func (w *world) MoveCatchUp(_ context.Context, m inbox.CatchUpMove) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moves = append(w.moves, m)
	if w.failMove != nil {
		if err := w.failMove(len(w.moves)); err != nil {
			return err
		}
	}
	if w.items[m.Endpoint].Revision != m.Seen {
		return inbox.ErrStale
	}
	if m.WriteID == "" || m.Scope != scope {
		w.t.Errorf("move %+v", m)
	}
	m.Next.Revision = m.Seen + 1
	w.items[m.Endpoint] = m.Next
	return nil
}

func (w *world) NoteDelivery(_ context.Context, _ object.Scope, endpoint string, at time.Time) error {
	w.heard[endpoint] = at
	return nil
}

func (w *world) LastDelivery(_ context.Context, _ object.Scope, endpoint string) (time.Time, error) {
	return w.heard[endpoint], nil
}

// Search answers as WooCommerce does: by the second of the change, then by id.
func (w *world) Search(ctx context.Context, t config.Target, q inbox.Search) (inbox.Findings, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t != w.targets["shop"] {
		w.t.Errorf("asked %+v", t)
	}
	w.asked = append(w.asked, q)
	if w.onAsk != nil {
		if err := w.onAsk(len(w.asked)); err != nil {
			return inbox.Findings{}, err
		}
	}
	var fit []thing
	for _, o := range w.shop[q.Kind] {
		if o.changed.Truncate(time.Second).After(q.After.Truncate(time.Second)) {
			fit = append(fit, o)
		}
	}
	slices.SortFunc(fit, func(a, b thing) int {
		if c := a.changed.Truncate(time.Second).Compare(b.changed.Truncate(time.Second)); c != 0 {
			return c
		}
		return a.id - b.id
	})
	page := inbox.Findings{More: q.Skip+q.Size < len(fit), Now: w.shopNow}
	size := 0
	for _, o := range fit[min(q.Skip, len(fit)):min(q.Skip+q.Size, len(fit))] {
		if !o.hidden {
			page.Objects = append(page.Objects, inbox.Finding{ChangedAt: o.changed.Truncate(time.Second), Body: []byte(o.body())})
			size += len(o.body())
		}
	}
	if w.largest > 0 && size > w.largest {
		return inbox.Findings{}, &inbox.SourceError{Reason: "sent too much", TooMuch: true}
	}
	return page, ctx.Err()
}

func (w *world) Take(_ context.Context, f inbox.Fetched) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onTake != nil {
		if err := w.onTake(f); err != nil {
			return false, err
		}
	}
	w.order = append(w.order, f)
	w.taken[f.Type+" "+string(f.Body)]++
	return w.taken[f.Type+" "+string(f.Body)] == 1, nil
}

// all demands that every object that can be seen was taken as it is now.
func (w *world) all(eventType string) {
	w.t.Helper()
	kind, _, _ := strings.Cut(eventType, ".")
	for _, o := range w.shop[kind] {
		if w.taken[eventType+" "+o.body()] == 0 && !o.hidden {
			w.t.Errorf("%s %d was never taken", kind, o.id)
		}
	}
}

// metrics are the metric lines, as "name value".
func (w *world) metrics() (all []string) {
	w.t.Helper()
	for line := range strings.Lines(w.log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			w.t.Fatal(err)
		}
		if _, ok := fields["_aws"]; !ok {
			continue
		}
		for _, name := range []string{"CaughtUp", "CatchUpFailed", "SilentEndpoints"} {
			if v, ok := fields[name]; ok {
				all = append(all, fmt.Sprint(name, " ", v))
			}
		}
	}
	return all
}

var errThrottled = errors.New("throttled")
