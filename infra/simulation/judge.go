package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/inbox"
)

// judge holds everything against the promises, when nothing is left to do.
func (w *world) judge() error {
	all, err := w.look(true)
	if err != nil {
		return err
	}
	if len(w.actors) > 0 || len(w.work.messages) > 0 {
		w.violated("no-dead-ends: %d at work and %d messages at the end", len(w.actors), len(w.work.messages))
	}
	w.judgeEvents(all)
	w.judgeCalls()
	w.judgeResults(all)
	w.judgeDecisions(all)
	w.judgeBatches(all)
	w.judgeBodies(all)
	w.judgeErasures(all)
	w.sign(all)
	return nil
}

// looks is how often the table is looked at while something is under way.
const looks = 4

// planLooks has the table looked at on the way.
func (w *world) planLooks() {
	for i := range looks {
		w.at(w.calmAt*time.Duration(i+1)/looks, "look", func() {
			if _, err := w.look(false); err != nil {
				w.violated("look at the table: %v", err)
			}
		})
	}
}

// look holds the table against the rules, and against the last look.
func (w *world) look(atRest bool) (invariants.Items, error) {
	all, err := invariants.Scan(w.ctx, w.db, w.tableName)
	if err != nil {
		return nil, err
	}
	for _, broken := range invariants.Violations(w.view(w.notInErasing(all)), atRest) {
		w.violated("%s", broken)
	}
	for _, broken := range invariants.Progress(w.notErased(w.before), all) {
		w.violated("progress: %s", broken)
	}
	w.before = all
	return all, nil
}

// judgeEvents: what was acknowledged is stored, nothing that was stored is gone, and what is parked was told of.
func (w *world) judgeEvents(all invariants.Items) {
	found := map[inbox.EventID]bool{}
	for _, e := range all.Events() {
		id := inbox.EventID(strings.TrimPrefix(e["pk"], "E#"))
		found[id] = true
		n := notice{id, 0}
		fmt.Sscan(e["gen"], &n.generation)
		if e["st"] == string(inbox.Parked) && !w.told[n] {
			w.violated("no-dead-ends: %s was parked, and no dead letter tells of it", id)
		}
	}
	for _, e := range w.kept.events {
		found[inbox.EventID(strings.TrimPrefix(e["pk"], "E#"))] = true
	}
	for id := range w.taken {
		if !found[id] {
			w.violated("durable-ack: %s was acknowledged, and is not stored", id)
		}
	}
	for id := range w.stored {
		if !found[id] {
			w.violated("durable-ack: %s was stored, and is gone", id)
		}
	}
	w.counts.Events = len(found)
}

// judgeCalls: one paid call for an operation, and one more for each that is known to have brought nothing, or whose
// outcome nobody could record, or whose output a person did not want.
func (w *world) judgeCalls() {
	for _, p := range w.lives {
		if p.calls > 0 {
			w.counts.Operations++
		}
		w.counts.Outputs += p.outputs
		w.counts.Unusable += p.recorded
		w.counts.Unrecorded += p.broken
		w.counts.Renewed += p.renewed
		if most := 1 + p.recorded + p.broken + p.renewed; p.calls > most {
			w.violated("one-paid-call: %d calls for %s: %d without an output, %d cut off, %d asked for again", p.calls, short(p.operation), p.recorded, p.broken, p.renewed)
		}
		if p.outputs > 1+p.renewed {
			w.violated("one-operation: %d outputs of %s, of which %d were asked for again", p.outputs, short(p.operation), p.renewed)
		}
	}
}

// judgeResults: a result is the output for the content of the very event whose rank it has.
func (w *world) judgeResults(all invariants.Items) {
	names := map[string]string{} // by event
	for _, d := range w.scene.events() {
		names[string(d.wants())] += nameIn(d.body)
		if d.other != nil {
			names[string(d.wants())] += nameIn(d.other)
		}
	}
	for _, r := range all.Results() {
		w.counts.Results++
		var out struct{ Summary string }
		_ = json.Unmarshal([]byte(r["out"]), &out) // what is no JSON has no content
		event := string(w.kept.ranks[r["rank"]].event)
		if event == "" {
			w.violated("newest-wins: the result %s has the rank of no event", short(r["pk"]+" "+r["sk"]))
			continue
		}
		content, _, _ := strings.Cut(out.Summary, ",")
		if content == "" || !strings.Contains(names[event], content) {
			w.violated("newest-wins: the result %s has the rank of %s, and the content of another event", short(r["pk"]+" "+r["sk"]), event)
		}
	}
}

func nameIn(raw []byte) string {
	var doc struct{ Data struct{ Name string } }
	_ = json.Unmarshal(raw, &doc) // the scene made it
	return doc.Data.Name
}

// A draft is what a person looked at.
type draft struct {
	digest string
	of     *paying // nil: nobody paid for it
}

// judgeDecisions: what a person was told is approved is what the operation holds.
func (w *world) judgeDecisions(all invariants.Items) {
	for _, o := range all.Operations() {
		for name, d := range w.approved {
			if short(o["pk"]+" "+o["sk"]) != shortName(name) || d.of != w.payments[o["pk"]+" "+o["sk"]] {
				continue
			}
			if o["st"] != "completed" || o["dig"] != d.digest {
				w.violated("approved-bytes: a person was told that a draft of %s is approved, and it is %s with another output", shortName(name), o["st"])
			}
		}
	}
}

// shortName is a name as people give it, as short as [short] makes it.
func shortName(name string) string {
	at := strings.LastIndexByte(name, '/')
	return name[:at+1] + name[at+1:min(len(name), at+7)]
}

// sign puts the whole table into the history's digest, so that what it came to counts too.
func (w *world) sign(all invariants.Items) {
	for _, i := range all {
		names := make([]string, 0, len(i))
		for name := range i {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			w.add(fmt.Sprintf("%s %s: %s = %s", i["pk"], i["sk"], name, i[name]))
		}
	}
}
