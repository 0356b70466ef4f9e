package simulation

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/inbox"
)

// judgeErasures: nothing is left of what had come of an object before it was erased; what came later is new work.
func (w *world) judgeErasures(all invariants.Items) {
	if len(w.erasures) == 0 {
		return
	}
	x := erasedWorld{world: w, events: map[inbox.EventID]invariants.Item{}, items: map[string]invariants.Item{}}
	for _, i := range all {
		x.items[i["pk"]+" "+i["sk"]] = i
		if i["sk"] == "EVENT" {
			x.events[inbox.EventID(strings.TrimPrefix(i["pk"], "E#"))] = i
		}
	}
	for _, e := range w.erasures {
		if e.ended == 0 {
			w.violated("no-dead-ends: the %s has no end", e.name())
			continue
		}
		for _, d := range w.scene.events() {
			switch {
			case d.object == e.object:
				x.event(e, d)
			case d.holds(e.object):
				x.batch(e, d)
			}
		}
	}
	for id := range w.emptied {
		if x.events[id]["era"] == "" {
			w.violated("erase: %s was erased, and is not any more", id)
		}
	}
	x.nothingLeft()
}

// notInErasing leaves out what is of an object that somebody is about to erase: between two of its writes, or two of
// its calls, there is an event whose result is gone.
func (w *world) notInErasing(all invariants.Items) (kept invariants.Items) {
	for _, i := range all {
		during := slices.ContainsFunc(w.erasures, func(e *erasure) bool {
			return e.calls > 0 && e.ended == 0 && (i["obj"] == e.object || strings.HasSuffix(i["pk"], "#"+e.object))
		})
		if !during {
			kept = append(kept, i)
		}
	}
	return kept
}

// notErased leaves out attempts that went with an erased operation: they name no event by which that could be told.
func (w *world) notErased(all invariants.Items) (kept invariants.Items) {
	for _, i := range all {
		if key := i["pk"] + " " + i["sk"]; !w.removed[key] || !strings.Contains(key, "#LOST#") {
			kept = append(kept, i)
		}
	}
	return kept
}

// An erasedWorld is a table in which something was erased.
type erasedWorld struct {
	*world
	events map[inbox.EventID]invariants.Item
	items  map[string]invariants.Item // by both keys
}

func (x erasedWorld) gone(id string) bool { return x.events[inbox.EventID(id)]["era"] != "" }

// event judges one event of an erased object.
func (x erasedWorld) event(e *erasure, d delivery) {
	id := d.wants()
	stored, known := x.stored[id]
	if !known {
		return
	}
	before := x.before(e, id)
	switch gone := x.gone(string(id)); {
	case before && !gone && stored < e.at: // one that was on its way may be stored behind the erasure's back
		x.violated("erase: %s came before the %s, and was not erased", id, e.name())
	case !before && gone:
		x.violated("erase: %s came after the %s had begun, and was erased", id, e.name())
	case !before:
		x.later(e, id)
	}
}

// batch judges a delivery that brought events of an erased object among others. One that brought them once more is not
// looked for by who erases.
func (x erasedWorld) batch(e *erasure, d delivery) {
	id := d.wants()
	stored, known := x.stored[id]
	brought := slices.ContainsFunc(d.parts, func(p delivery) bool {
		return p.object == e.object && x.gone(string(p.wants())) && x.events[p.wants()]["rcv"] == x.events[id]["rcv"]
	})
	if known && brought && stored < e.at && !x.gone(string(id)) {
		x.violated("erase: %s came before the %s, holds what was erased, and was not erased", id, e.name())
	}
}

// before tells whether an event was received before an object was erased, as they have it.
func (x erasedWorld) before(e *erasure, id inbox.EventID) bool {
	ms, err := strconv.ParseInt(x.events[id]["rcv"], 10, 64)
	return err == nil && !time.UnixMilli(ms).After(e.begun)
}

// later judges an event that is new work: it comes to its end as any other, and no end that the erasure brought.
func (x erasedWorld) later(e *erasure, id inbox.EventID) {
	ev := x.events[id]
	how := ev["how"]
	if ev["st"] != "settled" {
		return
	}
	if how == "coalesced" {
		for _, word := range strings.Fields(ev["why"]) {
			if x.gone(word) {
				x.violated("erase: %s is newer than the %s, and gave way to %s, of which nothing is left", id, e.name(), word)
			}
		}
	}
	for _, name := range strings.Split(ev["op"], "\n") {
		op, there := x.items[x.itemNamed(name)]
		switch {
		case how == "cancelled" && !x.stopped[id] && (!there || op["by"] == eraser):
			x.violated("erase: %s is newer than the %s, and was cancelled with what was erased", id, e.name())
		case (how == "review" || how == "rejected") && !there && name != "":
			x.violated("erase: %s waits for %s, which is gone", id, name)
		case how == "superseded" && name != "" && !there && !x.newerResult(ev, name):
			x.violated("erase: %s is newer than the %s, gave way to a result, and there is none", id, e.name())
		}
	}
}

// itemNamed is where an operation stands that an event names.
func (x erasedWorld) itemNamed(name string) string {
	rest, digest, _ := lastCut(name)
	about, ref, _ := lastCut(rest)
	return operationItem(about, ref, digest)
}

func (x erasedWorld) newerResult(ev invariants.Item, name string) bool {
	item := x.itemNamed(name)
	pk, sk, _ := strings.Cut(item, " ")
	recipe, _, _ := strings.Cut(strings.TrimPrefix(sk, "O#"), "#")
	r := x.items[pk+" R#"+strings.Replace(recipe, "@", "#", 1)]
	return r["rank"] > ev["rank"]
}

// nothingLeft: no item and no body belongs to an erased event, and no text of it is anywhere.
func (x erasedWorld) nothingLeft() {
	var all strings.Builder // all that is stored, unpacked
	for key, i := range x.items {
		if strings.HasPrefix(key, "A#") || strings.HasPrefix(key, "C#") {
			continue // acts and settings name objects, and hold nothing of them
		}
		event, isEvent := strings.CutPrefix(i["pk"], "E#")
		for _, v := range i {
			if i["many"] == "" { // a later batch may bring it again
				all.WriteString(v + "\n" + unpacked([]byte(v)) + "\n")
			}
		}
		owner, _, losing := strings.Cut(key, "#LOST#")
		switch {
		case isEvent && x.gone(event) && strings.HasPrefix(i["sk"], "CONFLICT#") && i["era"] == "" && !x.crossed(x.conflicts[key], event):
			x.violated("erase: another fact under %s is left", event)
		case !isEvent && x.gone(i["ev"]):
			x.violated("erase: %s is left of %s", short(key), i["ev"])
		case losing && len(x.items[owner]) == 0:
			x.violated("erase: %s is left of an operation that is gone", short(key))
		}
	}
	for key := range x.bucket {
		if event, _, _ := strings.Cut(strings.TrimPrefix(key, keyPrefix), "/"); x.gone(event) && !x.mayStay(key, event) {
			x.violated("erase: a body of %s is left in the bucket", event)
		}
	}
	text := all.String()
	for _, d := range x.scene.events() {
		if d.event != "" && x.gone(string(d.wants())) && (strings.Contains(text, d.event) || strings.Contains(text, d.mark())) {
			x.violated("erase: a text of %s is left", d.wants())
		}
	}
}

// mayStay tells whether a body of an erased event was brought by a delivery that came later, and was not taken back: its
// receiver met a fault, or it came among others, of which a worker takes none back. The bucket's own rule removes it.
func (x erasedWorld) mayStay(key, event string) bool {
	put, gone := x.puts[key], x.emptied[inbox.EventID(event)]
	amongOthers := put.by.began > gone && strings.HasPrefix(put.by.process.name, "worker")
	return put.at > gone && put.by.faults > 0 || amongOthers || x.crossed(put.by, event)
}

// crossed tells whether something was done for a delivery that was under way when its event was erased. Nobody looks
// for it again.
func (x erasedWorld) crossed(by *actor, event string) bool {
	return by != nil && strings.HasPrefix(by.process.name, "receiver") && by.began < x.emptied[inbox.EventID(event)]
}

// unpacked is what packed bytes hold, or nothing.
func unpacked(packed []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return ""
	}
	return string(raw)
}

func lastCut(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
