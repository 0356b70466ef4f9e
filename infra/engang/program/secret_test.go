package program_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

const (
	firstSecret  = "first-Kq7vT2mW9xLd4Rz8"
	secondSecret = "second-Hb3nY6pJ1sGc5Fu0"
)

// given runs a command that reads a secret.
func given(t *testing.T, secret string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runIn(t.Context(), func(e *program.Env) { e.Args, e.Stdin = args, strings.NewReader(secret) })
}

// names answers for endpoints: woo-shop of the test environment, and whatever else is said.
func (c *canned) names(woo []string, others ...control.Endpoint) {
	all := append(others, control.Endpoint{Kind: "endpoint", Name: "woo-shop", Provider: "woocommerce", Environment: "test", Secrets: woo})
	c.answer["/api/endpoints"] = func() any {
		name := c.asked[len(c.asked)-1].Get("name")
		for _, e := range all {
			if e.Name == name {
				return e
			}
		}
		return refusal{404, `{"title":"Not Found","status":404}`}
	}
}

func (c *canned) store() client.Engine { return c.answer["/local/aws"].(client.Engine) }

// held is what stands in the parameter store.
func (c *canned) held(t *testing.T) map[string]string {
	t.Helper()
	found, err := vault(c.store()).Below(t.Context(), "hooks")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for path, value := range found {
		all[path] = string(value.Reveal())
	}
	delete(all, "hooks/crm/1")
	return all
}

var (
	one  = []string{"ssm:hooks/woo-shop/1"}
	both = []string{"ssm:hooks/woo-shop/2", "ssm:hooks/woo-shop/1"}
)

// A rotation as a person does it, each step said twice.
func TestARotationFromBeginningToEnd(t *testing.T) {
	for suffix, flags := range map[string][]string{"": nil, "-json": {"--json"}} {
		api := serveCanned(t)
		api.names(one)
		for _, c := range []struct {
			name   string
			named  []string // by the endpoint as it is applied
			secret string
			args   []string
			code   int
			held   []string // what stands afterwards, from slot 1
			golden bool
		}{
			{"set-replaced", one, firstSecret + "\n", []string{"set", "woo-shop", "--replace"}, 0, []string{firstSecret}, true},
			{"set-again", one, firstSecret, []string{"set", "hooks/woo-shop/1"}, 0, []string{firstSecret}, true},
			{"set where another stands", one, secondSecret, []string{"set", "woo-shop"}, 4, []string{firstSecret}, false},
			{"rotate to the present one", one, firstSecret, []string{"rotate", "woo-shop"}, 4, []string{firstSecret}, false},
			{"rotate", one, secondSecret + "\r\n", []string{"rotate", "woo-shop"}, 0, []string{firstSecret, secondSecret}, true},
			{"rotate-again", one, secondSecret, []string{"rotate", "hooks/woo-shop/1", "--overlap", "1h"}, 0, []string{firstSecret, secondSecret}, true},
			{"rotate once more to another", one, "third-Hb3nY6pJ1sGc5Fu0", []string{"rotate", "woo-shop"}, 4, []string{firstSecret, secondSecret}, false},
			{"retire before the new one is named", one, "", []string{"retire", "woo-shop", "--early"}, 4, []string{firstSecret, secondSecret}, false},
			{"retire-unnamed", one, "", []string{"retire", "woo-shop"}, 4, []string{firstSecret, secondSecret}, true},
			{"retire in the overlap", both, "", []string{"retire", "woo-shop"}, 4, []string{firstSecret, secondSecret}, false},
			{"retire", both, "", []string{"retire", "woo-shop", "--early"}, 0, []string{"", secondSecret}, true},
			{"retire-again", both, "", []string{"retire", "hooks/woo-shop/1"}, 0, []string{"", secondSecret}, true},
			{"retire the last one", both, "", []string{"retire", "hooks/woo-shop/2", "--early"}, 4, []string{"", secondSecret}, false},
			{"retire when nothing rotates", both, "", []string{"retire", "woo-shop"}, 4, []string{"", secondSecret}, false},
			{"rotate-named", both, firstSecret, []string{"rotate", "woo-shop"}, 0, []string{firstSecret, secondSecret}, true}, // into the empty slot that is named already
		} {
			api.names(c.named)
			args := append(append([]string{"secret"}, c.args...), "--target", api.url)
			code, stdout, stderr := given(t, c.secret, append(args, flags...)...)
			if code != c.code || (stderr == "") != (c.code == 0) {
				t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
			}
			want := map[string]string{}
			for i, secret := range c.held {
				if secret != "" {
					want[fmt.Sprintf("hooks/woo-shop/%d", i+1)] = secret
				}
			}
			if got := api.held(t); !maps.Equal(want, got) {
				t.Errorf("%s: %d secrets stand there, want %d, or others", c.name, len(got), len(want))
			}
			if text := stdout + stderr; strings.Contains(text, firstSecret) || strings.Contains(text, secondSecret) {
				t.Errorf("%s: a secret is shown", c.name)
			}
			if c.golden && c.code == 0 {
				golden(t, "secret-"+c.name+suffix, stdout)
			} else if c.golden && suffix == "" {
				golden(t, "secret-"+c.name, stderr)
			}
		}
	}
}

// After the overlap the former one goes without being told to.
func TestARotationEndsAfterItsOverlap(t *testing.T) {
	api := serveCanned(t)
	api.names(both)
	if code, _, stderr := given(t, secondSecret, "secret", "rotate", "woo-shop", "--overlap", "1h", "--target", api.url); code != 0 {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		after time.Duration
		code  int
	}{{time.Hour - time.Second, 4}, {time.Hour, 0}} {
		code, _, stderr := runIn(t.Context(), func(e *program.Env) {
			e.Args, e.Now = []string{"secret", "retire", "woo-shop", "--target", api.url}, func() time.Time { return noon.Add(c.after) }
		})
		if code != c.code || code == 4 && !strings.Contains(stderr, "until 2026-11-29 13:00:00") {
			t.Errorf("after %s: exit %d %s", c.after, code, stderr)
		}
	}
	if held := api.held(t); len(held) != 1 || held["hooks/woo-shop/2"] != secondSecret {
		t.Errorf("left %d", len(held))
	}
}

// secretEndpoints are those of the table below, beside woo-shop.
var secretEndpoints = []control.Endpoint{
	{Name: "woo-live", Provider: "woocommerce", Environment: "production", Secrets: []string{"ssm:hooks/woo-live/1"}},
	{Name: "help", Provider: "zendesk", Environment: "production", Secrets: []string{"ssm:hooks/help/1"}},
	{Name: "help-test", Provider: "zendesk", Environment: "test", Secrets: []string{"ssm:hooks/help-test/1"}},
	{Name: "pay", Provider: "stripe", Environment: "test", Secrets: []string{"ssm:hooks/pay/1"}},
	{Name: "two", Provider: "woocommerce", Environment: "test", Secrets: []string{"ssm:hooks/two/1", "ssm:hooks/two/2", "ssm:hooks/two/3"}},
	{Name: "three", Provider: "woocommerce", Environment: "test", Secrets: []string{"ssm:hooks/three/1", "ssm:hooks/three/2", "ssm:hooks/three/3"}},
}

// publicSecret is what everybody knows.
const publicSecret = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=="

// A givenSecret is given to an act, and refused or not.
type givenSecret struct {
	name, secret string
	args         []string
	code         int
	says         string
}

var givenSecrets = []givenSecret{
	{"nothing", "", []string{"set", "hooks/woo-live/1"}, 2, "empty"},
	{"white space", "  \n", []string{"set", "hooks/woo-live/1"}, 2, "empty"},
	{"white space at an end", firstSecret + " ", []string{"set", "hooks/woo-live/1"}, 2, "white space"},
	{"two lines", firstSecret + "\n" + firstSecret, []string{"set", "hooks/woo-live/1"}, 2, "line end"},
	{"a placeholder", "changeme", []string{"set", "hooks/woo-live/1"}, 2, "filled in"},
	{"too short", "kV3-x", []string{"set", "hooks/woo-live/1"}, 2, "fewer than 16"},
	{"a file in its place", strings.Repeat("x1", 3000), []string{"set", "hooks/woo-live/1"}, 2, "no secret"},
	{"a consumer secret of the REST interface", "cs_" + firstSecret, []string{"set", "woo-live"}, 2, "consumer secret"},
	{"that of Standard Webhooks for Stripe", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS+/f4=", []string{"set", "pay"}, 2, "Standard Webhooks"},
	{"a sentence of a template", "YOUR_WEBHOOK_SECRET_GOES_HERE", []string{"set", "hooks/woo-live/1"}, 2, "filled in"},
	{"a secret that is no text", firstSecret + "\xff", []string{"set", "hooks/woo-live/1"}, 2, "UTF-8"},
	{"that of the other environment", "local-woo-secret", []string{"set", "woo-live"}, 2, "test and production share none"},
	{"that of another slot", "local-woo-secret", []string{"set", "hooks/woo-shop/2"}, 4, "hooks/woo-shop/1 already"},
	{"what everybody knows, in production", publicSecret, []string{"set", "help"}, 2, "published"},
	{"what everybody knows, in test", publicSecret, []string{"set", "help-test"}, 0, "for trying"},
	{"a key of a model with a line end too many", "sk-" + firstSecret + "\n\n", []string{"set", "models/openai"}, 2, "white space"},
	{"a key of a model with a line end inside", "sk-\n" + firstSecret, []string{"set", "models/openai"}, 2, "line end"},
	{"a key of a model with a space inside", "sk-0123 456789abcdef", []string{"set", "models/openai"}, 2, "white space inside"},
	{"no key of a model", "\n", []string{"set", "models/openai"}, 2, "empty"},
	{"half a key of a model", "sk-123", []string{"set", "models/openai"}, 2, "fewer than 8"},
	{"a key of a model", "sk-" + firstSecret, []string{"set", "models/openai"}, 0, ""},
	{"a key of a model where another stands", "sk-" + firstSecret, []string{"set", "models/held"}, 4, "engang secret set models/held --replace"},
	{"a key of a model in place of another", "sk-" + firstSecret, []string{"set", "models/held", "--replace"}, 0, ""},
	{"a key of a target", "ck_" + firstSecret + ":cs_" + secondSecret, []string{"set", "targets/shop"}, 0, ""},
	{"half a key of a target", "ck_" + firstSecret, []string{"set", "targets/shop"}, 2, "joined by a colon"},
	{"a key of a target in white space", "ck_" + firstSecret + ":cs_" + secondSecret + " ", []string{"set", "targets/shop"}, 2, "white space"},
	{"rotation of a target's key", "ck_" + firstSecret + ":cs_" + secondSecret, []string{"rotate", "targets/shop"}, 2, "engang secret set targets/shop --replace"},
	{"a secret where another stands that is in use", firstSecret, []string{"set", "hooks/two/2"}, 4, "engang secret rotate hooks/two/2 keeps both"},
	{"a secret where another stands of nobody", firstSecret, []string{"set", "hooks/left/1", "--provider", "github"}, 4, "engang secret set hooks/left/1 --provider github --replace puts"},
	{"a placeholder of a model's key", "YOUR_OPENAI_API_KEY", []string{"set", "models/openai"}, 2, "filled in"},
	{"a masked key of a model", "sk-xxxxxxxxxxxxxxxx", []string{"set", "models/openai"}, 2, "filled in"},
	{"a key of a model that is no text", "sk-\xff" + firstSecret, []string{"set", "models/openai"}, 2, "UTF-8"},
	{"a secret of a webhook as the key of a model", "whsec_" + firstSecret, []string{"set", "models/openai"}, 2, "secret of a webhook"},
	{"rotation of a model's key", "sk-" + secondSecret, []string{"rotate", "models/openai"}, 2, "engang secret set models/openai --replace"},
	{"removal of a model's key", "", []string{"retire", "models/openai"}, 2, "only the secrets of endpoints"},
	{"a provider for a model's key", "sk-" + firstSecret, []string{"set", "models/openai", "--provider", "openai"}, 2, "--provider"},
	{"before the endpoint is applied", firstSecret, []string{"set", "hooks/new/1", "--provider", "woocommerce"}, 0, ""},
	{"before the endpoint is applied, of nobody", firstSecret, []string{"set", "hooks/new/1"}, 2, "--provider"},
	{"of an unknown provider", firstSecret, []string{"set", "hooks/new/1", "--provider", "magento"}, 2, "not known"},
	{"of another provider than applied", firstSecret, []string{"set", "woo-live", "--provider", "stripe"}, 2, "of provider woocommerce"},
	{"an endpoint that is not applied", firstSecret, []string{"set", "new"}, 3, "hooks/NAME/1"},
	{"a reference that leads upwards", firstSecret, []string{"set", "hooks/../x/1", "--provider", "stripe"}, 2, "neither a reference"},
	{"a reference to a folder above", firstSecret, []string{"set", "hooks/x/..", "--provider", "stripe"}, 2, "neither a reference"},
	{"slot 0", firstSecret, []string{"set", "hooks/x/0", "--provider", "github"}, 2, "slots count from 1"},
	{"a slot with a zero in front", firstSecret, []string{"set", "hooks/x/01", "--provider", "github"}, 2, "slots count from 1"},
	{"no slot", firstSecret, []string{"set", "hooks/x", "--provider", "github"}, 2, "slots count from 1"},
	{"dots for a name", firstSecret, []string{"set", ".."}, 2, "neither a reference"},
	{"rotation of what is not applied", firstSecret, []string{"rotate", "hooks/new/1"}, 3, "nothing to rotate"},
	{"rotation of nothing", firstSecret, []string{"rotate", "help"}, 4, "no secret yet"},
	{"rotation of one of two webhooks, unsaid which", firstSecret, []string{"rotate", "two"}, 4, "name the one that is replaced, hooks/two/1 or hooks/two/2"},
	{"rotation of a slot that is empty", firstSecret, []string{"rotate", "hooks/two/3"}, 4, "no secret in hooks/two/3"},
	{"rotation of one of two webhooks", firstSecret, []string{"rotate", "hooks/two/2"}, 0, ""},
	{"rotation where there are three", firstSecret, []string{"rotate", "hooks/three/2"}, 4, "3 secrets already"},
	{"an overlap that is negative", firstSecret, []string{"rotate", "help", "--overlap", "-1h"}, 2, "--overlap"},
	{"removal where nobody knows who uses it", "", []string{"retire", "hooks/left/1"}, 4, "--early"},
	{"no name", firstSecret, []string{"set"}, 2, "say one NAME"},
	{"a secret in place of a name", firstSecret, []string{"set", firstSecret + "!"}, 2, "neither a reference"},
	{"no act", firstSecret, []string{"show"}, 2, "unknown command"},
}

func TestASecretIsRefusedBeforeItIsUsed(t *testing.T) {
	for _, c := range givenSecrets {
		api := serveCanned(t)
		api.names(one, secretEndpoints...)
		stand := map[string]bool{}
		for _, path := range []string{"hooks/left/1", "hooks/two/1", "hooks/two/2", "hooks/three/1", "hooks/three/2", "hooks/three/3", "models/held"} {
			if err := vault(api.store()).Put(t.Context(), path, secrets.NewValue(path+firstSecret)); err != nil {
				t.Fatal(err)
			}
			stand[path] = true
		}
		code, stdout, stderr := given(t, c.secret, append(append([]string{"secret"}, c.args...), "--target", api.url)...)
		if code != c.code || !strings.Contains(strings.ReplaceAll(stderr, " --target "+api.url, ""), c.says) {
			t.Errorf("%s: exit %d, want %d: %s%s", c.name, code, c.code, stdout, stderr)
		}
		if secret := strings.TrimSpace(c.secret); len(secret) > 8 && strings.Contains(stdout+stderr, secret) {
			t.Errorf("%s: the secret is shown", c.name)
		}
		held := api.held(t)
		maps.DeleteFunc(held, func(path, _ string) bool { return stand[path] })
		if code != 0 && (len(held) != 1 || held["hooks/woo-shop/1"] != "local-woo-secret") {
			t.Errorf("%s: something was written", c.name)
		}
	}
}

// No output holds a secret, whichever provider's it is.
func TestNoSecretIsEverShown(t *testing.T) {
	for i, provider := range webhook.Names() {
		scheme, _ := webhook.Lookup(provider)
		fresh, next := scheme.NewSecret([32]byte{byte(i), 3, 1, 4, 1, 5}), scheme.NewSecret([32]byte{byte(i), 2, 7, 1, 8})
		api := serveCanned(t)
		api.answer["/api/endpoints"] = control.Endpoint{Name: "e", Provider: provider, Environment: "test", Secrets: []string{"ssm:hooks/e/1", "ssm:hooks/e/2"}}
		var out strings.Builder
		for _, args := range [][]string{
			{"set", "hooks/e/1"}, {"set", "e"}, {"rotate", "e"}, {"retire", "e"}, {"retire", "e", "--early"}, {"set", "e", "--json"}, {"retire", "hooks/e/1"},
		} {
			secret := fresh
			if args[0] == "rotate" {
				secret = next
			}
			_, stdout, stderr := given(t, string(secret.Reveal()), append(append([]string{"secret"}, args...), "--target", api.url)...)
			out.WriteString(stdout + stderr)
		}
		for _, secret := range []secrets.Value{fresh, next} {
			plain := strings.TrimPrefix(string(secret.Reveal()), "whsec_")
			if text := out.String(); len(plain) < 8 || strings.Contains(text, plain[:8]) {
				t.Errorf("%s: a secret, or its beginning, is shown", provider)
			}
		}
		if !strings.Contains(out.String(), "set, beside hooks/e/1") {
			t.Errorf("%s: nothing was rotated: %s", provider, &out)
		}
	}
}

// What is typed on a terminal is one line, and is not shown.
func TestASecretIsTypedUnseen(t *testing.T) {
	api := serveCanned(t)
	api.names(one)
	hidden := false
	hide := func() (func(), error) {
		hidden = true
		return func() { hidden = false }, nil
	}
	typed := strings.NewReader(firstSecret + "\ny\n")
	code, _, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Stdin, e.Hide = []string{"secret", "set", "woo-shop", "--replace", "--target", api.url}, reader(func(p []byte) (int, error) {
			if !hidden {
				t.Error("what is typed is shown")
			}
			return typed.Read(p)
		}), hide
	})
	if code != 0 || hidden || !strings.HasPrefix(stderr, "secret (what you type is not shown): ") || api.held(t)["hooks/woo-shop/1"] != firstSecret || typed.Len() != 2 {
		t.Errorf("exit %d, hidden %v, %d bytes left: %s", code, hidden, typed.Len(), stderr)
	}
	code, _, stderr = runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Stdin, e.Hide = []string{"secret", "set", "woo-shop", "--replace", "--target", api.url}, typed, func() (func(), error) { return nil, errors.New("no stty") }
	})
	if code != 2 || !strings.Contains(stderr, "would be shown") {
		t.Errorf("a terminal that shows everything: exit %d %s", code, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	code, _, _ = runIn(ctx, func(e *program.Env) {
		e.Args, e.Stdin, e.Hide = []string{"secret", "set", "woo-shop", "--target", api.url}, reader(func([]byte) (int, error) {
			cancel()
			select {} // a terminal at which nobody types any more
		}), hide
	})
	if code == 0 || hidden {
		t.Errorf("after an interrupt: exit %d, hidden %v", code, hidden)
	}
	if code, _, stderr := run(t, t.Context(), "secret", "set", "woo-shop", "--target", api.url); code != 2 || !strings.Contains(stderr, "standard input") {
		t.Errorf("without standard input: exit %d %s", code, stderr)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
