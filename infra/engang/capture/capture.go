// Package capture reads requests that somebody has captured: raw HTTP, an archive of a browser or proxy
// (HAR), a curl command, or the event that a gateway made of one.
//
// It keeps what a diagnosis needs and a parser usually tidies away: headers in their order and case, also
// those that stand twice, and the body to the byte. Nothing is fetched or opened that a capture names.
// Errors never repeat what a capture holds.
package capture

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrFormat says that there is no captured request that can be read.
var ErrFormat = errors.New("no captured request that can be read")

// The formats.
const (
	RawHTTP = "raw HTTP"
	HAR     = "HAR"
	Curl    = "curl"
	Event   = "event of a gateway"
)

// The bounds of what is read.
const (
	maxHeaders  = 500
	maxRequests = 10_000
)

// A Header is one header as it was written.
type Header struct{ Name, Value string }

// A Request is one captured request.
type Request struct {
	Format  string
	Method  string // empty: the capture does not say
	Target  string // path and query, or the whole address; empty: the capture does not say
	Headers []Header
	Body    []byte
	At      time.Time // when it was made; zero: the capture does not say

	// Text says that the body was text to whoever captured it: bytes that are no text in its encoding, and
	// line ends, may have been changed.
	Text bool

	// Elsewhere says that the capture does not hold the body, but the name of a file, or how to make it.
	Elsewhere bool
}

// Parse finds out the format by itself. Of an archive all requests are given, in its order; of the rest
// there is one. It returns an error that wraps [ErrFormat].
func Parse(raw []byte) ([]Request, error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	begin := bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case len(begin) == 0:
		return nil, fmt.Errorf("the capture is empty: %w", ErrFormat)
	case begin[0] == '{':
		return parseJSON(begin)
	case bytes.HasPrefix(begin, []byte("curl")) && len(begin) > 4 && strings.ContainsRune(" \t\\\r\n", rune(begin[4])):
		r, err := parseCurl(string(begin))
		return []Request{r}, err
	}
	r, err := parseHTTP(raw)
	return []Request{r}, err
}

// Header are the headers with canonical names, as a server sees them.
func (r Request) Header() http.Header {
	h := http.Header{}
	for _, one := range r.Headers {
		h.Add(one.Name, one.Value)
	}
	return h
}

// add keeps a header. Headers of HTTP/2 that are no headers say what else stands in the first line.
func (r *Request) add(name, value string) error {
	value = strings.Trim(value, " \t")
	switch strings.ToLower(name) {
	case ":method":
		r.Method = value
		return nil
	case ":path":
		r.Target = value
		return nil
	case ":authority":
		name = "Host"
	case ":scheme":
		return nil
	}
	if !token(name) || strings.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("a header that is none: %w", ErrFormat)
	}
	if len(r.Headers) == maxHeaders {
		return fmt.Errorf("more than %d headers: %w", maxHeaders, ErrFormat)
	}
	r.Headers = append(r.Headers, Header{name, value})
	return nil
}

// token tells whether a text can be the name of a header or a method.
func token(text string) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) {
			return false
		}
	}
	return text != "" && len(text) <= 256
}
