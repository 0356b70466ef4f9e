package configfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// maxBody is the largest limit that the front lets through.
const maxBody = 4 << 20

// personal are the parts of a provider's payloads that are known to be about a person.
var personal = map[string][]string{
	"woocommerce": {"/billing", "/shipping", "/email", "/first_name", "/last_name", "/username", "/customer_note", "/customer_ip_address", "/customer_user_agent"},
}

// A builder makes a Set of a file that was read, and notes what the schema cannot say.
type builder struct {
	root   *node
	faults *Faults
	shapes Faults // what the schema found: parts with such a fault are not built
	set    config.Set
}

func (b *builder) fault(at, reason, remedy string) {
	b.faults.add(b.root.at(steps(at)), at, reason, remedy)
}

func (b *builder) build() config.Set {
	b.set.Scope = object.Scope{Tenant: b.text("tenant"), Environment: b.text("environment")}
	b.common()
	b.provider()
	b.each("recipes", b.recipe)
	b.each("endpoints", b.endpoint)
	b.personal()
	slices.SortFunc(b.set.Recipes, func(x, y recipe.Recipe) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(b.set.Endpoints, func(x, y config.Endpoint) int { return cmp.Compare(x.Name, y.Name) })
	return b.set
}

func (b *builder) text(key string) string {
	n, _ := b.root.child(key)
	if n == nil {
		return ""
	}
	text, _ := n.value.(string)
	return text
}

// each builds every named part that can be read.
func (b *builder) each(section string, build func(name, at string, n *node)) {
	parent, _ := b.root.child(section)
	if parent == nil {
		return
	}
	for _, e := range parent.keys {
		if at := pointer(section, e.name); !b.shapes.within(at) {
			build(e.name, at, e.value)
		}
	}
}

// decode reads a part. Where the schema found nothing it must be readable to the last key.
func (b *builder) decode(at string, n *node, to any) bool {
	if len(b.shapes) > 0 {
		return json.Unmarshal(n.json(), to) == nil
	}
	err := strict(n.json(), to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // 3.0 is an integer for a schema
		b.fault(at+"/"+strings.ReplaceAll(wrong.Field, ".", "/"), "a whole number that is written with decimals", "leave out the decimals")
	} else if err != nil {
		b.fault(at, "it fits the schema and cannot be read", "report this")
	}
	return err == nil
}

func (b *builder) common() {
	f := fileCommon{EventDays: 30, ResultDays: 400}
	if n, ok := b.root.child("data"); ok && !b.shapes.within("/data") {
		b.decode("/data", n, &f)
	}
	b.set.Common = config.Common{EventDays: f.EventDays, ResultDays: f.ResultDays, Providers: map[string]config.Provider{}}
}

func (b *builder) provider() {
	const at = "/providers/openai"
	providers, _ := b.root.child("providers")
	n, ok := providers.child("openai")
	if !ok || b.shapes.within(at) {
		return
	}
	var f fileProvider
	if !b.decode(at, n, &f) {
		return
	}
	p := config.Provider{APIKey: f.APIKey, BaseURL: f.BaseURL}
	if f.BaseURL != "" {
		b.url(at+"/base_url", f.BaseURL)
	}
	for _, model := range n.at([]string{"usd_per_million"}).keys {
		price, err := f.Prices[model.name].price()
		if err != nil {
			b.fault(at+pointer("usd_per_million", model.name), strings.ReplaceAll(err.Error(), "\n", ", "), "copy the price and its day from the provider's page")
		}
		if p.Prices == nil {
			p.Prices = map[string]operation.Price{}
		}
		p.Prices[model.name] = price
	}
	b.set.Common.Providers["openai"] = p
}

// url refuses addresses that hold a secret or that lead elsewhere than they say.
func (b *builder) url(at, text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		b.fault(at, "no absolute address", "write https://HOST/PATH")
	case u.User != nil:
		b.fault(at, "an address with a name or a secret in it", "leave out what stands before the @")
	case u.RawQuery != "" || u.Fragment != "":
		b.fault(at, "an address with a query or a fragment", "leave it out: it is written to logs on the way")
	case u.Scheme != "https" && !loopback(u.Hostname()):
		b.fault(at, "an address without encryption", "use https")
	default:
		return u, true
	}
	return nil, false
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (b *builder) recipe(name, at string, n *node) {
	var f fileRecipe
	if !b.decode(at, n, &f) {
		return
	}
	r := f.recipe(name)
	compiled := r
	if !recipe.IsName(name) {
		compiled.Name = "unnamed" // the schema has named this fault
	}
	_, err := recipe.Compile(compiled)
	if faults, ok := errors.AsType[recipe.Faults](err); ok {
		for _, fault := range faults {
			b.fault(at+fault.At, fault.Reason, fault.Remedy)
		}
	}
	provider, configured := b.set.Common.Providers[r.Model.Provider]
	openai, written := b.root.child("providers")
	_, priced := provider.Prices[r.Model.Name]
	switch {
	case configured && !priced:
		b.fault(at+"/model/name", "the model has no price", "add it to usd_per_million: without a price no cost is known")
	case !configured && (!written || len(openai.keys) == 0):
		b.fault(at+"/model/provider", "the provider is not configured", "add it to providers, with api_key and usd_per_million")
	}
	b.set.Recipes = append(b.set.Recipes, r)
}

func (b *builder) endpoint(name, at string, n *node) {
	var f fileEndpoint
	if !b.decode(at, n, &f) {
		return
	}
	e := f.endpoint(name)
	e.Scope = b.set.Scope
	if e.MaxBody > maxBody {
		b.fault(at+"/max_body", "larger than 4 MiB, which the front lets through", "use 4MiB or less")
	}
	if e.PublicURL != "" {
		u, ok := b.url(at+"/public_url", e.PublicURL)
		if ok && !strings.HasSuffix(u.Path, "/hooks/"+name) {
			b.fault(at+"/public_url", "not the address of this endpoint", "end it with /hooks/"+name)
		}
	}
	if u, err := url.Parse(e.Source); e.Source != "" && e.Provider == "woocommerce" && (err != nil || u.Host == "" || !strings.HasSuffix(e.Source, "/")) {
		b.fault(at+"/source", "not what WooCommerce calls itself", "write the shop's address with a slash at its end: https://shop.example.com/")
	}
	for _, event := range n.at([]string{"events"}).keys {
		b.rule(at+pointer("events", event.name), e, e.Events[event.name])
	}
	b.set.Endpoints = append(b.set.Endpoints, e)
}

func (b *builder) rule(at string, e config.Endpoint, rule config.EventRule) {
	recipes, _ := b.root.child("recipes")
	for i, name := range rule.Recipes {
		if _, ok := recipes.child(name); !ok {
			b.fault(fmt.Sprintf("%s/recipes/%d", at, i), "no recipe has this name", "name one of the recipes")
		}
	}
	if e.Provider == "standard-webhooks" && !rule.Ignore && rule.Object == nil {
		b.fault(at, "it is not said what the event is about", "add object: {kind: ..., id: /data/id}: payloads of this provider differ")
	}
	single := func(at string, p *document.Pointer) {
		if p != nil && p.Wild() {
			b.fault(at, "the pointer names more than one place", "point at one place, without *")
		}
	}
	if rule.Object != nil {
		single(at+"/object/id", &rule.Object.ID)
	}
	single(at+"/version", rule.Version)
}

// personal refuses fields that are known to be about a person. To allow them, a purpose must be said,
// which is not built yet.
func (b *builder) personal() {
	for _, r := range b.set.Recipes {
		for _, name := range slices.Sorted(maps.Keys(r.Input.Fields)) {
			field := r.Input.Fields[name]
			if field.From != nil && slices.ContainsFunc(b.senders(r.Name), func(provider string) bool { return isPersonal(provider, *field.From) }) {
				b.fault(pointer("recipes", r.Name, "input", "fields", name), "the field is known to be about a person", "leave it out: the key personal, which says purpose and basis, is not built yet")
			}
		}
	}
}

// senders are the providers whose events run a recipe.
func (b *builder) senders(name string) (providers []string) {
	for _, e := range b.set.Endpoints {
		for _, rule := range e.Events {
			if slices.Contains(rule.Recipes, name) {
				providers = append(providers, e.Provider)
			}
		}
	}
	return providers
}

func isPersonal(provider string, p document.Pointer) bool {
	return slices.ContainsFunc(personal[provider], func(part string) bool {
		return p.String() == part || strings.HasPrefix(p.String(), part+"/")
	})
}
