package references_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"engang/infra/engang/references"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

// A store holds secrets by path.
type store map[string]string

func (s store) Parameters(_ context.Context, paths []string) (map[string]secrets.Value, error) {
	found := map[string]secrets.Value{}
	for _, p := range paths {
		if v, ok := s[p]; ok {
			found[p] = secrets.NewValue(v)
		}
	}
	return found, nil
}

const sound = "whsec_0123456789abcdef0123456789abcdef"

func pointer(t *testing.T, text string) *document.Pointer {
	t.Helper()
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func set(environment string) config.Set {
	return config.Set{
		Scope:  object.Scope{Tenant: "agency", Environment: environment},
		Common: config.Common{Providers: map[string]config.Provider{"openai": {APIKey: "ssm:models/openai"}}},
		Endpoints: []config.Endpoint{{Name: "pay", Provider: "stripe", Secrets: []secrets.Ref{"ssm:hooks/pay/1", "ssm:hooks/pay/2"}},
			{Name: "shop", Provider: "woocommerce", Secrets: []secrets.Ref{"ssm:hooks/shop/1"}}},
	}
}

func TestSecretsAreWhatTheyHaveToBe(t *testing.T) {
	const payAt = "/endpoints/pay/secrets/0"
	others := []control.Other{{Tenant: "agency", Environment: "production", Endpoint: "live-pay", Secrets: []string{"ssm:hooks/live-pay/1"}}}
	for _, c := range []struct {
		name        string
		environment string
		change      func(store)
		at          string // of the one fault; empty: none
		says        string
		warning     string // place of the one warning
	}{
		{"all are sound", "test", func(store) {}, "", "", ""},
		{"one that is not there", "test", func(s store) { delete(s, "hooks/pay/1") }, payAt, "leads to nothing", ""},
		{"white space alone", "test", func(s store) { s["hooks/pay/1"] = " \n" }, payAt, "empty", ""},
		{"white space at an end", "test", func(s store) { s["hooks/pay/1"] = sound + " " }, payAt, "white space at an end", ""},
		{"too short", "test", func(s store) { s["hooks/pay/1"] = "whsec_0123" }, payAt, "fewer than 38", ""},
		{"another kind", "test", func(s store) { s["hooks/pay/1"] = "sk_live_0123456789abcdef0123456789abcdef" }, payAt, "a secret key of the API", ""},
		{"a placeholder", "test", func(s store) { s["hooks/shop/1"] = "changeme" }, "/endpoints/shop/secrets/0", "nobody has filled in", ""},
		{"one that everybody knows, in production", "production", func(s store) { s["hooks/pay/1"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, payAt, "everybody knows", ""},
		{"one that everybody knows, in a test", "test", func(s store) { s["hooks/pay/1"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, "", "", payAt},
		{"that of another environment", "test", func(s store) { s["hooks/pay/1"] = s["hooks/live-pay/1"] }, payAt, "the same secret as of endpoint live-pay in production", ""},
		{"the same under two references", "test", func(s store) { s["hooks/pay/2"] = s["hooks/pay/1"] }, "", "", "/endpoints/pay/secrets/1"},
		{"no key of models", "test", func(s store) { delete(s, "models/openai") }, "/providers/openai/api_key", "leads to nothing", ""},
		{"a key of models with a space", "test", func(s store) { s["models/openai"] = "sk-0123 456789abcdef" }, "/providers/openai/api_key", "white space inside", ""},
		{"a key of models with a line end", "test", func(s store) { s["models/openai"] = "sk-0123\n" }, "/providers/openai/api_key", "white space", ""},
		{"a placeholder as a key", "test", func(s store) { s["models/openai"] = "YOUR_OPENAI_API_KEY" }, "/providers/openai/api_key", "nobody has filled in", ""},
		{"a key that is no text", "test", func(s store) { s["models/openai"] = "sk-0123456789\xff" }, "/providers/openai/api_key", "UTF-8", ""},
		{"a sentence of a template", "test", func(s store) { s["hooks/shop/1"] = "YOUR_WEBHOOK_SECRET_GOES_HERE" }, "/endpoints/shop/secrets/0", "nobody has filled in", ""},
		{"a secret that is no text", "test", func(s store) { s["hooks/shop/1"] = "a-shop-secret-of-the-\xfftest" }, "/endpoints/shop/secrets/0", "UTF-8", ""},
		{"a webhook's secret as a key", "test", func(s store) { s["models/openai"] = sound }, "/providers/openai/api_key", "the secret of a webhook", ""},
	} {
		s := store{
			"hooks/pay/1": sound, "hooks/pay/2": "whsec_ffffffffffffffff0123456789abcdef", "hooks/shop/1": "a-shop-secret-of-the-test",
			"hooks/live-pay/1": "whsec_fedcba9876543210fedcba9876543210", "models/openai": "sk-0123456789",
		}
		c.change(s)
		found, err := references.Check(t.Context(), s, set(c.environment), others)
		if err != nil {
			t.Fatal(err)
		}
		one := func(list config.Faults, at, says string) bool {
			return at == "" && len(list) == 0 || len(list) == 1 && list[0].At == at && strings.Contains(list[0].Reason, says) && list[0].Remedy != ""
		}
		if !one(found.Faults, c.at, c.says) || !one(found.Warnings, c.warning, "") {
			t.Errorf("%s: faults %v, warnings %v", c.name, found.Faults, found.Warnings)
		}
		for _, value := range s { // whatever is said is shown
			if v := strings.TrimSpace(value); len(v) > 4 && strings.Contains(fmt.Sprint(found), v) {
				t.Errorf("%s: a secret is repeated: %v", c.name, found)
			}
		}
	}
}

// down is a store that cannot be asked.
type down struct{ error }

func (d down) Parameters(context.Context, []string) (map[string]secrets.Value, error) {
	return nil, d.error
}

func TestAStoreThatCannotBeAskedIsNoFault(t *testing.T) {
	want := errors.New("denied")
	if found, err := references.Check(t.Context(), down{want}, set("test"), nil); !errors.Is(err, want) || len(found.Faults) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func TestModelsAreLookedUp(t *testing.T) {
	var asked []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		switch {
		case r.Header.Get("Authorization") != "Bearer sk-0123456789":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/gone-2026-01-01"):
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error":{"code":"model_not_found","type":"invalid_request_error"}}`)
		case strings.HasSuffix(r.URL.Path, "/busy-2026-01-01"):
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer provider.Close()
	ask := func(base, key string, models ...string) references.Findings {
		s := set("test")
		s.Common.Providers["openai"] = config.Provider{APIKey: "ssm:models/openai", BaseURL: base}
		for i, m := range models {
			s.Recipes = append(s.Recipes, recipe.Recipe{Name: fmt.Sprint("r", i), Model: recipe.Model{Provider: "openai", Name: m}})
		}
		return references.Models(t.Context(), http.DefaultClient, s, map[string]secrets.Value{"openai": secrets.NewValue(key)})
	}
	if found := ask(provider.URL+"/v1", "sk-0123456789", "good-2026-01-01", "good-2026-01-01"); len(found.Faults)+len(found.Warnings) != 0 || len(asked) != 1 || asked[0] != "GET /v1/models/good-2026-01-01 Bearer sk-0123456789" {
		t.Errorf("%+v, asked %q", found, asked)
	}
	if found := ask(provider.URL+"/v1/", "sk-0123456789", "good-2026-01-01", "gone-2026-01-01"); len(found.Faults) != 1 || found.Faults[0].At != "/recipes/r1/model/name" || len(found.Warnings) != 0 {
		t.Errorf("%+v", found)
	}
	for says, found := range map[string]references.Findings{
		"does not take the key": ask(provider.URL+"/v1", "sk-other", "good-2026-01-01"),
		"answers 429":           ask(provider.URL+"/v1", "sk-0123456789", "busy-2026-01-01"),
		"does not answer":       ask("http://127.0.0.1:1/v1", "sk-0123456789", "good-2026-01-01"),
	} {
		if len(found.Faults) != 0 || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0].Reason, says) || strings.Contains(fmt.Sprint(found.Warnings), "sk-") {
			t.Errorf("%s: %+v", says, found)
		}
	}
}

func TestPointersAreHeldAgainstWhatIsSent(t *testing.T) {
	withField := func(name string, from *document.Pointer, required ...string) config.Set {
		return config.Set{
			Endpoints: []config.Endpoint{{Name: "shop", Provider: "woocommerce", Events: map[string]config.EventRule{"product.updated": {Recipes: []string{"card"}}}}},
			Recipes:   []recipe.Recipe{{Name: "card", Input: recipe.Fields{Fields: map[string]recipe.Field{name: {From: from}, "language": {Const: json.RawMessage(`"no"`)}}, Required: required}}},
		}
	}
	withRule := func(provider, event string, rule config.EventRule) config.Set {
		return config.Set{Endpoints: []config.Endpoint{{Name: "shop", Provider: provider, Events: map[string]config.EventRule{event: rule}}}}
	}
	id := func(text string) *config.ObjectRule {
		return &config.ObjectRule{Kind: "product", ID: *pointer(t, text)}
	}
	for _, c := range []struct {
		name    string
		set     config.Set
		at      string // of the one fault
		warning string // place of the one warning
	}{
		{"an id that is there", withRule("woocommerce", "product.updated", config.EventRule{Object: id("/id")}), "", ""},
		{"an id that is not", withRule("woocommerce", "product.updated", config.EventRule{Object: id("/product_id")}), "/endpoints/shop/events/product.updated/object/id", ""},
		{"an id within a number", withRule("woocommerce", "product.updated", config.EventRule{Object: id("/id/value")}), "/endpoints/shop/events/product.updated/object/id", ""},
		{"a version that is not there", withRule("woocommerce", "product.updated", config.EventRule{Version: pointer(t, "/modified")}), "/endpoints/shop/events/product.updated/version", ""},
		{"a type with a slash in it", withRule("shopify", "products/update", config.EventRule{Object: id("/product_id")}), "/endpoints/shop/events/products~1update/object/id", ""},
		{"a form", withRule("twilio", "message.delivered", config.EventRule{Object: id("/MessageSid")}), "", ""},
		{"a type without a sample", withRule("woocommerce", "coupon.created", config.EventRule{Object: id("/coupon")}), "", ""},
		{"a sender whose payloads differ", withRule("standard-webhooks", "contact.created", config.EventRule{Object: id("/contact/id")}), "", ""},
		{"a field that is required and not there", withField("name", pointer(t, "/title"), "name"), "/recipes/card/input/fields/name", ""},
		{"a field that is not there", withField("name", pointer(t, "/title")), "", "/recipes/card/input/fields/name"},
		{"an element of a list that is empty in the sample", withField("name", pointer(t, "/attributes/*/name"), "name"), "", ""},
		{"an element of a list that is short in the sample", withField("name", pointer(t, "/categories/7/name"), "name"), "", ""},
		{"what no element has", withField("name", pointer(t, "/categories/*/title"), "name"), "/recipes/card/input/fields/name", ""},
		{"a name where a list is", withField("name", pointer(t, "/categories/name"), "name"), "/recipes/card/input/fields/name", ""},
		{"within a null of the sample", withField("name", pointer(t, "/stock_quantity/left"), "name"), "", ""},
	} {
		found := references.Samples(c.set)
		one := func(list config.Faults, at string) bool {
			return at == "" && len(list) == 0 || len(list) == 1 && list[0].At == at && strings.Contains(list[0].Reason, "has nothing there") && list[0].Remedy != ""
		}
		if !one(found.Faults, c.at) || !one(found.Warnings, c.warning) {
			t.Errorf("%s: faults %v, warnings %v", c.name, found.Faults, found.Warnings)
		}
	}
}
