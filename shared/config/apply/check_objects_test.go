package apply_test

import (
	"slices"
	"strings"
	"testing"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/config/configtest"
	"engang/shared/secrets"
)

// another adds an endpoint whose event types run the recipe of the sample.
func another(s *config.Set, name, provider string, events ...string) *config.Endpoint {
	e := config.Endpoint{
		Name: name, Scope: s.Scope, Provider: provider, Secrets: []secrets.Ref{secrets.Ref("ssm:hooks/" + name + "/1")},
		PublicURL: "https://hooks.example.com/hooks/" + name, Events: map[string]config.EventRule{},
	}
	for _, event := range events {
		e.Events[event] = config.EventRule{Recipes: []string{"product-card"}}
	}
	s.Endpoints = append(s.Endpoints, e)
	return &s.Endpoints[len(s.Endpoints)-1]
}

// about says of an event type what it is about, and where the version is; "" leaves that to the row.
func about(e *config.Endpoint, event, kind, version string) {
	rule := e.Events[event]
	rule.Recipes = []string{"product-card"}
	if kind != "" {
		rule.Object = &config.ObjectRule{Kind: kind, ID: configtest.Pointer("/data/id")}
	}
	if version != "" {
		at := configtest.Pointer(version)
		rule.Version = &at
	}
	e.Events[event] = rule
}

const (
	beside = "of one object each number is older than every time"
	apart  = "an id of one is another object in the other"
	clock  = "a time by the clock of the source"
)

// papers is one event type for each version, all about papers.
func papers(versions ...string) func(*config.Set) {
	return func(s *config.Set) {
		e := another(s, "papers", "standard-webhooks")
		for i, version := range versions {
			about(e, string(rune('a'+i))+".b", "paper", version)
		}
	}
}

// shops are two endpoints, each with its source.
func shops(provider, one, two, event string) func(*config.Set) {
	return func(s *config.Set) {
		s.Endpoints = nil
		another(s, "one", provider, event).Source = one
		another(s, "two", provider, event).Source = two
	}
}

// A together is a configuration in which more than one endpoint or event type brings an object.
type together struct {
	name   string
	change func(*config.Set)
	at     string // empty: nothing is wrong
	reason string
}

var ofVersions = []together{
	{"a number beside none, which is when it was received", papers("/rev", ""), "/endpoints/papers/events/b.b", beside},
	{"a number beside a time", papers("/data/updated_at", "/data/lock_version"), "/endpoints/papers/events/a.b", beside},
	{"a number beside a time in the other style", papers("/data/changedAt", "/data/versionNumber"), "/endpoints/papers/events/a.b", beside},
	{"numbers alone", papers("/rev", "/data/sequence"), "", ""},
	{"times, and none of a deletion", papers("/updated_at", "/created_at", ""), "", ""},
	{"places that say nothing by their names", papers("/a", "/b", ""), "", ""},
	{"a number beside a time, of two kinds", func(s *config.Set) {
		e := another(s, "papers", "standard-webhooks")
		about(e, "a.b", "paper", "/rev")
		about(e, "c.d", "folder", "")
	}, "", ""},
	{"a number beside a time that no recipe works on", func(s *config.Set) {
		papers("/rev", "")(s)
		rule := s.Endpoints[1].Events["b.b"]
		rule.Recipes = nil
		s.Endpoints[1].Events["b.b"] = rule
	}, "", ""},
	{"a number at one endpoint, the row's time at another", func(s *config.Set) {
		about(another(s, "feed", "standard-webhooks"), "a.b", "product", "/rev")
	}, wooAt + "/events/product.updated", beside},
	{"a number at one type of a row that has times", func(s *config.Set) {
		another(s, "shop", "woocommerce", "order.created")
		about(&s.Endpoints[1], "order.updated", "", "/rev")
	}, "/endpoints/shop/events/order.created", beside},
	{"the row's own place, named for one type", func(s *config.Set) {
		another(s, "shop", "woocommerce", "order.created")
		about(&s.Endpoints[1], "order.updated", "", "/date_modified_gmt")
	}, "", ""},
	{"steps of a message beside the times of its stream", func(s *config.Set) {
		e := another(s, "phone", "twilio", "message.sent", "message.delivered")
		about(e, "com.twilio.messaging.message.delivered", "message", "")
	}, "/endpoints/phone/events/com.twilio.messaging.message.delivered", beside},
	{"steps of a message beside the times of another sender's messages", func(s *config.Set) {
		another(s, "phone", "twilio", "message.sent")
		another(s, "post", "mailgun", "delivered")
	}, "", ""},
	{"whoever wrote or spoke, who has no steps", func(s *config.Set) {
		e := another(s, "phone", "twilio")
		about(e, "message.received", "contact", "")
		about(e, "conversation.onMessageAdded", "contact", "")
	}, "", ""},
	{"steps of a message alone", func(s *config.Set) {
		another(s, "phone", "twilio", "message.sent", "call.ringing", "conversation.onMessageAdded")
	}, "", ""},
}

var ofSources = []together{
	{"two shops", shops("woocommerce", "https://a.example.com/", "https://b.example.com/", "product.updated"), "/endpoints/two/source", apart},
	{"two shops with all that they have, told once", func(s *config.Set) {
		shops("woocommerce", "https://a.example.com/", "https://b.example.com/", "product.updated")(s)
		for i := range s.Endpoints {
			for _, event := range []string{"order.updated", "coupon.updated", "customer.updated"} {
				s.Endpoints[i].Events[event] = config.EventRule{Recipes: []string{"product-card"}}
			}
		}
	}, "/endpoints/two/source", apart},
	{"one shop twice", shops("woocommerce", "https://a.example.com/", "https://a.example.com/", "product.updated"), "", ""},
	{"a shop that is named, and one that may be it", shops("woocommerce", "https://a.example.com/", "", "product.updated"), "", ""},
	{"two accounts whose ids begin anew in each", shops("zendesk", "1", "2", "zen:event-type:ticket.created"), "/endpoints/two/source", apart},
	{"two repositories of the one GitHub", shops("github", "example/one", "example/two", "issues.opened"), "", ""},
	{"two repositories, and ids that only the endpoints know", func(s *config.Set) {
		shops("github", "example/one", "example/two", "issues.opened")(s)
		for i := range s.Endpoints {
			about(&s.Endpoints[i], "issues.opened", "issue", "")
		}
	}, "/endpoints/two/source", apart},
	{"two shops of two senders", func(s *config.Set) {
		shops("woocommerce", "https://a.example.com/", "1", "customer.updated")(s)
		s.Endpoints[1].Provider, s.Endpoints[1].Events = "hubspot", map[string]config.EventRule{"customer.creation": {Recipes: []string{"product-card"}}}
	}, "/endpoints/two/source", apart},
	{"two shops of two senders, of which one's ids are no other's", func(s *config.Set) {
		shops("woocommerce", "https://a.example.com/", "shop.example.com", "product.updated")(s)
		s.Endpoints[1].Provider, s.Endpoints[1].Events = "shopify", map[string]config.EventRule{"products/update": {Recipes: []string{"product-card"}}}
	}, "", ""},
	{"two shops, of which one's products are only stored", func(s *config.Set) {
		shops("woocommerce", "https://a.example.com/", "https://b.example.com/", "product.updated")(s)
		s.Endpoints[1].Events = map[string]config.EventRule{"product.updated": {}}
	}, "", ""},
	{"two shops, of which one brings orders alone", func(s *config.Set) {
		shops("woocommerce", "https://a.example.com/", "https://b.example.com/", "product.updated")(s)
		s.Endpoints[1].Events = map[string]config.EventRule{"order.updated": {Recipes: []string{"product-card"}}}
	}, "", ""},

	{"a shop's own clock", func(s *config.Set) { about(&s.Endpoints[0], "product.updated", "", "/date_modified") }, wooAt + "/events/product.updated/version", clock},
	{"a blog's own clock", func(s *config.Set) {
		e := another(s, "blog", "wordpress")
		e.Type = "post.updated"
		about(e, "post.updated", "", "/post/post_modified")
	}, "/endpoints/blog/events/post.updated/version", clock},
}

// One of two mistakes would show much later, in a result that never changes: numbers beside times, and two shops that
// have a product 7 each.
func TestCheckHoldsWhatBringsOneKindOfObjectAgainstEachOther(t *testing.T) {
	for _, test := range slices.Concat(ofVersions, ofSources) {
		t.Run(test.name, func(t *testing.T) {
			s := configtest.Set()
			test.change(&s)
			faults := apply.Check(s)
			if test.at == "" {
				if len(faults) != 0 {
					t.Errorf("refused: %v", faults)
				}
				return
			}
			told := func(f config.Fault) bool {
				return f.At == test.at && strings.Contains(f.Reason, test.reason) && f.Remedy != ""
			}
			if !slices.ContainsFunc(faults, told) || len(faults) > 2 {
				t.Errorf("no fault at %s that says %q, or too many:\n%v", test.at, test.reason, faults)
			}
		})
	}
}

// Whoever reads a refusal is told what to write instead.
func TestWhatIsRefusedOfVersionsAndSourcesSaysWhatToDo(t *testing.T) {
	s := configtest.Set()
	about(&s.Endpoints[0], "product.updated", "", "/date_modified")
	s.Endpoints[0].Source = "https://a.example.com/"
	another(&s, "two", "woocommerce", "product.updated").Source = "https://b.example.com/"
	about(another(&s, "feed", "standard-webhooks"), "a.b", "product", "/rev")
	text := apply.Check(s).Error()
	for _, want := range []string{"use /date_modified_gmt", "a tenant of its own", "a whole number in both"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
