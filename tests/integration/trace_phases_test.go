package integration_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/infra/local/wire"
	"engang/tests/shop"
)

// A phase is one part of the run.
type phase struct {
	name string
	run  func(s *system, l *trail)
}

var phases = []phase{
	{"deliveries", deliveriesOfEveryKind},
	{"failures of the model", failuresOfTheModel},
	{"failures outside", failuresOutside},
	{"decisions", decisionsOfEveryKind},
	{"work put back", workPutBack},
	{"catch-up", catchUpFindsMore},
	{"calls that are refused", refusedCalls},
	{"an end", exportAndErase},
}

func deliveriesOfEveryKind(s *system, l *trail) {
	id := s.accept(l.deliver(s, marked(1)))
	s.repeated(id, l.deliver(s, marked(1)))
	s.hurry()
	s.repeated(id, l.deliver(s, marked(1)))
	for _, r := range []*http.Request{
		crmBody(strings.Replace(contact, hush, markBody, 1))(s), crmBody(strings.Replace(contact, hush, markBody+" again", 1))(s), // a conflict
		wooBody("product.deleted", marked(2).Body())(s), wooBody(markBody, marked(2).Body())(s), wooPing(http.MethodPost)(s),
		wooBody("product.updated", marked(2).Body(), otherBody)(s), wooBody("product.updated", marked(2).Body(), forged("woocommerce", markBody))(s),
		wooBody("product.updated", `{"name":"`+markBody)(s), wooBody("product.updated", sized(600<<10))(s), wooBody("product.updated", marked(2).Body(), method("PUT"))(s),
		wooBody("product.updated", marked(2).Body(), func(r *http.Request) { r.URL.Path = "/hooks/" + markBody + " " })(s),
		wooBody("product.updated", `{"name":"`+markBody+`"}`)(s), wooBody("product.updated", `{"id":3,"description":"`+markBody+`"}`)(s),
		wooBody("product.updated", `{"code":"woocommerce_rest_x","message":"`+markBody+`"}`)(s), wooBody("product.updated", `["`+markBody+`"]`)(s),
	} {
		l.proofs = append(l.proofs, signatures(r)...)
		s.send(r)
	}
	s.accept(l.deliver(s, product{ID: 4, Name: markBody, Extra: `,"x":"` + markBody + noise(4, 60_000) + `"`})) // into the bucket
	s.hurry()
}

func failuresOfTheModel(s *system, l *trail) {
	for i, kind := range []string{"429", "500", "503", "quota", "key", "model", "region", "form", "reset", "hang", "refusal", "filter", "schema", "missing", "empty", "nousage", "duplicate", "length"} {
		times := 1
		if kind == "length" {
			times = 2
		}
		if err := l.model.stub.Fail(kind, times); err != nil {
			s.t.Fatal(err)
		}
		s.accept(l.deliver(s, marked(100+i)))
		s.hurry()
	}
	if s.inReview() == "" {
		s.t.Error("no failure stands in review")
	}
}

func failuresOutside(s *system, l *trail) {
	for i, rule := range []wire.Judge{down("dynamodb"), down("sqs"), down("s3"), down("ssm"), every("W4 complete", wire.Before, wire.Kill), once("W4 complete", wire.After, wire.Fail), once("W1 put event", wire.After, wire.Fail)} {
		s.Restart()
		l.all.is(rule)
		l.deliver(s, marked(200+i))
		l.deliver(s, product{ID: 250 + i, Name: markBody, Extra: `,"x":"` + markBody + noise(byte(i), 60_000) + `"`})
		s.step()
		_ = s.Reconcile(s.t.Context()) // some fail: their lines are what is looked for
		s.send(s.looking("/api/show?id=product:1"))
		l.all.is(nil)
		s.hurry()
	}
	id := s.accept(l.deliver(s, marked(299)))
	s.set(s.item(id), "body", &types.AttributeValueMemberB{Value: []byte(markBody)}) // a bug
	s.hurry()
	if e := s.event(id); e.State != "parked" {
		s.t.Errorf("event %+v", e)
	}
}

func decisionsOfEveryKind(s *system, l *trail) {
	s.drafts()
	names := map[int]string{}
	for id := 300; id < 305; id++ {
		s.accept(l.deliver(s, marked(id)))
		s.hurry()
		names[id] = s.object(fmt.Sprintf("product:%d", id)).Operations[0].ID
	}
	digest := func(id int) string { return s.object(fmt.Sprintf("product:%d", id)).Operations[0].Review.Digest }
	for _, in := range []map[string]any{
		{"id": names[300], "digest": digest(301)}, {"id": names[300]}, {"id": names[300], "digest": digest(300)}, {"id": names[300], "digest": digest(301)},
	} {
		s.decide("ann", "approve", in) // the third is right
		s.decide("bob", "reject", in)
	}
	l.run(s, []string{"review"}, []string{"review", "--json"},
		[]string{"reject", names[301], "--digest", digest(301), "--reason", "no"}, []string{"cancel", names[302], "--reason", "no"},
		[]string{"approve", names[303], "--digest", digest(303), "--reason", "yes"}, []string{"show", names[304]}, []string{"show", names[304], "--json"},
		[]string{"show", names[304], "--output", "--reason", "a look"}, []string{"show", "product:300"})
	if s.object("product:300").Operations[0].State != "completed" || s.object("product:303").Operations[0].State != "completed" {
		s.t.Error("nothing was approved")
	}
	failed := s.object("product:110").Operations[0].ID // of the refusal
	l.run(s, []string{"dismiss", failed, "--reason", "the product is gone"})
}

func workPutBack(s *system, l *trail) {
	l.letters(s)
	calls := s.calls()
	l.run(s, []string{"dlq"}, []string{"dlq", "--json"}, []string{"redrive", "--category", "unusable output", "--dry-run"}, []string{"redrive", "--category", "unusable output", "--rate", "1000/s", "--reason", "again"})
	s.hurry()
	if s.calls() == calls {
		s.t.Error("nothing was redriven")
	}
	s.redrive(s.returned(s.deadLetters())[0])
	s.hurry()
	l.run(s, []string{"pause", "endpoint", "woo-shop", "--reason", "incident"}, []string{"pause"})
	s.accept(l.deliver(s, marked(400)))
	s.step()
	l.run(s, []string{"resume", "endpoint", "woo-shop", "--reason", "over"})
	s.hurry()
	s.take("WorkQueue")
	l.run(s, []string{"replay", "--since", "1h", "--dry-run"}, []string{"replay", "--since", "1h", "--rate", "1000/s", "--reason", "after the incident"})
	s.hurry()
	l.letters(s)
	l.run(s, []string{"dlq", "tidy", "--reason", "over"}, []string{"stats", "--since", "1d"}, []string{"stats", "--since", "1d", "--json"},
		[]string{"events", "--limit", "500"}, []string{"operations", "--limit", "500"}, []string{"events", "--json"}, []string{"operations", "--json"})
	s.hurry()
}

func catchUpFindsMore(s *system, l *trail) {
	s.catchUp(l.rest)
	recent := time.Now().UTC().Add(-2 * time.Minute).Format(shop.Stamp)
	lost := marked(500)
	lost.Modified = recent
	l.rest.Products = []product{lost}
	if err := s.Reconcile(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	s.hurry()
	if len(s.object("product:500").Events) != 1 {
		s.t.Error("nothing was caught up")
	}
	l.rest.Break(http.StatusInternalServerError)
	_ = s.Reconcile(s.t.Context())
}

func refusedCalls(s *system, l *trail) {
	for _, path := range []string{"redrive", "replay", "erase", "export", "cancel", "pause", "resume", "dlq/tidy", "review/approve", "review/reject", "review/dismiss", "reveal"} {
		for _, body := range []string{`{"reason":"` + markAPIBody, `{"` + markAPIBody + `":1}`, `"` + markAPIBody + `"`} {
			if a := s.post("/api/"+path, body); a.Code < 400 || a.Code > 499 {
				s.t.Errorf("%s with %s: %d", path, body, a.Code)
			}
		}
	}
	for _, query := range []string{"events?state=", "events?limit=", "events?after=", "operations?category=", "review?older=", "review?kind=", "stats?since=", "events?since="} {
		if a := s.send(s.looking("/api/" + query + markAPIBody)); a.Code < 400 || a.Code > 499 {
			s.t.Errorf("%s: %d %.200s", query, a.Code, a.Body)
		}
	}
}

// looking is a request to look at something.
func (s *system) looking(path string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func exportAndErase(s *system, l *trail) {
	out := filepath.Join(s.t.TempDir(), "export.json")
	l.run(s, []string{"export", "--object", "product:1", "--out", out, "--reason", "asked for"}, []string{"erase", "--object", "product:1", "--dry-run"}, []string{"erase", "--object", "product:1", "--reason", "asked for"})
	if s.body(s.newestEvent("product:4")) == nil {
		s.t.Error("no body is shown")
	}
}
