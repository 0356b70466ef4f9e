package invariants

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Check is one named rule over a whole table. It returns a sentence for each item that breaks it.
type Check struct {
	Name   string
	AtRest bool // holds only when nothing is under way any more
	Broken func(all Items) []string
}

// Checks are all rules.
var Checks = []Check{
	{"no-dead-ends: nothing is open at rest", true, nothingOpen},
	{"durable-ack: an open event stands in the open index, any other does not", false, openIndex},
	{"no-dead-ends: what waits for a person stands in the review list, and nothing else does", false, reviewList},
	{"no-dead-ends: a parked event stands in the review list with its operation, or was dismissed with it", true, parkedIsListed},
	{"newest-wins: a completed event has a result of its rank or a newer one", false, settledHasResult},
	{"newest-wins: a result has the highest rank of the completed events of its object and recipe", true, resultIsNewest},
	{"fenced: a result is a copy of a committed output", false, resultIsCommitted},
	{"fenced: an output fits its digest", false, outputFitsDigest},
	{"one-paid-call: tokens of attempts rise and end at the operation's", false, tokensRise},
	{"one-paid-call: at most one attempt of a completed operation is usable, all before are recorded", false, oneUsable},
	{"one-paid-call: no attempt is recorded twice", false, recordedOnce},
	{"TTL: only what is final expires", false, onlyFinalExpires},
	{"approved-bytes: what a person approved is the result, or a newer one stands", false, approvedIsResult},
	{"newest-wins: a coalesced event names a stored newer one", false, coalescedNamesNewer},
	{"limits: a day's sum is what calls cost and what is reserved, and within the limit", false, daysAddUp},
	{"limits: a minute has as many calls as attempts, and no more than the limit", false, minutesAddUp},
	{"no-dead-ends: an open breaker has a probe time, and a closed one nobody who probes", false, breakersTurn},
	{"erase: nothing is left in an erased event", false, erasedIsEmpty},
}

// Verify runs every check on a table at rest and fails the test for each rule that is broken.
func Verify(t testing.TB, all Items) {
	t.Helper()
	for _, broken := range Violations(all, true) {
		t.Error(broken)
	}
}

// Violations lists what breaks which rule.
func Violations(all Items, atRest bool) []string {
	var out []string
	for _, c := range Checks {
		if c.AtRest && !atRest {
			continue
		}
		for _, b := range c.Broken(all) {
			out = append(out, c.Name+": "+b)
		}
	}
	return out
}

func nothingOpen(all Items) (bad []string) {
	for _, e := range all.Events() {
		if e["st"] == "received" {
			bad = append(bad, e.id()+" is still received")
		}
	}
	for _, o := range all.Operations() {
		if o["st"] == "pending" || o["st"] == "running" {
			bad = append(bad, o.id()+" is still "+o["st"])
		}
	}
	return bad
}

func openIndex(all Items) (bad []string) {
	for _, e := range all.Events() {
		hash := strings.HasPrefix(e["oq"], "open#")
		found := hash && strings.HasSuffix(e["od"], "#"+strings.TrimPrefix(e["pk"], "E#"))
		if open := e["st"] == "received"; open != found || open != hash {
			bad = append(bad, fmt.Sprintf("%s is %s with oq=%q od=%q", e.id(), e["st"], e["oq"], e["od"]))
		}
	}
	return bad
}

// recipesOf gives the object's partition and the result key of each operation that a settled event names.
func recipesOf(e Item) (keys [][2]string) {
	for _, name := range strings.Split(e["op"], "\n") {
		cut := strings.LastIndexByte(name, '/')
		if cut < 0 {
			continue
		}
		object, ref, ok := lastCut(name[:cut])
		recipe, version, ok2 := strings.Cut(ref, "@")
		if ok && ok2 {
			keys = append(keys, [2]string{object, fmt.Sprintf("R#%s#%06s", recipe, version)})
		}
	}
	return keys
}

func lastCut(s string) (string, string, bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func settledHasResult(all Items) (bad []string) {
	results := map[string]Item{}
	for _, r := range all.Results() {
		results[r.id()] = r
	}
	took := accepted(all)
	for _, e := range all.Events() {
		if e["st"] != "settled" || e["how"] != "completed" || e["era"] != "" { // of an erased one nothing is left
			continue
		}
		if len(recipesOf(e)) == 0 {
			bad = append(bad, e.id()+" is completed and names no operation")
		}
		for _, k := range recipesOf(took(e)) {
			r, found := results[partition(e, k[0])+" / "+k[1]]
			if !found || r["rank"] < e["rank"] {
				bad = append(bad, fmt.Sprintf("%s (rank %s) is completed, its result %s has rank %q", e.id(), e["rank"], k[1], r["rank"]))
			}
		}
	}
	return bad
}

// partition is the key of an object's collection. Objects in tests need no percent-encoding.
func partition(e Item, object string) string {
	return "B#" + e["ten"] + "#" + e["env"] + "#" + object
}

func resultIsNewest(all Items) (bad []string) {
	newest, others := map[string]string{}, map[string]bool{}
	took := accepted(all)
	for _, e := range all.Events() {
		switch {
		case e["st"] == "settled" && e["how"] == "completed":
			for _, k := range recipesOf(took(e)) {
				id := partition(e, k[0]) + " / " + k[1]
				newest[id] = max(newest[id], e["rank"])
			}
		case e["st"] == "settled" && e["how"] == "review": // another recipe of it may be done
			for _, k := range recipesOf(took(e)) {
				others[partition(e, k[0])+" / "+k[1]+" "+e["rank"]] = true
			}
		case e["st"] == "parked", e["how"] == "cancelled": // with one of its recipes, when another was done
			for _, id := range doneOf(e) {
				others[id+" "+e["rank"]] = true
			}
		}
		for _, id := range formerOf(e) {
			others[id+" "+e["rank"]] = true
		}
	}
	for id, rank := range approved(all) {
		newest[id] = max(newest[id], rank)
	}
	for _, r := range all.Results() {
		want, known := newest[r.id()]
		if known && r["rank"] != want && !(r["rank"] > want && others[r.id()+" "+r["rank"]]) {
			bad = append(bad, fmt.Sprintf("%s has rank %s, the newest completed event has %s", r.id(), r["rank"], want))
		}
	}
	return bad
}

// doneOf gives the results that a parked event may stand behind: those of its recipes that did not fail,
// neither with an operation nor, named in the reason, for want of input.
func doneOf(e Item) (ids []string) {
	failed := map[string]bool{}
	for _, k := range recipesOf(e) {
		failed[k[1]] = true
	}
	for _, ref := range strings.Split(e["rcp"], ",") {
		recipe, version, _ := strings.Cut(ref, "@")
		sk := fmt.Sprintf("R#%s#%06s", recipe, version)
		if e["obj"] != "" && !failed[sk] && !strings.Contains(e["why"], ref+": ") {
			ids = append(ids, partition(e, e["obj"])+" / "+sk)
		}
	}
	return ids
}

// formerOf gives the results that an event may stand behind that was opened again: a replay may have raised its
// recipes, and the results under their former versions stay.
func formerOf(e Item) (ids []string) {
	if e["obj"] == "" || e.number("gen") < 1 {
		return nil
	}
	for _, ref := range strings.Split(e["rcp"], ",") {
		recipe, text, _ := strings.Cut(ref, "@")
		version, _ := strconv.Atoi(text)
		for former := 1; former < version; former++ {
			ids = append(ids, fmt.Sprintf("%s / R#%s#%06d", partition(e, e["obj"]), recipe, former))
		}
	}
	return ids
}

func resultIsCommitted(all Items) (bad []string) {
	committed := map[string]Item{}
	for _, o := range all.Operations() {
		if o["st"] == "completed" {
			committed[o["pk"]+" "+o["dig"]] = o
		}
	}
	for _, r := range all.Results() {
		o, found := committed[r["pk"]+" "+r["dig"]]
		if !found || o["out"] != r["out"] {
			bad = append(bad, r.id()+" shows an output that no completed operation holds")
		}
	}
	return bad
}

func outputFitsDigest(all Items) (bad []string) {
	for _, i := range append(all.Operations(), all.Results()...) {
		sum := sha256.Sum256([]byte(i["out"]))
		if i["out"] != "" && i["dig"] != hex.EncodeToString(sum[:]) {
			bad = append(bad, i.id()+" holds an output with another digest")
		}
		if i["out"] == "" && (i["st"] == "completed" || i["st"] == "review") {
			bad = append(bad, i.id()+" is "+i["st"]+" without an output")
		}
	}
	return bad
}

func tokensRise(all Items) (bad []string) {
	for _, o := range all.Operations() {
		attempts, err := o.Attempts()
		if err != nil {
			bad = append(bad, err.Error())
		}
		var last int64
		taken := strings.Split(o["fen"], "\n")
		for _, a := range attempts {
			if slices.Contains(taken, strconv.FormatInt(a.FencingToken, 10)) {
				bad = append(bad, fmt.Sprintf("%s: attempt with token %d, which a cancellation took", o.id(), a.FencingToken))
			}
			if a.FencingToken <= last {
				bad = append(bad, fmt.Sprintf("%s: token %d after %d", o.id(), a.FencingToken, last))
			}
			last = a.FencingToken
		}
		if last > o.number("tok") {
			bad = append(bad, fmt.Sprintf("%s: attempt with token %d, the operation has %d", o.id(), last, o.number("tok")))
		}
	}
	return bad
}

func oneUsable(all Items) (bad []string) {
	again := renewed(all)
	for _, o := range all.Operations() {
		attempts, _ := o.Attempts() // a broken log is reported by tokensRise
		usable := 0
		for i, a := range attempts {
			if a.Outcome == "" {
				bad = append(bad, fmt.Sprintf("%s: attempt %s has no outcome", o.id(), a.ID))
			}
			if a.Outcome == "usable" && (a.Called || usable == 0) { // one without a call took up an output that was kept
				usable++
				if next := i + 1; next < len(attempts) && o["by"] == "" && !again[o.id()] && (attempts[next].Called || attempts[next].Outcome != "usable") {
					bad = append(bad, fmt.Sprintf("%s: attempt %s after a usable one", o.id(), attempts[i+1].ID))
				}
			}
		}
		if o["st"] == "completed" && o["by"] == "" && usable != 1 {
			bad = append(bad, fmt.Sprintf("%s is completed with %d usable attempts", o.id(), usable))
		}
	}
	return bad
}

func recordedOnce(all Items) (bad []string) {
	seen := map[string]string{}
	for _, o := range all.Operations() {
		attempts, _ := o.Attempts()
		for _, a := range attempts {
			if a.ID == "" {
				continue // a lost one of which only the token is known
			}
			if before, twice := seen[a.ID]; twice {
				bad = append(bad, fmt.Sprintf("attempt %s stands in %s and %s", a.ID, before, o.id()))
			}
			seen[a.ID] = o.id()
			if a.Outcome == "lost" {
				delete(seen, a.ID) // its cost stands in the item of the losing attempt
			}
		}
	}
	for _, l := range all.Losing() {
		_, attempt, _ := strings.Cut(l["sk"], "#LOST#")
		if before, twice := seen[attempt]; twice {
			bad = append(bad, fmt.Sprintf("attempt %s stands in %s and as a losing one", attempt, before))
		}
	}
	return bad
}

func onlyFinalExpires(all Items) (bad []string) {
	for _, i := range append(all.Events(), all.Operations()...) {
		final := i["st"] == "settled" || i["st"] == "completed" || i["st"] == "superseded" || i.decided()
		if expires := i["expires_at"] != ""; expires != final {
			bad = append(bad, fmt.Sprintf("%s is %s with expires_at=%q", i.id(), i["st"], i["expires_at"]))
		}
	}
	return bad
}

// Progress says what must not happen between two looks at one table: a token that falls, a committed
// output that changes, a result that gets older, an event that vanishes. What belongs to an erased event is
// gone on purpose.
func Progress(before, after Items) (bad []string) {
	was, now := map[string]Item{}, map[string]Item{}
	for _, i := range before {
		was[i.id()] = i
	}
	for _, i := range after {
		now[i.id()] = i
	}
	for _, b := range before {
		operation, _, _ := strings.Cut(b.id(), "#LOST#") // a losing attempt names no event: its operation does
		if ev := was[operation]["ev"]; ev != "" && now["E#"+ev+" / EVENT"]["era"] != "" {
			continue
		}
		a, there := now[b.id()]
		switch {
		case !there && (b["sk"] == "EVENT" || strings.HasPrefix(b["sk"], "O#")):
			bad = append(bad, b.id()+" vanished")
		case there && a.number("tok") < b.number("tok"):
			bad = append(bad, b.id()+": its token fell")
		case there && b["st"] == "completed" && (a["st"] != "completed" || a["out"] != b["out"]):
			bad = append(bad, b.id()+": a committed operation changed")
		case there && strings.HasPrefix(b["sk"], "R#") && a["rank"] < b["rank"]:
			bad = append(bad, b.id()+": its result got older")
		case there && a.number("gen") < b.number("gen"):
			bad = append(bad, b.id()+": its generation fell")
		}
	}
	return bad
}
