// Package model asks OpenAI: one prompt becomes one call of the Responses API and one
// [operation.Answer].
//
// It is the only place that knows openai-go, of which it takes the responses package alone. The library's
// own retries are off: whether a call is made again is decided where the attempt is recorded. What came
// of a call is sorted by HTTP status, error code and response status, never by a text of the provider,
// and nothing that the provider wrote in free words is kept, save the output.
package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/telemetry"
)

// MaxAnswerBytes is the largest answer that is read; a longer one is unusable.
const MaxAnswerBytes = 4 << 20

// callName is what the call is named for logs and for transports that count and break calls.
const callName = "model call"

type keys interface {
	Secret(ctx context.Context, ref secrets.Ref) (secrets.Value, error)
}

// A Client makes model calls. It is safe for concurrent use, and reuses the connections of its HTTP client.
type Client struct {
	http *http.Client
	keys keys
	now  func() time.Time
}

// New makes a Client that speaks through the transport of hc and looks API keys up in keys. Redirects
// are not followed: a prompt goes to the configured address or nowhere.
func New(hc *http.Client, keys keys) *Client {
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &own, keys: keys, now: time.Now}
}

// Clock makes the client take the time of calls from a clock of the caller's own, and returns it.
func (c *Client) Clock(now func() time.Time) *Client {
	c.now = now
	return c
}

// A Connection says where a provider is reached and which key opens it.
type Connection struct {
	BaseURL string // up to and with the version: "https://api.openai.com/v1"
	APIKey  secrets.Ref
}

// Call sends the prompt once and says what came of it. It never fails: every way a call can end is an
// outcome (Usable, Unusable, Truncated, Transient or Paused) with a category and a reason of ours.
//
// The deadline is that of ctx. Called is false only if nothing reached the provider, so that a call that
// may have been paid for is never taken for none. ID, fencing token, times and cost are left to the caller.
func (c *Client) Call(ctx context.Context, to Connection, p recipe.Prompt) operation.Answer {
	a := operation.Answer{Attempt: operation.Attempt{ModelAsked: p.Model}}
	key, bad := c.open(ctx, to)
	if bad != nil {
		return bad.on(a)
	}
	params, err := request(p)
	if err != nil {
		return misconfigured("the recipe's output schema is no JSON object").on(a)
	}
	var s sent
	var res *http.Response
	ctx = s.watch(telemetry.WithCall(ctx, callName))
	service := responses.NewResponseService(
		option.WithBaseURL(to.BaseURL),
		option.WithAPIKey(key),
		option.WithHTTPClient(c.http),
		option.WithMaxRetries(0),
		option.WithMiddleware(s.middleware),
		option.WithResponseInto(&res),
	)
	began := c.now()
	answer, err := service.New(ctx, params)
	a.Duration = c.now().Sub(began)
	a.RequestDigest = s.digest
	a.Called = res != nil || s.away.Load()
	switch {
	case res == nil:
		return broken(ctx, err, &s).on(a)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return refused(a, res, err)
	}
	a.HTTPStatus, a.RequestID = res.StatusCode, word(res.Header.Get("X-Request-Id"))
	if err != nil || answer == nil {
		return unread(ctx, err).on(a)
	}
	return read(a, answer)
}

// open checks the address and looks the key up.
func (c *Client) open(ctx context.Context, to Connection) (string, *fate) {
	u, err := url.Parse(to.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", misconfigured("the provider's base URL is no address")
	}
	if ctx.Err() != nil {
		return "", gone(ctx, "nothing was sent")
	}
	value, err := c.key(ctx, to.APIKey)
	key := string(value.Reveal())
	switch {
	case err != nil && ctx.Err() != nil:
		return "", gone(ctx, "nothing was sent")
	case errors.Is(err, secrets.ErrUnusable), err == nil && key == "":
		return "", misconfigured("the reference of the provider's API key leads to no usable secret")
	case err != nil:
		return "", misconfigured("the provider's API key cannot be read now")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", misconfigured("the provider's API key holds white space or characters no key has")
	}
	return key, nil
}

// keyLimit is how long the parameter store may take. A store that does not answer is no failure of one call: work waits,
// as it does for a key that is not there, in place of using its attempts up.
const keyLimit = 5 * time.Second

func (c *Client) key(ctx context.Context, ref secrets.Ref) (secrets.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, keyLimit)
	defer cancel()
	return c.keys.Secret(ctx, ref)
}

// sent notes what left our side. The trace's functions may still run after the call has returned.
type sent struct {
	begun  bool        // the transport was asked
	digest string      // of the request's body
	away   atomic.Bool // the request may have reached the provider whole
}

// watch takes a request for sent as soon as its headers are: an answer may be there before the trace says
// that the last byte went. It is taken back only when the write is known to have failed, since a request
// that was cut short is not served.
func (s *sent) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { s.away.Store(true) },
		WroteRequest: func(i httptrace.WroteRequestInfo) { s.away.Store(i.Err == nil) },
	})
}

func (s *sent) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	if body, err := req.GetBody(); err == nil {
		s.digest = digest(body)
	}
	s.begun = true
	res, err := next(req)
	if err == nil {
		res.Body = &bounded{ReadCloser: res.Body, left: MaxAnswerBytes}
	}
	return res, err
}

func digest(body io.Reader) string {
	h := sha256.New()
	if _, err := io.Copy(h, body); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

var errTooLong = errors.New("answer longer than the limit")

// bounded refuses to read on after a number of bytes, where io.LimitReader would pass a cut document off
// as a whole one.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}
