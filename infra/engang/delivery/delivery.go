// Package delivery makes deliveries as senders make them: from a captured case or a file, changed where
// asked, signed with the endpoint's secret, and spoilt on purpose where asked.
package delivery

import (
	"cmp"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"engang/events"
	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// The captured cases: what running senders sent, without signatures and delivery ids. The product's id
// is 794 in all of them. Those of other senders are the samples of [events.Samples].
//
//go:embed cases
var captured embed.FS

// Usual is the case that is sent when none is named.
const Usual = "woocommerce/product.updated"

// ErrCase says that there is neither a case nor a file of a name.
var ErrCase = errors.New("no such case or file")

// ErrTwist says that a delivery cannot be spoilt in this way.
var ErrTwist = errors.New("cannot be twisted like this")

// A Draft is a delivery before it is signed.
type Draft struct {
	Provider string // empty: the file does not say
	Method   string
	Header   http.Header
	Query    string // of the address
	Body     []byte
}

// samples are those of every sender, by name.
var samples = sync.OnceValue(func() map[string]events.Sample {
	all, err := events.Samples()
	if err != nil {
		panic("delivery: " + err.Error()) // they are built in: no test passes
	}
	byName := map[string]events.Sample{}
	for _, s := range all {
		byName[s.Name()] = s
	}
	return byName
})

// Cases lists the cases: those that were captured, and the samples.
func Cases() []string {
	names := slices.Collect(maps.Keys(samples()))
	_ = fs.WalkDir(captured, "cases", func(file string, d fs.DirEntry, _ error) error {
		if name, ok := strings.CutSuffix(file, ".json"); ok && !d.IsDir() {
			names = append(names, strings.TrimPrefix(name, "cases/"))
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Sample is the sample of a case, for what an endpoint must say to take it.
func Sample(name string) (events.Sample, bool) {
	s, ok := samples()[name]
	return s, ok
}

// Load reads a case, or a file: a delivery in the form of the cases, an event of API Gateway as they
// stand under events/, or the bare body.
func Load(name string) (Draft, error) {
	if raw, err := captured.ReadFile(path.Join("cases", name+".json")); err == nil {
		return parse(raw)
	}
	if s, ok := Sample(name); ok {
		d := Draft{Provider: s.Provider, Method: s.Method, Header: s.Header.Clone(), Query: s.Query, Body: s.Body}
		maps.DeleteFunc(d.Header, func(name string, _ []string) bool { return ofTheWay(name) })
		return d, nil
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return Draft{}, fmt.Errorf("%w: %q; the cases are %s", ErrCase, name, strings.Join(Cases(), ", "))
	}
	return parse(raw)
}

func parse(raw []byte) (Draft, error) {
	var file struct {
		Sample          struct{ Provider string }
		Provider        string
		Method          string
		Headers         map[string]string
		RawQueryString  string
		Body            *string
		IsBase64Encoded bool
		RequestContext  *struct{ HTTP struct{ Method string } }
	}
	if json.Unmarshal(raw, &file) != nil || file.Body == nil || file.Headers == nil {
		return Draft{Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}}, Body: raw}, nil
	}
	d := Draft{Provider: cmp.Or(file.Provider, file.Sample.Provider), Method: file.Method, Header: http.Header{}, Query: file.RawQueryString, Body: []byte(*file.Body)}
	if file.IsBase64Encoded {
		var err error
		if d.Body, err = base64.StdEncoding.DecodeString(*file.Body); err != nil {
			return Draft{}, fmt.Errorf("read body: %w", err)
		}
	}
	if file.RequestContext != nil {
		d.Method = file.RequestContext.HTTP.Method
	}
	for name, value := range file.Headers {
		name = http.CanonicalHeaderKey(name)
		if !ofTheWay(name) {
			d.Header.Set(name, value)
		}
	}
	if d.Method == "" {
		d.Method = http.MethodPost
	}
	return d, nil
}

// ofTheWay tells headers that a client or a gateway makes anew.
func ofTheWay(name string) bool {
	switch name {
	case "Host", "Content-Length", "Connection", "Accept-Encoding", "X-Amzn-Trace-Id":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// typeHeaders are those in which senders say what has happened, of those that do not say it in the body.
var typeHeaders = map[string]string{
	"woocommerce": "X-Wc-Webhook-Topic", "shopify": "X-Shopify-Topic", "github": "X-Github-Event", "gitea": "X-Gitea-Event", "forgejo": "X-Forgejo-Event",
}

// Type says in the sender's own way what has happened, for a file that does not.
func (d *Draft) Type(provider, typ string) {
	name, ok := typeHeaders[provider]
	if !ok || d.Header.Get(name) != "" {
		return
	}
	if provider != "woocommerce" && provider != "shopify" {
		typ, _, _ = strings.Cut(typ, ".") // the action stands in the body
	}
	d.Header.Set(name, typ)
}

// Untyped tells whether nothing says what has happened, of a sender that says it in a header.
func (d Draft) Untyped(provider string) bool {
	name, ok := typeHeaders[provider]
	return ok && d.Header.Get(name) == ""
}

// sourceHeaders are those in which senders say what they call themselves, of those that do not say it in
// the body.
var sourceHeaders = map[string]string{
	"woocommerce": "X-Wc-Webhook-Source", "shopify": "X-Shopify-Shop-Domain", "gitlab": "X-Gitlab-Instance", "wordpress": "X-Wp-Webhook-Source", "zendesk": "X-Zendesk-Account-Id",
}

// Source makes the delivery come from the source that the endpoint demands, where headers say it.
func (d *Draft) Source(provider, source string) {
	if name, ok := sourceHeaders[provider]; ok && source != "" {
		d.Header.Set(name, source)
	}
}

// Twists lists the ways to spoil a delivery.
func Twists() []string {
	return []string{"stale", "future", "bad-signature", "no-signature", "other-body", "base64"}
}

// A Maker signs a draft again and again, as its sender repeats a delivery: the event's id stays, time
// and signature are new. The id is made from the body, so that the same command, given again, is a repeat.
type Maker struct {
	Scheme webhook.Scheme // as the endpoint uses it
	Secret secrets.Value
	Draft  Draft
	URL    string // the endpoint's public one, where the address is signed
	Twist  string // one of [Twists], or empty

	first webhook.Request // signed once, so that it has its ids
	other secrets.Value   // another secret of the same form
}

// idTime is the time from which ids are made that a sender makes from body and time.
var idTime = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// NewMaker makes a maker. It returns an error that wraps [ErrTwist] for a twist that this provider's
// deliveries do not have.
func NewMaker(m Maker) (*Maker, error) {
	if m.Twist != "" && !slices.Contains(Twists(), m.Twist) {
		return nil, fmt.Errorf("%w: %q; there are %s", ErrTwist, m.Twist, strings.Join(Twists(), ", "))
	}
	if (m.Twist == "stale" || m.Twist == "future") && m.Scheme.Window() == 0 {
		return nil, fmt.Errorf("%w: %s signs no time", ErrTwist, m.Scheme.Name())
	}
	var random [32]byte
	_, _ = rand.Read(random[:])
	m.other = m.Scheme.NewSecret(random)
	req := webhook.Request{Method: m.Draft.Method, Header: m.Draft.Header.Clone(), Body: unsigned(m.Scheme.Name(), m.Draft.Body), URL: m.URL}
	if m.Draft.Query != "" {
		req.URL += "?" + m.Draft.Query
	}
	if _, ping := m.Scheme.Handshake(req); ping {
		m.first = req
		return &m, nil // a ping is not signed
	}
	for name := range m.added() {
		req.Header.Del(name)
	}
	var err error
	m.first, err = m.Scheme.Sign(req, m.Secret, idTime)
	if err != nil {
		return nil, err
	}
	if m.Twist == "other-body" && m.unseen() {
		return nil, fmt.Errorf("%w: %s does not sign the body", ErrTwist, m.Scheme.Name())
	}
	return &m, nil
}

// added are the headers that signing adds to a delivery which has none: signature, time, ids.
func (m *Maker) added() http.Header {
	bare, err := m.Scheme.Sign(webhook.Request{Method: m.Draft.Method, Body: m.Draft.Body, URL: m.URL}, m.Secret, idTime)
	if err != nil {
		return nil // signing the delivery itself says why
	}
	bare.Header.Del("Content-Type")
	return bare.Header
}

// unseen tells whether a body may be changed and still pass.
func (m *Maker) unseen() bool {
	changed := m.first
	changed.Body = append(slices.Clone(changed.Body), '\n')
	return m.Scheme.Verify(changed, []secrets.Value{m.Secret}, webhook.Expect{Certificate: m.Scheme.TrialCertificate()}, idTime) == nil
}

// Make signs one delivery at a time.
func (m *Maker) Make(now time.Time) (webhook.Request, error) {
	switch m.Twist {
	case "stale":
		now = now.Add(-m.Scheme.Window() - time.Hour)
	case "future":
		now = now.Add(m.Scheme.Window() + time.Hour)
	}
	if _, ping := m.Scheme.Handshake(m.first); ping {
		return m.first, nil
	}
	secret := m.Secret
	if m.Twist == "bad-signature" {
		secret = m.other
	}
	signed, err := m.Scheme.Sign(m.first, secret, now)
	if err != nil {
		return webhook.Request{}, err
	}
	return m.twist(signed, now)
}

func (m *Maker) twist(r webhook.Request, now time.Time) (webhook.Request, error) {
	switch m.Twist {
	case "no-signature":
		other, err := m.Scheme.Sign(m.first, m.other, now)
		if err != nil {
			return r, err
		}
		for name := range union(r.Header, other.Header) { // what another secret makes otherwise is the signature
			if r.Header.Get(name) != other.Header.Get(name) {
				r.Header.Del(name)
			}
		}
		r.Body = unsigned(m.Scheme.Name(), r.Body)
	case "other-body":
		r.Body = append(slices.Clone(r.Body), '\n') // one byte more than was signed
	case "base64":
		r.Header.Set("Content-Type", "application/octet-stream") // so that the gateway passes the body on in base64
	}
	return r, nil
}

func union(a, b http.Header) http.Header {
	all := a.Clone()
	maps.Copy(all, b)
	return all
}

// unsigned takes the signature out of the body of the one sender that writes it there.
func unsigned(provider string, body []byte) []byte {
	if provider != "mailgun" {
		return body
	}
	doc, err := document.Decode(body)
	members, ok := doc.(map[string]any)
	if err != nil || !ok {
		return body
	}
	delete(members, "signature")
	if less, err := document.Canonical(members); err == nil {
		return less
	}
	return body
}

// Query is that of the address which a delivery is sent to.
func Query(r webhook.Request) string {
	_, query, _ := strings.Cut(r.URL, "?")
	return query
}
