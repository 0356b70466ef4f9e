package program_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

type started struct {
	File, Provider, Endpoint, Recipe, Secret string
	Next                                     []string
}

// For every provider: a file, a secret, applied, delivered, settled; and the same again is a duplicate.
func TestAFirstConfigurationOfEveryProviderTakesItsSample(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{NoThrottle: true})
	dir := t.TempDir()
	for _, provider := range webhook.Names() {
		code, stdout, stderr := live(t, s, "init", provider, "--dir", dir, "--name", "first-"+provider, "--json")
		var doc started
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
			t.Fatalf("%s: exit %d %s%s", provider, code, stdout, stderr)
		}
		for i, line := range doc.Next {
			var input string
			if strings.HasPrefix(line, "engang secret set ") { // it asks for the secret, or reads it
				input = doc.Secret + "\n"
			}
			if strings.Contains(line, doc.Secret) {
				t.Errorf("%s: the secret stands in a command", provider)
			}
			args := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, "engang "), " --target "+s.URL(), ""))
			code, stdout, stderr := nextCommand(t, s, input, args)
			if code != 0 || i == 2 && !strings.Contains(stdout, "settled") {
				t.Fatalf("%s: %v: exit %d %s%s", provider, args, code, stdout, stderr)
			}
			if i < 2 {
				continue
			}
			if code, stdout, stderr := nextCommand(t, s, "", args); code != 0 || !strings.Contains(stdout, "duplicate") {
				t.Errorf("%s again: exit %d %s%s", provider, code, stdout, stderr)
			}
		}
	}
}

func nextCommand(t *testing.T, s *local.System, input string, args []string) (int, string, string) {
	t.Helper()
	if input != "" {
		return given(t, input, append(args, "--target", s.URL())...)
	}
	return live(t, s, args...)
}

func TestInitSaysWhatComesNext(t *testing.T) {
	golden := goldenFolder(t)
	t.Chdir(t.TempDir())
	hide := func(text, secret string) string { return strings.ReplaceAll(text, secret, "SECRET") }
	for _, c := range []struct {
		name   string
		args   []string
		secret string // what it looks like
	}{
		{"init", []string{"init", "stripe"}, `whsec_[0-9a-f]{64}`},
		{"init-chosen", []string{"init", "woocommerce", "--dir", "config", "--name", "shop", "--tenant", "agency", "--environment", "production"}, `[0-9a-f]{40}`},
		{"init-json", []string{"init", "standard-webhooks", "--json"}, `whsec_[A-Za-z0-9+/]{43}=`},
	} {
		code, stdout, stderr := run(t, t.Context(), c.args...)
		secret := regexp.MustCompile(c.secret).FindString(stdout)
		if code != 0 || stderr != "" || secret == "" {
			t.Fatalf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
		golden(c.name, hide(stdout, secret))
		_, commands, _ := strings.Cut(stdout, "Next; ")
		if alone := "\n  " + secret + "\n"; strings.Count(stdout, secret) != 1 || c.name != "init-json" && (!strings.Contains(stdout, alone) || commands == "") {
			t.Errorf("%s: the secret is not shown once, on a line of its own: %s", c.name, stdout)
		}
		row, _ := webhook.Lookup(c.args[1])
		if err := row.CheckSecret(secrets.NewValue(secret)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if code, stdout, stderr := run(t, t.Context(), "init", "--help"); code != 0 || !strings.Contains(stdout, "to the prompt of secret set") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	raw, err := os.ReadFile(filepath.Join("config", "shop.yaml"))
	if err != nil || !strings.Contains(string(raw), "tenant: agency ") || !strings.Contains(string(raw), "environment: production ") {
		t.Errorf("%v %s", err, raw)
	}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no provider", []string{"init"}, "woocommerce"},
		{"an unknown provider", []string{"init", "magento"}, "no such provider: there are calendly"},
		{"a name with a slash", []string{"init", "stripe", "--name", "a/b"}, "not a name"},
		{"a file that is there", []string{"init", "stripe"}, "stripe.yaml is there already"},
		{"a folder that is a file", []string{"init", "stripe", "--dir", "stripe.yaml"}, "--dir"},
	} {
		if code, stdout, stderr := run(t, t.Context(), c.args...); code != 2 || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
	}
}

// whose are the flags that a suggested command keeps of those that were given.
var whose = regexp.MustCompile(` --(tenant|environment) [a-z]+`)

// A second file in a folder is of the same tenant and environment, and is applied with the first.
func TestASecondFileJoinsTheFirst(t *testing.T) {
	const other = "version: 1\ntenant: other\nenvironment: production\n"
	for _, c := range []struct {
		name   string
		beside map[string]string
		args   []string
		whose  string // the tenant and environment of the new file; empty: refused
		says   string // the apply line, or the refusal
	}{
		{"an empty folder", nil, nil, "github test", "engang apply github.yaml\n"},
		{"a folder that is named", nil, []string{"--dir", "con fig"}, "github test", "engang apply 'con fig/github.yaml'\n"},
		{"a first file", map[string]string{"stripe.yaml": ""}, nil, "agency production", "engang apply .\n"},
		{"a first file in a folder", map[string]string{"conf/stripe.yml": ""}, []string{"--dir", "conf/"}, "agency production", "engang apply conf\n"},
		{"a first file, of this tenant", map[string]string{"stripe.yaml": ""}, []string{"--tenant", "agency"}, "agency production", "engang apply .\n"},
		{"a first file, of another tenant", map[string]string{"stripe.yaml": ""}, []string{"--tenant", "new"}, "new test", "engang apply github.yaml\n"},
		{"two tenants, and said which", map[string]string{"stripe.yaml": "", "other.yaml": other}, []string{"--tenant", "agency"}, "agency production", "engang apply stripe.yaml github.yaml\n"},
		{"two tenants", map[string]string{"stripe.yaml": "", "other.yaml": other}, nil, "", "more than one tenant or environment (agency, other, production)"},
		{"two environments", map[string]string{"stripe.yaml": "", "other.yaml": strings.Replace(other, "other", "agency", 1) + "---\n", "try.yaml": "tenant: agency\nenvironment: test\n"}, nil, "", "(agency, production, test): say --tenant and --environment"},
		{"a file of another program", map[string]string{"stripe.yaml": "", "compose.yaml": "services: {a: {environment: [x]}}\n"}, nil, "agency production", "engang apply stripe.yaml github.yaml\n"},
		{"a part without a head", map[string]string{"stripe.yaml": "", "more.yaml": "recipes: {}\n"}, nil, "agency production", "engang apply .\n"},
		{"a file that cannot be read", map[string]string{"stripe.yaml": "", "bad.yaml": "tenant: agency\ndata: [\n"}, nil, "", "bad.yaml"},
		{"a file that cannot be read, and all is said", map[string]string{"stripe.yaml": "", "bad.yaml": "tenant: agency\ndata: [\n"}, []string{"--tenant", "agency", "--environment", "production"}, "agency production", "engang apply stripe.yaml github.yaml\n"},
		{"a file that names nobody", map[string]string{"bad.yaml": "tenant: 12\n"}, nil, "", "bad.yaml:1: /tenant"},
	} {
		t.Chdir(t.TempDir())
		for name, text := range c.beside {
			if text == "" {
				_, _, _ = run(t, t.Context(), "init", "stripe", "--dir", "first", "--tenant", "agency", "--environment", "production")
				raw, err := os.ReadFile("first/stripe.yaml")
				if err != nil {
					t.Fatal(err)
				}
				text = string(raw)
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, name, text)
		}
		code, stdout, stderr := run(t, t.Context(), append([]string{"init", "github"}, c.args...)...)
		if c.whose == "" {
			if code != 2 || stdout != "" || !strings.Contains(stderr, c.says) {
				t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
			}
			continue
		}
		file, _, _ := strings.Cut(stdout, ": endpoint")
		raw, err := os.ReadFile(file)
		tenant, environment, _ := strings.Cut(c.whose, " ")
		if err != nil || code != 0 || !strings.Contains(whose.ReplaceAllString(stdout, ""), c.says) || !strings.Contains(string(raw), "tenant: "+tenant+" ") || !strings.Contains(string(raw), "environment: "+environment+" ") {
			t.Errorf("%s: exit %d, %v: %s%s%.300s", c.name, code, err, stdout, stderr, raw)
		}
	}
}

// What the second one says next works, also once somebody has changed what both share.
func TestTwoFilesOfOneFolderAreAppliedTogether(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	dir := t.TempDir()
	for _, provider := range []string{"stripe", "github"} {
		code, stdout, stderr := live(t, s, "init", provider, "--dir", dir, "--json")
		var doc started
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
			t.Fatalf("%s: exit %d %s%s", provider, code, stdout, stderr)
		}
		if provider == "stripe" {
			raw, err := os.ReadFile(doc.File)
			if err != nil {
				t.Fatal(err)
			}
			write(t, doc.File, strings.NewReplacer("event_days: 30", "event_days: 7", "input: 0.40", "input: 0.50").Replace(string(raw)))
		}
		for i, line := range doc.Next[:2] {
			args := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, "engang "), " --target "+s.URL(), ""))
			if code, stdout, stderr := nextCommand(t, s, []string{doc.Secret, ""}[i], args); code != 0 {
				t.Fatalf("%v: exit %d %s%s", args, code, stdout, stderr)
			}
		}
	}
	if code, stdout, stderr := live(t, s, "config", "--tenant", "stripe"); code != 0 || !strings.Contains(stdout, "github") || !strings.Contains(stdout, "7 days") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
}
