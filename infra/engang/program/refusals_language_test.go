package program_test

const (
	draftPolicy = "    policy: draft"
	requires    = "      required: [name]"
	shopBody    = "    max_body: 512KiB"
	shopTarget  = "targets:\n  shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/shop}\n"
)

// languageRows are rows of what a recipe may mask, refuse, flag and spend, and of what is fetched.
var languageRows = []refused{
	{name: "1-mask-of-an-unknown-kind", from: "      mask: [email, phone, national_id, card]", to: "      mask: [email, names]"},
	{name: "1-refusal-at-no-pointer", from: requires, to: requires + "\n      refuse_if: {code: \"woocommerce_rest_*\"}"},
	{name: "1-quiet-period-without-unit", from: draftPolicy, to: draftPolicy + "\n    quiet_period: 30"},
	{name: "1-amount-with-a-sign", from: draftPolicy, to: draftPolicy + "\n    limits: {usd_per_day: $5}"},

	{name: "2-key-of-a-target-as-value", from: "recipes:\n", to: "targets:\n  shop: {kind: woocommerce, base_url: https://shop.example.com, key: \"ck_1:cs_1\"}\nrecipes:\n"},
	{name: "2-key-of-a-target-to-nothing", from: "recipes:\n", to: shopTarget + "recipes:\n"},

	{name: "4-example-outside-the-schema", from: draftPolicy, to: draftPolicy + "\n    examples: [{summery: A mug.}]"},
	{name: "4-example-that-a-check-refuses", from: draftPolicy, to: draftPolicy + "\n    examples: [{summary: \"\"}]"},
	{name: "4-sample-that-is-refused", from: requires, to: requires + "\n      refuse_if: {/status: publish}", also: []string{"version: 3", "version: 4"}},
	{name: "4-flag-that-never-matches", from: draftPolicy, to: "    policy: review-on-flag\n    review: {flags: {missing: not_empty}}"},
	{name: "4-review-without-a-flag", from: draftPolicy, to: "    policy: review-on-flag"},
	{name: "4-review-by-a-person", from: draftPolicy, to: draftPolicy + "\n    review: {by: [ola@example.com]}"},

	{name: "5-limit-that-no-call-meets", from: draftPolicy, to: draftPolicy + "\n    limits: {usd_per_event: \"0.0001\", usd_per_day: \"0.0002\"}"},
	{name: "5-limit-over-a-price-of-nothing", from: draftPolicy, to: draftPolicy + "\n    limits: {usd_per_day: 5}", also: []string{"output: 1.60", "output: 0"}},
	{name: "5-limit-of-nothing", from: draftPolicy, to: draftPolicy + "\n    limits: {usd_per_day: \"0\"}"},
	{name: "5-attempts-above-the-queue", from: draftPolicy, to: draftPolicy + "\n    limits: {attempts: 20}"},
	{name: "5-tier-without-price", from: "timeout: 75s}", to: "timeout: 75s, service_tier: priority}"},
	{name: "5-quiet-period-above-a-day", from: draftPolicy, to: draftPolicy + "\n    quiet_period: 48h"},

	{name: "7-target-of-another-kind", from: "recipes:\n", to: "targets: {shop: {kind: http, base_url: https://shop.example.com, key: ssm:targets/shop}}\nrecipes:\n"},
	{name: "7-target-that-is-an-ip-address", from: "recipes:\n", to: "targets: {shop: {kind: woocommerce, base_url: https://169.254.169.254, key: ssm:targets/shop}}\nrecipes:\n"},
	{name: "7-target-that-is-local", from: "recipes:\n", to: "targets: {shop: {kind: woocommerce, base_url: https://localhost, key: ssm:targets/shop}}\nrecipes:\n"},
	{name: "7-target-that-is-private", from: "recipes:\n", to: "targets: {shop: {kind: woocommerce, base_url: https://shop.internal, key: ssm:targets/shop}}\nrecipes:\n"},
	{name: "7-target-without-encryption", from: "recipes:\n", to: "targets: {shop: {kind: woocommerce, base_url: http://shop.example.com, key: ssm:targets/shop}}\nrecipes:\n"},
	{name: "7-catch-up-from-no-target", from: shopBody, to: shopBody + "\n    catch_up: {target: shop, every: 15m}"},
	{name: "7-catch-up-too-often", from: shopBody, to: shopBody + "\n    catch_up: {target: shop, every: 60s}", also: []string{"recipes:\n  card", "targets: {shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/shop}}\nrecipes:\n  card"}},
	{name: "7-catch-up-of-another-sender", from: "    secrets: [ssm:hooks/agency-pay/1]", to: "    secrets: [ssm:hooks/agency-pay/1]\n    catch_up: {target: shop, every: 15m}", also: []string{"recipes:\n  card", "targets: {shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/shop}}\nrecipes:\n  card"}},
	{name: "7-catch-up-from-another-shop", from: shopBody, to: shopBody + "\n    catch_up: {target: shop, every: 15m}", also: []string{"recipes:\n  card", "targets: {shop: {kind: woocommerce, base_url: https://other.example.com, key: ssm:targets/shop}}\nrecipes:\n  card"}},
	{name: "7-silent-after-half-an-hour", from: shopBody, to: shopBody + "\n    silent_after: 30m"},

	{name: "8-review-on-flag-at-first-in-production", from: "environment: test", to: "environment: production", also: []string{"tenant: agency", "tenant: fresh", "policy: draft", "policy: review-on-flag\n    limits: {usd_per_day: 5}\n    review: {flags: {summary: empty}}", "agency-shop", "fresh-shop", "agency-pay", "live-two"}},
}
