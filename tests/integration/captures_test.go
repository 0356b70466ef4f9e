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
	"testing"

	"engang/infra/local"
	"engang/shared/control"
	"engang/shared/secrets"
)

// A capture is one request that a running WooCommerce made, with the secret that it had then.
type capture struct {
	Name    string
	Method  string
	Path    string
	Headers [][2]string
	Body    []byte `json:"body_base64"`
	Secret  string
	Signed  bool
}

func captures(t testing.TB) (all []capture) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "shared", "webhook", "testdata", "woocommerce.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var c capture
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) < 46 {
		t.Fatalf("%d captures, %v: the file is not what it was", len(all), err)
	}
	return all
}

// endpoint is the name of the test endpoint that stands for the captured path.
func (c capture) endpoint() string {
	path, _, _ := strings.Cut(c.Path, "?")
	return strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")
}

func (c capture) header(name string) string {
	for _, h := range c.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

func (c capture) topic() string { return c.header("X-WC-Webhook-Topic") }

// about is what the capture's body says of its object; nil where it is no JSON object.
func (c capture) about() (p struct {
	ID          json.Number     `json:"id"`
	Modified    string          `json:"date_modified_gmt"`
	Name        json.RawMessage `json:"name"`
	Description json.RawMessage `json:"description"`
	Categories  json.RawMessage `json:"categories"`
	Attributes  json.RawMessage `json:"attributes"`
}) {
	_ = json.Unmarshal(c.Body, &p) // a ping is no JSON
	return p
}

// input is all that the recipe may see of a product.
func (c capture) input() string {
	p := c.about()
	return fmt.Sprintf("%s %s %s %s", p.Name, p.Description, p.Categories, p.Attributes)
}

// send delivers the captured request to its test endpoint.
func (c capture) send(s *system) (answer, error) {
	_, query, _ := strings.Cut(c.Path, "?")
	r, err := http.NewRequestWithContext(s.t.Context(), c.Method, s.URL()+"/hooks/"+c.endpoint()+"?"+query, bytes.NewReader(c.Body))
	if err != nil {
		return answer{}, err
	}
	for _, h := range c.Headers {
		if !slices.Contains([]string{"Host", "Connection", "Content-Length"}, h[0]) {
			r.Header.Add(h[0], h[1])
		}
	}
	return s.try(r)
}

// captureEndpoints writes one endpoint for each captured path: its secrets and its source, and the topics
// that came there. Products go through product-card, other things are stored without a recipe, and a
// deleted product is not stored.
func captureEndpoints(t testing.TB, all []capture) (path string, held map[secrets.Ref]string) {
	t.Helper()
	topics, values := map[string]map[string]bool{}, map[string][]string{}
	for _, c := range all {
		e := c.endpoint()
		if topics[e] == nil {
			topics[e] = map[string]bool{}
		}
		if c.Signed {
			topics[e][c.topic()] = true
		}
		if !slices.Contains(values[e], c.Secret) {
			values[e] = append(values[e], c.Secret)
		}
	}
	held = map[secrets.Ref]string{}
	var b strings.Builder
	b.WriteString("version: 1\ntenant: shop\nenvironment: test\nendpoints:\n")
	for _, e := range slices.Sorted(maps.Keys(topics)) {
		fmt.Fprintf(&b, "  %s:\n    provider: woocommerce\n    source: http://127.0.0.1:8081/\n    secrets:\n", e)
		for i, value := range values[e] {
			ref := fmt.Sprintf("ssm:hooks/%s/%d", e, i+1)
			held[secrets.Ref(ref)] = value
			fmt.Fprintf(&b, "      - %s\n", ref)
		}
		b.WriteString("    events:\n      product.deleted: ignore\n")
		for _, topic := range slices.Sorted(maps.Keys(topics[e])) {
			switch {
			case topic == "product.deleted":
			case strings.HasPrefix(topic, "product."):
				fmt.Fprintf(&b, "      %s: {recipes: [product-card]}\n", topic)
			default:
				fmt.Fprintf(&b, "      %s: {recipes: []}\n", topic)
			}
		}
	}
	path = filepath.Join(t.TempDir(), "captures.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, held
}

// A tally is what must have come of the captures so far, by the promises alone.
type tally struct {
	done    map[string]bool   // product and input that were paid for
	newest  map[string]string // version of the result, by product
	current map[string]string // input behind the result, by product
	calls   int
}

// expect says how the capture's event must end: its outcome, or "parked".
func (w *tally) expect(c capture) string {
	p := c.about()
	switch {
	case p.ID == "":
		return "parked"
	case !strings.HasPrefix(c.topic(), "product."):
		return "no recipe"
	}
	id, input := string(p.ID), c.input()
	switch {
	case p.Modified < w.newest[id] && w.done[id+input] && w.current[id] == input:
		return "completed" // its operation is behind the result already
	case p.Modified < w.newest[id]:
		return "superseded"
	}
	if !w.done[id+input] {
		w.done[id+input] = true
		w.calls++
	}
	w.newest[id], w.current[id] = p.Modified, input
	return "completed"
}

func TestEveryWooCommerceCapture(t *testing.T) {
	all := captures(t)
	path, held := captureEndpoints(t, all)
	o := local.Options{ConfigFiles: []string{filepath.Join("..", "..", "infra", "local.yaml"), path}, Speed: calm}
	each(t, o, func(t *testing.T, s *system) {
		for ref, value := range held {
			if err := s.PutSecret(t.Context(), ref, value); err != nil {
				t.Fatal(err)
			}
		}
		want := &tally{done: map[string]bool{}, newest: map[string]string{}, current: map[string]string{}}
		events := map[string]string{} // by endpoint, topic and body
		ends := map[string]string{}   // by event
		for _, c := range all {
			a, err := c.send(s)
			if err != nil {
				t.Fatal(err)
			}
			key := c.endpoint() + " " + c.topic() + " " + string(c.Body)
			if status := c.status(events[key] != ""); a.Code != http.StatusOK || a.Status != status || (a.Event != "") != (status == "accepted" || status == "duplicate") {
				t.Fatalf("%s: answered %d %s, want %s", c.Name, a.Code, a.Body, status)
			}
			if a.Status == "accepted" {
				events[key] = a.Event
				ends[a.Event] = want.expect(c)
				s.settle()
				s.ended(c, a.Event, ends[a.Event])
			}
		}
		s.rest()
		s.holds(want)
		if n := len(s.items().Events()); n != len(events) || n < 30 {
			t.Errorf("%d events are stored, %d were accepted", n, len(events))
		}
		burst(t, s)
		again(t, s, all, events)
		s.holds(want)
	})
}

// status is what a capture must be answered with.
func (c capture) status(seen bool) string {
	switch {
	case !c.Signed: // a ping, which must be answered with exactly 200
		return "pong"
	case c.topic() == "product.deleted":
		return "ignored"
	case seen:
		return "duplicate"
	}
	return "accepted"
}

// ended demands how the event of a capture came to its end.
func (s *system) ended(c capture, id, want string) {
	s.t.Helper()
	e := s.event(id)
	got := e.Outcome
	if e.State == "parked" {
		got = "parked"
	}
	if got != want || e.Type != c.topic() || e.Endpoint != c.endpoint() || e.BodyBytes != len(c.Body) || e.DeliveryID != c.header("X-WC-Webhook-Delivery-ID") {
		s.t.Errorf("%s: %s, want %s; event %+v", c.Name, got, want, e)
	}
	if want == "parked" && e.Category != "invalid input" {
		s.t.Errorf("%s: parked as %q", c.Name, e.Category)
	}
}

// holds demands calls and results of every product.
func (s *system) holds(want *tally) {
	s.t.Helper()
	if s.calls() != want.calls {
		s.t.Errorf("%d model calls, want %d", s.calls(), want.calls)
	}
	if n := len(s.items().Results()); n != len(want.newest) {
		s.t.Errorf("%d results of %d products", n, len(want.newest))
	}
	for id, version := range want.newest {
		if o := s.object("product:" + id); len(o.Results) != 1 || o.Results[0].ObjectVersion != version+"Z" {
			s.t.Errorf("product %s has results %+v, want one of %s", id, o.Results, version)
		}
	}
}

// burst holds that six products of one batch call, delivered with one delivery id, are six events.
func burst(t *testing.T, s *system) {
	t.Helper()
	var list control.List[control.Event]
	if code := s.get("/api/events?limit=500", &list); code != http.StatusOK {
		t.Fatalf("events: %d", code)
	}
	objects := map[string]bool{}
	for _, e := range list.Items {
		if e.DeliveryID == "f30f46b10ac4a51f2029258d0afa1c7d" {
			objects[e.Object] = true
		}
	}
	if len(objects) != 6 {
		t.Errorf("one delivery id gave events of %d products, want 6", len(objects))
	}
}

// again sends everything a second time, at once: nothing new comes of it.
func again(t *testing.T, s *system, all []capture, events map[string]string) {
	t.Helper()
	answers, faults := make([]answer, len(all)), make([]error, len(all))
	atOnce(len(all), func(i int) { answers[i], faults[i] = all[i].send(s) })
	for i, c := range all {
		a, key := answers[i], c.endpoint()+" "+c.topic()+" "+string(c.Body)
		if faults[i] != nil || a.Code != http.StatusOK || a.Status != c.status(true) || a.Event != events[key] {
			t.Errorf("%s again: answered %d %s, %v; want %s of %s", c.Name, a.Code, a.Body, faults[i], c.status(true), events[key])
		}
	}
	s.rest()
	if n := len(s.items().Events()); n != len(events) {
		t.Errorf("%d events after everything was sent again, want %d", n, len(events))
	}
}
