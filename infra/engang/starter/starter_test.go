package starter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"engang/infra/configfile"
	"engang/infra/engang/delivery"
	"engang/infra/engang/starter"
	"engang/shared/config"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/webhook"
)

var sampleTime = time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)

func start(t *testing.T, provider string) (starter.Start, config.Set) {
	t.Helper()
	s, err := starter.Make(starter.Want{Provider: provider, Name: "first-" + provider, Tenant: "agency", Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := configfile.Parse(configfile.Source{Name: provider + ".yaml", Text: s.Text})
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Text)
	}
	return s, set
}

// For every provider there is a file that is valid as it is, and whose recipe takes what the provider sends.
func TestEveryProviderHasAFileThatFitsItsSample(t *testing.T) {
	for _, provider := range webhook.Names() {
		t.Run(provider, func(t *testing.T) {
			s, set := start(t, provider)
			if len(set.Endpoints) != 1 || len(set.Recipes) != 1 || set.Endpoints[0].Name != "first-"+provider || set.Recipes[0].Name != s.Recipe || set.Recipes[0].Policy != recipe.PolicyDraft {
				t.Errorf("%s", s.Text)
			}
			e := set.Endpoints[0]
			row, _ := webhook.Lookup(provider)
			scheme, err := row.For(e.Adds())
			if err != nil {
				t.Fatal(err)
			}
			sample, ok := delivery.Sample(s.Case)
			if !ok {
				t.Fatalf("no sample %s", s.Case)
			}
			own, err := compiled.New(set.Recipes[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range parts(t, scheme, webhook.Request{Method: sample.Method, Header: sample.Header, Body: sample.Body, URL: e.PublicURL}) {
				takes(t, taking{scheme, e, own, provider != "hubspot" && provider != "standard-webhooks"}, part)
			}
		})
	}
}

func parts(t *testing.T, scheme webhook.Scheme, req webhook.Request) []webhook.Request {
	t.Helper()
	doc, _, err := scheme.Document(req)
	if err != nil {
		t.Fatal(err)
	}
	if batch, ok := scheme.Split(req, doc); ok {
		return batch.Parts
	}
	return []webhook.Request{req}
}

type taking struct {
	scheme   webhook.Scheme
	endpoint config.Endpoint
	recipe   *compiled.Recipe
	whole    bool // the sample has every field
}

func takes(t *testing.T, with taking, req webhook.Request) {
	t.Helper()
	doc, _, err := with.scheme.Document(req)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := with.scheme.Type(req, doc)
	if err != nil {
		t.Fatal(err)
	}
	rule, ok := with.endpoint.Events[typ]
	if !ok || len(rule.Recipes) != 1 {
		t.Errorf("type %s is not worked on", typ)
	}
	own := webhook.Rule{Version: rule.Version}
	if rule.Object != nil {
		own.Kind, own.ID = rule.Object.Kind, &rule.Object.ID
	}
	if fact, err := with.scheme.Identify(req, doc, own, sampleTime); err != nil || fact.Flaw != "" || fact.ObjectID == "" {
		t.Errorf("fact %+v, %v", fact, err)
	}
	in, err := with.recipe.Extract(doc)
	if err != nil {
		t.Fatal(err)
	}
	for name, field := range with.recipe.Recipe().Input.Fields {
		if _, there := in.Fields[name]; with.whole && !there {
			t.Errorf("field %s: nothing at %v of the sample", name, field.From)
		}
	}
}

// Files of one tenant may lie in one folder, and be applied together.
func TestFilesOfOneTenantAreOneConfiguration(t *testing.T) {
	var sources []configfile.Source
	for _, provider := range webhook.Names() {
		s, _ := start(t, provider)
		sources = append(sources, configfile.Source{Name: provider + ".yaml", Text: s.Text})
	}
	set, err := configfile.Parse(sources...)
	if err != nil || len(set.Endpoints) != len(sources) {
		t.Errorf("%d endpoints, %v", len(set.Endpoints), err)
	}
}

// What files share stands in one of them, so that it may be changed there; beside it, only the rest is written.
func TestAFileBesideOthersHoldsOnlyItsOwn(t *testing.T) {
	make := func(provider string, beside ...string) configfile.Source {
		s, err := starter.Make(starter.Want{Provider: provider, Name: provider, Tenant: "agency", Environment: "test", Beside: beside})
		if err != nil {
			t.Fatal(err)
		}
		return configfile.Source{Name: provider + ".yaml", Text: s.Text}
	}
	first := make("stripe")
	first.Text = []byte(strings.NewReplacer("event_days: 30", "event_days: 7", "input: 0.40", "input: 0.41").Replace(string(first.Text)))
	second := make("github", "version", "tenant", "environment", "data", "providers", "endpoints", "recipes")
	set, err := configfile.Parse(first, second)
	if err != nil || len(set.Endpoints) != 2 || set.Common.EventDays != 7 {
		t.Errorf("%d endpoints, %v\n%s", len(set.Endpoints), err, second.Text)
	}
	for text, want := range map[string]string{
		string(second.Text):                      "(data, providers)",
		string(make("github", "data").Text):      "(data)",
		string(make("github", "providers").Text): "(providers)",
	} {
		if !strings.Contains(text, "share "+want+" stands in another one") || strings.Contains(text, "\n\n\n") {
			t.Errorf("does not say %s:\n%s", want, text)
		}
	}
	if strings.Contains(string(make("github").Text), "stands in another one") {
		t.Error("a file on its own lacks nothing")
	}
}

func TestNamesThatYAMLReadsOtherwiseAreQuoted(t *testing.T) {
	for _, name := range []string{"no", "2024", "true", "1e3", "shop-pay"} {
		s, err := starter.Make(starter.Want{Provider: "stripe", Name: name, Tenant: name, Environment: "test"})
		if err != nil {
			t.Fatal(err)
		}
		set, err := configfile.Parse(configfile.Source{Name: "stripe.yaml", Text: s.Text})
		if err != nil || set.Scope.Tenant != name || set.Endpoints[0].Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		want starter.Want
		is   error
	}{
		{"an unknown provider", starter.Want{Provider: "magento", Name: "a", Tenant: "a", Environment: "test"}, starter.ErrProvider},
		{"a name with a slash", starter.Want{Provider: "stripe", Name: "a/b", Tenant: "a", Environment: "test"}, starter.ErrName},
		{"a name that leaves no room", starter.Want{Provider: "stripe", Name: strings.Repeat("a", 60), Tenant: "a", Environment: "test"}, starter.ErrName},
		{"a tenant with a space", starter.Want{Provider: "stripe", Name: "a", Tenant: "a b", Environment: "test"}, starter.ErrName},
	} {
		if _, err := starter.Make(c.want); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := starter.Make(starter.Want{Provider: "magento"}); !strings.Contains(err.Error(), "woocommerce") {
		t.Errorf("%v does not say which there are", err)
	}
}
