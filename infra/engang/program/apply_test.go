package program_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/config"
	"engang/shared/control"
)

// agency is a running system in which testdata/shop.yaml is live, and a copy of that file to change.
func agency(t *testing.T) (s *local.System, file, text string) {
	t.Helper()
	s = localtest.Start(t, local.Options{Manual: true})
	if err := s.PutSecret(t.Context(), "ssm:hooks/agency-shop/1", "agency-shop-secret-of-the-test"); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSecret(t.Context(), "ssm:hooks/agency-pay/1", soundPay); err != nil {
		t.Fatal(err)
	}
	file, text = filepath.Join(t.TempDir(), "shop.yaml"), shop(t)
	write(t, file, text)
	if code, stdout, stderr := live(t, s, "apply", file); code != 0 {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	return s, file, text
}

// tidy takes what no two runs share out of an output.
func tidy(text string) string {
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(\.\d+)?`).ReplaceAllString(text, "2026-11-29${1}12:00:00")
	return regexp.MustCompile(`user/[a-z0-9_-]+`).ReplaceAllString(text, "user/NAME")
}

func TestApplyShowsWhatChangesAndMakesItLive(t *testing.T) {
	t.Parallel()
	s, file, text := agency(t)
	if code, stdout, stderr := live(t, s, "apply", file); code != 0 || stderr != "" || !strings.HasSuffix(stdout, "\nnothing to change\n") {
		t.Errorf("the same again: exit %d %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := live(t, s, "apply", file, "--check"); code != 0 || stderr != "" || !strings.HasSuffix(stdout, "\nnothing to change\n") {
		t.Errorf("checked: exit %d %s%s", code, stdout, stderr)
	}
	changed := strings.NewReplacer("max_body: 512KiB", "max_body: 1MiB", "version: 3", "version: 4", "Be short.", "Be brief.", "event_days: 30", "event_days: 31",
		"    provider: stripe\n", "    provider: stripe\n    source: acct_1\n").Replace(text)
	write(t, file, changed)
	code, stdout, stderr := live(t, s, "apply", file, "--check")
	golden(t, "apply-check", tidy(stdout)+"--\n"+strings.ReplaceAll(stderr, file, "shop.yaml"))
	if code != 7 {
		t.Errorf("checked: exit %d", code)
	}
	code, stdout, stderr = live(t, s, "apply", file, "--check", "--json")
	golden(t, "apply-check-json", tidy(strings.ReplaceAll(stdout, file, "shop.yaml")))
	if code != 7 || !strings.Contains(stderr, `"exit":7`) {
		t.Errorf("checked: exit %d %s", code, stderr)
	}
	code, stdout, _ = live(t, s, "apply", file)
	if golden(t, "apply", tidy(stdout)); code != 0 {
		t.Errorf("applied: exit %d", code)
	}
	code, stdout, _ = live(t, s, "config", "--tenant", "agency", "--environment", "test")
	if golden(t, "config", tidy(stdout)); code != 0 {
		t.Errorf("config: exit %d", code)
	}
	code, stdout, _ = live(t, s, "config", "--tenant", "agency", "--environment", "test", "--json")
	if golden(t, "config-json", tidy(stdout)); code != 0 {
		t.Errorf("config: exit %d", code)
	}
	write(t, file, strings.NewReplacer("event_days: 31", "event_days: 30").Replace(changed))
	code, stdout, _ = live(t, s, "apply", file, "--json")
	if golden(t, "apply-json", tidy(stdout)); code != 0 {
		t.Errorf("applied: exit %d", code)
	}
}

// before runs something once, just before a request of this method leaves.
type before struct {
	method string
	do     func()
	done   bool
}

func (b *before) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == b.method && !b.done {
		b.done = true
		b.do()
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestOfTwoWhoApplyTheSecondGets4AndANewDiff(t *testing.T) {
	t.Parallel()
	s, mine, text := agency(t)
	theirs := filepath.Join(t.TempDir(), "shop.yaml")
	write(t, theirs, strings.Replace(text, "max_body: 512KiB", "max_body: 256KiB", 1))
	write(t, mine, strings.Replace(text, "max_body: 512KiB", "max_body: 1MiB", 1))
	overtaking := func(file string) *http.Client {
		return &http.Client{Transport: &before{method: http.MethodPut, do: func() {
			if code, stdout, stderr := live(t, s, "apply", file, "--as", "bea"); code != 0 {
				t.Errorf("the first: exit %d %s%s", code, stdout, stderr)
			}
		}}}
	}
	code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now, e.HTTP = []string{"apply", mine, "--target", s.URL()}, time.Now, overtaking(theirs)
	})
	if code != 4 || !strings.Contains(stdout, "524288 -> 1048576") || !strings.Contains(stdout, "262144 -> 1048576") || !strings.Contains(stderr, "user/bea applied revision 2 at 20") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if code, _, stderr := live(t, s, "apply", mine); code != 0 {
		t.Errorf("again: exit %d %s", code, stderr)
	}
	// What the other one did may be what refuses ours now.
	write(t, theirs, strings.NewReplacer("version: 3", "version: 4", "Be short.", "Be terse.").Replace(text))
	write(t, mine, strings.NewReplacer("version: 3", "version: 4", "Be short.", "Be brief.").Replace(text))
	code, _, stderr = runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now, e.HTTP = []string{"apply", mine, "--target", s.URL()}, time.Now, overtaking(theirs)
	})
	if code != 4 || !strings.Contains(stderr, "somebody else applied meanwhile:") || !strings.Contains(stderr, "raise it to 5") {
		t.Errorf("exit %d %s", code, stderr)
	}
	code, stdout, stderr = runIn(t.Context(), func(e *program.Env) {
		write(t, mine, strings.NewReplacer("version: 3", "version: 5", "Be short.", "Be brief.").Replace(text))
		write(t, theirs, strings.NewReplacer("version: 3", "version: 4", "Be short.", "Be terse.", "max_body: 512KiB", "max_body: 1KiB").Replace(text))
		e.Args, e.Now, e.HTTP = []string{"apply", mine, "--json", "--target", s.URL()}, time.Now, overtaking(theirs)
	})
	var again control.Application
	if err := json.Unmarshal([]byte(stdout), &again); err != nil || code != 4 || again.Kind != "plan" || len(again.Changes) != 2 || !strings.Contains(stderr, `"exit":4`) {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

// The versions of who was faster stand there a moment before they are live, and refuse what was sound when it was shown.
func TestWhoIsRefusedForVersionsOfTheFasterOneGets4(t *testing.T) {
	const faults = `{"type":"urn:engang:problem:refused-configuration","title":"Configuration refused","status":422,"faults":[{"at":"/recipes/card/version","reason":"version 2 was applied with other content","remedy":"raise it to 3"}]}`
	file := filepath.Join(t.TempDir(), "shop.yaml")
	write(t, file, shop(t))
	plan := control.Application{Kind: "plan", Tenant: "agency", Environment: "test", Revision: 1, Changes: []config.Change{{Kind: "recipe", Name: "card", From: 1, To: 2}}}
	for name, again := range map[string]any{"refused again": refusal{422, faults}, "live by now": plan} {
		for _, flags := range [][]string{nil, {"--json"}} {
			api := serveCanned(t)
			api.answer["/api/plan"], api.answer["/api/config"] = inTurn(plan, again), refusal{422, faults}
			code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
				e.Args, e.Now = append([]string{"apply", file, "--no-secrets", "--target", api.url}, flags...), time.Now
			})
			if code != 4 || flags == nil && !strings.Contains(stderr, "meanwhile") || flags != nil && !json.Valid([]byte(stderr[strings.Index(stderr, "{"):])) || name == "refused again" && !strings.Contains(stderr, "raise it to 3") {
				t.Errorf("%s %v: exit %d %s%s", name, flags, code, stdout, stderr)
			}
		}
	}
}

func TestAModelChangeIsMeantOrRefused(t *testing.T) {
	t.Parallel()
	s, file, text := agency(t)
	write(t, file, strings.NewReplacer("    version: 3", "    version: 4", "gpt-5.4-mini-2026-03-17", "gpt-6-mini-2026-10-01").Replace(text))
	if code, _, stderr := live(t, s, "apply", file); code != 2 || !strings.Contains(stderr, "--allow-model-change") {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, stdout, stderr := live(t, s, "apply", file, "--allow-model-change"); code != 0 || !strings.Contains(stdout, `"gpt-5.4-mini-2026-03-17" -> "gpt-6-mini-2026-10-01"`) {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}

func TestWhatIsAllowedAndWorthALookIsAWarning(t *testing.T) {
	t.Parallel()
	s, file, text := agency(t)
	if err := s.PutSecret(t.Context(), "ssm:hooks/agency-pay/1", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); err != nil { // everybody knows it: a test may
		t.Fatal(err)
	}
	write(t, file, strings.NewReplacer("event_days: 30", "event_days: 90", "2026-11-29}", "2026-01-01}", "summary: {type: string}", "summary: {type: string, enum: [Nordlys Kaffe, none]}", "version: 3", "version: 4").Replace(text))
	code, _, stderr := live(t, s, "apply", file)
	if golden(t, "apply-warnings", strings.ReplaceAll(stderr, file, "shop.yaml")); code != 0 {
		t.Errorf("exit %d %s", code, stderr)
	}
}

func TestApplyReachesEveryExitCode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	write(t, file, shop(t))
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"AccessDeniedException","message":"no"}`)
	}))
	defer denied.Close()
	problem := func(status int, more string) refusal {
		return refusal{status, `{"type":"urn:engang:problem:x","title":"Title","status":0,"detail":"What to do."` + more + `}`}
	}
	empty := control.Application{Kind: "plan", Changes: []config.Change{}}
	for _, c := range []struct {
		name   string
		path   string
		answer any
		args   []string
		code   int
		says   string
	}{
		{"no file", "", nil, []string{"apply"}, 2, "say which files"},
		{"a file that is not there", "", nil, []string{"apply", "nowhere.yaml"}, 2, "nowhere.yaml"},
		{"another tenant than the file's", "", nil, []string{"apply", file, "--tenant", "other"}, 2, "the files say agency"},
		{"nothing to do", "/api/plan", empty, []string{"apply", file, "--no-secrets"}, 0, "not checked"},
		{"refused by the stack", "/api/plan", problem(422, `,"faults":[{"at":"/recipes/card","reason":"why","remedy":"what"}]`), []string{"apply", file, "--no-secrets"}, 2, file + ":26: /recipes/card: why; what"},
		{"an old stack", "/api/plan", problem(404, ""), []string{"apply", file}, 3, "Title"},
		{"not allowed to plan", "/api/plan", problem(403, ""), []string{"apply", file}, 5, "Title"},
		{"not allowed to read secrets", "/local/aws", client.Engine{Endpoint: denied.URL, Region: "eu-north-1", SecretPath: "/x"}, []string{"apply", file}, 5, "--no-secrets"},
		{"a fault of theirs", "/api/plan", problem(500, ""), []string{"apply", file}, 1, "Title"},
		{"no answer", "/api/plan", problem(503, ""), []string{"apply", file}, 6, "Title"},
		{"an argument too many", "", nil, []string{"config", "x"}, 2, "takes no argument"},
		{"nothing is live", "/api/config", problem(404, ""), []string{"config"}, 3, "Title"},
	} {
		api := serveCanned(t)
		api.answer["/api/plan"] = empty
		if c.path != "" {
			api.answer[c.path] = c.answer
		}
		code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", api.url)...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, want %d: %s%s", c.name, code, c.code, stdout, stderr)
		}
		code, stdout, stderr = run(t, t.Context(), append(c.args, "--json", "--target", api.url)...)
		var p struct {
			Type, Title string
			Exit        int
			Faults      []struct{ File string }
		}
		if code == 0 {
			continue
		}
		if err := json.Unmarshal([]byte(stderr[strings.Index(stderr, "{"):]), &p); err != nil || p.Exit != c.code || p.Title == "" || stdout != "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %s", c.name, code, stdout, stderr)
		}
		if strings.Contains(c.name, "refused") && (len(p.Faults) != 1 || p.Faults[0].File != file) {
			t.Errorf("%s: %s", c.name, stderr)
		}
	}
}

// On a stack the first line says which; a person sees the differences before the question.
func TestApplyingToAStackIsAnnouncedAndConfirmed(t *testing.T) {
	api, _ := deployed(t)
	api.answer["/api/plan"] = control.Application{Kind: "plan", Tenant: "agency", Environment: "test", Changes: []config.Change{{Kind: "endpoint", Name: "agency-pay", To: 1}}}
	api.answer["/api/config"] = control.Application{Kind: "applied", Revision: 1}
	file := filepath.Join(t.TempDir(), "shop.yaml")
	write(t, file, shop(t))
	args := []string{"apply", file, "--no-secrets", "--target", "my-stack"}
	const first = "stack my-stack, account 123456789012, region eu-north-1\n"
	for _, c := range []struct {
		name    string
		args    []string
		confirm func(context.Context, string) bool
		code    int
	}{
		{"in a script without --yes", args, nil, 2},
		{"a person says no", args, func(context.Context, string) bool { return false }, 2},
		{"a person says yes", args, func(context.Context, string) bool { return true }, 0},
		{"with --yes", append(args, "--yes"), nil, 0},
	} {
		before := len(api.bodies)
		code, stdout, stderr := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now, e.Confirm = c.args, time.Now, c.confirm })
		if code != c.code || !strings.HasPrefix(stderr, first) || !strings.Contains(stdout, "+  endpoint  agency-pay  1") {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
		sent := 0
		for _, body := range api.bodies[before:] {
			if strings.Contains(body, `"revision":0`) {
				sent++
			}
		}
		if want := 1 - c.code/2; sent != want {
			t.Errorf("%s: applied %d times, want %d", c.name, sent, want)
		}
	}
	code, _, stderr := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now = append(args, "--check"), time.Now })
	if code != 7 || strings.Contains(stderr, "account") {
		t.Errorf("a check writes nothing, and asks nothing: exit %d %s", code, stderr)
	}
}

// On a stack the provider is asked whether it knows the models, with the key that the stack has.
func TestModelsOfAStackAreLookedUp(t *testing.T) {
	api, _ := deployed(t)
	api.answer["/api/plan"] = control.Application{Kind: "plan", Changes: []config.Change{}}
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-of-the-test-0123456789" {
			t.Errorf("asked with %q", r.Header.Get("Authorization"))
		}
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":"model_not_found"}}`)
	}))
	defer models.Close()
	api.answer["/api/endpoints"] = refusal{404, `{"type":"urn:engang:problem:not-configured","title":"Not configured","status":404}`}
	for name, secret := range map[string]string{"hooks/agency-shop/1": "agency-shop-secret-of-the-test", "hooks/agency-pay/1": soundPay, "models/openai": "sk-of-the-test-0123456789"} {
		provider := map[string]string{"hooks/agency-shop/1": "woocommerce", "hooks/agency-pay/1": "stripe"}[name]
		if code, _, stderr := given(t, secret, "secret", "set", name, "--provider", provider, "--target", "my-stack", "--yes"); code != 0 {
			t.Fatal(stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "shop.yaml")
	write(t, file, strings.Replace(shop(t), "    store: false", "    base_url: https://models.example.com/v1", 1))
	code, _, stderr := runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"apply", file, "--check", "--target", "my-stack"}, time.Now
		e.HTTP = &http.Client{Transport: standIn{"models.example.com", models.URL}}
	})
	if code != 2 || !strings.Contains(stderr, "/recipes/card/model/name: the provider does not know the model") {
		t.Errorf("exit %d %s", code, stderr)
	}
}

// A standIn answers for a host.
type standIn struct{ host, by string }

// RoundTrip sends what is for the host to who stands in for it.
func (s standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.host {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, _ = strings.Cut(s.by, "://")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestWhereNoFileIsNothingIsApplied(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, says string }{{dir, "no file that ends in .yaml or .yml"}, {filepath.Join(dir, "none"), "no such file"}, {filepath.Join(dir, strings.Repeat("a", 300)), "file name too long"}, {os.DevNull, "no regular file"}} {
		if code, stdout, stderr := run(t, t.Context(), "apply", c.path); code != 2 || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("%s: exit %d %s%s", c.path, code, stdout, stderr)
		}
	}
}

// A schema is stored to the byte as it is sent: else what the local system applied on save, and what this
// program applies, would be two contents of one version.
func TestApplyAndSaveStoreTheSame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "local.yaml")
	raw, err := os.ReadFile("../../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(raw), "summary: {type: string}", `summary: {type: string, description: "<b> & more"}`, 1))
	s := localtest.Start(t, local.Options{Manual: true, ConfigFiles: []string{path}})
	if code, stdout, stderr := live(t, s, "apply", path, "--check"); code != 0 {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}
