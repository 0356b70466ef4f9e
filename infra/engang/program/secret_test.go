package program_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
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
			if c.golden {
				golden(t, "secret-"+c.name+suffix, stdout)
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

func TestASecretIsRefusedBeforeItIsUsed(t *testing.T) {
	live := control.Endpoint{Name: "woo-live", Provider: "woocommerce", Environment: "production", Secrets: []string{"ssm:hooks/woo-live/1"}}
	desk := control.Endpoint{Name: "help", Provider: "zendesk", Environment: "production", Secrets: []string{"ssm:hooks/help/1"}}
	try := control.Endpoint{Name: "help-test", Provider: "zendesk", Environment: "test", Secrets: []string{"ssm:hooks/help-test/1"}}
	stripe := control.Endpoint{Name: "pay", Provider: "stripe", Environment: "test", Secrets: []string{"ssm:hooks/pay/1"}}
	two := control.Endpoint{Name: "two", Provider: "woocommerce", Environment: "test", Secrets: []string{"ssm:hooks/two/1", "ssm:hooks/two/2", "ssm:hooks/two/3"}}
	three := control.Endpoint{Name: "three", Provider: "woocommerce", Environment: "test", Secrets: []string{"ssm:hooks/three/1", "ssm:hooks/three/2", "ssm:hooks/three/3"}}
	const public = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=="
	for _, c := range []struct {
		name, secret string
		args         []string
		code         int
		says         string
	}{
		{"nothing", "", []string{"set", "hooks/woo-live/1"}, 2, "empty"},
		{"white space", "  \n", []string{"set", "hooks/woo-live/1"}, 2, "empty"},
		{"white space at an end", firstSecret + " ", []string{"set", "hooks/woo-live/1"}, 2, "white space"},
		{"two lines", firstSecret + "\n" + firstSecret, []string{"set", "hooks/woo-live/1"}, 2, "line end"},
		{"a placeholder", "changeme", []string{"set", "hooks/woo-live/1"}, 2, "filled in"},
		{"too short", "kV3-x", []string{"set", "hooks/woo-live/1"}, 2, "fewer than 16"},
		{"a file in its place", strings.Repeat("x1", 3000), []string{"set", "hooks/woo-live/1"}, 2, "no secret"},
		{"a consumer secret of the REST interface", "cs_" + firstSecret, []string{"set", "woo-live"}, 2, "consumer secret"},
		{"that of Standard Webhooks for Stripe", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS+/f4=", []string{"set", "pay"}, 2, "Standard Webhooks"},
		{"that of the other environment", "local-woo-secret", []string{"set", "woo-live"}, 2, "test and production share none"},
		{"that of another slot", "local-woo-secret", []string{"set", "hooks/woo-shop/2"}, 4, "hooks/woo-shop/1 already"},
		{"what everybody knows, in production", public, []string{"set", "help"}, 2, "published"},
		{"what everybody knows, in test", public, []string{"set", "help-test"}, 0, "for trying"},
		{"a key of a model with a line end too many", "sk-" + firstSecret + "\n\n", []string{"set", "models/openai"}, 2, "white space"},
		{"a key of a model with a line end inside", "sk-\n" + firstSecret, []string{"set", "models/openai"}, 2, "line end"},
		{"no key of a model", "\n", []string{"set", "models/openai"}, 2, "empty"},
		{"half a key of a model", "sk-1", []string{"set", "models/openai"}, 2, "fewer than 8"},
		{"a key of a model", "sk-" + firstSecret, []string{"set", "models/openai"}, 0, ""},
		{"rotation of a model's key", "sk-" + secondSecret, []string{"rotate", "models/openai"}, 2, "only the secrets of endpoints"},
		{"removal of a model's key", "", []string{"retire", "models/openai"}, 2, "only the secrets of endpoints"},
		{"a provider for a model's key", "sk-" + firstSecret, []string{"set", "models/openai", "--provider", "openai"}, 2, "--provider"},
		{"before the endpoint is applied", firstSecret, []string{"set", "hooks/new/1", "--provider", "woocommerce"}, 0, ""},
		{"before the endpoint is applied, of nobody", firstSecret, []string{"set", "hooks/new/1"}, 2, "--provider"},
		{"of an unknown provider", firstSecret, []string{"set", "hooks/new/1", "--provider", "magento"}, 2, "not known"},
		{"of another provider than applied", firstSecret, []string{"set", "woo-live", "--provider", "stripe"}, 2, "of provider woocommerce"},
		{"an endpoint that is not applied", firstSecret, []string{"set", "new"}, 3, "hooks/new/1"},
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
	} {
		api := serveCanned(t)
		api.names(one, live, desk, try, stripe, two, three)
		stand := map[string]bool{}
		for _, path := range []string{"hooks/left/1", "hooks/two/1", "hooks/two/2", "hooks/three/1", "hooks/three/2", "hooks/three/3"} {
			if err := vault(api.store()).Put(t.Context(), path, secrets.NewValue(path+firstSecret)); err != nil {
				t.Fatal(err)
			}
			stand[path] = true
		}
		code, stdout, stderr := given(t, c.secret, append(append([]string{"secret"}, c.args...), "--target", api.url)...)
		if code != c.code || !strings.Contains(stderr, c.says) {
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

// Of two people who rotate at once, one is refused; whose write was done and whose answer was lost is not.
func TestTwoRotationsAtOnce(t *testing.T) {
	api := serveCanned(t)
	api.names(one)
	endpoints := api.answer["/api/endpoints"].(func() any)
	api.answer["/api/endpoints"] = func() any { // the store has been looked at before
		if err := vault(api.store()).Put(t.Context(), "hooks/woo-shop/2", secrets.NewValue(firstSecret)); err != nil {
			t.Error(err)
		}
		return endpoints()
	}
	code, _, stderr := given(t, secondSecret, "secret", "rotate", "woo-shop", "--target", api.url)
	if code != 4 || !strings.Contains(stderr, "somebody else") || api.held(t)["hooks/woo-shop/2"] != firstSecret {
		t.Errorf("exit %d %s", code, stderr)
	}
}

func TestALostAnswerOfTheStoreIsNoRefusal(t *testing.T) {
	api := serveCanned(t)
	api.names(one)
	at := api.store()
	to, err := url.Parse(at.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var puts atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		if strings.HasSuffix(r.Request.Header.Get("X-Amz-Target"), ".PutParameter") && puts.Add(1) == 2 { // the first is the rotation
			return errors.New("lost")
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(proxy)
	defer server.Close()
	at.Endpoint = server.URL
	api.answer["/local/aws"] = at
	code, stdout, stderr := given(t, secondSecret, "secret", "rotate", "woo-shop", "--target", api.url)
	if code != 0 || api.held(t)["hooks/woo-shop/2"] != secondSecret || puts.Load() != 3 {
		t.Errorf("exit %d after %d writes: %s%s", code, puts.Load(), stdout, stderr)
	}
}

func TestTheStoreRefusesOrDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   int
		says   string
	}{
		{"an identity without the right", refuse("AccessDeniedException"), 5, "refuses this identity"},
		{"an identity that has ended", refuse("ExpiredTokenException"), 5, "refuses this identity"},
		{"what it does not like", refuse("ValidationException"), 1, "refuses: ValidationException"},
		{"slowly", func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // only then is it noticed that the other side has gone
			<-r.Context().Done()
		}, 6, "no answer in time"},
		{"not at all", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 6, "no answer"},
	} {
		server := httptest.NewServer(c.answer)
		api := serveCanned(t)
		at := api.store()
		at.Endpoint = server.URL
		api.answer["/local/aws"] = at
		for _, args := range [][]string{{"secret", "set", "woo-shop"}, {"secret", "rotate", "woo-shop"}, {"secret", "retire", "woo-shop"}, {"send"}} {
			code, _, stderr := given(t, secondSecret, append(args, "--target", api.url, "--timeout", "300ms")...)
			if code != c.code || !strings.Contains(stderr, c.says) || strings.Contains(stderr, secondSecret) {
				t.Errorf("%s, %v: exit %d %s", c.name, args, code, stderr)
			}
		}
		server.Close()
	}
	api := serveCanned(t)
	api.answer["/local/aws"] = refusal{404, `{"message":"Not Found"}`}
	if code, _, stderr := given(t, secondSecret, "secret", "set", "woo-shop", "--target", api.url); code != 1 || !strings.Contains(stderr, "of another version") {
		t.Errorf("an older system: exit %d %s", code, stderr)
	}
}

// refuse is a store that repeats what it was given in what it says about it.
func refuse(code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":%q}`, code, given)
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

// On a stack it is said which, and nothing is written without a yes.
func TestSecretsOfAStackAreWrittenAfterAYes(t *testing.T) {
	api, _ := deployed(t)
	api.names(one)
	at := api.store()
	held := func() string {
		found, err := vault(at).Parameters(t.Context(), []string{"hooks/woo-shop/1"})
		if err != nil {
			t.Fatal(err)
		}
		return string(found["hooks/woo-shop/1"].Reveal())
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		held string
	}{
		{"without --yes", nil, 2, "local-woo-secret"},
		{"with --yes", []string{"--yes"}, 0, firstSecret},
	} {
		code, stdout, stderr := given(t, firstSecret, append([]string{"secret", "set", "woo-shop", "--replace", "--target", "my-stack"}, c.args...)...)
		if code != c.code || !strings.HasPrefix(stderr, "stack my-stack, account 123456789012, region eu-north-1\n") || held() != c.held {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
		if code == 0 && !strings.Contains(stdout, "within five minutes") {
			t.Errorf("%s: %s", c.name, stdout)
		}
	}
}

// A deployed stack's engine for secrets is where its region is; send reads the first that stands there.
func TestSendSignsWithTheFirstSecretThatStandsThere(t *testing.T) {
	api := serveCanned(t)
	api.names(both)
	signed := func() string {
		code, stdout, stderr := run(t, t.Context(), "send", "--curl", "--target", api.url)
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	before := signed()
	if err := vault(api.store()).Put(t.Context(), "hooks/woo-shop/2", secrets.NewValue(secondSecret)); err != nil {
		t.Fatal(err)
	}
	if after := signed(); after == before {
		t.Error("signed with the former secret")
	}
	for _, path := range slices.Sorted(maps.Keys(api.held(t))) {
		if _, err := vault(api.store()).Remove(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := run(t, t.Context(), "send", "--target", api.url); code != 3 || !strings.Contains(stderr, "no secret of endpoint woo-shop") {
		t.Errorf("exit %d %s", code, stderr)
	}
}
