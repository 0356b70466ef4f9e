package webhook

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxCertificates is how many a chain may have.
const maxCertificates = 10

// CheckCertificate tells whether PEM text that was fetched from [Scheme.CertificateURL] is fit for
// [Expect]: the first certificate is one of the sender's, is valid now, and a chain of the others leads
// from it to one of the roots; nil means those of the system. It is for the fetcher, which does this
// before it keeps the text, and again once the certificate may have run out. It is pure but for the
// system's roots.
//
// It returns nil, or an error that wraps [ErrSignature]: also for a sender that signs under no certificate.
func (s Scheme) CheckCertificate(text []byte, roots *x509.CertPool, now time.Time) error {
	refuse := func(reason string) error {
		return fmt.Errorf("check certificate of %s: %s: %w", s.name, reason, ErrSignature)
	}
	chain, ok := certificates(text)
	if !ok {
		return refuse("it is not PEM of certificates alone")
	}
	signer, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if !slices.ContainsFunc(append(slices.Clone(signer.DNSNames), signer.Subject.CommonName), s.ownSigner) {
		return refuse("it is in another name than the sender's")
	}
	options := x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, // it signs messages, for which there is no usage of its own
	}
	if _, err := signer.Verify(options); err != nil { // the reason may repeat what stands in the certificate
		return refuse("it has run out, or no chain leads from it to a root")
	}
	return nil
}

func (s Scheme) ownSigner(name string) bool { return slices.Contains(s.signers, strings.ToLower(name)) }

// TrialCertificate is PEM text that verifies what [Scheme.Sign] makes, for a sender whose own signature
// nobody can make. It is for tests and for trying an endpoint in place of what would be fetched:
// [Scheme.CheckCertificate] refuses it. It is nil for every other sender.
func (s Scheme) TrialCertificate() []byte {
	if s.trial == nil {
		return nil
	}
	return slices.Clone(s.trial())
}

// certificates reads PEM text that holds nothing else.
func certificates(text []byte) ([]*x509.Certificate, bool) {
	var all []*x509.Certificate
	for len(strings.TrimSpace(string(text))) > 0 {
		block, rest := pem.Decode(text)
		if block == nil || block.Type != "CERTIFICATE" || len(all) == maxCertificates {
			return nil, false
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, false
		}
		all, text = append(all, c), rest
	}
	return all, len(all) > 0
}
