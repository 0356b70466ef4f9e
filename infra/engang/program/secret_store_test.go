package program_test

import (
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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"engang/shared/secrets"
)

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
		{"an identity whose clock is wrong", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"InvalidSignatureException","message":"Signature expired: 20261129T120000Z is now earlier than 20261129T120500Z"}`)
		}, 5, "refuses the clock of this machine"},
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

// A parameter that somebody has put there unencrypted is no secret yet, whatever its value, and the store changes no
// type: what the doctor says is to be done is done.
func TestASecretThatLiesOpenIsPutAnew(t *testing.T) {
	for _, c := range []struct {
		name  string
		given string
		args  []string
		code  int
		says  string
	}{
		{"the same", firstSecret, nil, 4, "what stands in hooks/woo-shop/1 is not encrypted: engang secret set hooks/woo-shop/1 --replace"},
		{"another", secondSecret, nil, 4, "is not encrypted"},
		{"the same in its place", firstSecret, []string{"--replace"}, 0, "hooks/woo-shop/1: set\n"},
		{"another in its place", secondSecret, []string{"--replace"}, 0, "hooks/woo-shop/1: set\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := serveCanned(t)
			api.names(one)
			at := api.store()
			engine := ssm.NewFromConfig(aws.Config{Region: at.Region, BaseEndpoint: &at.Endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
			path := at.SecretPath + "/hooks/woo-shop/1"
			if _, err := engine.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &path, Value: aws.String(firstSecret), Type: types.ParameterTypeString, Overwrite: aws.Bool(true)}); err != nil {
				t.Fatal(err)
			}
			at.Endpoint = keepsTypes(t, at.Endpoint)
			api.answer["/local/aws"] = at
			code, stdout, stderr := given(t, c.given, append([]string{"secret", "set", "woo-shop", "--target", api.url}, c.args...)...)
			if code != c.code || !strings.Contains(strings.ReplaceAll(stdout+stderr, " --target "+api.url, ""), c.says) {
				t.Errorf("exit %d %s%s", code, stdout, stderr)
			}
			held, err := engine.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &path, WithDecryption: aws.Bool(true)})
			if err != nil {
				t.Fatal(err)
			}
			want := types.Parameter{Type: types.ParameterTypeString, Value: aws.String(firstSecret)}
			if c.code == 0 {
				want = types.Parameter{Type: types.ParameterTypeSecureString, Value: &c.given}
			}
			if held.Parameter.Type != want.Type || *held.Parameter.Value != *want.Value {
				t.Errorf("there stands another one, as %s", held.Parameter.Type)
			}
		})
	}
}

// keepsTypes is the engine, but for what it does more than AWS: put a parameter of one type in place of another.
func keepsTypes(t *testing.T, engine string) string {
	t.Helper()
	to, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	proxy, removed := httputil.NewSingleHostReverseProxy(to), atomic.Bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if action == "PutParameter" && !removed.Load() {
			refuse("HierarchyTypeMismatchException")(w, r)
			return
		}
		removed.CompareAndSwap(false, action == "DeleteParameter")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A fault of the store's own is no refusal: the same command may go well in a minute.
func TestTheStoreCannotNow(t *testing.T) {
	for _, code := range []string{"InternalFailure", "ThrottlingException", "ServiceUnavailable"} {
		inAWS(t, liveAPI(t).url, map[string]string{"GetParametersByPath": "!" + code})
		code, _, stderr := given(t, secondSecret, "secret", "set", "woo-shop", "--target", "my-stack", "--yes")
		if code != 6 || !strings.Contains(stderr, "the parameter store: no answer: it says that it cannot now") {
			t.Errorf("exit %d %s", code, stderr)
		}
	}
	inAWS(t, liveAPI(t).url, map[string]string{"output": "SecretPath"})
	if code, _, stderr := given(t, secondSecret, "secret", "set", "woo-shop", "--target", "my-stack", "--yes"); code != 3 || !strings.Contains(stderr, "it has no output SecretPath: deploy it anew: infra/runbooks/upgrade.md") {
		t.Errorf("no path: exit %d %s", code, stderr)
	}
	inAWS(t, liveAPI(t).url, map[string]string{"output": "HooksUrl"})
	if code, _, stderr := run(t, t.Context(), "events", "--target", "my-stack"); code != 3 || strings.Contains(stderr, "ApiUrl") || !strings.Contains(stderr, "it has no output HooksUrl: deploy it anew: infra/runbooks/upgrade.md") {
		t.Errorf("no addresses: exit %d %s", code, stderr)
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
