package integration_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engang/infra/configfile"
	"engang/infra/local"
	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// captureDir names a folder with more captures: one file of JSON lines for each provider, named after it.
const captureDir = "ENGANG_CAPTURES"

// A recorded request of a running sender, at its time.
type recorded struct {
	capture
	Now            int64
	SignatureValid *bool `json:"signature_valid"`
	Note           string
	provider       string
}

// providerOf says which row a file of captures is for.
var providerOf = map[string]string{"weblate": "standard-webhooks", "localstripe": "stripe"}

// recordings reads every file of captures but WooCommerce's, which has a test of its own.
func recordings(t testing.TB) map[string][]recorded {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "shared", "webhook", "testdata", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "woocommerce.jsonl") })
	if dir := os.Getenv(captureDir); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join("..", "..", dir) // as somebody at the top of the repository writes it
		}
		more, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s names no folder with captures: %v", captureDir, err)
		}
		files = append(files, more...)
	}
	all := map[string][]recorded{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		provider := name
		if p, ok := providerOf[name]; ok {
			provider = p
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(raw))
		lines.Buffer(nil, len(raw)+1)
		for lines.Scan() {
			r := recorded{provider: provider}
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[file] = append(all[file], r)
		}
	}
	if len(all) < 5 {
		t.Fatalf("only %d files of captures", len(all))
	}
	return all
}

// endpointFor is the test endpoint that takes a capture: its secret, its type, and what an endpoint of
// that sender has to say. Captures with the same answers share one.
func endpointFor(t testing.TB, r recorded) config.Endpoint {
	t.Helper()
	e := config.Endpoint{Provider: r.provider, Events: map[string]config.EventRule{}}
	switch {
	case r.provider == "ghost": // only the address that was registered tells the topic
		e.Type = ghostTopic(r.Body)
	case strings.Contains(r.Note, "webhook-timestamp is fractional"): // Weblate
		e.TypeAt = pointer(t, "/action")
	case r.provider == "svix":
		e.Type = "message"
	}
	row, ok := webhook.Lookup(r.provider)
	if !ok {
		t.Fatalf("no row for %s", r.provider)
	}
	row, err := row.For(webhook.Endpoint{Type: e.Type, TypeAt: e.TypeAt})
	if err != nil {
		t.Fatal(err)
	}
	if doc, _, err := row.Document(r.request()); err == nil {
		if kind, err := row.Type(r.request(), doc); err == nil {
			rule := config.EventRule{Recipes: []string{}}
			if r.provider == "svix" || r.provider == "standard-webhooks" {
				at := map[string]string{"svix": "/id", "standard-webhooks": "/change_id"}[r.provider]
				rule.Object = &config.ObjectRule{Kind: "thing", ID: *pointer(t, at)}
			}
			e.Events[kind] = rule
		}
	}
	return e
}

func ghostTopic(body []byte) string {
	if bytes.Contains(body, []byte(`"current":{}`)) {
		return "post.deleted"
	}
	for kind, topic := range map[string]string{`{"post"`: "post.edited", `{"member"`: "member.edited", `{"page"`: "page.edited"} {
		if bytes.HasPrefix(body, []byte(kind)) {
			return topic
		}
	}
	return "site.changed"
}

func pointer(t testing.TB, text string) *document.Pointer {
	t.Helper()
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func (r recorded) request() webhook.Request {
	h := http.Header{}
	for _, pair := range r.Headers {
		h.Add(pair[0], pair[1])
	}
	return webhook.Request{Method: r.Method, URL: "http://127.0.0.1" + r.Path, Header: h, Body: r.Body}
}

// TestEveryCapture replays what running senders sent through the front, at its recorded time.
func TestEveryCapture(t *testing.T) {
	for file, all := range recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var at atomic.Int64
			o := local.Options{Speed: calm, Now: func() time.Time { return time.Unix(at.Load(), 0) }}
			each(t, o, func(t *testing.T, s *system) { s.replay(all, &at) })
		})
	}
}

func (s *system) replay(all []recorded, at *atomic.Int64) {
	t := s.t
	set, err := configfile.Read("../../infra/local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(all))
	endpoints := map[string]config.Endpoint{}
	for i, r := range all {
		e := endpointFor(t, r)
		id, _ := json.Marshal([]any{e.Provider, e.Type, e.TypeAt, r.Secret})
		e.Name = "capture-" + document.Digest(id)[:8]
		if known, ok := endpoints[e.Name]; ok {
			maps.Copy(known.Events, e.Events)
			e = known
		}
		ref := secrets.Ref("ssm:hooks/" + e.Name + "/1")
		e.Scope, e.Secrets = set.Scope, []secrets.Ref{ref}
		endpoints[e.Name], names[i] = e, e.Name
		secret := r.Secret
		if secret == "" {
			secret = "a-secret-that-the-sender-lacks"
		}
		if err := s.PutSecret(t.Context(), ref, secret); err != nil {
			t.Fatal(err)
		}
	}
	set.Endpoints = append(set.Endpoints, slices.Collect(maps.Values(endpoints))...)
	if _, err := s.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for round, want := range []string{"accepted", "duplicate"} {
		for i, r := range all {
			at.Store(r.Now)
			a := s.send(s.recorded(names[i], r))
			switch signed := r.SignatureValid != nil && r.Signed; {
			case !signed && a.Code != http.StatusUnauthorized && a.Status != "pong":
				t.Errorf("%s (%s), not signed: answered %d %s", r.Name, names[i], a.Code, a.Body)
			case signed && (a.Code != http.StatusOK || (a.Status != want && a.Status != "duplicate")):
				t.Errorf("%s (%s): answered %d %s, want %s", r.Name, names[i], a.Code, a.Body, want)
			case signed && a.Status == "accepted" && seen[a.Event]:
				t.Errorf("%s: one event was accepted twice", r.Name)
			}
			seen[a.Event] = true
		}
		if round == 0 {
			s.settle()
		}
	}
	s.rest()
	for _, e := range s.items().Events() {
		unfit := e["st"] == "parked" && e["cat"] == "invalid input" && strings.HasPrefix(e["typ"], "action.") // WooCommerce's are about nothing
		if !unfit && (e["st"] != "settled" || e["how"] != "no recipe") {
			t.Errorf("%s of type %s is %s, %s: %s", e["pk"], e["typ"], e["st"], e["how"], e["why"])
		}
	}
	if s.calls() != 0 {
		t.Errorf("%d model calls", s.calls())
	}
	t.Logf("%d requests at %d endpoints, %d events", len(all), len(endpoints), len(s.items().Events()))
}

// recorded is the capture as it was sent, to the endpoint of this name.
func (s *system) recorded(endpoint string, r recorded) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), r.Method, fmt.Sprintf("%s/hooks/%s", s.URL(), endpoint), bytes.NewReader(r.Body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, values := range r.request().Header {
		if name != "Host" && name != "Content-Length" && name != "Connection" && name != "Expect" {
			req.Header[name] = values
		}
	}
	return req
}
