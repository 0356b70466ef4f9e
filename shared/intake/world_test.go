package intake_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/object"
	"engang/shared/secrets"
	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// now has more than milliseconds, which no item keeps.
var now = time.Date(2026, 11, 29, 20, 0, 0, 123_456_789, time.UTC)

var received = now.Truncate(time.Millisecond)

const (
	wooSecret = "local-woo-secret"
	crmSecret = "whsec_bG9jYWwtY3JtLXNlY3JldC0zMi1ieXRlcy1sb25n"
	marker    = "Hush-Hush" // stands in bodies: it must be nowhere else
	product   = `{"id":794,"name":"` + marker + `","date_modified_gmt":"2026-11-29T19:59:58"}`
	contact   = `{"type":"contact.created","timestamp":"2026-11-29T19:59:59Z","data":{"contact":{"id":"c-17","rev":"12"},"name":"` + marker + `"}}`
)

var shop = object.Scope{Tenant: "shop", Environment: "test"}

// A world is an intake among doubles of what it needs, which note in order what is asked of them.
type world struct {
	intake.Deps
	endpoints map[string]config.Endpoint
	pointer   config.Pointer
	held      map[secrets.Ref]string
	rotated   map[secrets.Ref]string // what the parameter store has by now
	stored    map[inbox.EventID]inbox.Event

	certificate []byte
	conflicts   []inbox.Conflict
	large       bool // bodies are put into the bucket
	seen        []inbox.EventID
	sent        []string // tenant/event
	delays      []time.Duration
	heads       []inbox.Head
	dropped     []string

	trace  []string
	fail   map[string]error         // by act
	during func(act string)         // called in each act
	limits map[string]time.Duration // what was left of the deadline, by act
	log    bytes.Buffer
	t      testing.TB
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, fail: map[string]error{}, limits: map[string]time.Duration{}, stored: map[inbox.EventID]inbox.Event{},
		held:    map[secrets.Ref]string{"ssm:hooks/woo-shop/1": wooSecret, "ssm:hooks/crm/1": crmSecret},
		pointer: config.Pointer{Revision: 1, Recipes: map[string]int{"product-card": 3, "follow-up": 1, "late": 2}},
		endpoints: map[string]config.Endpoint{
			"woo-shop": {
				Name: "woo-shop", Scope: shop, Provider: "woocommerce", Source: "https://shop.example.com/", Secrets: []secrets.Ref{"ssm:hooks/woo-shop/1"},
				Events: map[string]config.EventRule{
					"product.updated": {Recipes: []string{"product-card"}},
					"product.deleted": {Ignore: true},
				},
			},
			"crm": {
				Name: "crm", Scope: shop, Provider: "standard-webhooks", Secrets: []secrets.Ref{"ssm:hooks/crm/1"}, MaxBody: 1000,
				Events: map[string]config.EventRule{"contact.created": {
					Recipes: []string{"follow-up", "product-card"},
					Object:  &config.ObjectRule{Kind: "contact", ID: pointer(t, "/data/contact/id")},
					Version: ref(pointer(t, "/data/contact/rev")),
				}},
			},
		},
	}
	ids := 0
	w.Deps = intake.Deps{
		Endpoints: w, Vault: w, Signers: w, Bodies: w, Store: w, Queue: w,
		Limits: intake.Limits{Body: 2000, OpenAge: 5 * time.Minute},
		Log:    telemetry.NewLogger(&w.log, telemetry.Process{Function: "receiver", Level: slog.LevelDebug}),
		Now:    func() time.Time { return now },
		NewID:  func() string { ids++; return "write-" + strconv.Itoa(ids) },
	}
	return w
}

func pointer(t testing.TB, text string) document.Pointer {
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ref[V any](v V) *V { return &v }

func (w *world) deliver(d intake.Delivery) (intake.Reply, error) {
	return intake.New(w.Deps).Deliver(w.t.Context(), d)
}

// act notes what is asked for, and returns what the test wants to go wrong with it.
func (w *world) act(ctx context.Context, name string) error {
	w.trace = append(w.trace, name)
	if w.during != nil {
		w.during(name)
	}
	if deadline, ok := ctx.Deadline(); ok {
		w.limits[name] = time.Until(deadline)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.fail[name]
}

func (w *world) Endpoint(ctx context.Context, name string) (config.Endpoint, config.Pointer, error) {
	if err := w.act(ctx, "endpoint"); err != nil {
		return config.Endpoint{}, config.Pointer{}, err
	}
	e, ok := w.endpoints[name]
	if !ok {
		return config.Endpoint{}, config.Pointer{}, fmt.Errorf("read address of endpoint: %w", config.ErrUnknown)
	}
	return e, w.pointer, nil
}

func (w *world) Secrets(ctx context.Context, refs []secrets.Ref) (values []secrets.Value, err error) {
	if err := w.act(ctx, "secrets"); err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if text, ok := w.held[ref]; ok {
			values = append(values, secrets.NewValue(text))
		}
	}
	return values, nil
}

// Certificate hands out what a test has put into w.certificate.
func (w *world) Certificate(ctx context.Context, s webhook.Scheme, _ webhook.Request) ([]byte, error) {
	return w.certificate, w.fail["certificate"]
}

// Renewed finds what a test has put into w.rotated.
func (w *world) Renewed(ctx context.Context, refs []secrets.Ref) ([]secrets.Value, bool, error) {
	if err := w.act(ctx, "renew"); err != nil {
		return nil, false, err
	}
	changed := len(w.rotated) > 0
	for ref, text := range w.rotated {
		w.held[ref] = text
	}
	w.rotated = nil
	values, err := w.Secrets(ctx, refs)
	return values, changed, err
}

func (w *world) Keep(ctx context.Context, id inbox.EventID, raw []byte) (inbox.Body, error) {
	if err := w.act(ctx, "keep"); err != nil {
		return inbox.Body{}, err
	}
	if w.large {
		return inbox.Body{Key: "raw/" + string(id) + "/" + document.Digest(raw), Bytes: len(raw)}, nil
	}
	return inbox.Body{Packed: []byte("packed of " + string(id)), Bytes: len(raw)}, nil
}

func (w *world) Drop(ctx context.Context, b inbox.Body) error {
	w.dropped = append(w.dropped, cmp.Or(b.Key, string(b.Packed)))
	return w.act(ctx, "drop")
}

func (w *world) Receive(ctx context.Context, ev inbox.Event) (inbox.Receipt, error) {
	if err := w.act(ctx, "receive"); err != nil {
		return 0, err
	}
	if old, ok := w.stored[ev.ID]; ok {
		return inbox.Judge(old, ev.WriteID, ev.Digest, ev.Body.Key), nil
	}
	ev.State = inbox.Received
	w.stored[ev.ID] = ev
	return inbox.Accepted, nil
}

func (w *world) RecordConflict(ctx context.Context, c inbox.Conflict) error {
	if err := w.act(ctx, "conflict"); err != nil {
		return err
	}
	w.conflicts = append(w.conflicts, c)
	return nil
}

func (w *world) CountSeen(ctx context.Context, id inbox.EventID, at time.Time) error {
	if err := w.act(ctx, "count"); err != nil {
		return err
	}
	w.seen = append(w.seen, id)
	return nil
}

func (w *world) PutHead(ctx context.Context, h inbox.Head) error {
	if err := w.act(ctx, "head"); err != nil {
		return err
	}
	w.heads = append(w.heads, h)
	return nil
}

func (w *world) Send(ctx context.Context, ref inbox.Reference) error {
	if err := w.act(ctx, "send"); err != nil {
		return err
	}
	w.sent = append(w.sent, ref.Tenant+"/"+string(ref.Event))
	w.delays = append(w.delays, ref.Delay)
	return nil
}

// woo is a delivery of a product, signed as WooCommerce does it.
func (w *world) woo(topic, body string) intake.Delivery {
	return w.sign("woo-shop", "woocommerce", wooSecret, webhook.Request{
		Header: http.Header{"X-Wc-Webhook-Topic": {topic}, "X-Wc-Webhook-Source": {"https://shop.example.com/"}}, Body: []byte(body),
	})
}

// crm is a delivery of a contact, signed as Standard Webhooks says.
func (w *world) crm(id, body string) intake.Delivery {
	return w.sign("crm", "standard-webhooks", crmSecret, webhook.Request{Header: http.Header{"Webhook-Id": {id}}, Body: []byte(body)})
}

func (w *world) sign(endpoint, provider, secret string, req webhook.Request) intake.Delivery {
	w.t.Helper()
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		w.t.Fatalf("no scheme %s", provider)
	}
	signed, err := scheme.Sign(req, secrets.NewValue(secret), now)
	if err != nil {
		w.t.Fatal(err)
	}
	return intake.Delivery{Endpoint: endpoint, Request: signed}
}

// only is the one event that is stored.
func (w *world) only() inbox.Event {
	w.t.Helper()
	if len(w.stored) != 1 {
		w.t.Fatalf("%d events are stored, want 1", len(w.stored))
	}
	for _, ev := range w.stored {
		return ev
	}
	panic("unreachable")
}

// lines are the log lines with this field.
func (w *world) lines(field string) (found []map[string]any) {
	w.t.Helper()
	for line := range bytes.Lines(w.log.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			w.t.Fatal(err)
		}
		if _, ok := m[field]; ok {
			found = append(found, m)
		}
	}
	return found
}

// metrics are the metric lines: the name, and by which endpoint.
func (w *world) metrics() (found []string) {
	for _, line := range w.lines("_aws") {
		for _, name := range []string{"Accepted", "Duplicate", "Conflict", "Ignored", "Pong", "Refused", "SignatureRefused", "Unavailable", "SendFailed", "OtherEnvironment"} {
			if line[name] == 1.0 {
				endpoint, _ := line["endpoint"].(string)
				found = append(found, strings.TrimSuffix(name+" "+endpoint, " "))
			}
		}
	}
	slices.Sort(found)
	return found
}

// quiet fails the test if a line of the log, or an error, repeats a body, a secret or a header.
func (w *world) quiet(err error, d intake.Delivery) {
	w.t.Helper()
	out := w.log.String() + fmt.Sprint(err)
	for what, text := range map[string]string{"body": marker, "secret": wooSecret, "other secret": crmSecret,
		"signature": d.Header.Get("X-Wc-Webhook-Signature"), "other signature": d.Header.Get("Webhook-Signature")} {
		if text != "" && strings.Contains(out, text) {
			w.t.Errorf("%s is repeated in:\n%s", what, out)
		}
	}
}
