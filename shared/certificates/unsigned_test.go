package certificates_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"engang/shared/certificates"
)

// An archive has certificates at the addresses that are in it, and nothing at others. It counts what it is asked.
type archive struct {
	texts map[string]string
	asked map[string]int
	hangs bool // answers nobody
}

func (a *archive) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked[r.URL.String()]++
	if a.hangs {
		<-r.Context().Done()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}
	if text, ok := a.texts[r.URL.String()]; ok {
		answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(strings.NewReader(text))
	}
	return answer, nil
}

// at is an address of the sender's, as who signs nothing may write it.
func at(n int) string { return fmt.Sprintf("https://api.paypal.com/v1/notifications/certs/CERT-%d", n) }

// store is one over an archive in which the certificate stands at the true address, with a clock in the test's hand.
func store(t *testing.T) (s *certificates.Store, a *archive, clock *time.Time) {
	t.Helper()
	roots, text := issue(t, "messageverificationcerts.paypal.com", now.AddDate(1, 0, 0))
	clock = new(time.Time)
	*clock = now
	a = &archive{texts: map[string]string{address: text}, asked: map[string]int{}}
	return certificates.New(&http.Client{Transport: a}, roots, func() time.Time { return *clock }), a, clock
}

// A slow start, or a sender that hangs up: that is no fault of the address.
func TestTheEndOfOneCallersTimeIsNobodyElses(t *testing.T) {
	s, _, clock := store(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Certificate(over, payPal(t), delivery(address)); !errors.Is(err, certificates.ErrNotFetched) {
		t.Fatalf("fetched within no time: %v", err)
	}
	*clock = now.Add(time.Second)
	if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); err != nil {
		t.Errorf("with time of its own, and a certificate there: %v", err)
	}
}

// A host that answers nobody costs a delivery seconds, and the next ones nothing.
func TestAFetchHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := store(t)
		a.hangs = true
		begun := time.Now()
		for range 2 {
			if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); !errors.Is(err, certificates.ErrNotFetched) {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 3*time.Second || a.asked[address] != 1 {
			t.Errorf("asked %d times, took %s", a.asked[address], took)
		}
	})
}

// Deliveries without a signature name whatever address they like, a thousand a minute.
func TestUnsignedDeliveriesDoNotMakeUsAsk(t *testing.T) {
	s, a, clock := store(t)
	if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); err != nil {
		t.Fatal(err)
	}
	for minute := range 24*60 + 2 { // the certificate is checked again meanwhile
		*clock = now.Add(time.Duration(minute) * time.Minute)
		before := len(a.asked)
		for n := range 30 {
			if _, err := s.Certificate(t.Context(), payPal(t), delivery(at(1000*minute+n))); !errors.Is(err, certificates.ErrNotFetched) {
				t.Fatal(err)
			}
		}
		if asked := len(a.asked) - before; asked > 20 {
			t.Fatalf("asked %d times in minute %d", asked, minute)
		}
		if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); err != nil {
			t.Fatalf("minute %d: the sender's own delivery: %v", minute, err)
		}
	}
	if a.asked[address] != 2 {
		t.Errorf("the sender's certificate was fetched %d times in a day, want 2", a.asked[address])
	}
}

// Where none is kept yet, a used-up minute is over after a minute.
func TestANewAddressIsFetchedInTheNextMinute(t *testing.T) {
	s, a, clock := store(t)
	for n := range 30 {
		_, _ = s.Certificate(t.Context(), payPal(t), delivery(at(n)))
	}
	if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); !errors.Is(err, certificates.ErrNotFetched) || a.asked[address] != 0 {
		t.Fatalf("%v, asked %d times", err, a.asked[address])
	}
	*clock = now.Add(time.Minute)
	if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); err != nil {
		t.Error(err)
	}
}

// Good certificates that nobody signs under push out each other, and not the one that is in use.
func TestTheCertificatesInUseAreKept(t *testing.T) {
	s, a, clock := store(t)
	for n := range 300 {
		a.texts[at(n)] = a.texts[address]
	}
	for n := range 300 {
		*clock = now.Add(time.Duration(n) * 10 * time.Second)
		for _, url := range []string{at(n), address} {
			if _, err := s.Certificate(t.Context(), payPal(t), delivery(url)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a.asked[address] != 1 {
		t.Errorf("the one in use was fetched %d times", a.asked[address])
	}
	for n := range 300 {
		*clock = clock.Add(10 * time.Second)
		if _, err := s.Certificate(t.Context(), payPal(t), delivery(at(n))); err != nil {
			t.Fatal(err)
		}
	}
	if a.asked[at(0)] != 2 {
		t.Errorf("the memory grows with what is asked: %d fetches", a.asked[at(0)])
	}
}
