package webhook

import "crypto/rsa"

// PayPalTrialKey is the key that stands in for PayPal's own.
func PayPalTrialKey() *rsa.PrivateKey { return payPalTrial() }
