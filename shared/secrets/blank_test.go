package secrets_test

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"engang/shared/secrets"
)

func TestWhatStandsWhereASecretShould(t *testing.T) {
	for text, blank := range map[string]bool{
		"": true, " \t\n": true, "*****": true, "whsec_": true, "sk-...": true, "whsec_xxxxxxxxxxxx": true, "sk_live_XXXXXXXX": true,
		"changeme": true, "CHANGE-ME": true, "change_it": true, "changeme123": true, "Change this in production!": true, "todo": true, "test": true, "null": true,
		"YOUR_WEBHOOK_SECRET_GOES_HERE": true, "your-256-bit-secret": true, "<your secret>": true, "[your secret]": true, "(insert your secret here)": true,
		"putYourSigningSecretHere": true, "'your secret'": true, "YOUR_STRIPE_WEBHOOK_SECRET": true, "sk-your-openai-api-key": true, "whsec_your_secret": true,
		"${WEBHOOK_SECRET}": true, "{{ webhook.secret }}": true, "xxx-replace-me-xxx": true,

		"a shop secret of the test": false, "local-woo-secret": false, "test_secret_key": false, "your-hammer-and-a-pan": false, "intercom_client_secret_example": false,
		"changeme but only a little more": false, "<5f-V#k|x>": false, "your-secret-20261129-here": false, "yoürsecret": false, "hush": false,
	} {
		if secrets.NewValue(text).IsBlank() != blank {
			t.Errorf("%q: blank %v", text, !blank)
		}
	}
	if !(secrets.Value{}).IsBlank() {
		t.Error("no value at all is not blank")
	}
}

// What a sender makes is never taken for a placeholder, since its deliveries would be refused.
func TestWhatIsRandomIsNeverBlank(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	for range 20_000 {
		raw := make([]byte, 12)
		source.Read(raw)
		for _, text := range []string{hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw), "whsec_" + base64.RawURLEncoding.EncodeToString(raw)} {
			if secrets.NewValue(text).IsBlank() {
				t.Errorf("%s is taken for a placeholder", text)
			}
		}
	}
}
