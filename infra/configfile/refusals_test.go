package configfile_test

// A refusal is one change of the base, and a fault that it must have.
type refusal struct {
	name     string
	from, to string
	line     int
	at       string
	reason   string
	faults   int  // more than one only where one mistake breaks two rules
	beyond   bool // a schema cannot say it, or another reader of YAML does not see it
}

const (
	woo  = "/endpoints/woo-shop"
	card = "/recipes/card"
)

var refusals = []refusal{
	// Rows on keys and types.
	{name: "another version of the format", from: "version: 1\n", to: "version: 2\n", line: 1, at: "/version", reason: "not one of"},
	{name: "no tenant", from: "tenant: shop\n", to: "", line: 1, reason: "missing: tenant"},
	{name: "a tenant with a space", from: "tenant: shop", to: "tenant: my shop", line: 2, at: "/tenant", reason: "not of the form"},
	{name: "a tenant that is a number", from: "tenant: shop", to: "tenant: 12", line: 2, at: "/tenant", reason: "a number, where text is meant"},
	{name: "an environment of ours", from: "environment: test", to: "environment: staging", line: 3, at: "/environment", reason: "not one of"},
	{name: "days that are no number", from: "event_days: 7", to: "event_days: seven", line: 4, at: "/data/event_days", reason: "text, where a whole number is meant"},
	{name: "no days at all", from: "event_days: 7", to: "event_days: 0", line: 4, at: "/data/event_days", reason: "out of range"},
	{name: "an unknown key", from: "tenant: shop\n", to: "tenant: shop\ntennant: shop\n", line: 3, reason: `unknown key "tennant"`},
	{name: "an unknown key far down", from: "max: 4000", to: "maximum: 4000", line: 28, at: card + "/input/fields/text", reason: `unknown key "maximum"`},
	{name: "a key in capitals", from: "    policy: auto", to: "    Policy: auto", line: 48, at: card, reason: `unknown key "Policy"`},
	{name: "a key that comes later, of a recipe", from: "    policy: auto", to: "    effects: [write-card]", line: 48, at: card, reason: "effects is not built yet"},
	{name: "a key that comes later, of the file", from: "recipes:\n", to: "effects: {}\nrecipes:\n", line: 22, reason: "effects is not built yet"},
	{name: "a section without a value", from: "data: {event_days: 7, result_days: 70}", to: "data:", line: 4, at: "/data", reason: "no value"},

	// Rows on YAML.
	{name: "a doubled key", from: "tenant: shop\n", to: "tenant: shop\ntenant: shop\n", line: 3, reason: "second time", beyond: true},
	{name: "a doubled key far down", from: "{type: string}\n          about", to: "{type: string, type: string}\n          about", line: 44, reason: "second time", beyond: true},
	{name: "a tab", from: "tenant: shop", to: "tenant:\tshop", line: 2, reason: "a tab", beyond: true},
	{name: "a nul", from: "tenant: shop", to: "tenant: sh\x00op", line: 2, reason: "a control character", beyond: true},
	{name: "a nul as an escape", from: "Be short.", to: "Be short.\n    policy: \"\\0\"\n    x: |", line: 37, reason: "a control character, written as an escape", faults: 4, beyond: true},
	{name: "bytes that are not UTF-8", from: "tenant: shop", to: "tenant: sh\xffop", line: 0, reason: "not UTF-8", beyond: true},
	{name: "an unquoted no", from: `const: "no"`, to: "const: no", line: 29, reason: "unquoted yes, no, on or off", beyond: true},
	{name: "an unquoted Yes in a list", from: "deny: [best]", to: "deny: [Yes]", line: 47, reason: "unquoted yes, no, on or off", beyond: true},
	{name: "an unquoted on as a key", from: "product.deleted: ignore", to: "on: ignore", line: 20, reason: "unquoted yes, no, on or off", beyond: true},
	{name: "a number that is octal for some", from: "event_days: 7", to: "event_days: 007", line: 4, reason: "not plainly decimal", faults: 2, beyond: true},
	{name: "a number with an underscore", from: "max_output_tokens: 1200", to: "max_output_tokens: 1_200", line: 34, reason: "not plainly decimal", faults: 2, beyond: true},
	{name: "a number that is text for some", from: `const: "no"`, to: "const: 1e3", line: 29, reason: "not plainly decimal", beyond: true},
	{name: "infinity", from: `const: "no"`, to: "const: .inf", line: 29, reason: "neither text, number, boolean nor null", beyond: true},
	{name: "a tag", from: "tenant: shop", to: "tenant: !!str shop", line: 2, reason: "a YAML tag", faults: 2, beyond: true},
	{name: "a key that is no text", from: "product.deleted: ignore", to: "1: ignore", line: 20, reason: "a key that is no text", beyond: true},
	{name: "a tag on a key", from: "product.deleted: ignore", to: "!!str product.deleted: ignore", line: 20, reason: "a YAML tag", beyond: true},
	{name: "a key with a question mark", from: "      product.deleted: ignore", to: "      ? product.deleted\n      : ignore", line: 20, reason: "a key with a question mark", beyond: true},
	{name: "a merge key", from: "    policy: auto", to: "    <<: {policy: auto}", line: 48, reason: "a merge key", beyond: true},
	{name: "an alias without anchor", from: "required: [name]", to: "required: *names", line: 30, reason: "no anchor before it", faults: 2, beyond: true},
	{name: "an anchor that holds itself", from: "required: [name]", to: "required: &names [*names]", line: 30, reason: "no anchor before it", faults: 2, beyond: true},
	{name: "a directive", from: "version: 1\ntenant", to: "%YAML 1.1\n---\nversion: 1\ntenant", line: 1, reason: "a YAML directive", beyond: true},
	{name: "no YAML", from: "data: {event_days: 7", to: "data: {event_days: [7", line: 4, reason: "cannot be read as YAML", beyond: true},

	// Rows on providers.
	{name: "a key in place of its reference", from: "api_key: ssm:models/openai", to: "api_key: abc123", line: 7, at: "/providers/openai/api_key", reason: "not of the form"},
	{name: "a key of a known form", from: "api_key: ssm:models/openai", to: "api_key: sk-proj-abcdefghijklmnop", line: 7, reason: "a secret as a value", faults: 2},
	{name: "a reference of the wrong kind", from: "api_key: ssm:models/openai", to: "api_key: ssm:hooks/openai", line: 7, at: "/providers/openai/api_key", reason: "not of the form"},
	{name: "responses that are stored", from: "store: false", to: "store: true", line: 9, at: "/providers/openai/store", reason: "not one of the values that are built"},
	{name: "an address without encryption", from: "https://api.example.com/v1", to: "http://api.example.com/v1", line: 8, at: "/providers/openai/base_url", reason: "without encryption", beyond: true},
	{name: "an address of nobody", from: "https://api.example.com/v1", to: "https:///v1", line: 8, at: "/providers/openai/base_url", reason: "no absolute address", beyond: true},
	{name: "an address with a secret in it", from: "https://api.example.com/v1", to: "https://me:pw@api.example.com/v1", line: 8, at: "/providers/openai/base_url", reason: "a secret in it", beyond: true},
	{name: "an address with a query", from: "https://api.example.com/v1", to: "https://api.example.com/v1?key=1", line: 8, at: "/providers/openai/base_url", reason: "query", beyond: true},
	{name: "an address that is a number", from: "https://api.example.com/v1", to: "https://169.254.169.254/v1", line: 8, at: "/providers/openai/base_url", reason: "an IP address", beyond: true},
	{name: "an address of the machine itself", from: "https://api.example.com/v1", to: "https://localhost:11434/v1", line: 8, at: "/providers/openai/base_url", reason: "the machine itself", beyond: true},
	{name: "a key's reference that leads upwards", from: "ssm:models/openai", to: "ssm:models/../hooks/openai", line: 7, at: "/providers/openai/api_key", reason: "not of the form"},
	{name: "another provider", from: "  openai:\n", to: "  acme:\n", line: 6, at: "/providers", reason: `unknown key "acme"`},
	{name: "a price below nothing", from: "input: 0.40", to: "input: -0.40", line: 11, at: "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17/input", reason: "out of range"},
	{name: "a price that is not exact", from: "input: 0.40", to: "input: 0.1234567", line: 11, at: "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17", reason: "six decimals", faults: 1, beyond: true},
	{name: "a price without a date", from: ", as_of: 2026-11-29", to: "", line: 11, at: "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17", reason: "missing: as_of"},
	{name: "a price of a day that never was", from: "2026-11-29", to: "2026-02-30", line: 11, at: "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17", reason: "no such day", beyond: true},

	// Rows on endpoints.
	{name: "an endpoint name with an @", from: "  woo-shop:\n", to: "  woo@shop:\n", line: 13, at: "/endpoints", reason: "a name", faults: 2},
	{name: "an unknown sender", from: "provider: woocommerce", to: "provider: magento", line: 14, at: woo + "/provider", reason: "not one of"},
	{name: "an address of another endpoint", from: "/hooks/woo-shop\n", to: "/hooks/other\n", line: 15, at: woo + "/public_url", reason: "not the address of this endpoint", beyond: true},
	{name: "a source that no shop sends", from: "https://shop.example.com/", to: "https://shop.example.com", line: 16, at: woo + "/source", reason: "not what WooCommerce calls itself", beyond: true},
	{name: "no secrets", from: "[ssm:hooks/woo-shop/1, ssm:hooks/woo-shop/2]", to: "[]", line: 17, at: woo + "/secrets", reason: "too few"},
	{name: "four secrets", from: "[ssm:hooks/woo-shop/1, ssm:hooks/woo-shop/2]", to: "[ssm:hooks/a/1, ssm:hooks/a/2, ssm:hooks/a/3, ssm:hooks/a/4]", line: 17, at: woo + "/secrets", reason: "too many"},
	{name: "slot 0", from: "ssm:hooks/woo-shop/2]", to: "ssm:hooks/woo-shop/0]", line: 17, at: woo + "/secrets/1", reason: "slots count from 1", beyond: true},
	{name: "a reference that leads upwards", from: "ssm:hooks/woo-shop/2]", to: "ssm:hooks/../x/1]", line: 17, at: woo + "/secrets/1", reason: "not of the form"},
	{name: "one secret twice", from: "ssm:hooks/woo-shop/2]", to: "ssm:hooks/woo-shop/1]", line: 17, at: woo + "/secrets", reason: "the same entry twice"},
	{name: "a secret in place of its reference", from: "ssm:hooks/woo-shop/2]", to: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]", line: 17, reason: "a secret as a value", faults: 2},
	{name: "an event type with a space", from: "product.deleted: ignore", to: "product deleted: ignore", line: 20, at: "/endpoints/*/events", reason: "a name"},
	{name: "an event that is neglected", from: "product.deleted: ignore", to: "product.deleted: neglect", line: 20, at: woo + "/events/product.deleted", reason: "not of the form"},
	{name: "an event without recipes", from: "{recipes: [card], object", to: "{object", line: 19, at: woo + "/events/product.updated", reason: "missing: recipes"},
	{name: "a recipe that is not there", from: "{recipes: [card]", to: "{recipes: [crad]", line: 19, at: woo + "/events/product.updated/recipes/0", reason: "no recipe has this name", beyond: true},
	{name: "an object with a colon in its kind", from: "kind: product", to: "kind: 'a:b'", line: 19, at: woo + "/events/product.updated/object/kind", reason: "not of the form"},
	{name: "an object in many places", from: "id: /id", to: `id: "/ids/*"`, line: 19, at: woo + "/events/product.updated/object/id", reason: "more than one place", beyond: true},
	{name: "a version in many places", from: "version: /date_modified_gmt", to: `version: "/a/*/b"`, line: 19, at: woo + "/events/product.updated/version", reason: "more than one place", beyond: true},
	{name: "a sender whose payloads differ", from: "    max_body: 512KiB\n", to: "    max_body: 512KiB\n  crm: {provider: standard-webhooks, secrets: [\"ssm:hooks/crm/1\"], events: {a: {recipes: [card]}}}\n", line: 22, at: "/endpoints/crm/events/a", reason: "not said what the event is about", beyond: true},
	{name: "a source of a sender that names none", from: "provider: woocommerce", to: "provider: openai", line: 16, at: woo + "/source", reason: "do not say what source", beyond: true},
	{name: "a sender that signs its address", from: "    provider: woocommerce\n    public_url: https://hooks.example.com/hooks/woo-shop\n    source: https://shop.example.com/", to: "    provider: square", line: 13, at: woo, reason: "public_url is missing", beyond: true},
	{name: "an address of a sender without encryption", from: "https://hooks.example.com/hooks", to: "http://hooks.example.com/hooks", line: 15, at: woo + "/public_url", reason: "without encryption", beyond: true},
	{name: "a sender that never says what has happened", from: "    provider: woocommerce\n    public_url: https://hooks.example.com/hooks/woo-shop\n    source: https://shop.example.com/", to: "    provider: ghost", line: 13, at: woo, reason: "nothing in a delivery says", beyond: true},
	{name: "a type with a space", from: "    max_body: 512KiB", to: "    type: a b", line: 21, at: woo + "/type", reason: "not of the form"},
	{name: "a type given twice", from: "    max_body: 512KiB", to: "    type: a\n    type_at: /event", line: 21, at: woo + "/type", reason: "given twice", beyond: true},
	{name: "a type in many places", from: "    max_body: 512KiB", to: "    type_at: \"/a/*\"", line: 21, at: woo + "/type_at", reason: "more than one place", beyond: true},
	{name: "older signatures of a sender that has none", from: "    max_body: 512KiB", to: "    legacy: true", line: 21, at: woo + "/legacy", reason: "no older signature", beyond: true},
	{name: "older signatures, perhaps", from: "    max_body: 512KiB", to: "    legacy: 1", line: 21, at: woo + "/legacy", reason: "a number, where a boolean is meant"},
	{name: "a signature of one's own where there is one", from: "    max_body: 512KiB", to: "    hmac: {header: X-Sum, encoding: hex}", line: 21, at: woo + "/hmac", reason: "its signature is what it is", beyond: true},
	{name: "a signature that is half said", from: "    max_body: 512KiB", to: "    hmac: {header: X-Sum}", line: 21, at: woo + "/hmac", reason: "missing: encoding"},
	{name: "a signature in letters of our own", from: "    max_body: 512KiB", to: "    hmac: {header: X-Sum, encoding: base32}", line: 21, at: woo + "/hmac/encoding", reason: "not one of"},
	{name: "a window without unit", from: "    max_body: 512KiB", to: "    hmac: {header: X-Sum, encoding: hex, time_header: X-Time, window: 300}", line: 21, at: woo + "/hmac/window", reason: "a number, where text is meant"},
	{name: "an unknown part of a signature", from: "    max_body: 512KiB", to: "    hmac: {header: X-Sum, encoding: hex, hash: md5}", line: 21, at: woo + "/hmac", reason: "unknown key \"hash\"", faults: 2},
	{name: "a size without unit", from: "512KiB", to: "512", line: 21, at: woo + "/max_body", reason: "a number, where text is meant"},
	{name: "a size of another kind", from: "512KiB", to: "512KB", line: 21, at: woo + "/max_body", reason: "not of the form"},
	{name: "a size that the front does not let through", from: "512KiB", to: "5MiB", line: 21, at: woo + "/max_body", reason: "larger than 4 MiB", beyond: true},

	// Rows on recipes; what only the recipe itself can tell is tested with it.
	{name: "a recipe name with a slash", from: "  card:\n", to: "  a/b:\n", line: 23, at: "/recipes", reason: "a name", faults: 2},
	{name: "version 0", from: "version: 3", to: "version: 0", line: 24, at: card + "/version", reason: "out of range"},
	{name: "a version with decimals", from: "version: 3", to: "version: 3.0", line: 24, at: card + "/version", reason: "written with decimals", beyond: true},
	{name: "a number far down with decimals", from: "max_output_tokens: 1200", to: "max_output_tokens: 1200.0", line: 34, at: card + "/model/options/max_output_tokens", reason: "written with decimals", beyond: true},
	{name: "the whole body", from: "name: /name", to: `name: ""`, line: 27, at: card + "/input/fields/name", reason: "not of the form"},
	{name: "a slash", from: "name: /name", to: "name: /", line: 27, at: card + "/input/fields/name", reason: "whole body", beyond: true},
	{name: "a form of ours", from: "as: text", to: "as: markdown", line: 28, at: card + "/input/fields/text/as", reason: "not one of"},
	{name: "a required field that is not there", from: "required: [name]", to: "required: [nmae]", line: 30, at: card + "/input/required/0", reason: "no field has this name", beyond: true},
	{name: "the customer's address", from: "name: /name", to: "name: /billing/first_name", line: 27, at: card + "/input/fields/name", reason: "about a person", beyond: true},
	{name: "a model alias", from: "      name: gpt-5.4-mini-2026-03-17", to: "      name: gpt-5.4-mini", line: 33, at: card + "/model/name", reason: "alias", faults: 2, beyond: true},
	{name: "a model without a price", from: "      name: gpt-5.4-mini-2026-03-17", to: "      name: gpt-5.4-2026-03-17", line: 33, at: card + "/model/name", reason: "no price", beyond: true},
	{name: "a mode that comes later", from: "      provider: openai", to: "      provider: openai\n      mode: batch", line: 33, at: card + "/model/mode", reason: "not one of the values that are built"},
	{name: "a timeout without unit", from: "timeout: 75s", to: "timeout: 75", line: 34, at: card + "/model/options/timeout", reason: "a number, where text is meant"},
	{name: "a timeout above the function's room", from: "timeout: 75s", to: "timeout: 2m", line: 34, at: card + "/model/options/timeout", reason: "no room", beyond: true},
	{name: "an open schema", from: "        additionalProperties: false\n", to: "", line: 39, at: card + "/output/schema", reason: "additionalProperties", beyond: true},
	{name: "a keyword that strict mode does not take", from: "summary: {type: string}", to: "summary: {type: string, maxLength: 3}", line: 44, at: card + "/output/schema/properties/summary/maxLength", reason: "does not take the keyword", beyond: true},
	{name: "a check of nothing", from: ", length: [1, 300], deny: [best]", to: "", line: 47, at: card + "/checks/0", reason: "too few"},
	{name: "a check of a place that is not there", from: "path: /summary", to: "path: /sumary", line: 47, at: card + "/checks/0/path", reason: "leads nowhere", beyond: true},
	{name: "a length of one number", from: "[1, 300]", to: "[300]", line: 47, at: card + "/checks/0/length", reason: "too few"},
	{name: "a policy of ours", from: "policy: auto", to: "policy: sometimes", line: 48, at: card + "/policy", reason: "not one of"},
	{name: "a policy without what it looks at", from: "policy: auto", to: "policy: review-on-flag", line: 48, at: card + "/policy", reason: "without a flag", beyond: true},
}
