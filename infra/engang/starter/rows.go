package starter

// A row is what a first configuration of a provider holds.
type row struct {
	sample   string   // the case that it fits: "stripe/invoice.paid" without the provider
	about    string   // what the note is on
	events   []string // types that run the recipe
	ignored  []string
	rule     string   // beside the recipes: object and version, where the provider's payloads do not say
	lines    []string // more keys of the endpoint
	source   string   // an example; empty: deliveries name none
	fields   []string // of the input
	required string
	secret   string // where the secret is from, or where it goes
	chosen   bool   // the receiver chooses it, and tells the sender
}

const issueSecret = "Settings > Webhooks > Secret of the repository or organization"

// issues is what the hosts of repositories have in common.
func issues(source string) row {
	return row{
		sample: "issues.opened", about: "an issue that was opened", events: []string{"issues.opened", "issues.edited"}, source: source,
		fields:   []string{"title: {from: /issue/title, as: text, max: 300}", "text: {from: /issue/body, as: text, max: 4000}", "state: /issue/state", "repository: /repository/full_name"},
		required: "title", secret: issueSecret, chosen: true,
	}
}

// rows by provider.
var rows = map[string]row{
	"calendly": {
		sample: "invitee.created", about: "a booking", events: []string{"invitee.created", "invitee.canceled"}, source: "https://api.calendly.com/users/AAAAAAAAAAAAAAAA",
		fields: []string{"event: /event", "status: /payload/status", "rescheduled: /payload/rescheduled"}, required: "event",
		secret: "the signing_key of the call that makes the webhook subscription", chosen: true,
	},
	"forgejo": issues("example-org/importer"),
	"generic": {
		sample: "order.created", about: "an order", events: []string{"order.created"}, rule: "object: {kind: order, id: /order/id}, version: /order/updated_at",
		lines: []string{
			"type_at: /event                # where the body says what has happened; or type: for all of this address",
			"hmac: {header: X-Signature, encoding: hex}   # how the sender signs: also prefix, time_header, window",
		},
		fields: []string{"event: /event", "status: /order/status", "total: /order/total", "currency: /order/currency"}, required: "event",
		secret: "the sender's settings", chosen: true,
	},
	"ghost": {
		sample: "post.published", about: "a post that was published", events: []string{"post.published"},
		lines:  []string{"type: post.published           # nothing in a delivery says it: one endpoint for each type"},
		fields: []string{"title: {from: /post/current/title, as: text, max: 300}", "excerpt: {from: /post/current/excerpt, as: text, max: 2000}", "visibility: /post/current/visibility"}, required: "title",
		secret: "Settings > Integrations > the custom integration > the webhook's Secret", chosen: true,
	},
	"gitea":  issues("example-org/importer"),
	"github": issues("example-org/importer"),
	"gitlab": {
		sample: "push", about: "what was pushed", events: []string{"push"}, source: "https://gitlab.example.com",
		fields: []string{"project: /project/path_with_namespace", "branch: /ref", "commits: {from: /commits, pick: [message], max_items: 20}"}, required: "project",
		secret: "Settings > Webhooks > Signing token, which GitLab makes; or Secret token, which you choose",
	},
	"hubspot": {
		sample: "batch", about: "a change of a company", events: []string{"company.propertyChange", "company.creation"}, source: "\"33000001\"",
		fields: []string{"event: /subscriptionType", "property: /propertyName", "value: {from: /propertyValue, as: text, max: 500}"}, required: "event",
		secret: "the client secret of the app",
	},
	"intercom": {
		sample: "company.created", about: "a company", events: []string{"company.created"}, source: "a86dr8yl",
		fields: []string{"event: /topic", "name: {from: /data/item/name, as: text, max: 300}"}, required: "event",
		secret: "Developer Hub > the app > Basic information > Client secret",
	},
	"lemonsqueezy": {
		sample: "subscription_updated", about: "a subscription", events: []string{"subscription_created", "subscription_updated"}, source: "\"2\"",
		fields: []string{"event: /meta/event_name", "status: /data/attributes/status", "since: /data/attributes/created_at"}, required: "event",
		secret: "Settings > Webhooks > Signing secret", chosen: true,
	},
	"linear": {
		sample: "Issue.update", about: "an issue", events: []string{"Issue.create", "Issue.update"}, source: "dc844923-0000-4000-8000-000000000001",
		fields: []string{"action: /action", "title: {from: /data/title, as: text, max: 300}", "priority: /data/priority"}, required: "title",
		secret: "Settings > API > Webhooks > Signing secret",
	},
	"mailgun": {
		sample: "delivered", about: "what became of a message", events: []string{"delivered", "failed"}, source: "mg.example.com",
		fields: []string{"event: /event-data/event", "code: /event-data/delivery-status/code", "answer: {from: /event-data/delivery-status/message, as: text, max: 500}"}, required: "event",
		secret: "Sending > Webhooks > HTTP webhook signing key",
	},
	"openai": {
		sample: "response.completed", about: "a response that a background job has made", events: []string{"response.completed", "response.failed"},
		fields: []string{"event: /type"}, required: "event",
		secret: "the signing secret that is shown once when the webhook endpoint is made",
	},
	"paddle": {
		sample: "subscription.updated", about: "a subscription", events: []string{"subscription.created", "subscription.updated"},
		fields: []string{"event: /event_type", "status: /data/status", "currency: /data/currency_code"}, required: "event",
		secret: "Developer tools > Notifications > the destination's secret key",
	},
	"paypal": {
		sample: "PAYMENT.CAPTURE.COMPLETED", about: "a payment", events: []string{"PAYMENT.CAPTURE.COMPLETED", "PAYMENT.CAPTURE.DENIED"},
		fields: []string{"event: /event_type", "status: /resource/status", "amount: /resource/amount/value", "currency: /resource/amount/currency_code"}, required: "event",
		secret: "the id of the webhook: PayPal signs with a key of its own, and the id keeps deliveries to others apart",
	},
	"shopify": {
		sample: "products/update", about: "a product", events: []string{"products/create", "products/update"}, source: "example-shop.myshopify.com",
		fields: []string{"title: {from: /title, as: text, max: 300}", "text: {from: /body_html, as: text, max: 4000}", "type: /product_type", "tags: /tags"}, required: "title",
		secret: "the client secret of the app",
	},
	"slack": {
		sample: "message", about: "a message", events: []string{"message"}, source: "T0EXAMPLE1",
		fields: []string{"text: {from: /event/text, as: text, max: 4000}", "where: /event/channel_type"}, required: "text",
		secret: "Basic Information > App Credentials > Signing Secret",
	},
	"square": {
		sample: "inventory.count.updated", about: "what is in stock", events: []string{"inventory.count.updated"}, source: "MLEXAMPLE0001",
		fields: []string{"event: /type", "counts: {from: /data/object/inventory_counts, pick: [quantity, state], max_items: 50}"}, required: "counts",
		secret: "Developer Dashboard > Webhooks > the subscription's Signature key",
	},
	"standard-webhooks": {
		sample: "contact.created", about: "a contact", events: []string{"contact.created"}, rule: "object: {kind: contact, id: /data/id}, version: /timestamp",
		fields: []string{"event: /type", "company: {from: /data/company, as: text, max: 200}", "interest: {from: /data/interest, as: text, max: 2000}"}, required: "event",
		secret: "the sender's settings",
	},
	"stripe": {
		sample: "invoice.paid", about: "an invoice", events: []string{"invoice.paid", "invoice.payment_failed"}, source: "acct_1EXAMPLE0000001",
		fields: []string{"event: /type", "status: /data/object/status", "amount: /data/object/amount_paid", "currency: /data/object/currency"}, required: "event",
		secret: "Developers > Webhooks > the endpoint's Signing secret",
	},
	"svix": {
		sample: "invoice.paid", about: "an invoice", events: []string{"invoice.paid"}, rule: "object: {kind: invoice, id: /data/id}, version: /timestamp",
		fields: []string{"event: /type", "status: /data/status", "amount: /data/amount", "currency: /data/currency"}, required: "event",
		secret: "the endpoint's Signing Secret in the sender's portal",
	},
	"twilio": {
		sample: "message.delivered", about: "what became of a message", events: []string{"message.delivered", "message.undelivered", "message.failed"}, source: "AC00000000000000000000000000000001",
		fields: []string{"status: /MessageStatus"}, required: "status",
		secret: "the auth token of the account",
	},
	"woocommerce": {
		sample: "product.updated", about: "a product", events: []string{"product.created", "product.updated"}, ignored: []string{"product.deleted"}, source: "https://shop.example.com/",
		fields: []string{"name: {from: /name, as: text, max: 300}", "text: {from: /description, as: text, max: 4000}", "categories: {from: /categories/*/name, max_items: 20}", "price: /price"}, required: "name",
		secret: "WooCommerce > Settings > Advanced > Webhooks > Secret", chosen: true,
	},
	"wordpress": {
		sample: "post_updated", about: "a post", events: []string{"post_updated"}, source: "https://blog.example.com/",
		lines:  []string{"type: post_updated             # nothing in a delivery says it: one endpoint for each trigger"},
		fields: []string{"title: {from: /post/post_title, as: text, max: 300}", "status: /post/post_status"}, required: "title",
		secret: "WP Webhooks > Send Data > the trigger's signature, over JSON", chosen: true,
	},
	"zendesk": {
		sample: "zen:event-type:ticket.status_changed", about: "a ticket", events: []string{"zen:event-type:ticket.status_changed"}, source: "\"12514403\"",
		fields: []string{"status: /detail/status", "before: /event/previous", "kind: /detail/type"}, required: "status",
		secret: "Admin Center > Apps and integrations > Webhooks > Reveal secret",
	},
}
