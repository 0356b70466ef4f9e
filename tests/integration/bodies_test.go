package integration_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/bodies"
	"engang/shared/document"
)

// noise is text that hardly packs: n characters, the same for the same seed.
func noise(seed byte, n int) string {
	raw := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(raw) // it never fails
	return base64.StdEncoding.EncodeToString(raw)[:n]
}

// bigProduct is a product in so many bytes, written as only this sender would.
func bigProduct(id, size int) string {
	body := func(x string) string {
		return product{ID: id, Name: fmt.Sprintf("Chair %d", id), Extra: `,"sti":"a\/b \u00e5 ø","x":"` + x + `"`}.Body() + "\n"
	}
	return body(noise(byte(id), size-len(body(""))))
}

func bigContact(id string, size int) string {
	body := func(x string) string {
		return fmt.Sprintf(`{ "type":"contact.created","timestamp":"2026-11-29T11:59:58Z","data":{"id":%q,"company":"Oak","x":"%s"} }`, id, x)
	}
	return body(noise(id[len(id)-1], size-len(body(""))))
}

// largestInline is the longest product whose packed form, of 16 KB, still fits beside the event.
func largestInline(id int) int {
	fits := func(size int) bool { return len(bodies.Pack([]byte(bigProduct(id, size)))) <= 16<<10 }
	size := 16 << 10
	for fits(size + 16) {
		size += 16
	}
	return size
}

func TestScenario23BodyOverTheItemLimit(t *testing.T) {
	each(t, local.Options{Speed: brisk}, func(t *testing.T, s *system) {
		edge := largestInline(1)
		for _, c := range []struct {
			name, object, body string
			deliver            func(s *system, body string) answer
			inline             bool
		}{
			{"the largest beside the event", "product:1", bigProduct(1, edge), (*system).updated, true},
			{"a little larger", "product:1", bigProduct(1, edge+16), (*system).updated, false},
			{"300 KB", "product:2", bigProduct(2, 300_000), (*system).updated, false},
			{"as much as the endpoint takes", "product:3", bigProduct(3, 512<<10), (*system).updated, false},
			{"more than an item can hold, packed", "contact:c-4", bigContact("c-4", 1<<20), (*system).created, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				before := s.objects()
				id := s.accept(c.deliver(s, c.body))
				var kept []string
				for _, key := range s.objects() {
					if !slices.Contains(before, key) {
						kept = append(kept, key)
					}
				}
				item := s.item(id)
				if c.inline {
					if len(kept) != 0 || item["body"] == "" || strings.HasPrefix(item["body"], "raw/") {
						t.Fatalf("in the bucket: %v", kept)
					}
				} else if len(kept) != 1 || kept[0] != item["body"] || kept[0] != "raw/"+id+"/"+document.Digest([]byte(c.body)) || itemBytes(item) > 2_000 {
					t.Fatalf("in the bucket: %v, the event says %q and has %d bytes", kept, item["body"], itemBytes(item))
				} else {
					s.encrypted(kept[0])
				}
				s.rest()
				if e := s.event(id); e.Outcome != "completed" || e.Object != c.object || e.BodyBytes != len(c.body) {
					t.Errorf("event %+v", e)
				}
				if got := s.body(id); !bytes.Equal(got, []byte(c.body)) {
					t.Errorf("%d bytes came back, not the %d that were sent", len(got), len(c.body))
				}
				if a := c.deliver(s, c.body); a.Status != "duplicate" || a.Event != id || len(s.objects()) != len(before)+len(kept) {
					t.Errorf("the sender's repeat: %d %s, bodies %v", a.Code, a.Body, s.objects())
				}
			})
		}
		s.rest()
		if n := len(s.items().Events()); n != 5 || s.calls() != 4 { // the two of product 1 have the same input
			t.Errorf("%d events, %d calls", n, s.calls())
		}
	})
}

func (s *system) updated(body string) answer { s.t.Helper(); return s.woo("product.updated", body) }

func (s *system) created(body string) answer {
	s.t.Helper()
	return s.contact("msg_"+document.Digest([]byte(body))[:8], body)
}

func itemBytes(i map[string]string) (n int) {
	for name, v := range i {
		n += len(name) + len(v)
	}
	return n
}

// encrypted demands that a body is stored as the template says: encrypted, and no plain text.
func (s *system) encrypted(key string) {
	s.t.Helper()
	bucket := s.BucketName("Bodies")
	head, err := s.S3().HeadObject(s.t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		s.t.Fatal(err)
	}
	if head.ServerSideEncryption != s3types.ServerSideEncryptionAes256 {
		s.t.Errorf("encryption %q of %s", head.ServerSideEncryption, key)
	}
}

// The body is put before the event: a crash between leaves bytes that nothing names, and no event
// without its body.
func TestABodyIsKeptBeforeItsEvent(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		for i, c := range []struct {
			name   string
			breaks wire.Judge
			code   int
			kept   int // bodies in the bucket
		}{
			{"killed before the body is put", once("put body", wire.Before, wire.Kill), http.StatusInternalServerError, 0},
			{"killed after the body is put", once("put body", wire.After, wire.Kill), http.StatusInternalServerError, 1},
			{"killed before the event is put", once("W1 put event", wire.Before, wire.Kill), http.StatusInternalServerError, 1},
			{"the bucket is down", down("s3"), http.StatusServiceUnavailable, 0},
			{"every answer of the bucket is lost", every("put body", wire.After, wire.Fail), http.StatusServiceUnavailable, 1},
			{"the store is down", every("W1 put event", wire.Before, wire.Fail), http.StatusServiceUnavailable, 1},
			{"one answer of the bucket is lost", once("put body", wire.After, wire.Fail), http.StatusOK, 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				before, events := len(s.objects()), len(s.items().Events())
				body := bigProduct(10+i, 40_000)
				all.is(c.breaks)
				a := s.updated(body)
				all.is(nil)
				if a.Code != c.code || len(s.objects())-before != c.kept {
					t.Fatalf("answered %d %s, bodies %v", a.Code, a.Body, s.objects())
				}
				if c.code == http.StatusServiceUnavailable {
					s.unavailable(a)
				}
				want := "duplicate"
				if c.code != http.StatusOK {
					want = "accepted"
					if n := len(s.items().Events()); n != events || a.Event != "" || s.step() != 0 {
						t.Fatalf("%d events stored, event %q acknowledged", n-events, a.Event)
					}
				}
				if a = s.updated(body); a.Code != http.StatusOK || a.Status != want {
					t.Fatalf("the sender's next try: %d %s, want %s", a.Code, a.Body, want)
				}
				s.rest()
				if len(s.objects())-before != 1 || s.event(a.Event).Outcome != "completed" || string(s.body(a.Event)) != body {
					t.Errorf("event %+v, bodies %v", s.event(a.Event), s.objects())
				}
			})
		}
		s.rest()
	})
}

func TestSmallBodiesNeedNoBucket(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		all.is(down("s3"))
		id := s.accept(s.product(product{ID: 794, Name: "Chair"}))
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || len(s.objects()) != 0 {
			t.Errorf("event %+v", e)
		}
	})
}

// A worker that cannot read a body has nothing to work on, and must neither park nor call.
func TestAWorkerWaitsForABodyThatCannotBeRead(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		id := s.accept(s.updated(bigProduct(794, 40_000)))
		all.is(down("s3"))
		if n := s.step(); n != 1 {
			t.Fatalf("%d messages", n)
		}
		if e := s.event(id); e.State != "received" || s.calls() != 0 || len(s.items().Operations()) != 0 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
		all.is(nil)
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || s.calls() != 1 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}

// Another fact under a stored event's key never replaces the bytes of the first.
func TestAConflictLeavesTheFirstBody(t *testing.T) {
	each(t, local.Options{Speed: brisk}, func(t *testing.T, s *system) {
		first, other := bigContact("c-1", 40_000), bigContact("c-2", 50_000)
		id := s.accept(s.contact("msg_1", first))
		if a := s.contact("msg_1", other); a.Code != 200 || a.Status != "conflict" || a.Event != id {
			t.Fatalf("answered %d %s", a.Code, a.Body)
		}
		s.rest()
		if got := s.body(id); string(got) != first {
			t.Errorf("%d bytes came back, not the %d of the first delivery", len(got), len(first))
		}
		if kept := s.objects(); len(kept) != 1 {
			t.Errorf("kept %v, of which the event names one", kept)
		}
		if e := s.event(id); e.Object != "contact:c-1" || len(e.Conflicts) != 1 || s.calls() != 1 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}
