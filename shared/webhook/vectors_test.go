package webhook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"engang/shared/webhook"
)

// A vector is one signed request with the answer that is right.
type vector struct {
	Provider         string
	Name             string
	Secret           string
	Headers          map[string]string
	Body             string
	Expect           string // valid, invalid, stale
	Now              *int64
	Method           string
	URL              string
	Trap             string   // the signature is right, and yet no work may come of it
	LibraryDisagrees []string `json:"library_disagrees"`
	CertPEM          string   `json:"cert_pem"`
}

// legacyVectors are signed as their sender did in former times; an endpoint must ask for that.
var legacyVectors = map[string]bool{"hubspot/v1-published": true, "hubspot/v2-published": true}

// row is the name of the row that the vector is for: what is called wordpress-hmac is of two.
func (v vector) row() string {
	switch h := v.request().Header; {
	case v.Provider != "wordpress-hmac":
		return v.Provider
	case len(h.Values("X-Wp-Webhook-Signature")) == 0 && (len(h.Values("X-Signature")) > 0 || strings.HasPrefix(v.Name, "generic")):
		return "generic"
	}
	return "wordpress"
}

// endpoint is what an endpoint must say that wants the vector's kind of signature.
func (v vector) endpoint() webhook.Endpoint {
	e := webhook.Endpoint{Legacy: legacyVectors[v.Provider+"/"+v.Name]}
	if v.row() == "generic" {
		e.HMAC = &webhook.HMAC{Header: "X-Signature", Encoding: "hex"}
		if len(v.request().Header.Values("X-Timestamp")) > 0 || strings.Contains(v.Name, "timestamp") {
			e.HMAC.TimeHeader = "X-Timestamp"
		}
	}
	return e
}

// scheme is the row as such an endpoint uses it.
func (v vector) scheme(t *testing.T) webhook.Scheme {
	t.Helper()
	s := row(t, v.row())
	e := v.endpoint()
	if s.NeedsType() {
		e.Type = "post.updated"
	}
	s, err := s.For(e)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (v vector) expect() webhook.Expect { return webhook.Expect{Certificate: []byte(v.CertPEM)} }

func (v vector) request() webhook.Request {
	h := http.Header{}
	for name, value := range v.Headers {
		h.Set(name, value)
	}
	return webhook.Request{Method: v.Method, URL: v.URL, Header: h, Body: []byte(v.Body)}
}

func (v vector) now() time.Time {
	if v.Now == nil {
		return noon
	}
	return time.Unix(*v.Now, 0)
}

func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// TestVectors runs the vectors of testdata, and those of the file that ENGANG_VECTORS names, whose path
// is relative to this folder or to the top of the repository. Vectors of providers without a row are
// counted and left out.
func TestVectors(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		run := runVectors(t, readVectors(t, "testdata/vectors.json"))
		for _, name := range webhook.Names() {
			if (run[name] == 0) != (samples[name].noVectors != "") {
				t.Errorf("%d vectors of %s were run, and of their absence is said: %q", run[name], name, samples[name].noVectors)
			}
		}
	})
	file := os.Getenv("ENGANG_VECTORS")
	if file == "" {
		return
	}
	t.Run("added", func(t *testing.T) {
		if _, err := os.Stat(file); err != nil && !filepath.IsAbs(file) {
			file = filepath.Join("..", "..", file)
		}
		if run := runVectors(t, readVectors(t, file)); len(run) == 0 {
			t.Errorf("nothing in %s is of a provider that has a row", file)
		}
	})
}

func runVectors(t *testing.T, all []vector) map[string]int {
	run, total := map[string]int{}, map[string]int{}
	for i, v := range all {
		total[v.row()]++
		if _, ok := webhook.Lookup(v.row()); !ok {
			continue
		}
		run[v.row()]++
		t.Run(fmt.Sprintf("%s/%s", v.Provider, v.Name), func(t *testing.T) {
			if v.Name == "" || v.Headers == nil {
				t.Fatalf("vector %d has no name or no headers", i)
			}
			checkVector(t, v)
			if v.Trap != "" {
				checkTrap(t, v, all)
			}
		})
	}
	var report []string
	for provider, n := range total {
		report = append(report, fmt.Sprintf("%s: %d of %d", provider, run[provider], n))
	}
	slices.Sort(report)
	t.Logf("vectors run: %s", strings.Join(report, ", "))
	return run
}

func checkVector(t *testing.T, v vector) {
	err := v.scheme(t).Verify(v.request(), held(v.Secret), v.expect(), v.now())
	switch v.Expect {
	case "valid":
		if err != nil {
			t.Fatal(err)
		}
	case "invalid":
		if !errors.Is(err, webhook.ErrSignature) && !errors.Is(err, webhook.ErrSecret) {
			t.Fatalf("want a refusal of signature or secret, got %v", err)
		}
	case "stale":
		if !errors.Is(err, webhook.ErrTimestamp) {
			t.Fatalf("want a refusal of the time, got %v", err)
		}
	default:
		t.Fatalf("unknown expectation %q", v.Expect)
	}
}

// checkTrap wants that a signed trap cannot be worked on, or is the very event of the same body under
// other headers, or at least is never taken for a repeat of a delivery with another body.
func checkTrap(t *testing.T, v vector, all []vector) {
	fact, err := v.fact(t)
	if err != nil || fact.Flaw != "" {
		return
	}
	others := 0
	for _, o := range all {
		if o.Provider != v.Provider || o.Name == v.Name || o.Expect == "invalid" {
			continue
		}
		others++
		other, err := o.fact(t)
		if same := err == nil && other.Key == fact.Key && other.Digest == fact.Digest; same != (o.Body == v.Body) {
			t.Errorf("taken for a repeat of %s: %v", o.Name, same)
		}
	}
	if others == 0 {
		t.Error("it can be worked on, and there is nothing that it must differ from")
	}
}

func (v vector) fact(t *testing.T) (webhook.Fact, error) {
	s := v.scheme(t)
	doc, _, err := s.Document(v.request())
	if err != nil {
		return webhook.Fact{}, err
	}
	return s.Identify(v.request(), doc, webhook.Rule{}, noon)
}

// The official Go library judges the same vectors. Where it answers otherwise, the vector says so, or
// the reason stands here.
func TestVectorsAgainstTheStandardWebhooksLibrary(t *testing.T) {
	const library = "standard-webhooks/libraries v0.0.1"
	reasons := map[string]string{
		"standard-webhooks/ed25519-v1a-valid": "the library knows no v1a: it cannot even read the key",
	}
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != standard && v.Provider != openAI || v.Expect == "stale" {
			continue // the library reads the time of day itself
		}
		t.Run(v.Provider+"/"+v.Name, func(t *testing.T) {
			checked++
			accepted := false
			if wh, err := standardwebhooks.NewWebhook(v.Secret); err == nil {
				accepted = wh.VerifyIgnoringTimestamp([]byte(v.Body), v.request().Header) == nil
			}
			agrees := accepted == (v.Expect == "valid")
			excused := slices.Contains(v.LibraryDisagrees, library) || reasons[v.Provider+"/"+v.Name] != ""
			if agrees == excused {
				t.Errorf("library accepted: %v, expected: %s, listed as disagreeing: %v", accepted, v.Expect, excused)
			}
		})
	}
	if checked < 15 {
		t.Errorf("only %d vectors were compared", checked)
	}
}
