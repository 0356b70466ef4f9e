package apply_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/config/configtest"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// dollars is an amount.
func dollars(text string) operation.Money {
	m, err := operation.ParseAmount(text)
	if err != nil {
		panic(err)
	}
	return m
}

// production makes a set one of production, with what is asked there.
func production(s *config.Set) {
	s.Scope.Environment, s.Endpoints[0].Scope.Environment = "production", "production"
	s.Recipes[0].Limits.USDPerDay = dollars("5")
}

func price(s *config.Set, change func(*operation.Price)) {
	p := prices(s)
	for name, was := range p {
		change(&was)
		p[name] = was
	}
}

func woo(s *config.Set, address string) {
	s.Common.Targets = map[string]config.Target{"woo": {Kind: "woocommerce", BaseURL: address, Key: "ssm:targets/woo"}}
}

const (
	limitsAt  = cardAt + "/limits"
	targetAt  = "/targets/woo"
	catchUpAt = wooAt + "/catch_up"
)

func catchUp(s *config.Set, c config.CatchUp) {
	woo(s, "https://shop.example.com")
	s.Endpoints[0].CatchUp = &c
}

var overdone = []struct {
	name   string
	change func(*config.Set)
	at     string
	reason string
}{
	{"an event that no call fits into", func(s *config.Set) { s.Recipes[0].Limits.USDPerEvent = dollars("0.0005") }, limitsAt + "/usd_per_event", "no call would ever be made: one may cost up to $0.00"},
	{"a day that no call fits into", func(s *config.Set) { s.Recipes[0].Limits.USDPerDay = dollars("0.0005") }, limitsAt + "/usd_per_day", "and the limit is $0.000500"},
	{"more calls a minute than are counted", func(s *config.Set) { s.Recipes[0].Limits.PerMinute = 10_001 }, limitsAt + "/per_minute", "more calls a minute than are counted"},
	{"a limit over tokens that cost nothing", func(s *config.Set) {
		s.Recipes[0].Limits.USDPerDay = dollars("5")
		price(s, func(p *operation.Price) { p.Output = 0 })
	}, limitsAt, "priced at nothing"},
	{"a flag over tokens that cost nothing", func(s *config.Set) {
		s.Recipes[0].Policy, s.Recipes[0].Review = recipe.PolicyReviewOnFlag, &recipe.Review{Flags: map[string]string{"cost_usd": "> 0.01"}}
		price(s, func(p *operation.Price) { p.Input = 0 })
	}, limitsAt, "priced at nothing"},
	{"the tier that costs more, without its price", func(s *config.Set) { s.Recipes[0].Model.Options.ServiceTier = "priority" }, cardAt + "/model/options/service_tier", "no price of its own"},
	{"auto in production without a limit", func(s *config.Set) {
		production(s)
		s.Recipes[0].Limits = recipe.Limits{Attempts: 5}
	}, limitsAt, "no limit in dollars"},
	{"a price of a tier that never was", func(s *config.Set) {
		price(s, func(p *operation.Price) {
			p.Tiers = map[string]operation.Price{"gold": {Input: 1, Output: 1, AsOf: p.AsOf}}
		})
	}, "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17/tiers", "an unknown service tier"},

	{"a target with a slash in its name", func(s *config.Set) {
		s.Common.Targets = map[string]config.Target{"a/b": {Kind: "woocommerce", BaseURL: "https://shop.example.com", Key: "ssm:targets/a"}}
	}, "/targets/a~1b", "not a name"},
	{"a target of another kind", func(s *config.Set) {
		s.Common.Targets = map[string]config.Target{"woo": {Kind: "http", BaseURL: "https://shop.example.com", Key: "ssm:targets/woo"}}
	}, targetAt + "/kind", "not a kind of target"},
	{"a target's key in place of its reference", func(s *config.Set) {
		s.Common.Targets = map[string]config.Target{"woo": {Kind: "woocommerce", BaseURL: "https://shop.example.com", Key: "ck_1:cs_1"}}
	}, targetAt + "/key", "not a reference"},
	{"a sender's secret as a target's key", func(s *config.Set) {
		s.Common.Targets = map[string]config.Target{"woo": {Kind: "woocommerce", BaseURL: "https://shop.example.com", Key: "ssm:hooks/woo-shop/1"}}
	}, targetAt + "/key", "not a reference"},
	{"a target without encryption", func(s *config.Set) { woo(s, "http://shop.example.com") }, targetAt + "/base_url", "without encryption"},
	{"a target that is an IP address", func(s *config.Set) { woo(s, "https://93.184.216.34") }, targetAt + "/base_url", "an IP address"},
	{"a target that holds what is known of a machine", func(s *config.Set) { woo(s, "https://169.254.169.254/latest") }, targetAt + "/base_url", "an IP address"},
	{"a target that is the machine itself", func(s *config.Set) { woo(s, "https://localhost:8443") }, targetAt + "/base_url", "the machine itself"},
	{"a target that only a private network knows", func(s *config.Set) { woo(s, "https://shop.corp.internal") }, targetAt + "/base_url", "private network"},
	{"a target in the house", func(s *config.Set) { woo(s, "https://SHOP.Local./wp") }, targetAt + "/base_url", "private network"},
	{"a target without a dot in its name", func(s *config.Set) { woo(s, "https://shop") }, targetAt + "/base_url", "no full name"},
	{"a target with a key in its address", func(s *config.Set) { woo(s, "https://ck:cs@shop.example.com") }, targetAt + "/base_url", "a secret in it"},
	{"a target with a key in its query", func(s *config.Set) { woo(s, "https://shop.example.com?consumer_key=ck") }, targetAt + "/base_url", "query"},
	{"a target that is no address", func(s *config.Set) { woo(s, "shop") }, targetAt + "/base_url", "no absolute address"},

	{"silence of half an hour", func(s *config.Set) { s.Endpoints[0].SilentAfterSeconds = 1800 }, wooAt + "/silent_after", "less than an hour"},
	{"silence of two years", func(s *config.Set) { s.Endpoints[0].SilentAfterSeconds = 2 * 366 * 86400 }, wooAt + "/silent_after", "more than a year"},
	{"silence below nothing", func(s *config.Set) { s.Endpoints[0].SilentAfterSeconds = -1 }, wooAt + "/silent_after", "less than an hour"},
	{"catch-up every minute", func(s *config.Set) { catchUp(s, config.CatchUp{Target: "woo", EverySeconds: 60}) }, catchUpAt + "/every", "less than 5 minutes"},
	{"catch-up once a week", func(s *config.Set) { catchUp(s, config.CatchUp{Target: "woo", EverySeconds: 7 * 86400}) }, catchUpAt + "/every", "more than a day"},
	{"catch-up from what is no target", func(s *config.Set) { catchUp(s, config.CatchUp{Target: "wu", EverySeconds: 900}) }, catchUpAt + "/target", "no target"},
	{"catch-up from another shop", func(s *config.Set) {
		catchUp(s, config.CatchUp{Target: "woo", EverySeconds: 900})
		s.Endpoints[0].Source = "https://other.example.com/"
	}, catchUpAt + "/target", "another shop"},
	{"catch-up of a sender without a list", func(s *config.Set) {
		catchUp(s, config.CatchUp{Target: "woo", EverySeconds: 900})
		sender(s, "github", nil)
	}, catchUpAt, "cannot be fetched"},
}

func TestCheckFindsWhatIsOverdone(t *testing.T) {
	for _, test := range overdone {
		t.Run(test.name, func(t *testing.T) {
			s := configtest.Set()
			test.change(&s)
			faults := apply.Check(s)
			if len(faults) != 1 || faults[0].At != test.at || !strings.Contains(faults[0].Reason, test.reason) || faults[0].Remedy == "" {
				t.Errorf("want the one fault at %s that says %q, but:\n%v", test.at, test.reason, faults)
			}
		})
	}
}

func TestCheckTakesTargetsAndLimits(t *testing.T) {
	for name, change := range map[string]func(*config.Set){
		"production with a limit": production,
		"a draft in production without one": func(s *config.Set) {
			production(s)
			s.Recipes[0].Limits, s.Recipes[0].Policy = recipe.Limits{}, recipe.PolicyDraft
		},
		"a person, with what it is for": func(s *config.Set) {
			f := field("/billing/first_name")
			f.Personal = &recipe.Personal{Purpose: "a greeting", Basis: "contract"}
			s.Recipes[0].Input.Fields["name"] = f
		},
		"a tier with its price": func(s *config.Set) {
			s.Recipes[0].Model.Options.ServiceTier = "priority"
			price(s, func(p *operation.Price) {
				p.Tiers = map[string]operation.Price{"priority": {Input: 800_000, Cached: 1, CacheWrite: 800_000, Output: 3_200_000, AsOf: p.AsOf}}
			})
		},
		"as many calls a minute as are counted": func(s *config.Set) { s.Recipes[0].Limits.PerMinute = 10_000 },
		"the tier that costs less":              func(s *config.Set) { s.Recipes[0].Model.Options.ServiceTier = "flex" },
		"catch-up and silence": func(s *config.Set) {
			catchUp(s, config.CatchUp{Target: "woo", EverySeconds: 300})
			s.Endpoints[0].Source, s.Endpoints[0].SilentAfterSeconds = "https://shop.example.com/", 3600
		},
		"a shop below another address, on a port": func(s *config.Set) { woo(s, "https://www.example.com:8443/butikk/") },
	} {
		s := configtest.Set()
		change(&s)
		if faults := apply.Check(s); len(faults) != 0 {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

func TestWarningsOfLimits(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	usual := recipe.Limits{USDPerEvent: dollars("0.02"), USDPerDay: dollars("5")}
	for _, test := range []struct {
		name   string
		change func(*recipe.Recipe)
		at     string // empty: none
		reason string
	}{
		{"enough room", func(r *recipe.Recipe) { r.Limits = usual }, "", ""},
		{"nothing is masked", func(r *recipe.Recipe) { r.Limits, r.Input.Mask = usual, nil }, cardAt + "/input", "nothing is masked"},
		{"auto without limits", func(r *recipe.Recipe) { r.Limits = recipe.Limits{} }, cardAt, "no limit stands"},
		{"auto with attempts alone", func(r *recipe.Recipe) { r.Limits = recipe.Limits{Attempts: 3} }, "", ""},
		{"a draft without limits", func(r *recipe.Recipe) { r.Limits, r.Policy = recipe.Limits{}, recipe.PolicyDraft }, "", ""},
		{"room for small inputs only", func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerDay: dollars("0.003")} }, limitsAt, "a call on an input of 4096 bytes may cost up to $0.00"},
		{"no room for another try", func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerEvent: dollars("0.007")} }, limitsAt + "/usd_per_event", "cut off"},
		{"a tier that the provider chooses", func(r *recipe.Recipe) { r.Limits, r.Model.Options.ServiceTier = usual, "" }, cardAt + "/model/options/service_tier", "the provider chooses"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := configtest.Set()
			s.Recipes[0].Input.Mask, s.Recipes[0].Model.Options.ServiceTier = []string{"email"}, "default"
			test.change(&s.Recipes[0])
			found := apply.Warnings(s, now)
			if test.at == "" && len(found) > 0 || test.at != "" && (len(found) != 1 || found[0].At != test.at || !strings.Contains(found[0].Reason, test.reason) || found[0].Remedy == "") {
				t.Errorf("want the one warning at %q that says %q, but: %v", test.at, test.reason, found)
			}
			if faults := apply.Check(s); len(faults) != 0 {
				t.Errorf("it is not allowed: %v", faults)
			}
		})
	}
}

// Whoever stores an event reads the pointer and no recipe: so the pointer says how long work waits.
func TestPublishNotesTheQuietPeriodsOfWhatIsLive(t *testing.T) {
	f := configtest.NewStore()
	s := configtest.Set()
	note := s.Recipes[0]
	note.Name = "note"
	s.Recipes[0].QuietSeconds = 30
	s.Recipes = append(s.Recipes, note)
	p := configtest.Publish(t, f, s)
	if len(p.Quiet) != 1 || p.Quiet["product-card"] != 30 {
		t.Errorf("quiet periods %v, want 30 s of product-card", p.Quiet)
	}
	s.Recipes[0].Version, s.Recipes[0].QuietSeconds = s.Recipes[0].Version+1, 0
	if p = configtest.Publish(t, f, s); p.Quiet != nil {
		t.Errorf("quiet periods %v of recipes that have none", p.Quiet)
	}
}

func TestNoOutputIsPublishedUnseenAtFirstInProduction(t *testing.T) {
	for policy, refused := range map[recipe.Policy]bool{recipe.PolicyAuto: true, recipe.PolicyReviewOnFlag: true, recipe.PolicyDraft: false} {
		s := configtest.Set()
		production(&s)
		s.Recipes[0].Policy = policy
		found, err := apply.Replacement{Live: config.Live{Set: config.Set{Scope: s.Scope}}, Set: s}.Compare(t.Context(), configtest.NewStore())
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(found.Faults, func(f config.Fault) bool {
			return f.At == cardAt+"/policy" && strings.HasPrefix(f.Reason, string(policy))
		}); got != refused {
			t.Errorf("%s at first: %v", policy, found.Faults)
		}
	}
}
