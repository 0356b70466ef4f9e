package webhook_test

import (
	"strings"
	"testing"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

// eachLarge runs a benchmark with a signed delivery of 8 KB of each sender.
func eachLarge(b *testing.B, do func(s webhook.Scheme, req webhook.Request, keys []secrets.Value, expect webhook.Expect) error) {
	for _, name := range webhook.Names() {
		b.Run(name, func(b *testing.B) {
			filler := `{"list":[` + strings.Repeat(`{"name":"attribute","options":["one","two"]},`, 180) + `0],`
			sm := samples[name]
			req, secret := signed(b, name, strings.Replace(sm.body, "{", filler, 1))
			s, keys := sm.scheme(b), held(secret)
			b.SetBytes(int64(len(req.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := do(s, req, keys, sm.expect); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReceive is what the receiver does with 8 KB beside its two AWS calls: verify, decode, identify.
func BenchmarkReceive(b *testing.B) {
	eachLarge(b, func(s webhook.Scheme, req webhook.Request, keys []secrets.Value, expect webhook.Expect) error {
		if err := s.Verify(req, keys, expect, noon); err != nil {
			return err
		}
		doc, _, err := s.Document(req)
		if err != nil {
			return err
		}
		_, err = s.Identify(req, doc, webhook.Rule{}, noon)
		return err
	})
}

// BenchmarkVerify is the check of the signature of 8 KB alone.
func BenchmarkVerify(b *testing.B) {
	eachLarge(b, func(s webhook.Scheme, req webhook.Request, keys []secrets.Value, expect webhook.Expect) error {
		return s.Verify(req, keys, expect, noon)
	})
}
