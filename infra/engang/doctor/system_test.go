package doctor_test

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
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/client"
	"engang/infra/engang/doctor"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

// A store is a parameter store that holds what it is told to, or fails.
type store struct {
	held map[string]string
	err  error
}

func (s store) Parameters(_ context.Context, paths []string) (map[string]secrets.Value, error) {
	found := map[string]secrets.Value{}
	for _, p := range paths {
		if text, ok := s.held[p]; ok {
			found[p] = secrets.NewValue(text)
		}
	}
	return found, s.err
}

const shopKey = "ck_0123456789abcdef0123456789abcdef:cs_0123456789abcdef0123456789abcdef"

// A world is an API, a provider of models and a shop, which answer as told.
type world struct {
	account *cloud
	url     string
	status  map[string]int // by path
	version string
	config  control.Config
	hooks   string // the shop's webhooks
	store   store
	asked   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{account: newCloud(t), status: map[string]int{}, version: "1.2.3", store: store{held: map[string]string{
		"hooks/woo-shop/1": "local-woo-secret", "models/openai": "sk-0123456789abcdef0123456789abcdef", "targets/shop": shopKey,
	}}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.hooks = `[{"topic":"product.updated","status":"active","delivery_url":"` + server.URL + `/hooks/woo-shop"}]`
	w.config = control.Config{
		Kind: "config", Tenant: "shop", Environment: "test", Revision: 3,
		Common: control.Common{Common: config.Common{
			Providers: map[string]config.Provider{"openai": {APIKey: "ssm:models/openai", BaseURL: server.URL + "/v1"}},
			Targets:   map[string]config.Target{"shop": {Kind: "woocommerce", BaseURL: server.URL, Key: "ssm:targets/shop"}},
		}},
		Endpoints: []control.Endpoint{{Name: "woo-shop", Provider: "woocommerce", Secrets: []string{"ssm:hooks/woo-shop/1"}, CatchUp: &config.CatchUp{Target: "shop", EverySeconds: 600},
			Events: map[string]control.EventRule{"product.updated": {}, "product.deleted": {Ignore: true}}}},
		Recipes: []recipe.Recipe{{Name: "product-card", Version: 3, Model: recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17"}}},
	}
	return w
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.asked = append(w.asked, r.URL.Path)
	out.Header().Set("Content-Type", "application/json")
	if status := w.status[r.URL.Path]; status != 0 {
		out.WriteHeader(status)
		fmt.Fprint(out, map[int]string{404: `{"error":{"code":"model_not_found"}}`}[status])
		return
	}
	switch r.URL.Path {
	case "/api/version":
		fmt.Fprintf(out, `{"version":%q,"you":"arn:aws:iam::123456789012:user/ann"}`, w.version)
	case "/api/config":
		_ = json.NewEncoder(out).Encode(w.config)
	case "/wp-json/wc/v3/webhooks":
		io.WriteString(out, w.hooks)
	default:
		io.WriteString(out, "{}")
	}
}

func (w *world) look(t *testing.T, deployed bool) []doctor.Check {
	t.Helper()
	s := doctor.System{API: &client.Client{API: w.url + "/api", Hooks: w.url + "/hooks", HTTP: http.DefaultClient, Timeout: 300 * time.Millisecond}, Store: w.store, HTTP: http.DefaultClient, Patience: 300 * time.Millisecond}
	if deployed {
		s.Stack = w.account.describe(t)
	}
	return s.Look(t.Context())
}

func TestASoundSystem(t *testing.T) {
	w := newWorld(t)
	var got []string
	for _, c := range w.look(t, true) {
		got = append(got, fmt.Sprintf("%s %s: %s", c.State, c.Name, strings.ReplaceAll(c.Text, w.url, "URL")))
	}
	want := []string{
		"ok api: version 1.2.3; you are arn:aws:iam::123456789012:user/ann", "ok quotas: the account runs 1000 functions at once, 990 of them for all that has none reserved",
		"ok config: shop/test, revision 3: 1 endpoint, 1 recipe", "ok secrets: every reference leads to a secret of its provider's form",
		"ok models: every provider takes its key and knows its models", "ok webhooks: woo-shop: active in the shop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(strings.Join(w.asked, " "), "/v1/models/gpt-5.4-mini-2026-03-17") {
		t.Errorf("asked %v", w.asked)
	}
}

func TestWhatIsWrongWithASystem(t *testing.T) {
	const model = "/v1/models/gpt-5.4-mini-2026-03-17"
	for _, c := range []struct {
		name  string
		spoil func(*world)
		check string
		state doctor.State
		says  string
	}{
		{"its API is not reached", func(w *world) { w.url = "http://127.0.0.1:1" }, "api", doctor.NoAnswer, "http://127.0.0.1:1/api: no answer"},
		{"its API refuses who asks", func(w *world) { w.status["/api/version"] = 403 }, "api", doctor.NotAllowed, "Forbidden"},
		{"its API is broken", func(w *world) { w.status["/api/version"] = 500 }, "api", doctor.Fault, "Internal Server Error"},
		{"another version answers", func(w *world) { w.version = "1.2.2" }, "api", doctor.Note, "it is of version 1.2.2, and the stack says 1.2.3"},
		{"nothing is applied", func(w *world) { w.status["/api/config"] = 404 }, "config", doctor.Note, "nothing is applied yet"},
		{"there are several scopes", func(w *world) { w.status["/api/config"] = 400 }, "config", doctor.Unchecked, "Bad Request"},
		{"its store is down", func(w *world) { w.status["/api/config"] = 503 }, "config", doctor.NoAnswer, "Service Unavailable"},
		{"a secret is missing", func(w *world) { delete(w.store.held, "hooks/woo-shop/1") }, "secrets", doctor.Fault, "/endpoints/woo-shop/secrets/0: the reference leads to nothing"},
		{"a secret is of another kind", func(w *world) { w.store.held["hooks/woo-shop/1"] = "ck_0123456789abcdef0123456789abcdef01234567" }, "secrets", doctor.Fault, "/endpoints/woo-shop/secrets/0: what the reference leads to is no secret of woocommerce"},
		{"the parameter store fails", func(w *world) { w.store.err = errors.New("connection reset") }, "secrets", doctor.NoAnswer, "the parameter store: AWS does not answer"},
		{"a model is not known", func(w *world) { w.status[model] = 404 }, "models", doctor.Fault, "the provider does not know the model"},
		{"a key is not taken", func(w *world) { w.status[model] = 401 }, "models", doctor.Fault, "the provider does not take the key"},
		{"a provider is down", func(w *world) { w.status[model] = 503 }, "models", doctor.NoAnswer, "it answers 503"},
		{"a webhook is switched off", func(w *world) { w.hooks = strings.Replace(w.hooks, "active", "disabled", 1) }, "webhooks", doctor.Fault, "woo-shop: the shop's webhook for product.updated is disabled"},
		{"a webhook goes elsewhere", func(w *world) { w.hooks = strings.Replace(w.hooks, "/hooks/", "/other/", 1) }, "webhooks", doctor.Fault, "for product.updated is missing"},
		{"a shop does not answer", func(w *world) { w.status["/wp-json/wc/v3/webhooks"] = 502 }, "webhooks", doctor.NoAnswer, "woo-shop: list webhooks of a shop: "},
		{"a sender has no list", func(w *world) { w.config.Endpoints[0].CatchUp = nil }, "webhooks", doctor.Note, "not known here: woo-shop"},
		{"the account is new", func(w *world) { w.account.change("GET /2016-08-19/account-settings/", "990", "9") }, "quotas", doctor.Fault, "the workers may take 5, and the receiver may find none free"},
		{"its quota may not be seen", func(w *world) { w.account.reply["GET /2016-08-19/account-settings/"] = reply{status: 403} }, "quotas", doctor.NotAllowed, "may not look"},
		{"Lambda is slow", func(w *world) { w.account.reply["GET /2016-08-19/account-settings/"] = reply{hang: true} }, "quotas", doctor.NoAnswer, "no answer within 300ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.spoil(w)
			found := false
			for _, k := range w.look(t, true) {
				found = found || k.Name == c.check && k.State == c.state && strings.Contains(k.Text, c.says)
				if k.Name != c.check && (k.State == doctor.Fault || k.State == doctor.NotAllowed) {
					t.Errorf("beside it: %+v", k)
				}
				if strings.Contains(k.Text+k.Remedy, "0123456789abcdef") {
					t.Errorf("a secret is told: %+v", k)
				}
			}
			if !found {
				t.Errorf("not told: %+v", w.look(t, true))
			}
		})
	}
}

// A key that is missing leaves nothing to ask with; on this machine nobody is asked.
func TestModelsThatAreNotAsked(t *testing.T) {
	w := newWorld(t)
	delete(w.store.held, "models/openai")
	for _, deployed := range []bool{true, false} {
		for _, c := range w.look(t, deployed) {
			if c.Name == "models" && c.State != doctor.Unchecked || c.Name == "quotas" && !deployed {
				t.Errorf("deployed %v: %+v", deployed, c)
			}
		}
	}
	if strings.Contains(strings.Join(w.asked, " "), "/v1/") {
		t.Errorf("asked %v", w.asked)
	}
}

// A report is a line for each check, and says what is to be done.
func TestAReportInWords(t *testing.T) {
	r := doctor.Report{Target: "my-stack", Account: "1", Region: "eu-north-1", Checks: []doctor.Check{
		{Name: "table", State: doctor.OK, Text: "t"}, {Name: "indexes", State: doctor.Fault, Text: "none\x1b[2J", Remedy: "deploy"}, {Name: "api", State: doctor.NoAnswer, Text: "no"}, {Name: "config", State: doctor.Unchecked, Text: "no"},
	}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `engang doctor: stack my-stack, account 1, region eu-north-1

  ok           table    t
  fault        indexes  none\u{1b}[2J
                        -> deploy
  no answer    api      no
  not checked  config   no

1 fault, 1 without an answer, 1 not checked, 1 as it should be
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
