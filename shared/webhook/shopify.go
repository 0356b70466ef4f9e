package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// shopifyPrefix is before the names of webhooks' headers; those of Events have the same names without it.
const shopifyPrefix = "X-"

const (
	shopifySum       = "Shopify-Hmac-Sha256"
	shopifyTopic     = "Shopify-Topic"
	shopifyShop      = "Shopify-Shop-Domain"
	shopifyWebhookID = "Shopify-Webhook-Id"
	shopifyEventID   = "Shopify-Event-Id"
)

// shopify signs the body alone, with one secret for all shops of an app. Three kinds of delivery come:
// webhooks, whose topic and shop are unsigned headers; Events, which say topic and action in the body;
// and actions of Flow, which have no header but the signature and an id of their own.
var shopify = Scheme{
	name: "shopify",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:  32,
		form: "the client secret of the app",
		not: []otherSecret{
			{"shpat_", "an access token of the Admin API"}, {"shpca_", "an access token of a custom app"},
			{"shpua_", "an access token of a user"}, {"shppa_", "an access token of a private app"},
		},
	},
	proof:    func(r Request) (proof, error) { return bareBase64(shopifyHeader(r, shopifySum))(r) },
	messages: bodyAlone,
	source:   shopifySource,
	seal: func(r *Request, k key, now time.Time) {
		sealBase64(shopifyHeader(*r, shopifySum))(r, k, now)
		if name := shopifyHeader(*r, shopifyTopic); r.Header.Get(name) != "" {
			sum := sha256.Sum256(append([]byte(now.UTC().Format(time.RFC3339Nano)), r.Body...))
			missing(r.Header, shopifyHeader(*r, shopifyWebhookID), hex.EncodeToString(sum[:16]))
		}
	},
	eventType:   shopifyType,
	eventKey:    shopifyKey,
	digest:      rawDigest,
	deliveryID:  func(r reading) string { return header(shopifyHeader(r.Request, shopifyWebhookID))(r) },
	senderID:    first(at("/action_run_id"), func(r reading) string { return header(shopifyHeader(r.Request, shopifyEventID))(r) }),
	environment: shopifyEnvironment,
	kind:        shopifyKind,
	idText:      shopifyID,
	version:     pointerTo("/updated_at"),
	worldwide:   true,
	misfit:      shopifyMisfit,
}

// shopifyHeader is the name of a header as this delivery has them all.
func shopifyHeader(r Request, name string) string {
	events := len(r.Header.Values(shopifySum)) + len(r.Header.Values(shopifyTopic))
	if len(r.Header.Values(shopifyPrefix+shopifySum)) > 0 || events == 0 {
		return shopifyPrefix + name
	}
	return name
}

// shopifySource is the shop's domain. Where a body says it, and is signed, it counts as well: a header
// could be added to a delivery of Flow.
func shopifySource(r Request, document func() any) string {
	name, said := shopifyHeader(r, shopifyShop), ""
	if len(r.Header.Values(name)) > 0 {
		if said = header(name)(reading{Request: r}); said == "" {
			return ""
		}
	}
	if !bytes.Contains(r.Body, []byte("shop")) {
		return said
	}
	inside := first(at("/shopify_domain"), at("/shop_domain"), at("/myshopify_domain"))(reading{doc: document()})
	if said != "" && inside != "" && said != inside {
		return ""
	}
	return first(func(reading) string { return said }, func(reading) string { return inside })(reading{})
}

// shopifyThin tells whether a body is one of Events. The body decides, since it is signed: by its headers
// alone a captured webhook could be made one of Events, and have another key.
func shopifyThin(r reading) bool {
	body, _ := r.doc.(map[string]any)
	_, data := body["data"].(map[string]any)
	return data && at("/topic")(r) != "" && at("/action")(r) != ""
}

// shopifyType is the topic; of Events topic and action as the signed body says them; of Flow "flow/" and
// the action's handle.
func shopifyType(r reading) string {
	switch {
	case at("/action_run_id")(r) != "":
		return joined("flow/", at("/handle")(r))
	case shopifyThin(r):
		return at("/topic")(r) + "/" + at("/action")(r)
	}
	return header(shopifyPrefix + shopifyTopic)(r)
}

// joined puts a text behind another, if there is one.
func joined(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// shopifyKey is the run of a Flow action, which is signed, or else the topic and the body. The body of
// Events is thin, the same for every change of a product: the unsigned delivery id has to tell two
// changes apart. Who sends a captured one again under another id asks for a look at an object that has not changed.
func shopifyKey(r reading) string {
	if run := at("/action_run_id")(r); run != "" {
		if !printable(run) {
			return ""
		}
		return "flow#" + run
	}
	if shopifyThin(r) {
		id := header(shopifyHeader(r.Request, shopifyWebhookID))(r)
		return r.typ + "#" + rawDigest(r) + "#" + bounded(id)
	}
	return typeAndBody(r)
}

// shopifyEnvironment knows an order that was placed to try the shop. A test shop does not say that it is one.
func shopifyEnvironment(r reading) string {
	if strings.HasPrefix(r.typ, "orders/") && testing("/test")(r) == Test {
		return Test
	}
	return ""
}

// shopifyGID is the one global id of what a delivery is about: "gid://shopify/Product/9554194432293".
func shopifyGID(r reading) string {
	body, _ := r.doc.(map[string]any)
	if gid := at("/admin_graphql_api_id")(r); gid != "" {
		return gid
	}
	var found []string
	for _, place := range []string{"properties", "data"} {
		members, _ := body[place].(map[string]any)
		for _, value := range members {
			if member, ok := value.(map[string]any); ok && place == "data" {
				value = member["id"]
			}
			if text, ok := value.(string); ok && strings.HasPrefix(text, "gid://shopify/") {
				found = append(found, text)
			}
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return ""
	}
	return found[0]
}

// splitGID is type and id of a global id.
func splitGID(gid string) (kind, id string) {
	rest, ok := strings.CutPrefix(gid, "gid://shopify/")
	if kind, id, _ = strings.Cut(rest, "/"); !ok || id == "" {
		return "", ""
	}
	return snake(kind), id
}

// snake is "draft_order" of "DraftOrder".
func snake(text string) string {
	var b strings.Builder
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// shopifyKind is "product", by whichever way the product is reported.
func shopifyKind(r reading) string {
	if kind, _ := splitGID(shopifyGID(r)); kind != "" {
		return kind
	}
	resource, _, found := strings.Cut(r.typ, "/")
	switch {
	case !found || strings.HasPrefix(r.typ, "flow/"):
		return ""
	case resource == "app":
		return "shop"
	case strings.HasSuffix(resource, "ies"):
		return strings.TrimSuffix(resource, "ies") + "y"
	}
	return snake(strings.TrimSuffix(resource, "s"))
}

// shopifyID is the number, without which a webhook and a Flow action would be about two objects.
func shopifyID(r reading) string {
	if _, id := splitGID(shopifyGID(r)); id != "" {
		return id
	}
	return wholeID(scalar("/id"))(r)
}

// shopifyResources are those whose objects come under no other topic.
var shopifyResources = map[string]string{
	"product": "products", "order": "orders", "customer": "customers", "collection": "collections",
	"draft_order": "draft_orders", "inventory_item": "inventory_items", "inventory_level": "inventory_levels",
	"fulfillment": "fulfillments", "refund": "refunds", "location": "locations",
}

// shopifyMisfit compares the topic of a webhook, which is not signed, with what the body is.
func shopifyMisfit(r reading) string {
	gid := at("/admin_graphql_api_id")(r)
	if gid == "" || shopifyThin(r) {
		return ""
	}
	kind, _ := splitGID(gid)
	resource, _, _ := strings.Cut(r.typ, "/")
	theirs := shopifyResources[kind]
	ours := ""
	for k, name := range shopifyResources {
		if name == resource {
			ours = k
		}
	}
	if theirs != "" && theirs != resource || ours != "" && ours != kind {
		return "the topic, which is not signed, does not fit the body"
	}
	return ""
}
