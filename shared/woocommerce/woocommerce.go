// Package woocommerce asks a shop, over its REST interface, which of its objects have changed.
//
// A shop is called at the configured address and nowhere else: no redirect is followed, and no address that
// an answer holds is ever used. Nothing that a shop writes in free words is repeated.
package woocommerce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/secrets"
	"engang/shared/telemetry"
)

// Kind is what a configured target of this package is called.
const Kind = "woocommerce"

// The most that one page may be and take. A hundred products are a megabyte or two, and seconds on a slow shop.
const (
	MaxPageBytes = 16 << 20
	MaxPageTime  = 15 * time.Second
)

// longestRest bounds what a shop may ask for before it is called again.
const longestRest = 24 * time.Hour

type keys interface {
	Secret(ctx context.Context, ref secrets.Ref) (secrets.Value, error)
}

// Shops asks shops. It is safe for concurrent use, and reuses the connections of its HTTP client.
type Shops struct {
	http  *http.Client
	keys  keys
	bytes int64
	time  time.Duration
}

// New makes Shops that speak through the transport of hc and look keys up in keys.
func New(hc *http.Client, keys keys) *Shops {
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Shops{http: &own, keys: keys, bytes: MaxPageBytes, time: MaxPageTime}
}

// resources are the lists that can be asked for changes, by the kind of their objects.
var resources = map[string]string{"product": "products", "order": "orders", "coupon": "coupons"}

// Search gives one page of what has changed, of every status but what lies in the trash. Variations of
// products are no list of their own, and are not found. Needs WooCommerce 5.8.
//
// Whatever the shop does is an [*inbox.SourceError]; another error says that it was not asked: the target is
// not configured as it should be, or its key cannot be had.
func (s *Shops) Search(ctx context.Context, t config.Target, q inbox.Search) (inbox.Findings, error) {
	req, err := s.request(ctx, t, q)
	if err != nil {
		return inbox.Findings{}, fmt.Errorf("list %ss of a shop: %w", q.Kind, err)
	}
	found, err := s.ask(ctx, req, q)
	if err != nil {
		return inbox.Findings{}, fmt.Errorf("list %ss of a shop: %w", q.Kind, err)
	}
	return found, nil
}

// request makes the call. WordPress takes a time without a zone as it is, and would move one with a zone.
func (s *Shops) request(ctx context.Context, t config.Target, q inbox.Search) (*http.Request, error) {
	list, ok := resources[q.Kind]
	if !ok {
		return nil, errors.New("not a list that can be asked for changes")
	}
	base, err := address(t.BaseURL)
	if err != nil {
		return nil, err
	}
	user, password, err := s.key(ctx, t.Key)
	if err != nil {
		return nil, err
	}
	to := base.JoinPath("wp-json", "wc", "v3", list)
	to.RawQuery = url.Values{
		"modified_after": {q.After.UTC().Format(stamp)}, "dates_are_gmt": {"true"}, "orderby": {"modified"}, "order": {"asc"},
		"offset": {strconv.Itoa(q.Skip)}, "per_page": {strconv.Itoa(q.Size)},
	}.Encode()
	req, err := http.NewRequestWithContext(telemetry.WithCall(ctx, "list changes"), http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, errBase
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "engang")
	return req, nil
}

var (
	errBase = errors.New("the target's base_url is not an https address")
	errKey  = errors.New("the target's key is not a consumer key and a consumer secret, joined by a colon")
)

// address reads the shop's address. The key would go over the network for all to read without TLS, which only
// a shop on this machine can do without.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errBase
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme != "https" && !(u.Scheme == "http" && ip != nil && ip.IsLoopback()) {
		return nil, errBase
	}
	return u, nil
}

// key is the two halves of a REST key.
func (s *Shops) key(ctx context.Context, ref secrets.Ref) (user, password string, err error) {
	value, err := s.keys.Secret(ctx, ref)
	if err != nil {
		return "", "", fmt.Errorf("look up the target's key: %w", err)
	}
	user, password, ok := strings.Cut(string(value.Reveal()), ":")
	if !ok || user == "" || password == "" {
		return "", "", errKey
	}
	return user, password, nil
}

// ask makes the call, within the time that a page may take.
func (s *Shops) ask(ctx context.Context, req *http.Request, q inbox.Search) (inbox.Findings, error) {
	limited, cancel := context.WithTimeout(req.Context(), s.time)
	defer cancel()
	res, err := s.http.Do(req.WithContext(limited))
	if err != nil {
		return inbox.Findings{}, s.unanswered(ctx, limited)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return inbox.Findings{}, refusal(res)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, s.bytes+1))
	if err != nil {
		return inbox.Findings{}, s.unanswered(ctx, limited)
	}
	if int64(len(raw)) > s.bytes {
		return inbox.Findings{}, &inbox.SourceError{Reason: fmt.Sprintf("sent a page of more than %d bytes", s.bytes), Status: res.StatusCode, TooMuch: true}
	}
	return read(res, raw, q)
}

// unanswered says why there is no answer. The error of net/http repeats the whole address, and is left out.
func (s *Shops) unanswered(ctx, limited context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return &inbox.SourceError{Reason: fmt.Sprintf("sent no whole page within %v", s.time), TooMuch: true}
	}
	return &inbox.SourceError{Reason: "cannot be reached"}
}
