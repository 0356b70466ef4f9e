package crash_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"engang/shared/config"
	"engang/shared/control"
	"engang/tests/shop"
)

var drafts = edited(hasPolicy, "    policy: draft\n")

func why(id string) map[string]any { return map[string]any{"id": id, "reason": "why"} }

// persons are the flows in which somebody acts through the console.
var persons = []flow{
	{name: "redrive after a failure", scenario: "18", faults: "model:refusalx9", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.heal()
		w.look("/api/dlq", nil)
		w.act("/api/redrive", why(w.waiting()[0].ID), nil)
		w.settle()
		w.act("/api/dlq/tidy", map[string]any{"reason": "why"}, nil)
	}, final: all(has("product:794", "product-card", noon, "Chair"), states("completed"), ended(map[string]int{"settled completed": 1}), waits(0))},
	{name: "redrive of an event alone", scenario: "18", run: func(w *world) {
		w.deliver(woo(`{"id":794,"date_modified_gmt":"` + noon + `"}`))
		w.settle()
		w.act("/api/redrive", why(w.waiting()[0].ID), nil)
	}, final: all(ended(map[string]int{"parked": 1}), waits(1), told)},
	{name: "redrive by the queue's own button", scenario: "18", faults: "model:refusalx9", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.heal()
		w.moveBack()
	}, final: all(has("product:794", "product-card", noon, "Chair"), states("completed"), waits(0))},
	{name: "native dead letters", scenario: "18", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.lay()
		w.act("/api/dlq/tidy", map[string]any{"reason": "why", "native": true}, nil)
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "sent too often without a sign of life", scenario: "8", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		for range 14 { // somebody else takes every message
			w.steal()
			if open := w.open(); len(open) > 0 {
				time.Sleep(max(time.Until(first(open)), 0) + time.Second)
				w.sweep()
			}
		}
		for _, waiting := range w.waiting() {
			w.act("/api/redrive", why(waiting.ID), nil)
		}
	}, final: all(has("product:794", "product-card", noon, "Chair"), waits(0))},
	{name: "recipe raised, then replayed", scenario: "21", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.raise()
		w.act("/api/replay", map[string]any{"since": time.Now().Add(-24 * time.Hour), "runs": 10, "reason": "version 4"}, nil)
		w.settle()
		w.act("/api/replay", map[string]any{"since": time.Now().Add(-24 * time.Hour), "runs": 10, "reason": "once more"}, nil)
	}, final: all(has("product:794", "product-card#000003", noon, "Chair"), has("product:794", "product-card#000004", noon, "Chair"))},
	{name: "draft approved", scenario: "25", config: []string{drafts}, calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.decide("approve", w.waiting()[0])
	}, final: all(has("product:794", "product-card", noon, "Chair"), states("completed"), waits(0))},
	{name: "draft approved twice at once", varies: true, scenario: "30", config: []string{drafts}, calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		draft := w.waiting()[0]
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { w.decide("approve", draft) })
		}
		both.Wait()
	}, final: all(has("product:794", "product-card", noon, "Chair"), states("completed"), waits(0))},
	{name: "draft rejected, then another one", scenario: "25", config: []string{drafts}, calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		first := w.waiting()[0]
		w.decide("reject", first)
		w.act("/api/redrive", why(first.ID), nil)
		w.settle()
		for _, draft := range w.waiting() {
			w.decide("approve", draft)
		}
	}, final: all(has("product:794", "product-card", noon, "Chair"), states("completed"), waits(0))},
	{name: "older draft after a newer result", scenario: "26", config: []string{drafts}, calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		older := w.waiting()[0]
		w.deliver(updated(table))
		w.settle()
		for _, draft := range w.waiting() {
			if draft.ID != older.ID {
				w.decide("approve", draft)
			}
		}
		w.decide("approve", older)
	}, final: all(has("product:794", "product-card", later, "Table"), states("completed", "superseded"), waits(0))},
	{name: "draft of which the content comes again", scenario: "26", config: []string{drafts}, calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		draft := w.waiting()[0]
		w.deliver(updated(at(chair, later)))
		w.settle()
		w.decide("approve", draft)
	}, final: all(has("product:794", "product-card", later, "Chair"), states("completed"), waits(0))},
	{name: "everything dismissed", varies: true, scenario: "25", faults: "model:refusalx9", calls: 1, more: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.heal()
		w.deliver(woo(`{"id":8,"date_modified_gmt":"` + noon + `"}`))
		w.deliver(contact("msg_1", "Acme"))
		w.settle()
		w.deliver(contact("msg_1", "Other"))
		for _, waiting := range w.waiting() {
			w.act("/api/review/dismiss", why(waiting.ID), nil)
		}
	}, final: all(hasNone("product:794"), ended(map[string]int{"parked": 2, "settled completed": 1}), waits(0))},
	{name: "cancelled while it waits for another try", scenario: "section 10", faults: "model:500x2", calls: 1, more: 1, fewer: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.work()
		for _, e := range w.open() {
			w.cancel(strings.TrimPrefix(e["pk"], "E#"))
		}
	}, final: waits(0)},
	{name: "cancelled before anybody began", scenario: "section 10", fewer: 1, calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		for _, e := range w.open() {
			w.cancel(strings.TrimPrefix(e["pk"], "E#"))
		}
	}, final: waits(0)},
	{name: "paused, then resumed", scenario: "section 10", calls: 1, run: func(w *world) {
		w.act("/api/pause", map[string]any{"kind": "recipe", "name": "product-card", "reason": "why"}, nil)
		w.deliver(updated(chair))
		w.work()
		w.look("/api/pauses", nil)
		w.act("/api/resume", map[string]any{"kind": "recipe", "name": "product-card", "reason": "why"}, nil)
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "breaker closed by a person", scenario: "section 10", faults: "model:quota", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.work()
		w.act("/api/resume", map[string]any{"kind": "model", "name": "openai/gpt-5.4-mini-2026-03-17", "reason": "why"}, nil)
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "paused for an hour", scenario: "section 10", calls: 1, run: func(w *world) {
		w.act("/api/pause", map[string]any{"kind": "everything", "until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "reason": "why"}, nil)
		w.deliver(updated(chair))
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "erased", slow: true, scenario: "section 14", calls: 1, run: func(w *world) {
		w.deliver(updated(big))
		w.settle()
		w.erase("product:794")
	}, final: all(hasNone("product:794"), states(), ended(map[string]int{"settled completed": 1}))},
	{name: "a person looks at everything", slow: true, scenario: "section 8", faults: "model:missingx9", calls: 1, run: func(w *world) {
		w.deliver(updated(big))
		w.settle()
		w.lookAtAll()
	}, final: all(states("review"), waits(1))},
	{name: "configuration applied", scenario: "21", calls: 1, run: func(w *world) {
		w.apply(brief)
		w.deliver(updated(chair))
	}, final: has("product:794", "product-card", noon, "Chair")},
}

// heal takes the model's faults back.
func (w *world) heal() { w.Stub().Heal() }

// waiting is the review list, the newest first.
func (w *world) waiting() []control.Waiting {
	var list control.List[control.Waiting]
	w.look("/api/review", &list)
	return list.Items
}

// decide approves or rejects a draft as it was looked at.
func (w *world) decide(what string, draft control.Waiting) {
	w.act("/api/review/"+what, map[string]any{"id": draft.ID, "digest": draft.Digest, "reason": "why", "although_newer": true}, nil)
}

func (w *world) cancel(id string) { w.act("/api/cancel", why(id), nil) }

// erase goes on with an erasure until it is over, as the operator program does.
func (w *world) erase(object string) {
	after := ""
	for range 2 * tries {
		var done control.Erased
		w.act("/api/erase", map[string]any{"object": object, "reason": "a request", "after": after}, &done)
		if after = done.Next; after == "" {
			return
		}
		if done.AgainAt != nil {
			time.Sleep(time.Until(*done.AgainAt) + time.Second)
		}
	}
	w.lost("erase: it never comes to an end")
}

// raise makes version 4 of the recipe live, as somebody else did.
func (w *world) raise() {
	set := w.Config()
	set.Recipes = slices.Clone(set.Recipes)
	brief(&set)
	must(w.Apply(w.ctx, set))
}

// brief raises the recipe of products.
func brief(set *config.Set) {
	for i := range set.Recipes {
		if set.Recipes[i].Name == "product-card" {
			set.Recipes[i].Version++
			set.Recipes[i].Instructions += " Be brief."
		}
	}
}

// apply changes the configuration through the console.
func (w *world) apply(change func(*config.Set)) {
	var live struct{ Revision int }
	w.look("/api/config", &live)
	set := w.Config()
	set.Recipes = slices.Clone(set.Recipes)
	change(&set)
	w.act("/api/plan", map[string]any{"set": set}, nil)
	w.person("PUT", "/api/config", map[string]any{"set": set, "revision": live.Revision}, nil)
}

// moveBack moves every dead letter to the work queue, as AWS's own redrive does.
func (w *world) moveBack() {
	work := w.QueueURL("WorkQueue")
	for _, body := range w.letters() {
		must(w.SQS().SendMessage(w.ctx, &sqs.SendMessageInput{QueueUrl: &work, MessageBody: &body}))
	}
}

// steal takes what is visible in the work queue out of it.
func (w *world) steal() (bodies []string) {
	work := w.QueueURL("WorkQueue")
	out := must(w.SQS().ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: &work, MaxNumberOfMessages: 10}))
	for _, m := range out.Messages {
		must(w.SQS().DeleteMessage(w.ctx, &sqs.DeleteMessageInput{QueueUrl: &work, ReceiptHandle: m.ReceiptHandle}))
		bodies = append(bodies, *m.Body)
	}
	return bodies
}

// lay moves what is in the work queue to the dead-letter queue, as the queue itself does with what was received too
// often.
func (w *world) lay() {
	dead := w.QueueURL("WorkDeadLetterQueue")
	for _, body := range w.steal() {
		must(w.SQS().SendMessage(w.ctx, &sqs.SendMessageInput{QueueUrl: &dead, MessageBody: &body}))
	}
}

// lookAtAll asks every question that the console answers.
func (w *world) lookAtAll() {
	draft := w.waiting()[0]
	event := ""
	for _, e := range w.items().Events() {
		event = strings.TrimPrefix(e["pk"], "E#")
	}
	for _, path := range []string{
		"events", "operations", "show?id=product:794", "show?id=" + event, "show?id=" + url.QueryEscape(draft.ID), "endpoints?name=woo-shop",
		"config", "dlq", "pauses", "stats", "audit", "review", "version",
	} {
		w.look("/api/"+path, nil)
	}
	w.act("/api/reveal", why(event), nil)
	w.act("/api/reveal", why(draft.ID), nil)
	w.act("/api/export", map[string]any{"object": "product:794", "reason": "why"}, nil)
	w.act("/api/replay", map[string]any{"dry_run": true}, nil)
}

const restKey = "ck_localkey:cs_localsecret"

// caughtUp is a shop of which one webhook came, and one got lost.
func caughtUp(w *world) {
	must(0, w.PutSecret(w.ctx, "ssm:targets/woo-shop", restKey))
	now := time.Now().UTC().Add(-time.Minute)
	for id := 1; id <= 2; id++ {
		w.shop.Products = append(w.shop.Products, product{ID: id, Name: fmt.Sprintf("Chair %d", id), Modified: now.Format(shop.Stamp)})
	}
	w.deliver(updated(w.shop.Products[0]))
	for range 4 {
		w.sweep()
		w.settle()
		time.Sleep(16 * time.Minute)
	}
	for _, question := range w.shop.Refused {
		w.lost("the shop does not understand %s", question)
	}
}
