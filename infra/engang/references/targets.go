package references

import (
	"maps"
	"slices"
	"strings"

	"engang/shared/secrets"
)

// targets checks the keys of targets.
func (c *checker) targets() {
	for _, name := range slices.Sorted(maps.Keys(c.set.Common.Targets)) {
		target := c.set.Common.Targets[name]
		path, err := target.Key.Path()
		if err != nil {
			continue
		}
		at := "/targets/" + escape(name) + "/key"
		value, ok := c.value(target.Key)
		if !ok {
			c.fault(at, "the reference leads to nothing", "set it: engang secret set "+path)
			continue
		}
		if reason := NoTargetKey(value); reason != "" {
			c.fault(at, "what the reference leads to is no key of "+target.Kind+": "+reason, "make a key for reading in the shop under WooCommerce > Settings > Advanced > REST API, and set ck_...:cs_... anew: engang secret set "+path+" --replace")
		}
	}
}

// NoTargetKey says why a text can be no key of a target, a shop's REST API; "" if it can. It repeats nothing of it.
func NoTargetKey(value secrets.Value) string {
	if reason := NoKey(value); reason != "" {
		return reason
	}
	if !pair(string(value.Reveal())) {
		return "it is no consumer key and consumer secret, joined by a colon"
	}
	return ""
}

// pair tells whether a text is what a shop gives for its REST API.
func pair(text string) bool {
	key, secret, ok := strings.Cut(text, ":")
	return ok && strings.HasPrefix(key, "ck_") && strings.HasPrefix(secret, "cs_") && len(key) > 3 && len(secret) > 3 && !strings.Contains(secret, ":")
}
