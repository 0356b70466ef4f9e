package webhook_test

import (
	"encoding/base64"
	"strings"
	"time"

	"engang/shared/webhook"
)

var whsecBad = map[string]string{
	"no base64":                          "this is no base64!",
	"base64 of nothing but zeros":        base64.StdEncoding.EncodeToString(make([]byte, 32)),
	"base64 for URLs":                    "whsec_" + base64.URLEncoding.EncodeToString([]byte("\xfb\xff\xfe secret of some bytes")),
	"public key one byte short":          "whpk_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("ab", 31)[:31])),
	"public key cut short":               "whpk_AAAA",
	"public key of zeros":                "whpk_" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	"private key of the wrong length":    "whsk_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("ab", 16))),
	"prefix of another case":             "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"space before the prefix":            " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"a literal secret of another sender": "p&ss word",
}

var whsecUnfit = map[string]string{
	"fewer than 24 bytes":    "whsec_" + base64.StdEncoding.EncodeToString([]byte("twenty-three bytes long")),
	"more than 64 bytes":     "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0123456789", 7))),
	"private half":           "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
	"as a signature does":    "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"in quotation marks":     `"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`,
	"everybody knows it":     "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"whsec_ and the base64 ": "hunter2",
}

// decodedKey is what follows whsec_, or all of it, as bytes.
func decodedKey(secret string) string {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return secret
	}
	return string(raw)
}

// standardSum is a signature over the three headers of that prefix.
func standardSum(prefix string) func(webhook.Request, string) string {
	return func(req webhook.Request, key string) string {
		return "v1," + mac(key, req.Header.Get(prefix+"Id")+"."+req.Header.Get(prefix+"Timestamp")+"."+string(req.Body))
	}
}

var _ = add(sample{
	provider: standard, secret: standardSecret, older: "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=", body: standardBody,
	signature: "Webhook-Signature", covered: []string{"Webhook-Timestamp", "Webhook-Id"}, window: 300 * time.Second, lists: true,
	sum: standardSum("Webhook-"), keyOf: decodedKey, badSecrets: whsecBad, unfit: whsecUnfit,
})

var _ = add(sample{
	provider: openAI, secret: openAISecret, older: "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=", body: openAIBody,
	signature: "Webhook-Signature", covered: []string{"Webhook-Timestamp", "Webhook-Id"}, window: 300 * time.Second, lists: true,
	sum: standardSum("Webhook-"), keyOf: decodedKey,
	badSecrets: map[string]string{
		"under 24 bytes":              "whsec_" + base64.StdEncoding.EncodeToString([]byte("twenty-three bytes long")),
		"no base64 behind the prefix": "whsec_this is no base64!",
		"base64 without padding":      "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c",
		"base64 with a line end":      "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=\n",
		"base64 with idle bits":       "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDF=",
		"zeros behind the prefix":     "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"a public key":                "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
	},
	unfit: map[string]string{"not of the form": "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", "everybody knows it": openAISecret},
})

var _ = add(sample{
	provider: woo, secret: wooSecret, older: "RotatedSecret2-RotatedSecret2", body: wooBody,
	header:    map[string]string{"X-WC-Webhook-Topic": "product.updated", "X-WC-Webhook-Source": "https://shop.example.com/"},
	signature: "X-Wc-Webhook-Signature",
	sum:       func(req webhook.Request, key string) string { return mac(key, string(req.Body)) },
	unfit: map[string]string{
		"consumer secret":      "cs_0123456789abcdef0123456789abcdef01234567",
		"consumer key":         "ck_0123456789abcdef0123456789abcdef01234567",
		"white space at an":    " Zq3!t7rX0vB9mK2pLs8w",
		"fewer than 16":        "Zq3!t7rX0vB9mK2",
		"line end":             "Zq3!t7rX0v\nB9mK2pLs8w",
		"nobody has filled in": "change-me",
	},
})
