package apply

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/webhook"
)

// A brought is what one event type brings that recipes work on.
type brought struct {
	at       string // of the event type
	endpoint config.Endpoint
	scheme   webhook.Scheme
	kind     string // of the object
	named    bool   // the configuration says what the object is
	versions scale
}

// A scale is what an object's versions are, as far as a configuration shows it.
type scale int

const (
	unknown scale = iota
	times
	numbers
)

// objects holds the event types that bring objects of one kind against one another: all of a tenant and environment
// share them, whichever endpoint they come by.
func (c *checker) objects(all []brought) {
	kinds := map[string][]brought{}
	for _, b := range all {
		kinds[b.kind] = append(kinds[b.kind], b)
	}
	told := map[string]bool{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		c.sources(kinds[kind], told)
		c.versions(kinds[kind])
	}
}

// bring is what an event type brings; false where no recipe works on it.
func bring(at, event string, e config.Endpoint, s webhook.Scheme) (brought, bool) {
	rule := e.Events[event]
	b := brought{at: at, endpoint: e, scheme: s, kind: s.Kind(event), named: rule.Object != nil}
	switch {
	case rule.Object != nil:
		b.kind = rule.Object.Kind
	case b.kind == "": // the bodies say it: events that are named alike are of one kind
		b.kind, _, _ = strings.Cut(event, ".")
		b.kind = e.Provider + "#" + b.kind
	}
	switch {
	case rule.Version != nil:
		b.versions = scaleAt(*rule.Version)
	case s.Counts(event) && rule.Object == nil:
		b.versions = numbers
	default: // also what stands in where a sender has no version: when it was received
		b.versions = times
	}
	return b, !rule.Ignore && len(rule.Recipes) > 0
}

var (
	numberName = regexp.MustCompile(`(?i)^(lock|object|row|doc|document)?_?(rev|revision|version|seq|sequence|serial|generation|counter)_?(no|nr|num|number)?$`)
	timeName   = regexp.MustCompile(`(?i)(date|time|timestamp|modified|updated|created|changed|_at|_gmt|_utc)$|[a-z]At$`)
)

// scaleAt tells by the name of a place what people keep there. It knows few names: what is refused for them must be certain.
func scaleAt(at document.Pointer) scale {
	steps := at.Steps()
	if len(steps) == 0 {
		return unknown
	}
	switch last := steps[len(steps)-1]; {
	case numberName.MatchString(last):
		return numbers
	case timeName.MatchString(last):
		return times
	}
	return unknown
}

// versions refuses numbers beside times: as a rank each number is older than every time.
func (c *checker) versions(alike []brought) {
	for _, b := range alike {
		if b.versions != times {
			continue
		}
		i := slices.IndexFunc(alike, func(a brought) bool {
			return a.versions == numbers && (a.endpoint.Provider == b.endpoint.Provider || mayShare(a, b))
		})
		if i < 0 {
			continue
		}
		c.faults.add(b.at, "the versions of its objects are times, and those of "+alike[i].at+" are whole numbers: of one object each number is older than every time",
			"name with version: a time in both, or a whole number in both; or give the objects of one of them another kind")
	}
}

// sources refuses two shops whose products share their ids: each would replace the other's results. It tells it once of
// an endpoint.
func (c *checker) sources(alike []brought, told map[string]bool) {
	for i, b := range alike {
		for _, a := range alike[:i] {
			if a.endpoint.Name == b.endpoint.Name || told[b.endpoint.Name] || !apart(a, b) {
				continue
			}
			told[b.endpoint.Name] = true
			c.faults.add(pointer("endpoints", b.endpoint.Name, "source"), "another source than that of "+pointer("endpoints", a.endpoint.Name)+", and recipes work on one kind of object of both: an id of one is another object in the other",
				"give each source a tenant of its own: a configuration with another tenant")
		}
	}
}

// apart tells whether both say their source, another one each, and an id could be an object of either.
func apart(a, b brought) bool {
	x, y := strings.TrimSuffix(a.endpoint.Source, "/"), strings.TrimSuffix(b.endpoint.Source, "/")
	return x != "" && y != "" && x != y && mayShare(a, b)
}

// mayShare tells whether one id may name an object of each of two sources. Of two senders it is enough that the ids of
// one are like no other's.
func mayShare(a, b brought) bool {
	own := func(x brought) bool { return x.scheme.Worldwide() && !x.named }
	if a.endpoint.Provider == b.endpoint.Provider {
		return !own(a) || !own(b)
	}
	return !own(a) && !own(b)
}
