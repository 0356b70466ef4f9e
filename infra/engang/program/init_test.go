package program_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engang/infra/local"
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
	s := system(t, local.Options{NoThrottle: true})
	dir := t.TempDir()
	for _, provider := range webhook.Names() {
		code, stdout, stderr := live(t, s, "init", provider, "--dir", dir, "--name", "first-"+provider, "--json")
		var doc started
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
			t.Fatalf("%s: exit %d %s%s", provider, code, stdout, stderr)
		}
		for i, line := range doc.Next {
			var input string
			if before, command, piped := strings.Cut(line, " | "); piped {
				input, line = strings.Trim(strings.TrimPrefix(before, "printf %s "), "'"), command
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
		row, _ := webhook.Lookup(c.args[1])
		if err := row.CheckSecret(secrets.NewValue(secret)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
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
