package capture

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httputil"
	"regexp"
	"strings"
)

var (
	requestLine  = regexp.MustCompile(`^([A-Za-z]+) (\S+)(?: HTTP/[0-9](?:\.[0-9])?)?$`)
	responseLine = regexp.MustCompile(`^HTTP/[0-9](?:\.[0-9])? [0-9]{3}`)
)

// parseHTTP reads a request as it goes over the wire. Lines may end without a carriage return, as they do
// where somebody has copied them, and the first line may be missing. Everything behind the blank line is
// the body, whatever Content-Length says.
func parseHTTP(raw []byte) (Request, error) {
	r := Request{Format: RawHTTP}
	head, body := divide(raw)
	lines := strings.Split(strings.TrimLeft(head, "\r\n"), "\n")
	for n, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		name, value, ok := strings.Cut(line, ":")
		if strings.HasPrefix(line, ":") { // of HTTP/2
			name, value, ok = strings.Cut(line[1:], ":")
			name = ":" + name
		}
		m := requestLine.FindStringSubmatch(line)
		switch {
		case n == 0 && responseLine.MatchString(line):
			return r, fmt.Errorf("the capture is an answer, not a request: %w", ErrFormat)
		case n == 0 && m != nil:
			r.Method, r.Target = m[1], m[2]
		case n > 0 && strings.TrimLeft(line, " \t") != line && len(r.Headers) > 0: // folded
			if strings.ContainsAny(line, "\r\x00") {
				return r, fmt.Errorf("line %d is no part of a header: %w", n+1, ErrFormat)
			}
			last := &r.Headers[len(r.Headers)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(line))
		case !ok || r.add(name, value) != nil:
			return r, fmt.Errorf("line %d is no header; the formats are raw HTTP, HAR and a curl command: %w", n+1, ErrFormat)
		}
	}
	if len(r.Headers) == 0 {
		return r, fmt.Errorf("no headers: %w", ErrFormat)
	}
	r.Body = r.joined(body)
	return r, nil
}

// divide cuts at the first blank line, of which there may be some before the request.
func divide(raw []byte) (head string, body []byte) {
	begin := len(raw) - len(bytes.TrimLeft(raw, "\r\n"))
	for at := begin; at < len(raw); {
		end := bytes.IndexByte(raw[at:], '\n')
		if end < 0 {
			break
		}
		if line := raw[at : at+end]; len(bytes.TrimSuffix(line, []byte("\r"))) == 0 {
			return string(bytes.TrimRight(raw[begin:at], "\r\n")), raw[at+end+1:]
		}
		at += end + 1
	}
	return string(bytes.TrimRight(raw[begin:], "\r\n")), nil
}

// joined takes the framing off a body that came in chunks, if it still has it.
func (r Request) joined(body []byte) []byte {
	if !strings.EqualFold(r.Header().Get("Transfer-Encoding"), "chunked") {
		return body
	}
	whole, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body)))
	if err != nil {
		return body
	}
	return whole
}
