package diagnose

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	doCapture = "capture to the byte (curl --data-binary, a raw log), or look for what on the way changes the body"
	doRaw     = "verify the raw body before anything parses it, and pass it on as it came"
)

// bodyCauses are what happens to a body on its way into a receiver or into a capture.
var bodyCauses = []cause{
	{"body-newline-added", "newline at the body's end", body, doCapture, bodies(
		bodyOption{"one newline is taken from the end of the body: the capture added it", func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) }},
		bodyOption{"one line end (CR LF) is taken from the end of the body: the capture added it", func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r\n")) }},
		bodyOption{"white space is taken from both ends of the body: the capture added it", bytes.TrimSpace},
	)},
	{"body-newline-missing", "newline that is missing at the body's end", body, doCapture, bodies(
		bodyOption{"a newline is put at the end of the body: something took it away", func(b []byte) []byte { return append(bytes.Clone(b), '\n') }},
		bodyOption{"a line end (CR LF) is put at the end of the body: something took it away", func(b []byte) []byte { return append(bytes.Clone(b), "\r\n"...) }},
	)},
	{"body-crlf", "CRLF", body, doCapture, bodies(
		bodyOption{"the line ends of the body are LF, and not CR LF: something changed them", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }},
		bodyOption{"the line ends of the body are CR LF, and not LF: something changed them", func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		}},
	)},
	{"body-bom", "byte order mark", body, "write and read files without a byte order mark", bodies(
		bodyOption{"the byte order mark is taken from the begin of the body: an editor put it there", func(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }},
		bodyOption{"a byte order mark is put before the body: something took it away", func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }},
	)},
	{"body-base64", "base64 body", body, "decode the body where the gateway says isBase64Encoded, before it is verified", bodies(
		bodyOption{"the body is decoded from base64, into which a gateway put it", unbase64},
	)},
	{"body-json", "re-encoded JSON", body, doRaw, reformatted},
	{"body-json-text", "body as a JSON text", body, doRaw, bodies(
		bodyOption{"the body is taken out of the JSON text, or the escapes of a log, in which it stands", unquoted},
	)},
	{"body-form", "body as a form", body, doRaw, bodies(
		bodyOption{"the body is written as the form field payload, which the sender signed", func(b []byte) []byte { return []byte("payload=" + url.QueryEscape(string(b))) }},
		bodyOption{"the body is what the form field payload holds", payload},
		bodyOption{"the escapes of a form are taken out of the body", unescaped(url.QueryUnescape)},
		bodyOption{"spaces in the form are written as plus signs", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("%20"), []byte("+")) }},
		bodyOption{"spaces in the form are written as %20", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("+"), []byte("%20")) }},
	)},
	{"body-charset", "body in another character set", body, doRaw, bodies(
		bodyOption{"the body is UTF-8 again, which something read as Latin-1 and wrote anew", unmojibaked},
		bodyOption{"the body is read as Latin-1, which something wrote anew as UTF-8", narrowed},
	)},
	{"body-compressed", "compressed body", body, "let the proxy pass the body on as it came, with its Content-Encoding", bodies(
		bodyOption{"the body is unpacked (gzip)", unpacked},
	)},
	{"body-cut", "body that is longer or shorter than Content-Length", body, doCapture, cut},
}

type bodyOption struct {
	what   string
	change func([]byte) []byte // the same bytes, or nil: it changes nothing here
}

// bodies are changes of the body alone.
func bodies(all ...bodyOption) func(*search, attempt) []option {
	return func(*search, attempt) []option {
		options := make([]option, len(all))
		for i, o := range all {
			options[i] = o.option()
		}
		return options
	}
}

func (o bodyOption) option() option {
	return option{what: o.what, apply: func(a attempt) (attempt, bool) {
		changed := o.change(a.request.Body)
		if changed == nil || bytes.Equal(changed, a.request.Body) {
			return a, false
		}
		a.request.Body = changed
		return a, true
	}}
}

func unbase64(b []byte) []byte {
	text := strings.TrimSpace(string(b))
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if plain, err := e.DecodeString(text); err == nil {
			return plain
		}
	}
	return nil
}

func unquoted(b []byte) []byte {
	text := strings.TrimSpace(string(b))
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		return []byte(plain)
	}
	if json.Unmarshal([]byte(`"`+text+`"`), &plain) == nil {
		return []byte(plain)
	}
	if plain, err := strconv.Unquote(text); err == nil {
		return []byte(plain)
	}
	return nil
}

func payload(b []byte) []byte {
	fields, err := url.ParseQuery(string(b))
	if err != nil || !fields.Has("payload") {
		return nil
	}
	return []byte(fields.Get("payload"))
}

func unescaped(decode func(string) (string, error)) func([]byte) []byte {
	return func(b []byte) []byte {
		plain, err := decode(string(b))
		if err != nil {
			return nil
		}
		return []byte(plain)
	}
}

// narrowed writes each character as one byte, if each is one.
func narrowed(b []byte) []byte {
	if !utf8.Valid(b) {
		return nil
	}
	var out []byte
	for _, r := range string(b) {
		if r > 0xff {
			return nil
		}
		out = append(out, byte(r))
	}
	return out
}

// unmojibaked is narrowed where the result is UTF-8.
func unmojibaked(b []byte) []byte {
	if out := narrowed(b); utf8.Valid(out) {
		return out
	}
	return nil
}

// maxUnpacked keeps a small body from becoming a huge one.
const maxUnpacked = 16 << 20

func unpacked(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
	if err != nil {
		return nil
	}
	return plain
}

// cut takes from the body what is beyond its Content-Length, or all of it.
func cut(*search, attempt) []option {
	return []option{
		{what: "the body ends where Content-Length says", apply: func(a attempt) (attempt, bool) {
			n, err := strconv.Atoi(a.request.Header.Get("Content-Length"))
			if err != nil || n < 0 || n >= len(a.request.Body) {
				return a, false
			}
			a.request.Body = a.request.Body[:n]
			return a, true
		}},
		{what: "there is no body: the signature is of an empty one", apply: func(a attempt) (attempt, bool) {
			empty := len(a.request.Body) == 0
			a.request.Body = []byte{}
			return a, !empty
		}, do: "look at what the sender sends: it signed nothing, or something read the body before it was signed"},
	}
}
