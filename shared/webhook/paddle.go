package webhook

import (
	"strings"
	"time"
)

// paddleHeader lists h1 once for each secret while one rotates.
var paddleHeader = pairs{header: "Paddle-Signature", divider: ";", stamp: "ts", sum: "h1", join: ":"}

// paddle is Paddle Billing; what Paddle Classic signs, p_signature, is another scheme. The event's id stays
// when it is delivered again, to another destination or by hand; the notification's id does not.
var paddle = Scheme{
	name: "paddle",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:  32,
		form: "pdl_ntfset_ and letters and digits",
		not: []otherSecret{
			{"pdl_live_apikey_", "a key of the API"}, {"pdl_sdbx_apikey_", "a key of the sandbox's API"},
			{"live_", "a token for a browser"}, {"test_", "a token for a browser"},
		},
		public: []string{"pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_hKkRiCGyyRhbFwIUuqiTBgI7gnWoV0Gr"},
		reason: func(text string) string {
			if !strings.HasPrefix(text, "pdl_ntfset_") {
				return "it does not begin with pdl_ntfset_"
			}
			return ""
		},
		make: func(random []byte) string { return "pdl_ntfset_" + hexOf(random) },
	},
	proof:       paddleHeader.proof,
	messages:    paddleHeader.messages,
	window:      5 * time.Second, // as Paddle prescribes, although its own Go library keeps no window
	seal:        paddleHeader.seal,
	eventType:   at("/event_type"),
	eventKey:    prefixed("evt_", at("/event_id")),
	digest:      digestWithout("/notification_id"),
	deliveryID:  at("/notification_id"),
	senderID:    prefixed("evt_", at("/event_id")),
	kind:        upToFirstDot,
	id:          pointerTo("/data/id"),
	versionText: first(at("/data/updated_at"), at("/occurred_at")),
	dated:       always,
}
