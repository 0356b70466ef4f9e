package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/config/configtest"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

const (
	wooAt  = "/endpoints/woo-shop"
	cardAt = "/recipes/product-card"
)

// sender makes the one endpoint of a set another provider's, with what its row needs.
func sender(s *config.Set, provider string, change func(*config.Endpoint)) {
	e := &s.Endpoints[0]
	e.Provider = provider
	if change != nil {
		change(e)
	}
}

func field(from string, pick ...string) recipe.Field {
	p := configtest.Pointer(from)
	return recipe.Field{From: &p, Pick: pick}
}

// Whoever sends a set may have made it by hand: what the schema of files says is said here once more.
var faulty = []struct {
	name   string
	change func(*config.Set)
	at     string
	reason string
}{
	{"no tenant", func(s *config.Set) { s.Scope.Tenant = ""; s.Endpoints[0].Scope.Tenant = "" }, "/tenant", "not a name"},
	{"an environment of ours", func(s *config.Set) { s.Scope.Environment = "staging"; s.Endpoints[0].Scope = s.Scope }, "/environment", "not an environment"},
	{"no days", func(s *config.Set) { s.Common.EventDays = 0 }, "/data/event_days", "out of range"},
	{"results that leave before their events", func(s *config.Set) { s.Common.EventDays, s.Common.ResultDays = 30, 29 }, "/data/result_days", "results leave before the events"},
	{"too many days", func(s *config.Set) { s.Common.ResultDays = 4000 }, "/data/result_days", "out of range"},
	{"another provider of models", func(s *config.Set) { s.Common.Providers["acme"] = s.Common.Providers["openai"] }, "/providers/acme", "not a provider of models"},
	{"a key in place of its reference", func(s *config.Set) { s.Common.Providers["openai"] = config.Provider{APIKey: "abc", Prices: prices(s)} }, "/providers/openai/api_key", "not a reference"},
	{"a sender's secret as a key", func(s *config.Set) {
		s.Common.Providers["openai"] = config.Provider{APIKey: "ssm:hooks/a", Prices: prices(s)}
	}, "/providers/openai/api_key", "not a reference"},
	{"an address without encryption", func(s *config.Set) { base(s, "http://api.example.com/v1") }, "/providers/openai/base_url", "without encryption"},
	{"an address with a secret", func(s *config.Set) { base(s, "https://me:pw@api.example.com/v1") }, "/providers/openai/base_url", "a secret in it"},
	{"an address with a query", func(s *config.Set) { base(s, "https://api.example.com/v1?key=1") }, "/providers/openai/base_url", "query"},
	{"an address of nobody", func(s *config.Set) { base(s, "v1") }, "/providers/openai/base_url", "no absolute address"},
	{"the key goes to the machine itself", func(s *config.Set) { base(s, "https://localhost/v1") }, "/providers/openai/base_url", "the machine itself"},
	{"the key goes to a name of the machine itself", func(s *config.Set) { base(s, "https://api.LOCALHOST.:8443/v1") }, "/providers/openai/base_url", "the machine itself"},
	{"the key goes to the machine itself unencrypted", func(s *config.Set) { base(s, "http://127.0.0.1:9/v1") }, "/providers/openai/base_url", "without encryption"},
	{"the key goes to an IP address", func(s *config.Set) { base(s, "https://93.184.216.34/v1") }, "/providers/openai/base_url", "an IP address"},
	{"the key goes to an IP address of six", func(s *config.Set) { base(s, "https://[2001:db8::1]:443/v1") }, "/providers/openai/base_url", "an IP address"},
	{"the key goes to a zone of a machine", func(s *config.Set) { base(s, "https://[fe80::1%25eth0]/v1") }, "/providers/openai/base_url", "an IP address"},
	{"the key goes to an IP address as one number", func(s *config.Set) { base(s, "https://2130706433/v1") }, "/providers/openai/base_url", "an IP address"},
	{"the key goes to an IP address in hex", func(s *config.Set) { base(s, "https://0x7f.1/v1") }, "/providers/openai/base_url", "an IP address"},
	{"the key goes to an IP address with a dot at its end", func(s *config.Set) { base(s, "https://169.254.169.254./v1") }, "/providers/openai/base_url", "an IP address"},
	{"the key goes to a name without a dot", func(s *config.Set) { base(s, "https://gateway/v1") }, "/providers/openai/base_url", "no full name"},
	{"the key goes to a name of dots", func(s *config.Set) { base(s, "https://./v1") }, "/providers/openai/base_url", "no full name"},
	{"an address of the machine itself for a sender in production", func(s *config.Set) {
		s.Endpoints[0].PublicURL = "http://127.0.0.1:8787/hooks/woo-shop"
		s.Scope.Environment, s.Endpoints[0].Scope.Environment = "production", "production"
	}, wooAt + "/public_url", "the machine itself"},
	{"a price of a day that never was", func(s *config.Set) {
		p := prices(s)
		for name, price := range p {
			price.AsOf = "2026-02-30"
			p[name] = price
		}
	}, "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17", "no such day"},
	{"a provider that is not configured", func(s *config.Set) { delete(s.Common.Providers, "openai") }, cardAt + "/model/provider", "not configured"},
	{"a model without a price", func(s *config.Set) { s.Recipes[0].Model.Name = "gpt-5.4-2026-03-17" }, cardAt + "/model/name", "no price"},
	{"a recipe that does not compile", func(s *config.Set) { s.Recipes[0].Policy = "yolo" }, cardAt + "/policy", "unknown policy"},
	{"a recipe twice", func(s *config.Set) { s.Recipes = append(s.Recipes, s.Recipes[0]) }, cardAt, "twice"},
	{"a recipe that holds a secret", func(s *config.Set) { s.Recipes[0].Instructions = "Sign with sk-proj-abcdefghijklmnop." }, cardAt, "a secret as a value"},
	{"an endpoint twice", func(s *config.Set) { s.Endpoints = append(s.Endpoints, s.Endpoints[0]) }, wooAt, "twice"},
	{"an endpoint of another scope", func(s *config.Set) { s.Endpoints[0].Scope = configtest.Another }, wooAt, "another tenant or environment"},
	{"an endpoint with a slash in its name", func(s *config.Set) { s.Endpoints[0].Name = "a/b" }, "/endpoints/a~1b", "not a name"},
	{"a body below nothing", func(s *config.Set) { s.Endpoints[0].MaxBody = -1 }, wooAt + "/max_body", "below nothing"},
	{"a body that the front does not let through", func(s *config.Set) { s.Endpoints[0].MaxBody = 5 << 20 }, wooAt + "/max_body", "larger than 4 MiB"},
	{"an endpoint too big to store", func(s *config.Set) { s.Endpoints[0].Source = "https://" + strings.Repeat("a", 300<<10) + "/" }, wooAt, "bytes"},
	{"no secret", func(s *config.Set) { s.Endpoints[0].Secrets = nil }, wooAt + "/secrets", "no secret"},
	{"four secrets", func(s *config.Set) {
		s.Endpoints[0].Secrets = []secrets.Ref{"ssm:hooks/woo-shop/1", "ssm:hooks/woo-shop/2", "ssm:hooks/woo-shop/3", "ssm:hooks/woo-shop/4"}
	}, wooAt + "/secrets", "more than 3"},
	{"the secret of another endpoint", func(s *config.Set) { s.Endpoints[0].Secrets = []secrets.Ref{"ssm:hooks/crm/1"} }, wooAt + "/secrets/0", "another endpoint"},
	{"slot 0", func(s *config.Set) { s.Endpoints[0].Secrets[0] = "ssm:hooks/woo-shop/0" }, wooAt + "/secrets/0", "slots count from 1"},
	{"a slot with zeros in front", func(s *config.Set) { s.Endpoints[0].Secrets[0] = "ssm:hooks/woo-shop/01" }, wooAt + "/secrets/0", "slots count from 1"},
	{"no slot", func(s *config.Set) { s.Endpoints[0].Secrets[0] = "ssm:hooks/woo-shop" }, wooAt + "/secrets/0", "slots count from 1"},
	{"a reference that leads upwards", func(s *config.Set) { s.Endpoints[0].Secrets[0] = "ssm:hooks/../woo-shop/1" }, wooAt + "/secrets/0", "not a reference"},
	{"one secret twice", func(s *config.Set) {
		s.Endpoints[0].Secrets = []secrets.Ref{"ssm:hooks/woo-shop/1", "ssm:hooks/woo-shop/1"}
	}, wooAt + "/secrets/1", "twice"},
	{"a secret in place of its reference", func(s *config.Set) { s.Endpoints[0].Secrets[0] = "plain" }, wooAt + "/secrets/0", "not a reference"},
	{"a model's key as a secret", func(s *config.Set) { s.Endpoints[0].Secrets[0] = "ssm:models/openai" }, wooAt + "/secrets/0", "not a reference"},
	{"an address of another endpoint", func(s *config.Set) { s.Endpoints[0].PublicURL = "https://hooks.example.com/hooks/other" }, wooAt + "/public_url", "not the address of this endpoint"},
	{"an address without encryption for a sender", func(s *config.Set) { s.Endpoints[0].PublicURL = "http://hooks.example.com/hooks/woo-shop" }, wooAt + "/public_url", "without encryption"},
	{"a source that no shop sends", func(s *config.Set) { s.Endpoints[0].Source = "https://shop.example.com" }, wooAt + "/source", "not what WooCommerce calls itself"},
	{"a source of a sender that names none", func(s *config.Set) {
		sender(s, "openai", func(e *config.Endpoint) { e.Source = "proj_1" })
	}, wooAt + "/source", "do not say what source"},
	{"an unknown sender", func(s *config.Set) { s.Endpoints[0].Provider = "magento" }, wooAt + "/provider", "not a sender"},
	{"older signatures of a sender that has none", func(s *config.Set) { s.Endpoints[0].Legacy = true }, wooAt + "/legacy", "no older signature"},
	{"a signature of one's own where there is one", func(s *config.Set) {
		s.Endpoints[0].HMAC = &config.HMAC{Header: "X-Sum", Encoding: "hex"}
	}, wooAt + "/hmac", "its signature is what it is"},
	{"a type given twice", func(s *config.Set) {
		at := configtest.Pointer("/event")
		s.Endpoints[0].Type, s.Endpoints[0].TypeAt = "a", &at
	}, wooAt + "/type", "given twice"},
	{"a type that is not printable", func(s *config.Set) { s.Endpoints[0].Type = "a\nb" }, wooAt + "/type", "not printable"},
	{"a type in many places", func(s *config.Set) { at := configtest.Pointer("/a/*"); s.Endpoints[0].TypeAt = &at }, wooAt + "/type_at", "more than one place"},
	{"a sender that never says what has happened", func(s *config.Set) { sender(s, "ghost", nil) }, wooAt, "nothing in a delivery says what has happened"},
	{"a sender without a row that does not say how it signs", func(s *config.Set) {
		sender(s, "generic", func(e *config.Endpoint) { e.Type = "a" })
	}, wooAt, "does not say how deliveries are signed"},
	{"a signature that cannot be", func(s *config.Set) {
		sender(s, "generic", func(e *config.Endpoint) { e.Type, e.HMAC = "a", &config.HMAC{Header: "X Sum", Encoding: "hex"} })
	}, wooAt + "/hmac", "no name of a header"},
	{"a sender that signs the address", func(s *config.Set) { sender(s, "twilio", nil) }, wooAt, "public_url is missing"},
	{"no event", func(s *config.Set) { s.Endpoints[0].Events = nil }, wooAt + "/events", "no event type"},
	{"an event type with a space", func(s *config.Set) { s.Endpoints[0].Events["a b"] = config.EventRule{Ignore: true} }, wooAt + "/events", "no event type"},
	{"a recipe that is not there", func(s *config.Set) { s.Endpoints[0].Events["a"] = config.EventRule{Recipes: []string{"crad"}} }, wooAt + "/events/a/recipes/0", "no recipe has this name"},
	{"a recipe named twice", func(s *config.Set) {
		s.Endpoints[0].Events["a"] = config.EventRule{Recipes: []string{"product-card", "product-card"}}
	}, wooAt + "/events/a/recipes/1", "twice"},
	{"eleven recipes", func(s *config.Set) {
		rule := config.EventRule{}
		for n := range 11 {
			r := configtest.Recipe(1)
			r.Name = fmt.Sprint("card-", n)
			s.Recipes, rule.Recipes = append(s.Recipes, r), append(rule.Recipes, r.Name)
		}
		s.Endpoints[0].Events["a"] = rule
	}, wooAt + "/events/a/recipes", "too many"},
	{"ignored and worked on", func(s *config.Set) {
		s.Endpoints[0].Events["a"] = config.EventRule{Ignore: true, Recipes: []string{"product-card"}}
	}, wooAt + "/events/a", "ignored, with something to do"},
	{"an object in many places", func(s *config.Set) {
		s.Endpoints[0].Events["a"] = config.EventRule{Object: &config.ObjectRule{Kind: "a", ID: configtest.Pointer("/ids/*")}}
	}, wooAt + "/events/a/object/id", "more than one place"},
	{"an object that is the whole body", func(s *config.Set) {
		s.Endpoints[0].Events["a"] = config.EventRule{Object: &config.ObjectRule{Kind: "a"}}
	}, wooAt + "/events/a/object/id", "the whole body"},
	{"an object with a colon in its kind", func(s *config.Set) {
		s.Endpoints[0].Events["a"] = config.EventRule{Object: &config.ObjectRule{Kind: "a:b", ID: configtest.Pointer("/id")}}
	}, wooAt + "/events/a/object/kind", "not a name"},
	{"a version in many places", func(s *config.Set) {
		p := configtest.Pointer("/a/*")
		s.Endpoints[0].Events["a"] = config.EventRule{Version: &p}
	}, wooAt + "/events/a/version", "more than one place"},
	{"a sender whose payloads differ", func(s *config.Set) {
		sender(s, "standard-webhooks", func(e *config.Endpoint) { e.Events = map[string]config.EventRule{"a": {}} })
	}, wooAt + "/events/a", "not said what the event is about"},
	{"the customer's address", func(s *config.Set) { s.Recipes[0].Input.Fields["name"] = field("/billing/first_name") }, cardAt + "/input/fields/name", "about a person"},
	{"all of the customer", func(s *config.Set) { s.Recipes[0].Input.Fields["name"] = field("/billing") }, cardAt + "/input/fields/name", "about a person"},
	{"what the customer is a part of", func(s *config.Set) {
		sender(s, "stripe", nil)
		s.Recipes[0].Input.Fields["name"] = field("/data/object")
	}, cardAt + "/input/fields/name", "about a person"},
	{"the customer among what is picked", func(s *config.Set) {
		sender(s, "stripe", nil)
		s.Recipes[0].Input.Fields["name"] = field("/data/object", "status", "customer_email")
	}, cardAt + "/input/fields/name", "about a person"},
	{"the author of each commit", func(s *config.Set) {
		sender(s, "gitlab", nil)
		s.Recipes[0].Input.Fields["name"] = field("/commits", "message", "author")
	}, cardAt + "/input/fields/name", "about a person"},
}

func prices(s *config.Set) map[string]operation.Price { return s.Common.Providers["openai"].Prices }

func base(s *config.Set, address string) {
	p := s.Common.Providers["openai"]
	p.BaseURL = address
	s.Common.Providers["openai"] = p
}

func TestCheckFindsTheOneFault(t *testing.T) {
	if faults := apply.Check(configtest.Set()); len(faults) != 0 {
		t.Fatalf("the base has faults: %v", faults)
	}
	for _, test := range faulty {
		t.Run(test.name, func(t *testing.T) {
			s := configtest.Set()
			test.change(&s)
			faults := apply.Check(s)
			if !slices.ContainsFunc(faults, func(f config.Fault) bool {
				return f.At == test.at && strings.Contains(f.Reason, test.reason) && f.Remedy != ""
			}) {
				t.Errorf("no fault at %s that says %q, but:\n%v", test.at, test.reason, faults)
			}
			if len(faults) > 2 {
				t.Errorf("%d faults for one mistake:\n%v", len(faults), faults)
			}
		})
	}
}

func TestCheckTakesWhatRowsOffer(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*config.Set)
	}{
		{"a type that only the address tells", func(s *config.Set) { sender(s, "ghost", func(e *config.Endpoint) { e.Type = "post.published" }) }},
		{"a type in the body of a sender that says none", func(s *config.Set) {
			at := configtest.Pointer("/event")
			sender(s, "generic", func(e *config.Endpoint) {
				e.TypeAt, e.HMAC = &at, &config.HMAC{Header: "X-Sum", Prefix: "sha256=", Encoding: "hex", TimeHeader: "X-Time", WindowSeconds: 60}
			})
		}},
		{"older signatures of a sender that has some", func(s *config.Set) {
			sender(s, "hubspot", func(e *config.Endpoint) { e.Legacy, e.PublicURL = true, "https://hooks.example.com/hooks/woo-shop" })
		}},
		{"the machine itself in a test", func(s *config.Set) { s.Endpoints[0].PublicURL = "http://127.0.0.1:8787/hooks/woo-shop" }},
		{"a source of a sender that names one", func(s *config.Set) { sender(s, "github", func(e *config.Endpoint) { e.Source = "example/importer" }) }},
		{"what is picked beside the customer", func(s *config.Set) {
			sender(s, "stripe", nil)
			s.Recipes[0].Input.Fields["name"] = field("/data/object", "status", "currency")
		}},
		{"what is picked of each commit", func(s *config.Set) {
			sender(s, "gitlab", nil)
			s.Recipes[0].Input.Fields["name"] = field("/commits", "message")
		}},
		{"a gateway of one's own before the model", func(s *config.Set) { base(s, "https://Models.example.com:8443/openai/v1") }},
		{"a host whose name has digits", func(s *config.Set) { base(s, "https://10.0.0.1.example.com./v1") }},
		{"nothing at all", func(s *config.Set) { s.Endpoints, s.Recipes = nil, nil }},
	} {
		s := configtest.Set()
		test.change(&s)
		if faults := apply.Check(s); len(faults) != 0 {
			t.Errorf("%s: %v", test.name, faults)
		}
	}
}

// An endpoint of every provider can be written, and none without what its row needs.
func TestCheckKnowsEveryProvider(t *testing.T) {
	for _, provider := range webhook.Names() {
		s := configtest.Set()
		sender(&s, provider, func(e *config.Endpoint) {
			e.Name, e.PublicURL = provider, "https://hooks.example.com/hooks/"+provider
			e.Secrets = []secrets.Ref{secrets.Ref("ssm:hooks/" + provider + "/1")}
			row, _ := webhook.Lookup(provider)
			if row.NeedsType() {
				e.Type = "product.updated"
			}
			if provider == "generic" {
				e.HMAC = &config.HMAC{Header: "X-Sum", Encoding: "base64"}
			}
		})
		if faults := apply.Check(s); len(faults) != 0 {
			t.Errorf("%s: %v", provider, faults)
		}
	}
}

// A fault is shown and logged: what stands in a wrong place may be a secret.
func TestNoFaultRepeatsWhatStandsThere(t *testing.T) {
	const canary = "Hunter2SuperSecretValue"
	s := configtest.Set()
	e := &s.Endpoints[0]
	e.Provider, e.PublicURL, e.Source, e.Secrets = canary, "https://u:"+canary+"@x/", canary, []secrets.Ref{canary}
	e.Events = map[string]config.EventRule{"a": {Recipes: []string{canary}}}
	s.Recipes[0].Model.Name, s.Recipes[0].Policy = canary, canary
	s.Common.Providers["openai"] = config.Provider{APIKey: canary, BaseURL: canary}
	if text := fmt.Sprint(apply.Check(s)); strings.Contains(text, canary) {
		t.Error(text)
	}
}
