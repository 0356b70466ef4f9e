package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sivchari/kumo"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/dynamo/dynamotest"
)

// The decision is one conditional write, and nothing comes before it: the second click is told whose it is.
func TestCaseAPR01DoubleClickRanTheSlowBranchTwice(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		g := newGate("W17 approve", wire.After)
		g.function = "console"
		s := begin(local.Options{Speed: calm, Judge: g.judge})
		t.Cleanup(func() { close(g.over) })
		s.drafts()
		s.accept(s.product(oldChair))
		s.settle()
		o := s.draftOf(oldVersion)
		slow := make(chan decision, 1)
		go func() {
			d, err := s.asks("ann", "approve", of(o))
			if err != nil {
				t.Error(err)
			}
			slow <- d
		}()
		let := g.next(t) // the first click has decided, and hangs
		if d := s.decide("ann", "approve", of(o)); d.Code != http.StatusOK || !d.Done.Already || d.Done.By != people+"ann" {
			t.Errorf("the second click: %+v", d)
		}
		let()
		if d := <-slow; d.Code != http.StatusOK || d.Done.Already {
			t.Errorf("the first click: %+v", d)
		}
		s.rest()
		if n := s.Record().Counts()["W17 approve"]; n != 1 || len(s.items().Results()) != 1 {
			t.Errorf("%d writes, results %v", n, s.items().Results())
		}
	})
}

// One approves and the other rejects at the same instant, two hundred times.
func TestCaseAPR02TwoPeopleDecidedTheSameStep(t *testing.T) {
	const times = 200
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		for n := range times {
			s.accept(s.product(product{ID: 1000 + n, Name: fmt.Sprint("Chair ", n)}))
		}
		s.settle()
		var list control.List[control.Waiting]
		if code := s.get("/api/review?limit=500", &list); code != http.StatusOK || len(list.Items) != times {
			t.Fatalf("%d, %d drafts", code, len(list.Items))
		}
		won := map[string]string{}
		for _, w := range list.Items {
			var both [2]decision
			atOnce(2, func(i int) {
				var err error
				if both[i], err = s.asks([]string{"ann", "bob"}[i], []string{"approve", "reject"}[i], map[string]any{"id": w.ID, "digest": w.Digest}); err != nil {
					t.Error(err)
				}
			})
			winner, loser := both[0], both[1]
			if both[1].Code == http.StatusOK {
				winner, loser = both[1], both[0]
			}
			if winner.Code != http.StatusOK || winner.Done.Already || loser.Code != http.StatusConflict || loser.Problem.Stands == nil || loser.Problem.Stands.By != winner.Done.By {
				t.Fatalf("%+v and %+v", winner, loser)
			}
			won[w.ID] = winner.Done.By
		}
		s.rest()
		results := map[string]bool{}
		for _, r := range s.items().Results() {
			results[r["pk"]] = true
		}
		for _, o := range s.items().Operations() {
			name := strings.TrimPrefix(o["pk"], "B#shop#test#") + "/product-card@4/" + o["sk"][strings.LastIndexByte(o["sk"], '#')+1:]
			approved := won[name] == people+"ann"
			if o["by"] != won[name] || (o["st"] == "completed") != approved || (o["st"] == "rejected") == approved || results[o["pk"]] != approved {
				t.Errorf("%s is %s by %s, with a result: %v; decided by %s", name, o["st"], o["by"], results[o["pk"]], won[name])
			}
		}
		if acts := s.acts(); len(acts) != 2*times {
			t.Errorf("the audit log holds %d of %d requests", len(acts), 2*times)
		}
	})
}

// An approval binds the operation and the bytes; what is another draft meanwhile needs its own.
func TestCaseAPR03ResumedRunExecutedOtherArguments(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		first := s.draftOf(oldVersion)
		if d := s.decide("bob", "reject", of(first)); d.Code != http.StatusOK {
			t.Fatalf("%+v", d)
		}
		s.fails("missing", 1) // the next output differs
		s.again(first)
		second := s.draftOf(oldVersion)
		if second.ID != first.ID || second.Review.Digest == first.Review.Digest {
			t.Fatalf("the second draft %+v", second.Review)
		}
		if d := s.decide("ann", "approve", of(first)); d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:other-draft" || d.Problem.Stands.Digest != second.Review.Digest {
			t.Errorf("an approval of what was looked at before: %+v", d)
		}
		// A newer event with the same content changes neither operation nor bytes: the approval holds.
		s.accept(s.product(echo))
		s.settle()
		if d := s.decide("ann", "approve", of(second)); d.Code != http.StatusOK || d.Done.ObjectVersion != newVersion {
			t.Errorf("%+v", d)
		}
		s.rest()
		if r := s.object("product:794").Results; len(r) != 1 || r[0].Digest != second.Review.Digest {
			t.Errorf("results %+v", r)
		}
	})
}

// A decision that meets another transaction, or no room, is told as what it is: to be asked for again.
func TestCaseDDB03EveryCancelledTransactionReportedAs404(t *testing.T) {
	engines := map[string]string{"embedded": kumo.NewServer().URL}
	if reference := os.Getenv(dynamotest.ReferenceEnv); reference != "" {
		engines["reference"] = reference
	}
	for engine, address := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			var reason atomic.Pointer[string]
			s := start(t, local.Options{Speed: calm, DynamoDBURL: cancelling(t, address, &reason)})
			s.drafts()
			s.accept(s.product(oldChair))
			s.settle()
			o := s.draftOf(oldVersion)
			for _, why := range []string{"TransactionConflict", "ThrottlingError"} {
				reason.Store(&why)
				if d := s.decide("ann", "approve", of(o)); d.Code != http.StatusServiceUnavailable || d.Problem.Type != "urn:engang:problem:unavailable" {
					t.Errorf("%s: %+v", why, d)
				}
			}
			reason.Store(nil)
			if s.draftOf(oldVersion).Review.Digest != o.Review.Digest {
				t.Error("the draft has changed")
			}
			unknown := of(o)
			unknown["id"] = "product:794/product-card@4/00"
			if d := s.decide("ann", "approve", unknown); d.Code != http.StatusNotFound {
				t.Errorf("what there is not: %+v", d)
			}
			if d := s.decide("ann", "approve", of(o)); d.Code != http.StatusOK || d.Done.Already {
				t.Errorf("asked again: %+v", d)
			}
			s.rest()
		})
	}
}

// cancelling is an engine that cancels every transaction for a reason, as long as there is one.
func cancelling(t *testing.T, address string, reason *atomic.Pointer[string]) string {
	t.Helper()
	engine, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(engine)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := reason.Load()
		if why == nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			through.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"m","CancellationReasons":[{"Code":"None"},{"Code":"`+*why+`"}]}`)
	}))
	t.Cleanup(front.Close)
	return front.URL
}
