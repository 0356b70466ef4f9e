package invariants

import (
	"fmt"
	"regexp"
	"strings"
)

func reviewList(all Items) (bad []string) {
	for _, o := range all.Operations() {
		waits := o["st"] == "failed" && !o.decided() || o["st"] == "review"
		listed := o["oq"] == "review" && o["od"] != ""
		if gone := o["oq"] == "" && o["od"] == ""; waits != listed || waits == gone {
			bad = append(bad, fmt.Sprintf("%s is %s with oq=%q", o.id(), o["st"], o["oq"]))
		}
	}
	for _, e := range all.Events() {
		if e["oq"] == "review" && (e["st"] != "parked" || e["why"] == "") {
			bad = append(bad, fmt.Sprintf("%s is %s in the review list with why=%q", e.id(), e["st"], e["why"]))
		}
		if e["st"] == "parked" && e["why"] == "" {
			bad = append(bad, e.id()+" is parked without a reason")
		}
	}
	for _, i := range all {
		if i["dec"] == "" {
			continue
		}
		if i["oq"] != "" || i["st"] != "" && i["st"] != "failed" && i["st"] != "parked" { // a conflict has no state
			bad = append(bad, fmt.Sprintf("%s is %s with oq=%q, and dismissed", i.id(), i["st"], i["oq"]))
		}
	}
	return bad
}

// parkedIsListed: an event that is parked and not dismissed waits for a person by itself, or by an operation that does.
// An operation waits with one event, the newest: who is parked on one that waits with another stands in no list.
func parkedIsListed(all Items) (bad []string) {
	ops := map[string]Item{}
	for _, o := range all.Operations() {
		ops[o.id()] = o
	}
	for _, e := range all.Events() {
		if e["st"] != "parked" || e["oq"] == "review" || e["dec"] != "" {
			continue
		}
		listed := false
		for _, name := range strings.Split(e["op"], "\n") {
			o := ops[operationID(e, name)]
			listed = listed || o["oq"] == "review" && o["ev"] == strings.TrimPrefix(e["pk"], "E#")
		}
		if !listed {
			bad = append(bad, fmt.Sprintf("%s is parked with %q, in no list and not dismissed", e.id(), e["op"]))
		}
	}
	return bad
}

// operationID is where an operation stands that an event names.
func operationID(e Item, name string) string {
	rest, digest, _ := lastCut(name)
	object, ref, _ := lastCut(rest)
	recipe, version, _ := strings.Cut(ref, "@")
	return fmt.Sprintf("%s / O#%s@%06s#%s", partition(e, object), recipe, version, digest)
}

// approved gives the rank of each operation that a person approved, by its result's id.
func approved(all Items) map[string]string {
	ranks := map[string]string{}
	for _, o := range all.Operations() {
		if o["st"] != "completed" || o["by"] == "" {
			continue
		}
		recipe, rest, _ := strings.Cut(strings.TrimPrefix(o["sk"], "O#"), "@")
		version, _, _ := strings.Cut(rest, "#")
		id := o["pk"] + " / R#" + recipe + "#" + version
		ranks[id] = max(ranks[id], o["rank"])
	}
	return ranks
}

func approvedIsResult(all Items) (bad []string) {
	results := map[string]Item{}
	for _, r := range all.Results() {
		results[r.id()] = r
	}
	for id, rank := range approved(all) {
		if r, found := results[id]; !found || r["rank"] < rank {
			bad = append(bad, fmt.Sprintf("%s has rank %q, a draft of rank %s was approved", id, r["rank"], rank))
		}
	}
	return bad
}

var eventID = regexp.MustCompile(`evt_[a-z0-9]+`)

func coalescedNamesNewer(all Items) (bad []string) {
	ranks := map[string]string{}
	for _, e := range all.Events() {
		ranks[strings.TrimPrefix(e["pk"], "E#")] = e["rank"]
	}
	for _, e := range all.Events() {
		if e["st"] != "settled" || e["how"] != "coalesced" || e["era"] != "" {
			continue
		}
		if newer := eventID.FindString(e["why"]); ranks[newer] <= e["rank"] {
			bad = append(bad, fmt.Sprintf("%s (rank %s) is coalesced with %q of rank %q", e.id(), e["rank"], newer, ranks[newer]))
		}
	}
	return bad
}

func erasedIsEmpty(all Items) (bad []string) {
	for _, i := range all {
		if i["era"] == "" {
			continue
		}
		for _, name := range []string{"body", "len", "obj", "did", "sid", "op", "why", "cat", "flaw", "kind", "dec", "dnt", "oq"} {
			if i[name] != "" {
				bad = append(bad, i.id()+" was erased and has "+name)
			}
		}
		if i["sk"] == "EVENT" && i["st"] != "settled" {
			bad = append(bad, i.id()+" was erased and is "+i["st"])
		}
	}
	return bad
}
