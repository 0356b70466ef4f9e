package apply

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"engang/shared/config"
	"engang/shared/recipe"
)

// The bounds of what an endpoint watches and fetches.
const (
	minSilentSeconds  = 60 * 60
	maxSilentSeconds  = 366 * 24 * 60 * 60
	minCatchUpSeconds = 5 * 60
	maxCatchUpSeconds = 24 * 60 * 60
)

// kindWooCommerce is the one kind of target that is built.
const kindWooCommerce = "woocommerce"

// privateNames end the names of hosts that only a network of one's own knows.
var privateNames = []string{".local", ".localdomain", ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".home.arpa"}

func (c *checker) target(name string, t config.Target) {
	at := pointer("targets", name)
	c.faults.shape(recipe.IsName(name), at, "not a name", "use letters, digits, dots, dashes and underscores, at most 64")
	c.faults.shape(t.Kind == kindWooCommerce, at+"/kind", "not a kind of target that is built", "use "+kindWooCommerce)
	c.faults.shape(below(t.Key, "targets/"), at+"/key", "not a reference to the key of a target", "write ssm:targets/NAME")
	if u, ok := c.keyAddress(at+"/base_url", t.BaseURL, "write the shop's own address"); ok && private(u) {
		c.faults.add(at+"/base_url", "an address that only a private network knows", "write the shop's own address")
	}
}

func private(u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	return slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(host, end) })
}

// watched checks when a sender counts as silent, and what is fetched from it.
func (c *checker) watched(at string, e config.Endpoint) {
	if s := e.SilentAfterSeconds; s != 0 && (s < minSilentSeconds || s > maxSilentSeconds) {
		c.faults.add(at+"/silent_after", "less than an hour, or more than a year", "use 1h to 366d: longer than the sender's usual gap")
	}
	up := e.CatchUp
	if up == nil {
		return
	}
	at += "/catch_up"
	if s := up.EverySeconds; s < minCatchUpSeconds || s > maxCatchUpSeconds {
		c.faults.add(at+"/every", fmt.Sprintf("less than %d minutes, or more than a day", minCatchUpSeconds/60), "use 5m to 24h: the source's own limits are shared with the shop")
	}
	if e.Provider != "woocommerce" {
		c.faults.add(at, "what this sender failed to deliver cannot be fetched: only WooCommerce's list is built", "leave it out")
	}
	t, known := c.set.Common.Targets[up.Target]
	switch {
	case !known:
		c.faults = append(c.faults, config.Fault{At: at + "/target", Reason: "no target has this name", Remedy: "name one of the targets", Needs: pointer("targets", up.Target)})
	case e.Source != "" && !sameHost(e.Source, t.BaseURL):
		c.faults.add(at+"/target", "the target is another shop than the source of the endpoint", "name the target of the same shop, or correct one of the addresses")
	}
}

// sameHost tells whether two addresses are of one host. What is no address is told elsewhere.
func sameHost(a, b string) bool {
	one, err1 := url.Parse(a)
	other, err2 := url.Parse(b)
	return err1 != nil || err2 != nil || one.Host == "" || other.Host == "" || strings.EqualFold(one.Hostname(), other.Hostname())
}
