package invariants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Where an event has several recipes, each has an end of its own, and the event says one word for all of them.

// accepted gives events as far as their operations have come to an output that stands. What a person rejected, cancelled
// or opened again has no result, and what gave way to a newer event need not have one: that one may have failed.
func accepted(all Items) func(Item) Item {
	without := map[string]bool{}
	for _, o := range all.Operations() {
		without[o.id()] = o["st"] != "completed"
	}
	return func(e Item) Item {
		names := slices.DeleteFunc(strings.Split(e["op"], "\n"), func(name string) bool { return without[operationID(e, name)] })
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
