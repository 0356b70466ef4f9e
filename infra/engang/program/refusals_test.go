package program_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/config"
	"engang/shared/secrets"
)

// A refused row is one change of testdata/shop.yaml, and what `apply --check` says of it is in a golden
// file of its name. The number is that of the list in the documentation of the configuration.
type refused struct {
	name     string
	from, to string
	also     []string // more that is replaced, everywhere: from, to, from, to
	secret   string   // put under the reference of agency-pay or live-two first; empty: a sound one
}

const (
	soundPay  = "whsec_0123456789abcdef0123456789abcdef"
	twoEvents = "      product.updated: {recipes: [card], object: {kind: product, id: /id}, version: /date_modified_gmt}\n"
)

// liveNames makes names and references of their own of the base, for another environment.
var liveNames = []string{"agency-shop", "live-shop", "agency-pay", "live-two"}

var refusedRows = append([]refused{
	{name: "1-unknown-key", from: "    max_body: 512KiB", to: "    max_bodies: 512KiB"},
	{name: "1-doubled-key", from: "tenant: agency\n", to: "tenant: agency\ntenant: agency\n"},
	{name: "1-wrong-type", from: "event_days: 30", to: "event_days: thirty"},
	{name: "1-anchor-across-documents", from: "recipes:\n", to: "---\nendpoints:\n  third: *first\n---\nrecipes:\n"},
	{name: "1-size-without-unit", from: "max_body: 512KiB", to: "max_body: 512"},
	{name: "1-field-at-no-pointer", from: "        name: /name", to: "        name: name"},
	{name: "1-unquoted-no", from: "as: text", to: "as: no"},
	{name: "1-tab", from: "tenant: agency", to: "tenant:\tagency"},
	{name: "1-nul", from: "tenant: agency", to: "tenant: agen\x00cy"},
	{name: "1-larger-than-1-mib", from: "version: 1\n", to: "version: 1\n#" + strings.Repeat(" ", 1<<20) + "\n"},
	{name: "1-several-at-once", from: "    max_body: 512KiB", to: "    max_body: 8MiB\n    type: a\n    legacy: true\n    effects: [a]"},

	{name: "2-secret-as-value", from: "ssm:hooks/agency-pay/1", to: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
	{name: "2-reference-to-nothing", from: "ssm:hooks/agency-pay/1", to: "ssm:hooks/agency-pay/9"},
	{name: "2-key-of-models-to-nothing", from: "ssm:models/openai", to: "ssm:models/other"},
	{name: "2-empty", from: "", secret: "   "},
	{name: "2-white-space-at-an-end", from: "", secret: soundPay + "\n"},
	{name: "2-known-example", from: "environment: test", to: "environment: production", also: liveNames, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
	{name: "2-too-short", from: "", secret: "whsec_abc123"},
	{name: "2-wrong-kind", from: "", secret: "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/Aa0123456789ab"},
	{name: "2-an-api-key", from: "", secret: "sk_live_0123456789abcdef0123456789abcdef0123"},
	{name: "2-same-secret-in-production", from: "", secret: "whsec_fedcba9876543210fedcba9876543210"},
	{name: "2-secret-of-another-endpoint", from: "ssm:hooks/agency-pay/1", to: "ssm:hooks/live-pay/1"},
	{name: "2-placeholder", from: "", secret: "YOUR_STRIPE_WEBHOOK_SECRET_GOES_HERE"},
	{name: "2-slot-0", from: "ssm:hooks/agency-pay/1", to: "ssm:hooks/agency-pay/0"},
	{name: "2-reference-upwards", from: "ssm:hooks/agency-pay/1", to: "ssm:hooks/../agency-pay/1"},
	{name: "2-key-to-an-ip-address", from: "    store: false", to: "    store: false\n    base_url: https://169.254.169.254/v1"},
	{name: "2-key-to-the-machine-itself", from: "    store: false", to: "    store: false\n    base_url: https://localhost:11434/v1"},
	{name: "2-more-than-three", from: "[ssm:hooks/agency-pay/1]", to: "[ssm:hooks/a/1, ssm:hooks/a/2, ssm:hooks/a/3, ssm:hooks/a/4]"},

	{name: "3-applied-version-with-other-content", from: "Be short.", to: "Be brief."},
	{name: "3-version-that-goes-back", from: "version: 3", to: "version: 2"},
	{name: "3-recipe-in-use-removed", from: "  card:\n    version: 3", to: "  slip:\n    version: 1", also: []string{"[card]", "[]"}},
	{name: "3-name-with-at", from: "  agency-pay:\n", to: "  agency@pay:\n"},
	{name: "3-name-with-space", from: "  agency-pay:\n", to: "  agency pay:\n"},
	{name: "3-name-over-64", from: "  agency-pay:\n", to: "  " + strings.Repeat("a", 65) + ":\n"},

	{name: "4-name-of-another-tenant", from: "  agency-pay:\n", to: "  woo-shop:\n", also: []string{"ssm:hooks/agency-pay/1", "ssm:hooks/woo-shop/1"}},
	{name: "4-two-objects-of-one-event", from: twoEvents, to: twoEvents + strings.Replace(twoEvents, "kind: product, id: /id", "kind: parent, id: /parent_id", 1)},
	{name: "4-schema-outside-the-subset", from: "summary: {type: string}", to: "summary: {type: string, default: none}"},
	{name: "4-schema-that-does-not-compile", from: "summary: {type: string}", to: "summary: {$ref: \"#/$defs/missing\"}"},
	{name: "4-check-that-never-matches", from: "path: /summary", to: "path: /sumary"},
	{name: "4-pointer-that-never-matches", from: "id: /id}", to: "id: /product_id}"},
	{name: "4-field-that-never-matches", from: "name: /name", to: "name: /title"},
	{name: "4-source-that-no-delivery-names", from: "    provider: stripe\n", to: "    provider: openai\n    source: proj_1\n"},
	{name: "4-address-that-is-signed", from: "    provider: stripe\n", to: "    provider: square\n"},
	{name: "4-type-that-nothing-says", from: "    provider: stripe\n", to: "    provider: ghost\n"},
	{name: "4-address-without-encryption", from: "    provider: stripe\n", to: "    provider: stripe\n    public_url: http://hooks.example.com/hooks/agency-pay\n"},

	{name: "5-model-alias", from: "name: gpt-5.4-mini-2026-03-17", to: "name: gpt-5.4-mini"},
	{name: "5-model-without-price", from: "name: gpt-5.4-mini-2026-03-17", to: "name: gpt-5.4-2026-03-17"},
	{name: "5-timeout-above-the-room", from: "timeout: 75s", to: "timeout: 2m"},
	{name: "5-mode-background", from: "      options: {reasoning: low", to: "      mode: background\n      options: {reasoning: low"},
	{name: "5-another-model", from: "    version: 3", to: "    version: 4", also: []string{"gpt-5.4-mini-2026-03-17", "gpt-6-mini-2026-10-01"}},

	{name: "6-whole-body", from: "name: /name", to: "name: /"},
	{name: "6-personal", from: "name: /name", to: "name: /billing/first_name"},
	{name: "6-personal-without-basis", from: "name: /name", to: "name: {from: /billing/first_name, personal: {purpose: p}}"},

	{name: "7-effects-not-built-yet", from: "    policy: draft", to: "    policy: draft\n    effects: [write-card]"},
	{name: "7-auto-in-production-without-a-limit", from: "environment: test", to: "environment: production", also: []string{"tenant: agency", "tenant: fresh", "policy: draft", "policy: auto", "agency-shop", "fresh-shop", "agency-pay", "live-two"}},

	{name: "8-auto-at-first-in-production", from: "environment: test", to: "environment: production", also: []string{"tenant: agency", "tenant: fresh", "policy: draft", "policy: auto\n    limits: {usd_per_day: 5}", "agency-shop", "fresh-shop", "agency-pay", "live-two"}},
}, languageRows...)

// shop is the base of all rows.
func shop(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (r refused) text(t *testing.T, base string) string {
	t.Helper()
	if r.from != "" && strings.Count(base, r.from) != 1 && r.from != "ssm:hooks/agency-pay/1" {
		t.Fatalf("%s: %q stands %d times in the base", r.name, r.from, strings.Count(base, r.from))
	}
	return strings.NewReplacer(r.also...).Replace(strings.Replace(base, r.from, r.to, 1))
}

func TestEveryRefusalIsToldByFileAndLine(t *testing.T) {
	template, err := filepath.Abs("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := localtest.Start(t, local.Options{TemplatePath: template, Manual: true})
	base := shop(t)
	rows := filepath.Join(t.TempDir(), "rows")
	put := func(ref secrets.Ref, value string) {
		t.Helper()
		if err := s.PutSecret(t.Context(), ref, value); err != nil {
			t.Fatal(err)
		}
	}
	put("ssm:hooks/agency-shop/1", "agency-shop-secret-of-the-test")
	put("ssm:hooks/agency-pay/1", soundPay)
	put("ssm:hooks/fresh-shop/1", "fresh-shop-secret-of-the-test")
	put("ssm:hooks/live-shop/1", "live-shop-secret-of-the-test")
	put("ssm:hooks/live-pay/1", "whsec_fedcba9876543210fedcba9876543210")
	if err := os.Mkdir(rows, 0o700); err != nil {
		t.Fatal(err)
	}
	golden := goldenFolder(t)
	t.Chdir(rows)
	production := strings.NewReplacer("environment: test", "environment: production", "agency-shop", "live-shop", "agency-pay", "live-pay").Replace(base)
	for name, text := range map[string]string{"shop.yaml": base, "live.yaml": production} {
		write(t, name, text)
		if code, _, stderr := run(t, t.Context(), "apply", name, "--target", s.URL()); code != 0 {
			t.Fatalf("%s: exit %d %s", name, code, stderr)
		}
	}
	for _, row := range refusedRows {
		put("ssm:hooks/agency-pay/1", soundPay)
		put("ssm:hooks/live-two/1", "whsec_11111111112222222222333333333344")
		if row.secret != "" {
			ref := secrets.Ref("ssm:hooks/agency-pay/1")
			if slices.Contains(row.also, "live-two") {
				ref = "ssm:hooks/live-two/1"
			}
			put(ref, row.secret)
		}
		write(t, "shop.yaml", row.text(t, base))
		code, stdout, stderr := run(t, t.Context(), "apply", "shop.yaml", "--check", "--target", s.URL())
		if code != 2 || stdout != "" {
			t.Errorf("%s: exit %d %s%s", row.name, code, stdout, stderr)
		}
		golden("refusals/"+row.name, stderr)
	}
	// Nothing was applied by any of them.
	for _, environment := range config.Environments {
		if code, stdout, stderr := run(t, t.Context(), "config", "--tenant", "agency", "--environment", environment, "--target", s.URL()); code != 0 || !strings.Contains(stdout, "revision 1 is live") {
			t.Errorf("%s: exit %d %s%s", environment, code, stdout, stderr)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goldenFolder compares with the golden files of this folder, from wherever the test goes.
func goldenFolder(t *testing.T) func(name, got string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return func(name, got string) {
		t.Helper()
		there, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chdir(here); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chdir(there) }()
		golden(t, name, got)
	}
}
