// Package certificates fetches the certificates that some senders sign under, checks them, and keeps them.
//
// An address is fetched only if the sender's own row names it as one of the sender's, whatever a
// delivery says; no redirect is followed. Only what passed the check of chain, validity and name is kept.
package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// MaxBytes is the largest answer that is read: a chain of certificates takes a few kilobytes.
const MaxBytes = 64 << 10

// Limits of what is kept: a sender has a handful of certificates, and an address that nobody checked
// must not fill the memory.
const (
	maxKept  = 32
	maxLife  = 24 * time.Hour
	pauseFor = time.Minute // after an address that gave nothing usable, so that nobody makes us ask all the time
)

// ErrNotFetched says that the sender's certificate cannot be had now. Nothing may be acknowledged.
var ErrNotFetched = errors.New("certificate not fetched")

// A Store keeps certificates by address. It is safe for concurrent use.
type Store struct {
	client *http.Client
	roots  *x509.CertPool // nil: the system's
	now    func() time.Time

	mu   sync.Mutex
	kept map[string]entry
}

type entry struct {
	text  []byte // nil: nothing usable was there
	until time.Time
	err   error
}

// New makes an empty store. Calls go through the transport of hc. Roots that are nil are the system's.
func New(hc *http.Client, roots *x509.CertPool, now func() time.Time) *Store {
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Store{client: &own, roots: roots, now: now, kept: map[string]entry{}}
}

// Certificate returns the checked certificate for a delivery, and nil for a sender that has none, or whose
// delivery names an address that is not the sender's: webhook.Scheme.Verify refuses that one. An error
// wraps [ErrNotFetched], or webhook.ErrSignature when what stands at the address is not the sender's.
func (s *Store) Certificate(ctx context.Context, scheme webhook.Scheme, req webhook.Request) ([]byte, error) {
	url, ok := scheme.CertificateURL(req)
	if !ok {
		return nil, nil
	}
	if e, ok := s.known(url); ok {
		return e.text, e.err
	}
	text, err := s.fetch(ctx, url)
	if err == nil {
		err = scheme.CheckCertificate(text, s.roots, s.now())
	}
	if err != nil {
		err = fmt.Errorf("certificate of %s: %w", scheme.Name(), err)
		s.keep(url, entry{err: err, until: s.now().Add(pauseFor)})
		return nil, err
	}
	s.keep(url, entry{text: text, until: s.end(text)})
	return text, nil
}

// end is when a certificate must be checked again: a day from now, or when it runs out.
func (s *Store) end(text []byte) time.Time {
	until := s.now().Add(maxLife)
	if block, _ := pem.Decode(text); block != nil {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	return until
}

func (s *Store) known(url string) (entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.kept[url]
	return e, ok && s.now().Before(e.until)
}

func (s *Store) keep(url string, e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= maxKept {
		clear(s.kept) // what is still needed is fetched again
	}
	s.kept[url] = e
}

func (s *Store) fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(telemetry.WithCall(ctx, "read certificate"), http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("no address: %w", ErrNotFetched)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", ErrNotFetched)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %d: %w", res.StatusCode, ErrNotFetched)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, MaxBytes+1))
	if err != nil || len(text) > MaxBytes {
		return nil, fmt.Errorf("the answer broke off or is over %d bytes: %w", MaxBytes, ErrNotFetched)
	}
	return text, nil
}

// A Trial hands out the certificates that everybody can sign under, for a local system: it makes no call.
type Trial struct{}

// Certificate is the row's own certificate for trying.
func (Trial) Certificate(_ context.Context, scheme webhook.Scheme, _ webhook.Request) ([]byte, error) {
	return scheme.TrialCertificate(), nil
}
