package integration_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/document"
)

// act asks the API for an act, and demands that it is done.
func (s *system) act(path string, in, out any) {
	s.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.send(r)
	if a.Code != http.StatusOK {
		s.t.Fatalf("%s: %d %.500s", path, a.Code, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), out); err != nil {
		s.t.Fatal(err)
	}
}

// erasing is one call of an erasure.
type erasing struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
	DryRun bool   `json:"dry_run,omitempty"`
	After  string `json:"after,omitempty"`
}

// erase goes on with an erasure until something is waited for or it is over.
func (s *system) erase(in erasing) (sum control.Erased) {
	s.t.Helper()
	for {
		var got control.Erased
		s.act("/api/erase", in, &got)
		got.Events, got.Bodies, got.Items, got.Cancelled = got.Events+sum.Events, got.Bodies+sum.Bodies, got.Items+sum.Items, got.Cancelled+sum.Cancelled
		got.WaitsFor = append(sum.WaitsFor, got.WaitsFor...)
		sum = got
		if in.After = got.Next; in.After == "" || got.AgainAt != nil {
			return sum
		}
	}
}

// erased erases an object to the end, waiting for what was under way.
func (s *system) erased(object string) (sum control.Erased) {
	s.t.Helper()
	in := erasing{Object: object, Reason: "asked to be forgotten"}
	for {
		got := s.erase(in)
		got.Events, got.Items = got.Events+sum.Events, got.Items+sum.Items
		sum = got
		if in.After = got.Next; in.After == "" {
			return sum
		}
		time.Sleep(time.Until(*got.AgainAt) + 10*time.Millisecond)
	}
}

// traces finds texts in everything that is stored: in the table, unpacked where it is packed, and in the bucket.
func (s *system) traces(texts ...string) (found []string) {
	s.t.Helper()
	look := func(where, content string) {
		for _, text := range texts {
			if strings.Contains(content, text) {
				found = append(found, where+" holds "+text)
			}
		}
	}
	for _, i := range s.items() {
		for name, v := range i {
			look(i["pk"]+" "+i["sk"]+" "+name, v)
			look(i["pk"]+" "+i["sk"]+" "+name, unpacked([]byte(v)))
		}
	}
	for _, key := range s.objects() {
		bucket := s.BucketName("Bodies")
		out, err := s.S3().GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			s.t.Fatal(err)
		}
		raw, err := io.ReadAll(out.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		look(key, unpacked(raw))
	}
	return found
}

// unpacked is what packed bytes hold, or nothing.
func unpacked(packed []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	raw, _ := io.ReadAll(z)
	return string(raw)
}

func TestOfAnErasedObjectThereIsNoTrace(t *testing.T) {
	logs := &logbook{to: t.Output()}
	each(t, local.Options{Log: logs, Speed: brisk}, func(t *testing.T, s *system) {
		name := "Grandmother's " + hush
		small, big := product{ID: 794, Name: name, Modified: "2026-11-29T11:00:00"}.Body(), bigProduct(794, 60_000)
		big = strings.Replace(big, "Chair 794", "Chair "+hush, 1)
		first := s.accept(s.updated(small))
		second := s.accept(s.updated(big))
		s.accept(s.updated(product{ID: 8, Name: "A neighbour"}.Body()))
		s.settle()
		if found := s.traces(hush); len(found) < 4 {
			t.Fatalf("the scan does not find what is there: %v", found)
		}

		var doc control.Export
		s.act("/api/export", erasing{Object: "product:794", Reason: "a request"}, &doc)
		for doc.Next != "" {
			next := doc
			s.act("/api/export", erasing{Object: "product:794", Reason: "a request", After: doc.Next}, &next)
			doc.Events, doc.Next = append(doc.Events, next.Events...), next.Next
		}
		bodies := map[string]string{}
		for _, e := range doc.Events {
			bodies[e.Event.ID] = string(e.Body)
		}
		if len(bodies) != 2 || bodies[first] != small || bodies[second] != big || len(doc.Operations) != 2 || !strings.Contains(string(doc.Operations[0].Output)+string(doc.Operations[1].Output), hush) || len(doc.Results) != 1 {
			t.Errorf("exported %d events, %d operations, %d results", len(doc.Events), len(doc.Operations), len(doc.Results))
		}
		if n := s.erase(erasing{Object: "product:794", DryRun: true}); n.Events != 2 || n.Bodies != 1 || n.Items != 3 || len(s.traces(hush)) == 0 {
			t.Errorf("a dry run: %+v", n)
		}

		done := s.erased("product:794")
		if done.Events != 2 || done.Items != 3 {
			t.Errorf("erased %+v", done)
		}
		spotless := func(when string) {
			t.Helper()
			if found := s.traces(hush, document.Digest([]byte(big))+".", "product:794/"); found != nil {
				t.Errorf("%s: %v", when, found)
			}
			quiet(t, "the log", logs.take())
		}
		spotless("erased")
		if e := s.event(first); e.ErasedAt == nil || e.Object != "" || e.State != "settled" {
			t.Errorf("event %+v", e)
		}
		for _, body := range []string{small, big} {
			if a := s.updated(body); a.Status != "duplicate" {
				t.Errorf("a repeat: %d %s", a.Code, a.Body)
			}
		}
		calls := s.calls()
		s.rest()
		spotless("repeated")
		if s.calls() != calls {
			t.Errorf("a repeat made %d calls", s.calls()-calls)
		}
		if o := s.object("product:8"); len(o.Events) != 1 || len(o.Results) != 1 {
			t.Errorf("the neighbour: %+v", o)
		}

		// A later event of the object is new work.
		s.accept(s.updated(product{ID: 794, Name: "New", Modified: "2026-11-30T11:00:00"}.Body()))
		s.rest()
		if o := s.object("product:794"); len(o.Events) != 1 || len(o.Results) != 1 || s.calls() != calls+1 {
			t.Errorf("later: %+v, %d calls", o, s.calls()-calls)
		}
	})
}

// A worker that has committed, and not yet written its result, must not leave one behind.
func TestAWorkerThatWasUnderWayLeavesNothingOfAnErasedObject(t *testing.T) {
	for _, at := range []string{"W3 claim", "model call", "W4 complete", "W5 result", "W6 settle"} {
		t.Run(at, func(t *testing.T) {
			onEach(t, func(t *testing.T, begin func(local.Options) *system) {
				at := stopAt(at, 1)
				s := begin(local.Options{Judge: at.judge, Speed: brisk})
				s.accept(s.updated(product{ID: 794, Name: "Chair " + hush}.Body()))
				var first control.Erased
				at.during(t, func() {
					for n := 1; n > 0 && at.made.Load() == 0; { // under load a lease may have no room for the call
						n, _ = s.Work(t.Context())
					}
				}, func() {
					if first = s.erase(forget); first.AgainAt == nil || first.Events != 1 {
						t.Errorf("first calls: %+v", first)
					}
				})
				s.goOn(forget, first)
				s.settle()
				if found := s.traces(hush, "product:794"); len(slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, "A#") })) > 0 {
					t.Errorf("left: %v", found)
				}
				if n := s.calls(); n > 1 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

// The same call may be made again, wherever the one before was cut off.
func TestAnErasureThatDiesIsMadeAgain(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		for i, breaks := range []wire.Judge{
			once("audit", wire.After, wire.Kill), once("erase body", wire.After, wire.Kill), once("erase", wire.Before, wire.Kill), once("erase", wire.After, wire.Kill), nth("erase", 2, wire.After),
		} {
			id := 10 + i
			s.accept(s.updated(strings.Replace(bigProduct(id, 60_000), fmt.Sprint("Chair ", id), "Chair "+hush, 1)))
			s.settle()
			all.is(breaks)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/api/erase", strings.NewReader(fmt.Sprintf(`{"object":"product:%d","reason":"why"}`, id)))
			if err != nil {
				t.Fatal(err)
			}
			if a := s.send(r); a.Code == http.StatusOK {
				t.Errorf("%d: nothing was killed: %s", i, a.Body)
			}
			all.is(nil)
			s.erased(fmt.Sprintf("product:%d", id))
			if found := s.traces(hush); found != nil {
				t.Errorf("%d: left %v", i, found)
			}
		}
		s.rest()
	})
}
