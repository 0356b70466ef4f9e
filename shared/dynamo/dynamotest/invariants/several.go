package invariants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Where an event has several recipes, each has an end of its own, and the event says one word for all of them.

// accepted gives events as far as their operations have come to an output that stands. What a person rejected, cancelled
// or opened again has no result, and what gave way to a newer event need not have one: that one may have failed, or be
// about to write it.
func accepted(all Items) func(Item) Item {
	ops, open := map[string]Item{}, map[string]bool{}
	for _, o := range all.Operations() {
		ops[o.id()] = o
	}
	for _, e := range all.Events() {
		open[strings.TrimPrefix(e["pk"], "E#")] = e["st"] == "received"
	}
	return func(e Item) Item {
		names := slices.DeleteFunc(strings.Split(e["op"], "\n"), func(name string) bool {
			o, there := ops[operationID(e, name)]
			return there && (o["st"] != "completed" || "E#"+o["ev"] != e["pk"] && open[o["ev"]])
		})
		own := maps.Clone(e)
		own["op"] = strings.Join(names, "\n")
		return own
	}
}

// renewed are the operations, by where they stand, that a person asked to be done again: a draft that was rejected is
// followed by another one.
func renewed(all Items) map[string]bool {
	asked := map[string]bool{}
	for _, i := range all {
		if strings.HasPrefix(i["pk"], "A#") && i["act"] == "redrive" {
			asked[i["target"]] = true
		}
	}
	found := map[string]bool{}
	for _, o := range all.Operations() {
		object := o["pk"][strings.LastIndexByte(o["pk"], '#')+1:]
		recipe, digest, _ := strings.Cut(strings.TrimPrefix(o["sk"], "O#"), "#")
		name, version, _ := strings.Cut(recipe, "@")
		found[o.id()] = asked[fmt.Sprintf("%s/%s@%s/%s", object, name, strings.TrimLeft(version, "0"), digest)]
	}
	return found
}
