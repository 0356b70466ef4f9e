// Package delivery makes deliveries as senders make them: from a captured case or a file, changed where
// asked, signed with the endpoint's secret, and spoilt on purpose where asked.
package delivery

import (
	"crypto/rand"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

// The captured cases: what running senders sent, without signatures and delivery ids. The product's id
// is 794 in all of them.
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
	Body     []byte
}

// Cases lists the captured cases.
func Cases() []string {
	var names []string
	_ = fs.WalkDir(captured, "cases", func(file string, d fs.DirEntry, _ error) error {
		if name, ok := strings.CutSuffix(file, ".json"); ok && !d.IsDir() {
			names = append(names, strings.TrimPrefix(name, "cases/"))
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// Load reads a case, or a file: a delivery in the form of the cases, an event of API Gateway as they
// stand under events/, or the bare body.
func Load(name string) (Draft, error) {
	raw, err := captured.ReadFile(path.Join("cases", name+".json"))
	if err != nil {
		if raw, err = os.ReadFile(name); err != nil {
			return Draft{}, fmt.Errorf("%w: %q; the cases are %s", ErrCase, name, strings.Join(Cases(), ", "))
		}
	}
	return parse(raw)
}

func parse(raw []byte) (Draft, error) {
	var file struct {
		Provider        string
		Method          string
		Headers         map[string]string
		Body            *string
		IsBase64Encoded bool
		RequestContext  *struct{ HTTP struct{ Method string } }
	}
	if json.Unmarshal(raw, &file) != nil || file.Body == nil || file.Headers == nil {
		return Draft{Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}}, Body: raw}, nil
	}
	d := Draft{Provider: file.Provider, Method: file.Method, Header: http.Header{}, Body: []byte(*file.Body)}
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

// ofTheWay tells headers that a client or a gateway makes anew, and signatures that cannot fit.
func ofTheWay(name string) bool {
	switch name {
	case "Host", "Content-Length", "Connection", "Accept-Encoding", "X-Amzn-Trace-Id", "X-Wc-Webhook-Signature", "X-Wc-Webhook-Delivery-Id", "Webhook-Signature", "Webhook-Timestamp", "Webhook-Id":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// Type says in the sender's own way what has happened, for a file that does not.
func (d *Draft) Type(provider, typ string) {
	if provider == "woocommerce" && d.Header.Get("X-Wc-Webhook-Topic") == "" {
		d.Header.Set("X-Wc-Webhook-Topic", typ)
	}
}

// Twists lists the ways to spoil a delivery.
func Twists() []string {
	return []string{"stale", "future", "bad-signature", "no-signature", "other-body", "base64"}
}

// A Maker signs a draft again and again, as its sender repeats a delivery: the event's id stays, time
// and signature are new.
type Maker struct {
	Scheme webhook.Scheme
	Secret secrets.Value
	Draft  Draft
	Twist  string // one of [Twists], or empty

	id string
}

// NewMaker makes a maker. It returns an error that wraps [ErrTwist] for a twist that this provider's
// deliveries do not have.
func NewMaker(m Maker) (*Maker, error) {
	if m.Twist != "" && !slices.Contains(Twists(), m.Twist) {
		return nil, fmt.Errorf("%w: %q; there are %s", ErrTwist, m.Twist, strings.Join(Twists(), ", "))
	}
	if (m.Twist == "stale" || m.Twist == "future") && !signsTime(m.Scheme.Name()) {
		return nil, fmt.Errorf("%w: %s signs no time", ErrTwist, m.Scheme.Name())
	}
	m.id = "msg_" + rand.Text()
	return &m, nil
}

func signsTime(provider string) bool { return provider != "woocommerce" }

// Make signs one delivery at a time.
func (m *Maker) Make(now time.Time) (webhook.Request, error) {
	switch m.Twist {
	case "stale":
		now = now.Add(-time.Hour)
	case "future":
		now = now.Add(time.Hour)
	}
	header := m.Draft.Header.Clone()
	if signsTime(m.Scheme.Name()) {
		header.Set("Webhook-Id", m.id)
	}
	req := webhook.Request{Method: m.Draft.Method, Header: header, Body: m.Draft.Body}
	if _, ping := m.Scheme.Handshake(req); ping {
		return req, nil // a ping is not signed
	}
	signed, err := m.Scheme.Sign(req, m.Secret, now)
	if err != nil {
		return webhook.Request{}, err
	}
	return m.twist(signed), nil
}

// signatures are the headers that prove a delivery.
var signatures = []string{"X-Wc-Webhook-Signature", "Webhook-Signature"}

func (m *Maker) twist(r webhook.Request) webhook.Request {
	switch m.Twist {
	case "bad-signature":
		for _, name := range signatures {
			if v := r.Header.Get(name); v != "" {
				r.Header.Set(name, otherSignature(v))
			}
		}
	case "no-signature":
		for _, name := range signatures {
			r.Header.Del(name)
		}
	case "other-body":
		r.Body = append(slices.Clone(r.Body), '\n') // one byte more than was signed
	case "base64":
		r.Header.Set("Content-Type", "application/octet-stream") // so that the gateway passes the body on in base64
	}
	return r
}

// otherSignature changes one character of the signature, and keeps its form.
func otherSignature(v string) string {
	at := strings.LastIndexByte(v, ',') + 1
	c := byte('A')
	if v[at] == c {
		c = 'B'
	}
	return v[:at] + string(c) + v[at+1:]
}

// Curl is the command that sends a delivery from a shell.
func Curl(r webhook.Request, address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -X %s %s", r.Method, quote(address))
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " \\\n  -H %s", quote(name+": "+r.Header.Get(name)))
	}
	fmt.Fprintf(&b, " \\\n  --data-binary %s\n", quote(string(r.Body)))
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
