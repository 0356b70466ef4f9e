package integration_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/config"
	"engang/shared/control"
)

// A restShop stands in for a WooCommerce whose webhooks get lost: it answers as its REST interface does.
type restShop struct {
	url string

	mu       sync.Mutex
	products []product
	rewrite  func(body string) string // what the list writes otherwise than the webhook
	status   int                      // zero: it answers
	asked    int
	refused  []string // questions that WooCommerce would not understand
}

const stamp = "2006-01-02T15:04:05"

const restKey = "ck_local" + hush + ":cs_local" + hush

func openShop(t *testing.T) *restShop {
	s := &restShop{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ServeHTTP lists products by the second of their change, and within it by id.
func (o *restShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	q := r.URL.Query()
	user, password, _ := r.BasicAuth()
	after, err := time.Parse(stamp, q.Get("modified_after"))
	if r.Method != http.MethodGet || r.URL.Path != "/wp-json/wc/v3/products" || user+":"+password != restKey || err != nil ||
		q.Get("dates_are_gmt") != "true" || q.Get("orderby") != "modified" || q.Get("order") != "asc" {
		o.refused = append(o.refused, r.URL.String())
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if o.status != 0 {
		w.WriteHeader(o.status)
		return
	}
	var fit []product
	for _, p := range o.products {
		if at, _ := time.Parse(stamp, p.modified); at.After(after) {
			fit = append(fit, p)
		}
	}
	slices.SortFunc(fit, func(a, b product) int {
		if c := strings.Compare(a.modified, b.modified); c != 0 {
			return c
		}
		return a.id - b.id
	})
	skip, _ := strconv.Atoi(q.Get("offset"))
	size, _ := strconv.Atoi(q.Get("per_page"))
	var page []string
	for _, p := range fit[min(skip, len(fit)):min(skip+size, len(fit))] {
		body := p.body()
		if o.rewrite != nil {
			body = o.rewrite(body)
		}
		page = append(page, body)
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(len(fit)))
	fmt.Fprintf(w, "[%s]", strings.Join(page, ","))
}

// catchUp makes the shop the source of woo-shop. A target on this machine is refused by apply, so it is
// published past it.
func (s *system) catchUp(o *restShop) {
	s.t.Helper()
	set := s.Config()
	set.Endpoints = slices.Clone(set.Endpoints)
	set.Common.Targets = map[string]config.Target{"woo-shop": {Kind: "woocommerce", BaseURL: o.url, Key: "ssm:targets/woo-shop"}}
	for i := range set.Endpoints {
		if set.Endpoints[i].Name == "woo-shop" {
			set.Endpoints[i].CatchUp = &config.CatchUp{Target: "woo-shop", EverySeconds: 900}
		}
	}
	if err := s.PutSecret(s.t.Context(), "ssm:targets/woo-shop", restKey); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.Apply(s.t.Context(), set); err != nil {
		s.t.Fatal(err)
	}
}

// reconcile makes one sweep, and lets it fail where a test breaks it.
func (s *system) reconcile() error {
	s.t.Helper()
	return s.Reconcile(s.t.Context())
}

// worked lets workers alone go on until no event is open: no sweep asks the shop meanwhile.
func (s *system) worked() {
	s.t.Helper()
	for began := time.Now(); s.open() > 0; time.Sleep(30 * time.Millisecond) {
		s.step()
		if time.Since(began) > time.Minute {
			s.t.Fatalf("events are still open: %v", s.items().Events())
		}
	}
}

// hundred are products that were changed within the last minutes, three of them within one second.
func hundred() (all []product) {
	begin := time.Now().UTC().Add(-4 * time.Minute)
	for i := range 100 {
		all = append(all, product{id: 1000 + i, name: fmt.Sprintf("Chair %d", i), modified: begin.Add(time.Duration(i/3) * time.Second).Format(stamp)})
	}
	return all
}

// outputs are the results of products, by id, without their ranks.
func (s *system) outputs(all []product) map[int]control.Result {
	s.t.Helper()
	found := map[int]control.Result{}
	for _, p := range all {
		var o control.Object
		if s.get(fmt.Sprintf("/api/show?id=product:%d", p.id), &o) != http.StatusOK {
			continue
		}
		for _, r := range o.Results {
			found[p.id] = control.Result{Recipe: r.Recipe, Operation: r.Operation, Digest: r.Digest, At: r.At}
		}
	}
	return found
}

func TestACatchUpFindsTheTenOfAHundredThatWereLost(t *testing.T) {
	logs := &logbook{to: t.Output()}
	each(t, local.Options{Log: logs, Speed: brisk}, func(t *testing.T, s *system) {
		o := openShop(t)
		s.catchUp(o)
		o.products = hundred()
		lost := func(i int) bool { return i%10 == 7 }
		for i, p := range o.products {
			switch {
			case lost(i):
			case i%5 == 0: // the shop says of a new product that it was created
				s.accept(s.woo("product.created", p.body()))
			default:
				s.accept(s.product(p))
			}
		}
		s.worked()
		before := s.outputs(o.products)
		if len(before) != 90 || s.calls() != 90 {
			t.Fatalf("%d results, %d calls before it", len(before), s.calls())
		}
		// The list writes some of them otherwise than the webhook did: other bytes, the same input.
		o.rewrite = func(body string) string {
			if strings.Contains(body, `"id":1001`) {
				return strings.Replace(body, "{", "{ ", 1)
			}
			return body
		}
		if err := s.reconcile(); err != nil {
			t.Fatal(err)
		}
		s.rest()
		after := s.outputs(o.products)
		if len(after) != 100 || s.calls() != 100 {
			t.Errorf("%d results, %d calls", len(after), s.calls())
		}
		for id, r := range before {
			if after[id].Operation != r.Operation || after[id].Digest != r.Digest {
				t.Errorf("the result of %d was replaced: %+v", id, after[id])
			}
		}
		events := len(s.items().Events())
		if want := 90 + 10 + 20 + 1; events != want { // the lost; those that were created, as updated; the one with other bytes
			t.Errorf("%d events, want %d", events, want)
		}
		if o.asked != 1 || o.refused != nil {
			t.Errorf("asked %d times, not understood: %v", o.asked, o.refused)
		}
		for i, p := range o.products {
			if lost(i) {
				ob := s.object(fmt.Sprintf("product:%d", p.id))
				if len(ob.Events) != 1 || !ob.Events[0].CaughtUp || ob.Events[0].Type != "product.updated" || ob.Deliveries != 0 {
					t.Errorf("product %d: %+v", p.id, ob.Events)
				}
			}
		}

		// The next look finds the same ones once more, and nothing new.
		time.Sleep(900 * time.Second / brisk)
		if err := s.reconcile(); err != nil {
			t.Fatal(err)
		}
		s.rest()
		if o.asked < 2 || len(s.items().Events()) != events || s.calls() != 100 {
			t.Errorf("asked %d times, %d events, %d calls", o.asked, len(s.items().Events()), s.calls())
		}
		quiet(t, "the log", logs.take(), restKey, "Chair 1")
	})
}

func TestOneOfTwoReconcilersAsksTheShop(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		o := openShop(t)
		s.catchUp(o)
		o.products = hundred()[:5]
		atOnce(2, func(int) { _ = s.reconcile() })
		s.rest()
		if o.asked != 1 || len(s.items().Events()) != 5 || s.calls() != 5 {
			t.Errorf("asked %d times, %d events, %d calls", o.asked, len(s.items().Events()), s.calls())
		}
	})
}

func TestACatchUpThatDiesIsTakenUp(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		o := openShop(t)
		s.catchUp(o)
		o.products = hundred()[:5]
		for _, breaks := range []wire.Judge{
			once("write catch-up", wire.After, wire.Kill), once("W1 put event", wire.After, wire.Kill), once("send event", wire.Before, wire.Kill),
			nth("write catch-up", 2, wire.Before), nth("write catch-up", 2, wire.After),
		} {
			all.is(breaks)
			if err := s.reconcile(); err == nil {
				t.Error("nothing was killed")
			}
			all.is(nil)
			time.Sleep(2*time.Minute/brisk + 50*time.Millisecond) // the hold
		}
		for range 20 {
			_ = s.reconcile()
			time.Sleep(50 * time.Millisecond)
		}
		s.rest()
		if len(s.items().Events()) != 5 || s.calls() != 5 {
			t.Errorf("%d events, %d calls", len(s.items().Events()), s.calls())
		}
	})
}

// nth kills at the nth such call.
func nth(name string, n int, p wire.Phase) wire.Judge {
	return func(c wire.Call, at wire.Phase) wire.Verdict {
		if c.Name != name || at != p {
			return wire.Pass
		}
		if n--; n == 0 {
			return wire.Kill
		}
		return wire.Pass
	}
}

func TestAShopThatIsDownIsAskedOnScheduleAndBreaksNothing(t *testing.T) {
	each(t, local.Options{Speed: brisk}, func(t *testing.T, s *system) {
		o := openShop(t)
		s.catchUp(o)
		o.products, o.status = hundred()[:3], http.StatusServiceUnavailable
		for range 3 {
			if err := s.reconcile(); err != nil {
				t.Errorf("a shop that is down is no fault of ours: %v", err)
			}
		}
		if o.asked != 1 {
			t.Errorf("asked %d times within one interval", o.asked)
		}
		o.status = 0
		time.Sleep(900 * time.Second / brisk)
		if err := s.reconcile(); err != nil {
			t.Error(err)
		}
		s.rest()
		if len(s.items().Events()) != 3 || s.calls() != 3 {
			t.Errorf("%d events, %d calls", len(s.items().Events()), s.calls())
		}
	})
}
