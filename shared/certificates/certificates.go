// Package certificates fetches the certificates that some senders sign under, checks them, and keeps them.
//
// An address is fetched only if the sender's own row names it as one of the sender's, whatever a
// delivery says; no redirect is followed. Only what passed the check of chain, validity and name is kept.
//
// Who sends us a delivery without a signature chooses among the sender's addresses, so that nobody is let to make us ask
// all the time, nor to push out what the true deliveries need: 20 addresses a minute are fetched that have not been found
// good before, each for at most 3 seconds; one that gave nothing usable is not asked again for a minute; and the 128
// good ones that were used last stay, whatever else is asked for. A true delivery that meets a used-up minute with a
// certificate that is new to this process is not acknowledged, and is taken when the sender repeats it.
package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// MaxBytes is the largest answer that is read: a chain of certificates takes a few kilobytes.
const MaxBytes = 64 << 10

// Limits of what is kept and asked: a sender has a handful of certificates, at a few hosts each.
const (
	maxKept  = 128
	maxLife  = 24 * time.Hour
	pauseFor = time.Minute     // after an address that gave nothing usable
	maxAsked = 20              // addresses that were never found good, in each pauseFor
	patience = 3 * time.Second // of one fetch: senders wait for an answer
)

// ErrNotFetched says that the sender's certificate cannot be had now. Nothing may be acknowledged.
var ErrNotFetched = errors.New("certificate not fetched")

// A Store keeps certificates by address. It is safe for concurrent use.
type Store struct {
	client *http.Client
	roots  *x509.CertPool // nil: the system's
	now    func() time.Time

	mu    sync.Mutex
	good  map[string]*entry
	bad   map[string]fault // at most maxAsked and those of good, within pauseFor
	since time.Time        // when asked was begun to be counted
	asked int
}

// An entry is a checked certificate. It stays when it must be checked again: its address was found good.
type entry struct {
	text  []byte
	until time.Time
	used  time.Time
}

type fault struct {
	err   error
	until time.Time
}

// New makes an empty store. Calls go through the transport of hc. Roots that are nil are the system's.
func New(hc *http.Client, roots *x509.CertPool, now func() time.Time) *Store {
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Store{client: &own, roots: roots, now: now, good: map[string]*entry{}, bad: map[string]fault{}}
}

// Certificate returns the checked certificate for a delivery, and nil for a sender that has none, or whose
// delivery names an address that is not the sender's: webhook.Scheme.Verify refuses that one. An error
// wraps [ErrNotFetched], or webhook.ErrSignature when what stands at the address is not the sender's.
func (s *Store) Certificate(ctx context.Context, scheme webhook.Scheme, req webhook.Request) ([]byte, error) {
	url, ok := scheme.CertificateURL(req)
	if !ok {
		return nil, nil
	}
	if text, err := s.known(url); text != nil || err != nil {
		return text, err
	}
	if !s.may(url) {
		return nil, fmt.Errorf("certificate of %s: %d others were asked for within %s: %w", scheme.Name(), maxAsked, pauseFor, ErrNotFetched)
	}
	text, err := s.fetch(ctx, url)
	if err == nil {
		err = scheme.CheckCertificate(text, s.roots, s.now())
	}
	if err != nil {
		err = fmt.Errorf("certificate of %s: %w", scheme.Name(), err)
		if ctx.Err() == nil { // else it is this caller's time that is over, and nobody else's
			s.refuse(url, err)
		}
		return nil, err
	}
	s.keep(url, text)
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

// known gives what is known of an address: its certificate, or why it has none now, or neither.
func (s *Store) known(url string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if e := s.good[url]; e != nil && now.Before(e.until) {
		e.used = now
		return e.text, nil
	}
	if f, ok := s.bad[url]; ok && now.Before(f.until) {
		return nil, f.err
	}
	return nil, nil
}

// may counts a fetch, and tells whether it may be made. An address that was found good is always asked again: what is
// asked for beside it does not keep it away.
func (s *Store) may(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good[url] != nil {
		return true
	}
	if now := s.now(); now.Sub(s.since) >= pauseFor {
		s.since, s.asked = now, 0
	}
	s.asked++
	return s.asked <= maxAsked
}

// keep takes a checked certificate, in the place of the one that was used longest ago where there are too many.
func (s *Store) keep(url string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bad, url)
	if s.good[url] == nil && len(s.good) >= maxKept {
		oldest := url
		for other, e := range s.good {
			if oldest == url || e.used.Before(s.good[oldest].used) {
				oldest = other
			}
		}
		delete(s.good, oldest)
	}
	s.good[url] = &entry{text: text, until: s.end(text), used: s.now()}
}

// refuse notes that an address gave nothing usable.
func (s *Store) refuse(url string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.bad, func(_ string, f fault) bool { return !now.Before(f.until) })
	s.bad[url] = fault{err, now.Add(pauseFor)}
}

func (s *Store) fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
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
