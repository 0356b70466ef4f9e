package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/delivery"
	"engang/infra/engang/text"
	"engang/infra/local"
	"engang/infra/local/faults"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// Endpoint is the configured endpoint that the sample is delivered to.
const Endpoint = "woo-shop"

const (
	sampleObject = "product:794"
	sampleKill   = "kill@before-call"
)

// ErrPromise says that a number of the sample differs from what is promised.
var ErrPromise = errors.New("not as promised")

// A Story delivers one event three times with the worker killed in the middle, and tells what happens:
// every line is read from the system while it runs.
type Story struct {
	Screen Screen
	System *local.System
	Client *client.Client
	Once   bool  // a number that differs is an error, and nothing is suggested
	Feed   *Feed // does not tell again what the story told; may be nil

	maker  *delivery.Maker
	called int // model calls before
}

// Tell tells the story, unless it was told in this data folder before. It returns an error that wraps
// [ErrPromise] when a number differs, and only if the program stops after the story.
func (t *Story) Tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(float64(10*time.Minute)/t.System.Speed()))
	defer cancel()
	w := t.Screen.Out
	switch known, ok, err := t.prepare(ctx); {
	case err != nil:
		return fmt.Errorf("prepare the sample: %w", err)
	case !ok && t.Once:
		return fmt.Errorf("%w: the configuration has no endpoint %s of WooCommerce for product.updated", ErrPromise, Endpoint)
	case !ok:
		fmt.Fprintf(w, "No sample: the configuration has no endpoint %s of WooCommerce for product.updated.\n\n", Endpoint)
		return nil
	case known:
		fmt.Fprintf(w, "The sample was delivered in this folder before: %s\n\n", t.Screen.Suggest("show "+sampleObject))
		return nil
	}
	fmt.Fprintf(w, "Sample: WooCommerce reports product 794 three times, and the worker is killed in the middle of the first try.\n\n")
	doc, err := t.tell(ctx)
	if err != nil {
		return fmt.Errorf("show the sample: %w", err)
	}
	if t.Feed != nil {
		t.Feed.know(doc)
	}
	return t.conclude(doc)
}

// prepare finds out whether the sample can be delivered (ok), and whether it was before (known).
func (t *Story) prepare(ctx context.Context) (known, ok bool, err error) {
	for _, e := range t.System.Config().Endpoints {
		if e.Name != Endpoint || e.Provider != "woocommerce" || len(e.Secrets) == 0 || len(e.Events["product.updated"].Recipes) == 0 {
			continue
		}
		_, err := t.Client.Show(ctx, client.Filter{"id": sampleObject})
		if err == nil {
			return true, true, nil
		}
		if problem, refused := errors.AsType[*client.Problem](err); !refused || problem.Status != 404 {
			return false, false, err
		}
		draft, err := delivery.Load(delivery.Usual)
		if err != nil {
			return false, false, err
		}
		scheme, _ := webhook.Lookup(e.Provider)
		t.maker, err = delivery.NewMaker(delivery.Maker{Scheme: scheme, Secret: secrets.NewValue(local.Secret(e.Provider, e.Secrets[0])), Draft: draft})
		if stub := t.System.Stub(); stub != nil {
			t.called = stub.Count()
		}
		return false, true, err
	}
	return false, false, nil
}

func (t *Story) tell(ctx context.Context) (control.Object, error) {
	before := len(t.System.Faults().Fired())
	if err := t.System.Faults().Add("worker:" + sampleKill); err != nil {
		return control.Object{}, err
	}
	if err := t.deliver(ctx, 0); err != nil {
		return control.Object{}, err
	}
	if err := t.deliver(ctx, 1); err != nil {
		return control.Object{}, err
	}
	killed, err := t.killed(ctx, before)
	if err != nil {
		return control.Object{}, err
	}
	if err := t.firstTry(ctx, killed); err != nil {
		return control.Object{}, err
	}
	if err := t.deliver(ctx, 2); err != nil {
		return control.Object{}, err
	}
	doc, err := t.settled(ctx)
	if err != nil {
		return doc, err
	}
	return doc, t.outcome(ctx, doc)
}

// deliver sends the event once more; again is how often it was sent before.
func (t *Story) deliver(ctx context.Context, again int) error {
	at := time.Now()
	req, err := t.maker.Make(at)
	if err != nil {
		return err
	}
	got := t.Client.Deliver(ctx, Endpoint, req)
	if got.Err != nil {
		return got.Err
	}
	says := got.Answer
	switch got.Answer {
	case "accepted":
		says = "new, stored in the inbox"
	case "duplicate":
		says = fmt.Sprintf("duplicate %d", again)
	}
	t.Screen.line(at, "delivery", "product.updated  %s   %-34s  %d  %5s", sampleObject, says, got.Status, text.Duration(got.Took))
	return nil
}

// killed waits for the fault to strike.
func (t *Story) killed(ctx context.Context, before int) (faults.Fired, error) {
	for {
		for _, f := range t.System.Faults().Fired()[before:] {
			if f.Fault == "worker:"+sampleKill {
				return f, nil
			}
		}
		if err := rest(ctx); err != nil {
			return faults.Fired{}, fmt.Errorf("the worker was not killed: %w", err)
		}
	}
}

// firstTry reads what the killed worker left: an operation that looks as if it ran.
func (t *Story) firstTry(ctx context.Context, killed faults.Fired) error {
	doc, err := t.Client.Show(ctx, client.Filter{"id": sampleObject})
	if err != nil {
		return err
	}
	for _, o := range doc.Object.Operations {
		t.Screen.line(killed.At, "attempt 1", "%s/%s   token %d   %s", o.Object, o.Recipe, o.FencingToken, faults.Means(sampleKill))
	}
	return nil
}

// settled waits until the event's work is over.
func (t *Story) settled(ctx context.Context) (control.Object, error) {
	for {
		doc, err := t.Client.Show(ctx, client.Filter{"id": sampleObject})
		if err != nil {
			return control.Object{}, err
		}
		open := false
		for _, e := range doc.Object.Events {
			open = open || e.State == "received"
		}
		if !open {
			return *doc.Object, nil
		}
		if err := rest(ctx); err != nil {
			return *doc.Object, fmt.Errorf("the event is not settled: %w", err)
		}
	}
}

func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// outcome tells the later attempts and the result.
func (t *Story) outcome(ctx context.Context, doc control.Object) error {
	for _, o := range doc.Operations {
		for i, a := range o.Attempts {
			if i == 0 || a.StartedAt == nil {
				continue
			}
			at := *a.StartedAt
			if a.EndedAt != nil {
				at = *a.EndedAt
			}
			t.Screen.line(at, fmt.Sprintf("attempt %d", i+1), "%s/%s   token %d   %s", o.Object, o.Recipe, a.FencingToken, call(a))
		}
	}
	for _, r := range doc.Results {
		content, err := t.Client.Reveal(ctx, r.Operation, "the first run counts what came out")
		if err != nil {
			return err
		}
		t.Screen.line(r.At, "result", "%s      %s; accepted by policy auto", sampleObject, describe(content.Output))
	}
	return nil
}

func call(a control.Attempt) string {
	if a.Tokens == nil {
		return text.Attempt(a)
	}
	s := fmt.Sprintf("model: %d in, %d out tokens", a.Tokens.Input, a.Tokens.Output)
	if a.CostUSD != nil {
		s += fmt.Sprintf(", $%.5f", float64(*a.CostUSD)/1e12)
	}
	return s
}

// describe says what an output holds without showing it: texts by name, lists by number, in the order
// in which they were written.
func describe(output json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(string(output)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "an output"
	}
	var parts []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var v any
		if err := d.Decode(&v); err != nil {
			break
		}
		switch v := v.(type) {
		case []any:
			if len(v) > 0 {
				parts = append(parts, text.Count(len(v), strings.TrimSuffix(fmt.Sprint(name), "s"), fmt.Sprint(name)))
			}
		case nil:
		default:
			parts = append(parts, fmt.Sprint(name))
		}
	}
	return strings.Join(parts, ", ")
}

// conclude counts, and holds the numbers against the promise.
func (t *Story) conclude(doc control.Object) error {
	attempts, paid := 0, 0
	for _, o := range doc.Operations {
		attempts += len(o.Attempts)
		for _, a := range o.Attempts {
			if a.Tokens != nil {
				paid++
			}
		}
	}
	calls := paid
	if stub := t.System.Stub(); stub != nil {
		calls = stub.Count() - t.called // the other side's count: what was really called
	}
	w := t.Screen.Out
	fmt.Fprintf(w, "\n  %s, %s, %s, %s.", text.Count(doc.Deliveries, "delivery", "deliveries"), text.Count(len(doc.Events), "event", "events"),
		text.Count(calls, "paid call", "paid calls"), text.Count(len(doc.Results), "result", "results"))
	if !t.Once {
		fmt.Fprintf(w, " Try next, in another terminal:\n    %s        %s            %s", t.Screen.Suggest("show "+sampleObject), t.Screen.Suggest("events"), t.Screen.Suggest("send woocommerce/product.updated --repeat 50"))
	}
	fmt.Fprint(w, "\n\n")
	if doc.Deliveries == 3 && len(doc.Events) == 1 && attempts == 2 && paid == 1 && calls == 1 && len(doc.Results) == 1 {
		return nil
	}
	err := fmt.Errorf("%w: %d deliveries (3), %d events (1), %d attempts (2), %d paid calls (1), %d recorded (1), %d results (1)", ErrPromise, doc.Deliveries, len(doc.Events), attempts, calls, paid, len(doc.Results))
	if t.Once {
		return err
	}
	fmt.Fprintf(w, "  %v\n\n", err)
	return nil
}
