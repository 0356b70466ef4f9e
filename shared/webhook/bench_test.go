package webhook_test

import (
	"strings"
	"testing"

	"engang/shared/document"
	"engang/shared/webhook"
)

// BenchmarkReceive is what the receiver does with 8 KB beside its two AWS calls: verify, decode, identify.
func BenchmarkReceive(b *testing.B) {
	for _, name := range webhook.Names() {
		b.Run(name, func(b *testing.B) {
			filler := `{"list":[` + strings.Repeat(`{"name":"attribute","options":["one","two"]},`, 180) + `0],`
			req, secret := signed(b, name, strings.Replace(bodies[name], "{", filler, 1))
			s, keys := row(b, name), held(secret)
			b.SetBytes(int64(len(req.Body)))
			for b.Loop() {
				if err := s.Verify(req, keys, webhook.Expect{}, noon); err != nil {
					b.Fatal(err)
				}
				doc, err := document.Decode(req.Body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Identify(req, doc, webhook.Rule{}, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
