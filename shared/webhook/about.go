package webhook

import (
	"slices"
	"time"

	"engang/shared/secrets"
)

// An About is a provider in words for people.
type About struct {
	Title string // "WooCommerce"
	Signs string // how it signs: "base64 HMAC-SHA256 of the raw body"
}

// abouts by the provider's name.
var abouts = map[string]About{
	"calendly":          {"Calendly", "hex HMAC-SHA256 of time, dot and raw body"},
	"forgejo":           {"Forgejo", "hex HMAC-SHA256 of the raw JSON, also where it is sent in a form"},
	"generic":           {"a sender of its own kind", "HMAC-SHA256 as the endpoint says"},
	"ghost":             {"Ghost", "hex HMAC-SHA256 of raw body and time"},
	"gitea":             {"Gitea", "hex HMAC-SHA256 of the raw JSON, also where it is sent in a form"},
	"github":            {"GitHub", "hex HMAC-SHA256 of the raw body"},
	"gitlab":            {"GitLab", "a signing token signs as Standard Webhooks does; a secret token is sent as it is"},
	"hubspot":           {"HubSpot", "base64 HMAC-SHA256 of method, address, raw body and time"},
	"intercom":          {"Intercom", "hex HMAC-SHA1 of the raw body"},
	"lemonsqueezy":      {"Lemon Squeezy", "hex HMAC-SHA256 of the raw body"},
	"linear":            {"Linear", "hex HMAC-SHA256 of the raw body, which holds the time"},
	"mailgun":           {"Mailgun", "hex HMAC-SHA256 of time and token, in the body; the event itself is not signed"},
	"openai":            {"OpenAI", "base64 HMAC-SHA256 of id, time and raw body, by the bytes behind whsec_"},
	"paddle":            {"Paddle", "hex HMAC-SHA256 of time, colon and raw body"},
	"paypal":            {"PayPal", "RSA over ids, time and the body's CRC-32, by PayPal's own key"},
	"shopify":           {"Shopify", "base64 HMAC-SHA256 of the raw body, by the app's client secret"},
	"slack":             {"Slack", "hex HMAC-SHA256 of version, time and raw body"},
	"square":            {"Square", "base64 HMAC-SHA256 of address and raw body"},
	"standard-webhooks": {"Standard Webhooks", "base64 HMAC-SHA256 of id, time and raw body, by the bytes behind whsec_"},
	"stripe":            {"Stripe", "hex HMAC-SHA256 of time, dot and raw body, by the whole text of the secret"},
	"svix":              {"Svix", "base64 HMAC-SHA256 of id, time and raw body, by the bytes behind whsec_"},
	"twilio":            {"Twilio", "base64 HMAC-SHA1 of address and fields"},
	"woocommerce":       {"WooCommerce", "base64 HMAC-SHA256 of the raw body"},
	"wordpress":         {"WP Webhooks", "base64 HMAC-SHA256 of the raw body"},
	"zendesk":           {"Zendesk", "base64 HMAC-SHA256 of time and raw body, by the whole text of the secret"},
}

// About describes the provider; where nobody has, by its name.
func (s Scheme) About() About {
	if a, ok := abouts[s.name]; ok {
		return a
	}
	return About{Title: s.name, Signs: "in a way of its own"}
}

// Window is how far a signed time may be off; zero where none is signed.
func (s Scheme) Window() time.Duration { return s.window }

// SignedAt is the time that the signature covers, right or wrong. It tells false where none is signed or
// it cannot be read.
func (s Scheme) SignedAt(req Request) (time.Time, bool) {
	at := s.signedTime(req)
	return at, !at.IsZero()
}

// PublicSecrets are the secrets that everybody knows and that [Scheme.CheckSecret] refuses for it: what
// senders have published, this one's own first.
func (s Scheme) PublicSecrets() []secrets.Value {
	var all []secrets.Value
	for _, text := range slices.Concat(s.terms.public, published) {
		all = append(all, secrets.NewValue(text))
	}
	return all
}
