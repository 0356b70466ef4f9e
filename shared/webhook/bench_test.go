package webhook_test

import (
	"strings"
	"testing"

	"engang/shared/webhook"
)

// BenchmarkReceive is what the receiver does with 8 KB beside its two AWS calls: verify, decode, identify.
func BenchmarkReceive(b *testing.B) {
	for _, name := range webhook.Names() {
		b.Run(name, func(b *testing.B) {
			filler := `{"list":[` + strings.Repeat(`{"name":"attribute","options":["one","two"]},`, 180) + `0],`
			sm := samples[name]
			req, secret := signed(b, name, strings.Replace(sm.body, "{", filler, 1))
			s, keys := sm.scheme(b), held(secret)
			b.SetBytes(int64(len(req.Body)))
			for b.Loop() {
				if err := s.Verify(req, keys, sm.expect, noon); err != nil {
					b.Fatal(err)
				}
				doc, _, err := s.Document(req)
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

// BenchmarkVerify is the check of the signature of 8 KB alone.
func BenchmarkVerify(b *testing.B) {
	for _, name := range webhook.Names() {
		b.Run(name, func(b *testing.B) {
			filler := `{"list":[` + strings.Repeat(`{"name":"attribute","options":["one","two"]},`, 180) + `0],`
			sm := samples[name]
			req, secret := signed(b, name, strings.Replace(sm.body, "{", filler, 1))
			s, keys := sm.scheme(b), held(secret)
			b.SetBytes(int64(len(req.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Verify(req, keys, sm.expect, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
