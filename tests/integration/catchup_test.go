package integration_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/config"
	"engang/shared/control"
	"engang/tests/shop"
)

const restKey = "ck_local" + hush + ":cs_local" + hush

// A restShop is a shop that can be called.
type restShop struct {
	*shop.Shop
	url string
}

func openShop(t *testing.T) *restShop {
	s := &shop.Shop{Key: restKey}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &restShop{s, server.URL}
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
		all = append(all, product{ID: 1000 + i, Name: fmt.Sprintf("Chair %d", i), Modified: begin.Add(time.Duration(i/3) * time.Second).Format(shop.Stamp)})
	}
	return all
}

// outputs are the results of products, by id, without their ranks.
func (s *system) outputs(all []product) map[int]control.Result {
	s.t.Helper()
	found := map[int]control.Result{}
	for _, p := range all {
		var o control.Object
		if s.get(fmt.Sprintf("/api/show?id=product:%d", p.ID), &o) != http.StatusOK {
			continue
		}
		for _, r := range o.Results {
			found[p.ID] = control.Result{Recipe: r.Recipe, Operation: r.Operation, Digest: r.Digest, At: r.At}
		}
	}
	return found
}

func TestACatchUpFindsTheTenOfAHundredThatWereLost(t *testing.T) {
	logs := &logbook{to: t.Output()}
	each(t, local.Options{Log: logs, Speed: brisk}, func(t *testing.T, s *system) {
		o := openShop(t)
		s.catchUp(o)
		o.Products = hundred()
		lost := func(i int) bool { return i%10 == 7 }
		for i, p := range o.Products {
			switch {
			case lost(i):
			case i%5 == 0: // the shop says of a new product that it was created
				s.accept(s.woo("product.created", p.Body()))
			default:
				s.accept(s.product(p))
			}
		}
		s.worked()
		before := s.outputs(o.Products)
		if len(before) != 90 || s.calls() != 90 {
			t.Fatalf("%d results, %d calls before it", len(before), s.calls())
		}
		// The list writes some of them otherwise than the webhook did: other bytes, the same input.
		o.Rewrite = func(body string) string {
			if strings.Contains(body, `"id":1001`) {
				return strings.Replace(body, "{", "{ ", 1)
			}
			return body
		}
		if err := s.reconcile(); err != nil {
			t.Fatal(err)
		}
		s.rest()
		after := s.outputs(o.Products)
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
		if o.Asked != 1 || o.Refused != nil {
			t.Errorf("asked %d times, not understood: %v", o.Asked, o.Refused)
		}
		for i, p := range o.Products {
			if lost(i) {
				ob := s.object(fmt.Sprintf("product:%d", p.ID))
				if len(ob.Events) != 1 || !ob.Events[0].CaughtUp || ob.Events[0].Type != "product.updated" || ob.Deliveries != 0 {
					t.Errorf("product %d: %+v", p.ID, ob.Events)
				}
			}
		}

		// The next look finds the same ones once more, and nothing new.
		time.Sleep(900 * time.Second / brisk)
		if err := s.reconcile(); err != nil {
			t.Fatal(err)
		}
		s.rest()
		if o.Asked < 2 || len(s.items().Events()) != events || s.calls() != 100 {
			t.Errorf("asked %d times, %d events, %d calls", o.Asked, len(s.items().Events()), s.calls())
		}
		quiet(t, "the log", logs.take(), restKey, "Chair 1")
	})
}

func TestOneOfTwoReconcilersAsksTheShop(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		o := openShop(t)
		s.catchUp(o)
		o.Products = hundred()[:5]
		atOnce(2, func(int) { _ = s.reconcile() })
		s.rest()
		if o.Asked != 1 || len(s.items().Events()) != 5 || s.calls() != 5 {
			t.Errorf("asked %d times, %d events, %d calls", o.Asked, len(s.items().Events()), s.calls())
		}
	})
}

func TestACatchUpThatDiesIsTakenUp(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		o := openShop(t)
		s.catchUp(o)
		o.Products = hundred()[:5]
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
		o.Products = hundred()[:3]
		o.Break(http.StatusServiceUnavailable)
		for range 3 {
			if err := s.reconcile(); err != nil {
				t.Errorf("a shop that is down is no fault of ours: %v", err)
			}
		}
		if o.Asked != 1 {
			t.Errorf("asked %d times within one interval", o.Asked)
		}
		o.Break(0)
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
