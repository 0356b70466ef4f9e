package apply

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

var eventName = regexp.MustCompile(`^[^\s]{1,200}$`)

// endpoint checks one, and tells what it brings that recipes work on.
func (c *checker) endpoint(e config.Endpoint) (brings []brought) {
	at := pointer("endpoints", e.Name)
	c.faults.shape(recipe.IsName(e.Name), at, "not a name", "use letters, digits, dots, dashes and underscores, at most 64")
	c.faults.shape(e.Scope == c.set.Scope, at, "it belongs to another tenant or environment than the configuration", "apply it with its own")
	if e.MaxBody > MaxBody {
		c.faults.add(at+"/max_body", "larger than 4 MiB, which the front lets through", "use 4MiB or less")
	}
	c.faults.shape(e.MaxBody >= 0, at+"/max_body", "a size below nothing", "use 4MiB or less")
	c.publicURL(at+"/public_url", e)
	c.secrets(at+"/secrets", e.Name, e.Secrets)
	scheme, known := c.scheme(at, e)
	if known {
		c.source(at+"/source", e, scheme)
	}
	c.watched(at, e)
	c.faults.shape(len(e.Events) > 0, at+"/events", "no event type", "name those that the sender sends")
	for _, event := range slices.Sorted(maps.Keys(e.Events)) {
		here := at + pointer("events", event)
		c.faults.shape(eventName.MatchString(event), at+"/events", "a name that is no event type", "an event type has no white space and at most 200 characters")
		rule := e.Events[event]
		if known && scheme.NeedsObject() && !rule.Ignore && rule.Object == nil {
			c.faults.add(here, "it is not said what the event is about", "add object: {kind: ..., id: /data/id}: payloads of this provider differ")
		}
		c.rule(here, rule)
		if !known {
			continue
		}
		c.local(here+"/version", rule.Version, scheme)
		if b, busy := bring(here, event, e, scheme); busy {
			brings = append(brings, b)
		}
	}
	c.size(at, e)
	return brings
}

// local refuses a version by the source's own clock: in autumn that goes through an hour twice.
func (c *checker) local(at string, version *document.Pointer, s webhook.Scheme) {
	if version == nil {
		return
	}
	if utc, ok := s.InUTC(*version); ok {
		c.faults.add(at, "a time by the clock of the source, which goes back an hour in autumn: the older version would be the newer", "use "+utc+", the same time in UTC")
	}
}

func (c *checker) publicURL(at string, e config.Endpoint) {
	if e.PublicURL == "" {
		return
	}
	if u, ok := c.url(at, e.PublicURL); ok && !strings.HasSuffix(u.Path, "/hooks/"+e.Name) {
		c.faults.add(at, "not the address of this endpoint", "end it with /hooks/"+e.Name)
	}
}

// secrets holds an endpoint to secrets of its own: one that stands in another endpoint's folder would be
// retired with that one, and might be another tenant's.
func (c *checker) secrets(at, endpoint string, refs []secrets.Ref) {
	c.faults.shape(len(refs) > 0, at, "no secret", "name the reference of one: ssm:hooks/NAME/1")
	c.faults.shape(len(refs) <= MaxSecrets, at, fmt.Sprintf("more than %d secrets", MaxSecrets), "retire those that the sender no longer signs with")
	for i, ref := range refs {
		here := fmt.Sprintf("%s/%d", at, i)
		c.faults.shape(below(ref, "hooks/"), here, "not a reference to the secret of a sender", "write ssm:hooks/NAME/1")
		switch err := ref.Fit(); {
		case errors.Is(err, secrets.ErrSlot):
			c.faults.add(here, "not a slot: "+err.Error(), "write ssm:hooks/NAME/1")
		case recipe.IsName(endpoint) && below(ref, "hooks/") && !below(ref, "hooks/"+endpoint+"/"):
			c.faults.add(here, "the secret of another endpoint", "put it below the endpoint's own name: ssm:hooks/"+endpoint+"/1")
		}
		c.faults.shape(slices.Index(refs, ref) == i, here, "the same reference twice", "write it once")
	}
}

// remedies say what to do about what a row does not offer, by the key that asks for it.
var remedies = map[string]string{
	"":         "add hmac: {header: ..., encoding: hex or base64}",
	"/type":    "say it once, with type or with type_at",
	"/type_at": "point at one place in the body, or leave it out",
	"/legacy":  "leave it out",
	"/hmac":    "correct it; leave it out where the provider has a signature of its own",
}

// scheme is the provider's row as the endpoint uses it.
func (c *checker) scheme(at string, e config.Endpoint) (webhook.Scheme, bool) {
	row, ok := webhook.Lookup(e.Provider)
	c.faults.shape(ok, at+"/provider", "not a sender that is known", "use one of "+strings.Join(webhook.Names(), ", "))
	if !ok {
		return webhook.Scheme{}, false
	}
	own := e.Adds()
	s, err := row.For(own)
	if err != nil {
		key := blamed(row, own)
		refused, _ := errors.AsType[*webhook.EndpointError](err)
		c.faults.add(at+key, "not what "+e.Provider+" offers: "+refused.Reason, remedies[key])
		return webhook.Scheme{}, false
	}
	if s.NeedsType() {
		c.faults.add(at, "nothing in a delivery says what has happened", "add type: the event type that this address is for, or type_at: its place in the body")
	}
	if s.SignsURL() && e.PublicURL == "" {
		c.faults.add(at, "the sender signs its own address of the endpoint, and public_url is missing", "add public_url: the address to the letter as the sender has it")
	}
	return s, true
}

// blamed is the key without which the row would offer what the endpoint asks for.
func blamed(row webhook.Scheme, own webhook.Endpoint) string {
	less := map[string]webhook.Endpoint{"/type": own, "/type_at": own, "/legacy": own, "/hmac": own}
	for key, without := range less {
		switch key {
		case "/type":
			without.Type = ""
		case "/type_at":
			without.TypeAt = nil
		case "/legacy":
			without.Legacy = false
		case "/hmac":
			without.HMAC = nil
		}
		less[key] = without
	}
	for _, key := range slices.Sorted(maps.Keys(less)) {
		if _, err := row.For(less[key]); err == nil && less[key] != own {
			return key
		}
	}
	if own.HMAC != nil { // a row that needs it, and cannot use it as it is
		return "/hmac"
	}
	return ""
}

func (c *checker) source(at string, e config.Endpoint, s webhook.Scheme) {
	if e.Source == "" {
		return
	}
	if !s.NamesSource() {
		c.faults.add(at, "deliveries of "+e.Provider+" do not say what source they come from: each would be refused", "leave it out")
		return
	}
	u, err := url.Parse(e.Source)
	if e.Provider == "woocommerce" && (err != nil || u.Host == "" || !strings.HasSuffix(e.Source, "/")) {
		c.faults.add(at, "not what WooCommerce calls itself", "write the shop's address with a slash at its end: https://shop.example.com/")
	}
}

func (c *checker) rule(at string, rule config.EventRule) {
	c.faults.shape(len(rule.Recipes) <= maxRecipes, at+"/recipes", "too many recipes", fmt.Sprintf("use at most %d", maxRecipes))
	for i, name := range rule.Recipes {
		here := fmt.Sprintf("%s/recipes/%d", at, i)
		c.faults.shape(slices.Index(rule.Recipes, name) == i, here, "the same recipe twice", "write it once")
		if !c.recipes[name] {
			c.faults = append(c.faults, config.Fault{At: here, Reason: "no recipe has this name", Remedy: "name one of the recipes", Needs: pointer("recipes", name)})
		}
	}
	single := func(at string, p *document.Pointer) {
		if p == nil {
			return
		}
		c.faults.shape(p.String() != "", at, "the pointer names the whole body", "point at one place")
		if p.Wild() {
			c.faults.add(at, "the pointer names more than one place", "point at one place, without *")
		}
	}
	if rule.Object != nil {
		c.faults.shape(recipe.IsName(rule.Object.Kind), at+"/object/kind", "not a name", "use letters, digits, dots, dashes and underscores, at most 64")
		single(at+"/object/id", &rule.Object.ID)
	}
	single(at+"/version", rule.Version)
	busy := len(rule.Recipes) > 0 || rule.Object != nil || rule.Version != nil
	c.faults.shape(!rule.Ignore || !busy, at, "ignored, with something to do", "leave out one of them")
}
