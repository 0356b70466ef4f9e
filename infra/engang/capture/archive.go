package capture

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// parseJSON reads an archive, or an event of a gateway.
func parseJSON(raw []byte) ([]Request, error) {
	var doc struct {
		Log     *archive
		Headers map[string]any
		event
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("the capture begins as JSON and is none: %w", ErrFormat)
	}
	switch {
	case doc.Log != nil:
		return doc.Log.requests()
	case doc.Headers != nil:
		r, err := doc.event.request(doc.Headers)
		return []Request{r}, err
	}
	return nil, fmt.Errorf("the capture is JSON without requests: the formats are raw HTTP, HAR and a curl command; a bare body is given with --body: %w", ErrFormat)
}

// An archive is the log of a HAR file, as far as requests are concerned.
type archive struct {
	Entries []struct {
		StartedDateTime string
		Request         *struct { // nil: the archive says null
			Method, URL string
			Headers     []Header
			PostData    *postData
		}
	}
}

type postData struct {
	MimeType, Text, Encoding string
	Params                   []Header
}

func (a archive) requests() ([]Request, error) {
	if len(a.Entries) == 0 || len(a.Entries) > maxRequests {
		return nil, fmt.Errorf("an archive of %d requests: %w", len(a.Entries), ErrFormat)
	}
	var all []Request
	for n, e := range a.Entries {
		if e.Request == nil {
			return nil, fmt.Errorf("request %d: the archive has none there: %w", n+1, ErrFormat)
		}
		r := Request{Format: HAR, Method: e.Request.Method, Text: true}
		if at, err := time.Parse(time.RFC3339, e.StartedDateTime); err == nil {
			r.At = at.UTC()
		}
		for _, h := range e.Request.Headers {
			if err := r.add(h.Name, h.Value); err != nil {
				return nil, fmt.Errorf("request %d: %w", n+1, err)
			}
		}
		r.Target = e.Request.URL // whole, where HTTP/2 has the path alone among its headers
		if d := e.Request.PostData; d != nil {
			if err := r.take(*d); err != nil {
				return nil, fmt.Errorf("request %d: %w", n+1, err)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// take reads the body as an archive has it: text, base64 of the bytes, or the fields of a form.
func (r *Request) take(d postData) error {
	switch {
	case d.Encoding == "base64":
		body, err := base64.StdEncoding.DecodeString(d.Text)
		if err != nil {
			return fmt.Errorf("a body that is not base64: %w", ErrFormat)
		}
		r.Body, r.Text = body, false
	case d.Text == "" && len(d.Params) > 0:
		var pairs []string
		for _, p := range d.Params {
			pairs = append(pairs, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
		}
		r.Body = []byte(strings.Join(pairs, "&"))
	default:
		r.Body = []byte(d.Text)
	}
	return nil
}

// An event is what API Gateway makes of a request, in either version, or a case of this program's own.
type event struct {
	Body                     string
	IsBase64Encoded          bool
	Method, HTTPMethod       string
	Path, RawPath            string
	RawQueryString           string
	MultiValueHeaders        map[string][]string
	MultiValueQueryStringAll map[string][]string `json:"multiValueQueryStringParameters"`
	RequestContext           struct {
		HTTP             struct{ Method string }
		TimeEpoch        int64
		RequestTimeEpoch int64
	}
}

func (e event) request(headers map[string]any) (Request, error) {
	r := Request{Format: Event, Body: []byte(e.Body), Text: !e.IsBase64Encoded}
	for _, m := range []string{e.Method, e.HTTPMethod, e.RequestContext.HTTP.Method, http.MethodPost} {
		if r.Method == "" {
			r.Method = m
		}
	}
	if r.Target = e.RawPath; r.Target == "" {
		r.Target = e.Path
	}
	if query := e.RawQueryString; query != "" {
		r.Target += "?" + query
	} else if len(e.MultiValueQueryStringAll) > 0 {
		r.Target += "?" + url.Values(e.MultiValueQueryStringAll).Encode()
	}
	if at := max(e.RequestContext.TimeEpoch, e.RequestContext.RequestTimeEpoch); at > 0 && at < 1e14 {
		r.At = time.UnixMilli(at).UTC()
	}
	if e.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(e.Body)
		if err != nil {
			return r, fmt.Errorf("a body that is not base64: %w", ErrFormat)
		}
		r.Body = body
	}
	return r, r.addAll(headers, e.MultiValueHeaders)
}

// addAll keeps headers in the order of their names: the order of the wire is lost.
func (r *Request) addAll(headers map[string]any, several map[string][]string) error {
	var all []Header
	for name, values := range several {
		for _, v := range values {
			all = append(all, Header{name, v})
		}
	}
	for name, value := range headers {
		if _, ok := several[name]; ok {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("a header that is no text: %w", ErrFormat)
		}
		all = append(all, Header{name, text})
	}
	slices.SortStableFunc(all, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range all {
		if err := r.add(h.Name, h.Value); err != nil {
			return err
		}
	}
	return nil
}
