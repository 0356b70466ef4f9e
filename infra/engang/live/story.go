package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/delivery"
	"engang/infra/engang/text"
	"engang/infra/local"
	"engang/infra/local/faults"
	"engang/shared/config"
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

	maker   *delivery.Maker
	before  tally           // what there was
	promise tally           // what is to come to it
	token   int64           // of the attempt whose worker was killed for the story
	told    map[string]bool // attempts; nil where they are not told
}

// Tell tells the story. In a data folder in which it was told before, there is nothing to tell; a program
// that stops after the story then delivers the same event again, which must change nothing. Tell returns an
// error that wraps [ErrPromise] when a number of this run differs, and only if the program stops then.
func (t *Story) Tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(float64(10*time.Minute)/t.System.Speed()))
	defer cancel()
	w := t.Screen.Out
	known, ok, err := t.prepare(ctx)
	if err != nil {
		return fmt.Errorf("prepare the sample: %w", err)
	}
	says, tell := "Sample: WooCommerce reports product 794 three times, and the worker is killed in the middle of the first try.", t.tell
	switch {
	case !ok && t.Once:
		return fmt.Errorf("%w: the configuration has no endpoint %s of WooCommerce for product.updated", ErrPromise, Endpoint)
	case !ok:
		fmt.Fprintf(w, "No sample: the configuration has no endpoint %s of WooCommerce for product.updated.\n\n", Endpoint)
		return nil
	case known && !t.Once:
		fmt.Fprintf(w, "The sample was delivered in this folder before: %s\n\n", t.Screen.Suggest("show "+sampleObject))
		return nil
	case known:
		says, tell = "The sample was delivered in this folder before: delivered three times more, it must change nothing.", t.repeat
	}
	fmt.Fprintf(w, "%s\n\n", says)
	doc, err := tell(ctx)
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
	all := t.System.Config().Endpoints
	i := slices.IndexFunc(all, func(e config.Endpoint) bool {
		return e.Name == Endpoint && e.Provider == "woocommerce" && len(e.Secrets) > 0 && len(e.Events["product.updated"].Recipes) > 0
	})
	if i < 0 {
		return false, false, nil
	}
	draft, err := delivery.Load(delivery.Usual)
	if err != nil {
		return false, false, err
	}
	scheme, _ := webhook.Lookup(all[i].Provider)
	if t.maker, err = delivery.NewMaker(delivery.Maker{Scheme: scheme, Secret: secrets.NewValue(local.Secret(all[i].Provider, all[i].Secrets[0])), Draft: draft}); err != nil {
		return false, false, err
	}
	_, err = t.Client.Show(ctx, client.Filter{"id": sampleObject})
	if problem, refused := errors.AsType[*client.Problem](err); refused && problem.Status == http.StatusNotFound {
		t.promise = firstTime
		t.before.calls = t.calls()
		return false, true, nil
	}
	t.promise = nothingNew
	return err == nil, err == nil, err
}

// tell delivers the event three times, the worker of the first killed.
func (t *Story) tell(ctx context.Context) (control.Object, error) {
	before := len(t.System.Faults().Fired())
	if err := t.System.Faults().Add("worker:" + sampleKill); err != nil {
		return control.Object{}, err
	}
	for again := range 2 {
		if err := t.deliver(ctx, again); err != nil {
			return control.Object{}, err
		}
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

// repeat delivers the event three times more, once what an earlier run left open is over.
func (t *Story) repeat(ctx context.Context) (control.Object, error) {
	doc, err := t.settled(ctx)
	if err != nil {
		return doc, err
	}
	t.before = t.count(doc)
	for range 3 {
		if err := t.deliver(ctx, 0); err != nil {
			return doc, err
		}
	}
	return t.settled(ctx)
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
		says = strings.TrimSuffix(fmt.Sprintf("duplicate %d", again), " 0")
	}
	t.Screen.line(at, "delivery", "product.updated  %s   %-34s  %d  %5s", sampleObject, says, got.Status, text.Duration(got.Took))
	return nil
}

// killed waits for the fault to strike.
func (t *Story) killed(ctx context.Context, before int) (faults.Fired, error) {
	patience := newPatience(t.Screen)
	for {
		for _, f := range t.System.Faults().Fired()[before:] {
			if f.Fault == "worker:"+sampleKill {
				return f, nil
			}
		}
		patience.tell(t.waitsFor(control.Object{}))
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
	t.told = map[string]bool{}
	for _, o := range doc.Object.Operations {
		t.token, t.told[attempt(o, o.FencingToken)] = o.FencingToken, true
		t.Screen.line(killed.At, fmt.Sprintf("attempt %d", len(o.Attempts)), "%s/%s   token %d   %s", o.Object, o.Recipe, o.FencingToken, faults.Means(sampleKill))
	}
	return nil
}

// settled waits until the event's work is over, and says what it waits for where that takes long.
func (t *Story) settled(ctx context.Context) (control.Object, error) {
	patience := newPatience(t.Screen)
	for {
		doc, err := t.Client.Show(ctx, client.Filter{"id": sampleObject})
		if err != nil {
			return control.Object{}, err
		}
		open := false
		for _, e := range doc.Object.Events {
			open = open || e.State == "received"
		}
		if t.told != nil && t.attempts(doc.Object.Operations) {
			patience = newPatience(t.Screen)
		}
		if !open {
			return *doc.Object, nil
		}
		patience.tell(t.waitsFor(*doc.Object))
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
