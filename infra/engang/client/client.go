// Package client speaks to a running engang: its HTTP API for looks and acts, and its webhook addresses
// for deliveries. It never hangs: every call ends within the client's timeout.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"engang/infra/engang/text"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/problem"
	"engang/shared/webhook"
)

// ErrNoAnswer says that no answer came: whether the call took effect is unknown.
var ErrNoAnswer = errors.New("no answer")

// maxAnswer is more than any answer of ours: a body of 4 MiB in base64, and then some.
const maxAnswer = 16 << 20

// A Problem is the refusal of a call, as RFC 9457 writes it.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status,omitempty"` // zero, and not written, where none came
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`

	Faults config.Faults     `json:"faults,omitempty"` // of a configuration that is refused
	Stands *problem.Standing `json:"stands,omitempty"` // what stands where an act was refused
}

// Error is title and detail, in one line whoever answered.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return text.Line(p.Title)
	}
	return text.Line(p.Title + ": " + p.Detail)
}

// A Client speaks to one engang. Its fields do not change once it is used; it is safe for concurrent use.
type Client struct {
	API     string // without a slash at its end: "http://127.0.0.1:8787/api"
	Hooks   string // likewise: "http://127.0.0.1:8787/hooks"
	HTTP    *http.Client
	Sign    func(*http.Request, []byte) error // signs a call of the API; nil: none is needed
	As      string                            // who calls, where the other side believes it
	Tenant  string
	Environ string // of the tenant: "test" or "production"
	Timeout time.Duration
}

// A Filter is the query of a list.
type Filter map[string]string

// Events asks for one page of events.
func (c *Client) Events(ctx context.Context, f Filter) (control.List[control.Event], error) {
	var list control.List[control.Event]
	return list, c.get(ctx, "events", f, &list)
}

// Operations asks for one page of operations.
func (c *Client) Operations(ctx context.Context, f Filter) (control.List[control.Operation], error) {
	var list control.List[control.Operation]
	return list, c.get(ctx, "operations", f, &list)
}

// Audit asks for one page of what was done.
func (c *Client) Audit(ctx context.Context, f Filter) (control.List[control.Act], error) {
	var list control.List[control.Act]
	return list, c.get(ctx, "audit", f, &list)
}

// Show asks for what an id names, or what a sender's id names at an endpoint.
func (c *Client) Show(ctx context.Context, f Filter) (control.Any, error) {
	var doc control.Any
	return doc, c.get(ctx, "show", f, &doc)
}

// Endpoint asks for what is configured for an address.
func (c *Client) Endpoint(ctx context.Context, name string) (control.Endpoint, error) {
	var doc control.Endpoint
	return doc, c.get(ctx, "endpoints", Filter{"name": name}, &doc)
}

// Reveal asks for content, and says why.
func (c *Client) Reveal(ctx context.Context, id, reason string) (control.Content, error) {
	body, err := json.Marshal(map[string]string{"id": id, "reason": reason})
	if err != nil {
		return control.Content{}, fmt.Errorf("write call: %w", err)
	}
	var doc control.Content
	return doc, c.call(ctx, question{method: http.MethodPost, path: "reveal", body: body}, &doc)
}

func (c *Client) get(ctx context.Context, path string, f Filter, into any) error {
	return c.call(ctx, question{method: http.MethodGet, path: path, filter: f}, into)
}

// A question is one call of the API.
type question struct {
	method string
	path   string // behind /api/
	filter Filter
	body   []byte
}

// address is where the question is asked.
func (c *Client) address(ask question) string {
	q := url.Values{}
	for name, value := range ask.filter {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, value := range map[string]string{"tenant": c.Tenant, "environment": c.Environ} {
		if value != "" {
			q.Set(name, value)
		}
	}
	address := c.API + "/" + ask.path
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

func (c *Client) call(ctx context.Context, ask question, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, ask.method, c.address(ask), bytes.NewReader(ask.body))
	if err != nil {
		return fmt.Errorf("make call: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	if ask.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.As != "" {
		r.Header.Set("X-Engang-As", c.As)
	}
	if c.Sign != nil {
		if err := c.Sign(r, ask.body); err != nil {
			return fmt.Errorf("sign call: %w", err)
		}
	}
	status, raw, err := c.send(r)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return refusal(status, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read answer of %s: it is not engang that answers there, or of another version: %w", c.API, err)
	}
	return nil
}

func (c *Client) send(r *http.Request) (int, []byte, error) {
	got, err := c.exchange(r)
	return got.status, got.body, err
}

// An answer is what came back, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// exchange sends a request. A look that the gateway has no room for is made again, while its time lasts:
// it changed nothing. Deliveries and acts are the caller's to repeat.
func (c *Client) exchange(r *http.Request) (answer, error) {
	pause := 250 * time.Millisecond
	for {
		got, err := c.once(r)
		if err != nil || got.status != http.StatusTooManyRequests || r.Method != http.MethodGet || pause > 4*time.Second {
			return got, err
		}
		select {
		case <-r.Context().Done():
			return got, nil
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func (c *Client) once(r *http.Request) (answer, error) {
	got, err := c.HTTP.Do(r)
	if err != nil {
		return answer{}, noAnswer(err)
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return answer{}, noAnswer(err)
	}
	return answer{got.StatusCode, got.Header, raw}, nil
}

// noAnswer keeps what happened to the connection, without the address and its query.
func noAnswer(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w in time", ErrNoAnswer)
	}
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}

// FromGateway is the type of a [Problem] that the gateway told in its own words (RFC 9457 section 4.2.1).
const FromGateway = "about:blank"

// silent is a call whose function failed or ran out of time: the gateway answers in its place.
const silent = "the gateway answered in the place of engang, whose function failed or ran out of time. An act may have been done: look before asking again. Ask for less at once (--since, --limit), or see what the function's log says"

// refusal reads a problem document. What the gateway answers itself is none: {"message":"…"}.
func refusal(status int, raw []byte) error {
	var p Problem
	if json.Unmarshal(raw, &p) == nil && p.Title != "" {
		p.Status = status
		return &p
	}
	var gateway struct{ Message string }
	_ = json.Unmarshal(raw, &gateway)
	p = Problem{Type: FromGateway, Title: http.StatusText(status), Status: status, Detail: gateway.Message}
	if p.Title == "" {
		p.Title = "status " + strconv.Itoa(status)
	}
	switch {
	case status >= http.StatusInternalServerError:
		p.Detail = silent
	case strings.EqualFold(p.Detail, p.Title):
		p.Detail = ""
	}
	return &p
}

// A Receipt is the answer to one delivery.
type Receipt struct {
	Status int           `json:"status"`          // HTTP; 0: no answer
	Answer string        `json:"answer"`          // "accepted", "duplicate", …; for a refusal the problem's title
	Event  string        `json:"event,omitempty"` // id
	Took   time.Duration `json:"-"`
	Err    error         `json:"-"` // why there is no answer
}

// Deliver sends a delivery to an endpoint as its sender does: of its URL, which is the public one, the
// query counts.
func (c *Client) Deliver(ctx context.Context, endpoint string, req webhook.Request) Receipt {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	address := c.Hooks + "/" + url.PathEscape(endpoint)
	if _, query, ok := strings.Cut(req.URL, "?"); ok {
		address += "?" + query
	}
	r, err := http.NewRequestWithContext(ctx, req.Method, address, bytes.NewReader(req.Body))
	if err != nil {
		return Receipt{Answer: "no answer", Err: fmt.Errorf("make delivery: %w", err)}
	}
	r.Header = req.Header
	begun := time.Now()
	back, err := c.exchange(r)
	got := Receipt{Status: back.status, Took: time.Since(begun)}
	if err != nil {
		got.Answer, got.Err = "no answer", err
		return got
	}
	if back.status < 200 || back.status > 299 {
		var p *Problem
		if errors.As(refusal(back.status, back.body), &p) {
			got.Answer = strings.ToLower(p.Title)
		}
		return got
	}
	var own struct{ Status, Event string }
	if json.Unmarshal(back.body, &own) != nil || own.Status == "" { // the sender's own format
		own.Status, own.Event = cmp.Or(back.header.Get("Engang-Status"), "taken"), back.header.Get("Engang-Event")
	}
	got.Answer, got.Event = own.Status, own.Event
	return got
}
