package simulation

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/inbox"
)

// What was seen of things that leave by TTL, and of results.
type keeping struct {
	events   invariants.Items         // that left
	ops      invariants.Items         // that left
	since    map[string]time.Duration // when a result of an object left last
	outputs  map[string]string        // of the results that stand, by item
	best     map[string]string        // the highest rank that a result ever had, by item
	ranks    map[string]ranked
	lastCall map[string]time.Duration // by operation
	calledBy map[int]string           // the operation of each call that was paid for
	acts     invariants.Items         // that left
}

// ranked is the event that was stored with a rank, and when.
type ranked struct {
	event inbox.EventID
	at    time.Duration
}

func newKeeping() keeping {
	return keeping{
		since: map[string]time.Duration{}, outputs: map[string]string{}, best: map[string]string{}, ranks: map[string]ranked{}, lastCall: map[string]time.Duration{}, calledBy: map[int]string{},
	}
}

// departs notes that an item left by TTL.
func (w *world) departs(key string, i invariants.Item) {
	w.before = slices.DeleteFunc(w.before, func(b invariants.Item) bool { return b["pk"] == i["pk"] && b["sk"] == i["sk"] })
	switch {
	case i["sk"] == "EVENT":
		w.kept.events = append(w.kept.events, i)
	case strings.HasPrefix(i["sk"], "O#"):
		w.kept.ops = append(w.kept.ops, i)
		delete(w.payments, key) // one that has its key later is another one
		delete(w.leases, key)
	case strings.HasPrefix(i["pk"], "A#"):
		w.kept.acts = append(w.kept.acts, i)
	case strings.HasPrefix(i["sk"], "R#"):
		w.kept.since[i["pk"]] = w.clock
		delete(w.kept.outputs, key)
	}
}

// callFor notes a call. What stands as a result is not paid for again, even where its operation left, but by who has
// lost the lease.
func (w *world) callFor(a *actor) {
	op := a.operation
	w.kept.lastCall[op] = w.clock
	w.kept.calledBy[w.calls] = op
	for item, out := range w.kept.outputs {
		_, said, _ := strings.Cut(out, ", says call ")
		n := 0
		fmt.Sscan(said, &n)
		if w.kept.calledBy[n] == op && w.holds(a) {
			w.violated("one-paid-call: a call for %s, of which %s holds the output", short(op), short(item))
		}
	}
}

// observeResult notes a result that is written. Where a newer one left by TTL, an older event may have the next one only
// if that could not be older than what left.
func (w *world) observeResult(one requestBody) {
	item, rank := one.item(), one.Item["rank"].S
	if _, sk, _ := strings.Cut(item, " "); !strings.HasPrefix(sk, "R#") || rank == "" {
		return
	}
	out, err := base64.StdEncoding.DecodeString(one.Item["out"].B)
	if err != nil {
		w.violated("the simulation cannot read an output: %v", err)
	}
	w.kept.outputs[item] = string(out)
	op := one.Item["pk"].S + " " + one.Item["op"].S
	looked := max(w.kept.ranks[rank].at, w.kept.lastCall[op])
	if w.scene.expires && rank < w.kept.best[item] && w.clock-looked > shortResultDays*24*time.Hour {
		w.violated("newest-wins: %s is of %s now, which was there before a newer one left", short(item), w.kept.ranks[rank].event)
	}
	w.kept.best[item] = max(w.kept.best[item], rank)
}

// view is the table as the rules hold for it: what is expired may be there or not, and is taken for gone; of what left,
// the rules need to know that it was there.
func (w *world) view(all invariants.Items) (seen invariants.Items) {
	if !w.scene.expires {
		return all
	}
	former, live := slices.Clone(w.kept.events), map[string]bool{}
	for _, i := range all {
		id := inbox.EventID(strings.TrimPrefix(i["pk"], "E#"))
		switch {
		case i["sk"] == "EVENT" && i["st"] == "settled" && (w.isExpired(i) || w.stored[id] < w.kept.since["B#"+i["ten"]+"#"+i["env"]+"#"+i["obj"]]):
			former = append(former, i)
			continue
		case i["sk"] == "EVENT":
			live[i["pk"]] = true
		case i["st"] == "completed" && w.isExpired(i):
			seen = append(seen, formerOperation(i, len(seen)))
			continue
		}
		seen = append(seen, i)
	}
	there := map[string]bool{}
	for _, i := range seen {
		there[i["pk"]+" "+i["sk"]] = true
	}
	for n, o := range w.kept.ops {
		if key := o["pk"] + " " + o["sk"]; o["st"] == "completed" {
			seen = append(seen, formerOperation(o, -n-1))
		} else if !there[key] {
			there[key] = true
			seen = append(seen, o)
		}
	}
	for n, e := range former {
		e = maps.Clone(e)
		if live[e["pk"]] { // it came again since
			e["pk"] = fmt.Sprint("E#former ", n)
		}
		maps.Copy(e, invariants.Item{"st": "settled", "how": "cancelled", "op": "", "why": "", "oq": "", "od": "", "dec": "", "expires_at": "1"})
		seen = append(seen, e)
	}
	return append(seen, w.kept.acts...)
}

func (w *world) isExpired(i invariants.Item) bool {
	at, expires := w.expiry(i)
	return expires && !noon.Add(w.clock-skew).Before(at)
}

// formerOperation is one that is gone, as far as a result may be a copy of its output.
func formerOperation(o invariants.Item, nth int) invariants.Item {
	return invariants.Item{
		"pk": o["pk"], "sk": fmt.Sprintf("O#former@000001#%d", nth), "st": "completed", "tok": "1", "out": o["out"], "dig": o["dig"], "expires_at": "1",
		"att": `[{"fencing_token":1,"outcome":"usable","called":true}]`,
	}
}
