package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	wooSource     = "X-Wc-Webhook-Source"
	wooTopic      = "X-Wc-Webhook-Topic"
	wooResource   = "X-Wc-Webhook-Resource"
	wooEvent      = "X-Wc-Webhook-Event"
	wooSignature  = "X-Wc-Webhook-Signature"
	wooWebhookID  = "X-Wc-Webhook-Id"
	wooDeliveryID = "X-Wc-Webhook-Delivery-Id"
)

// wooCommerce signs the body alone. Topic, source and delivery id are unsigned headers: the delivery id
// is the same for all deliveries of a webhook within one second, so it is no key. There is no event id.
var wooCommerce = Scheme{
	name:       "woocommerce",
	handshake:  wooPing,
	methods:    []string{http.MethodGet}, // a ping follows redirects, and becomes a GET with the body
	key:        func(secret []byte) (key, bool) { return hmacSHA256("", specialCharsDecode(secret)), true },
	terms:      secretTerms{not: []otherSecret{{"ck_", "a consumer key of the REST interface"}, {"cs_", "a consumer secret of the REST interface"}}},
	proof:      bareBase64(wooSignature),
	messages:   bodyAlone,
	source:     sourceIn(wooSource),
	seal:       wooSeal,
	eventType:  header(wooTopic),
	eventKey:   typeAndBody,
	digest:     rawDigest,
	deliveryID: header(wooDeliveryID),
	kind:       upToFirstDot,
	id:         pointerTo("/id"),
	version:    pointerTo("/date_modified_gmt"),
	local: map[string]string{
		"/date_modified": "/date_modified_gmt", "/date_created": "/date_created_gmt", "/date_paid": "/date_paid_gmt", "/date_completed": "/date_completed_gmt",
		"/date_expires": "/date_expires_gmt", "/date_on_sale_from": "/date_on_sale_from_gmt", "/date_on_sale_to": "/date_on_sale_to_gmt",
	},
	flaw:    wooRESTError,
	misfit:  wooMisfit,
	fetched: func(eventType string) http.Header { return http.Header{wooTopic: {eventType}} },
	changes: []string{"product.updated", "order.updated", "coupon.updated"}, // its list of customers cannot be asked for changes
}

var wooPingBody = pattern(`^webhook_id=[0-9]+$`)

// wooPing knows the ping: no header of WooCommerce, no signature, form content. Anything but 200 would
// make WooCommerce ping again with every delivery.
func wooPing(r Request) (Pong, bool) {
	return Pong{Status: "pong"}, wooPingBody().Match(r.Body)
}

// wooRESTError knows the error of the shop's REST interface, which is signed and sent as if it were the
// object when that is gone or the webhook's user may not read it. A coupon has a code too, and an id.
func wooRESTError(body map[string]any) string {
	_, hasID := body["id"]
	_, hasCode := body["code"].(string)
	data, _ := body["data"].(map[string]any)
	if _, hasStatus := data["status"]; hasID || !hasCode || !hasStatus {
		return ""
	}
	return "the shop sent an error of its REST interface in place of the object: it is gone, or the webhook's user may not read it"
}

// wooMembers are the members that objects of one kind have and those of no other, as the shop's REST interface writes them.
var wooMembers = map[string][]string{
	"product":  {"catalog_visibility", "grouped_products", "price_html", "purchasable", "regular_price", "short_description", "sku", "stock_status", "tax_status"},
	"order":    {"cart_hash", "line_items", "number", "order_key", "payment_method", "prices_include_tax", "shipping_lines", "total"},
	"coupon":   {"discount_type", "email_restrictions", "excluded_product_ids", "individual_use", "usage_count", "usage_limit"},
	"customer": {"avatar_url", "is_paying_customer", "role", "username"},
}

// wooMisfit compares the topic, which is not signed, with what the body is. It must be certain: a body that has nothing
// of what the topic's kind has, and at least two members of another. A deletion has its id alone.
func wooMisfit(r reading) string {
	body, _ := r.doc.(map[string]any)
	kind := upToFirstDot(r)
	if _, known := wooMembers[kind]; !known || has(body, wooMembers[kind]) > 0 {
		return ""
	}
	for _, members := range wooMembers {
		if has(body, members) > 1 {
			return "the topic, which is not signed, does not fit the body"
		}
	}
	return ""
}

// has counts the members that are there.
func has(body map[string]any, names []string) (n int) {
	for _, name := range names {
		if _, ok := body[name]; ok {
			n++
		}
	}
	return n
}

var (
	decimalEntity = pattern(`&#0*(38|39|34|60|62);`)
	hexEntity     = pattern(`&#[xX]0*(27|22|26);`)
	entities      = strings.NewReplacer(
		"&#039;", "'", "&#x27;", "'",
		"&quot;", `"`, "&#034;", `"`, "&#x22;", `"`,
		"&lt;", "<", "&#060;", "<", "&gt;", ">", "&#062;", ">",
		"&amp;", "&", "&#038;", "&", "&#x26;", "&",
	)
)

// specialCharsDecode is WordPress's wp_specialchars_decode with ENT_QUOTES, through which WooCommerce
// puts a secret before it signs: five characters, once, and nothing else of HTML.
func specialCharsDecode(secret []byte) []byte {
	if !bytes.Contains(secret, []byte("&")) {
		return secret
	}
	text := decimalEntity().ReplaceAllString(string(secret), "&#0${1};")
	return []byte(entities.Replace(hexEntity().ReplaceAllString(text, "&#x${1};")))
}

// wooSeal signs as WooCommerce does. Topic and source are the caller's; the delivery id is made as
// there, from webhook id and second, so that two in one second are alike.
func wooSeal(r *Request, k key, now time.Time) {
	if resource, event, ok := strings.Cut(r.Header.Get(wooTopic), "."); ok {
		r.Header.Set(wooResource, resource)
		r.Header.Set(wooEvent, event)
	}
	missing(r.Header, wooWebhookID, "1")
	sum := sha256.Sum256([]byte(r.Header.Get(wooWebhookID) + strconv.FormatInt(now.Unix(), 10)))
	missing(r.Header, wooDeliveryID, hex.EncodeToString(sum[:16]))
	r.Header.Set(wooSignature, base64.StdEncoding.EncodeToString(k.sign(message{r.Body})))
}
