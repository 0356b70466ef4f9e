package webhook

const (
	wordPressSum    = "X-Wp-Webhook-Signature"
	wordPressSource = "X-Wp-Webhook-Source"
)

// wordPress is the plugin "WP Webhooks", which signs the body alone, and only with a secret of the trigger.
// Nothing says what has happened, so the endpoint does. Of a form the plugin signs what it was made from,
// which nobody can know: such a delivery has to be refused, and JSON be chosen there. The plugin waits for
// no answer.
var wordPress = Scheme{
	name:     "wordpress",
	key:      func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms:    secretTerms{form: "at least 16 characters that you chose for the trigger", not: []otherSecret{{"https://", "an address"}}},
	proof:    bareBase64(wordPressSum),
	messages: bodyAlone,
	source:   sourceIn(wordPressSource),
	seal:     sealBase64(wordPressSum),
	eventKey: typeAndBody,
	digest:   rawDigest,
	kind:     at("/post/post_type"),
	idText:   first(whole("/post_id"), whole("/post/ID")),
	version:  pointerTo("/post/post_modified_gmt"),
	local:    map[string]string{"/post/post_modified": "/post/post_modified_gmt", "/post/post_date": "/post/post_date_gmt"},
}
