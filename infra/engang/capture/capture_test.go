package capture_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/capture"
	"engang/infra/engang/delivery"
	"engang/shared/webhook"
)

type headers = []capture.Header

func TestEachFormatKeepsHeadersAndBody(t *testing.T) {
	const body = `{"name":"Caf\u00e9","url":"https:\/\/x"}`
	for _, c := range []struct {
		name, text string
		want       capture.Request
	}{
		{"raw, as over the wire", "POST /hooks/woo?a=1 HTTP/1.1\r\nHost: x.example\r\nX-WC-Webhook-Topic:  product.updated \r\n\r\n" + body + "\n",
			capture.Request{Format: capture.RawHTTP, Method: "POST", Target: "/hooks/woo?a=1", Headers: headers{{"Host", "x.example"}, {"X-WC-Webhook-Topic", "product.updated"}}, Body: []byte(body + "\n")}},
		{"raw, copied by hand", "\n\nPOST https://x.example/hooks/woo\nhost: x.example\n\n" + body,
			capture.Request{Format: capture.RawHTTP, Method: "POST", Target: "https://x.example/hooks/woo", Headers: headers{{"host", "x.example"}}, Body: []byte(body)}},
		{"raw, headers alone", "X-Sum: 1\nx-sum: 1\n", capture.Request{Format: capture.RawHTTP, Headers: headers{{"X-Sum", "1"}, {"x-sum", "1"}}}},
		{"raw, of HTTP/2", ":method: POST\n:path: /hooks/woo\n:authority: x.example\n:scheme: https\nx-sum: 1\n\n{}",
			capture.Request{Format: capture.RawHTTP, Method: "POST", Target: "/hooks/woo", Headers: headers{{"Host", "x.example"}, {"x-sum", "1"}}, Body: []byte("{}")}},
		{"raw, with a folded header and a body of blank lines", "POST / HTTP/1.0\r\nX-Long: a\r\n\tb\r\n\r\n\r\n\r\n",
			capture.Request{Format: capture.RawHTTP, Method: "POST", Target: "/", Headers: headers{{"X-Long", "a b"}}, Body: []byte("\r\n\r\n")}},
		{"raw, in chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
			capture.Request{Format: capture.RawHTTP, Method: "POST", Target: "/", Headers: headers{{"Transfer-Encoding", "chunked"}}, Body: []byte(`{"a":1}`)}},
		{"raw, said to be in chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{}",
			capture.Request{Format: capture.RawHTTP, Method: "POST", Target: "/", Headers: headers{{"Transfer-Encoding", "chunked"}}, Body: []byte(`{}`)}},
		{"curl, as a browser copies it", "curl 'https://x.example/hooks/woo?a=1&b=2' \\\n  -X 'POST' \\\n  -H 'X-Sum: it'\\''s' -H 'X-Empty;' -H 'X-None:' \\\n  --data-raw $'{\\'a\\':\"\\u00e9\\x21\\101\\n\"}' \\\n  --compressed",
			capture.Request{Format: capture.Curl, Method: "POST", Target: "https://x.example/hooks/woo?a=1&b=2", Headers: headers{{"X-Sum", "it's"}, {"X-Empty", ""}, {"Content-Type", "application/x-www-form-urlencoded"}}, Body: []byte("{'a':\"é!A\n\"}")}},
		{"curl, with short options in one", "curl -sSXPUT -HA:b --url http://x.example -d\"a=\\\"1\\\"\" -d b=2 -o /dev/null -m 5 --retry=3 | jq .",
			capture.Request{Format: capture.Curl, Method: "PUT", Target: "http://x.example", Headers: headers{{"A", "b"}, {"Content-Type", "application/x-www-form-urlencoded"}}, Body: []byte(`a="1"&b=2`)}},
		{"curl, with JSON", "curl http://x.example --json '{\"a\":' --json '1}' -A me -e you\ncurl http://other.example", capture.Request{Format: capture.Curl, Method: "POST", Target: "http://x.example",
			Headers: headers{{"User-Agent", "me"}, {"Referer", "you"}, {"Content-Type", "application/json"}}, Body: []byte(`{"a":1}`)}},
		{"curl, with the body in a file", "curl http://x.example -H A:b --data-binary @body.json", capture.Request{Format: capture.Curl, Method: "POST", Target: "http://x.example",
			Headers: headers{{"A", "b"}, {"Content-Type", "application/x-www-form-urlencoded"}}, Body: []byte{}, Elsewhere: true}},
		{"curl, with an @ that is meant", "curl http://x.example -H content-type:x --data-raw @body", capture.Request{Format: capture.Curl, Method: "POST", Target: "http://x.example",
			Headers: headers{{"content-type", "x"}}, Body: []byte("@body")}},
		{"curl, with a form that it makes", "curl http://x.example -F a=@b", capture.Request{Format: capture.Curl, Method: "POST", Target: "http://x.example",
			Headers: headers{{"Content-Type", "application/x-www-form-urlencoded"}}, Body: []byte{}, Elsewhere: true}},
		{"curl, a look", "curl -I http://x.example", capture.Request{Format: capture.Curl, Method: "HEAD", Target: "http://x.example", Body: []byte{}}},
		{"an archive", `{"log":{"entries":[{"startedDateTime":"2026-11-29T13:00:00.5+01:00","request":{"method":"POST","url":"https://x.example/hooks/woo","headers":[{"name":":path","value":"/hooks/woo"},{"name":"x-sum","value":"1"}],"postData":{"mimeType":"application/json","text":"{\"a\":1}"}}}]}}`,
			capture.Request{Format: capture.HAR, Method: "POST", Target: "https://x.example/hooks/woo", Headers: headers{{"x-sum", "1"}}, Body: []byte(`{"a":1}`), Text: true, At: time.Date(2026, 11, 29, 12, 0, 0, 500e6, time.UTC)}},
		{"an archive with bytes", `{"log":{"entries":[{"request":{"method":"POST","headers":[],"postData":{"encoding":"base64","text":"AAEC"}}}]}}`,
			capture.Request{Format: capture.HAR, Method: "POST", Body: []byte{0, 1, 2}}},
		{"an archive with fields", `{"log":{"entries":[{"startedDateTime":"now","request":{"method":"POST","headers":[],"postData":{"params":[{"name":"a b","value":"c&d"},{"name":"e","value":""}]}}}]}}`,
			capture.Request{Format: capture.HAR, Method: "POST", Body: []byte("a+b=c%26d&e="), Text: true}},
		{"an event of version 2", `{"version":"2.0","rawPath":"/hooks/woo","rawQueryString":"a=1","headers":{"x-sum":"1","b":"2"},"requestContext":{"http":{"method":"PUT"},"timeEpoch":1795953600500},"body":"e30=","isBase64Encoded":true}`,
			capture.Request{Format: capture.Event, Method: "PUT", Target: "/hooks/woo?a=1", Headers: headers{{"b", "2"}, {"x-sum", "1"}}, Body: []byte("{}"), At: time.UnixMilli(1795953600500).UTC()}},
		{"an event of version 1", `{"httpMethod":"POST","path":"/hooks/woo","headers":{"X-Sum":"2"},"multiValueHeaders":{"X-Sum":["1","2"]},"multiValueQueryStringParameters":{"a":["1"]},"body":"{}","requestContext":{"requestTimeEpoch":1795953600500}}`,
			capture.Request{Format: capture.Event, Method: "POST", Target: "/hooks/woo?a=1", Headers: headers{{"X-Sum", "1"}, {"X-Sum", "2"}}, Body: []byte("{}"), Text: true, At: time.UnixMilli(1795953600500).UTC()}},
	} {
		all, err := capture.Parse([]byte(c.text))
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %d requests, %v", c.name, len(all), err)
			continue
		}
		if diff := cmp.Diff(c.want, all[0]); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestWhatIsNoCaptureIsRefusedWithoutRepeatingIt(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"nothing", " \n", "empty"},
		{"a body", `{"id":1,"name":"hush"}`, "--body"},
		{"broken JSON", `{"log": hush`, "begins as JSON"},
		{"an empty archive", `{"log":{"entries":[]}}`, "0 requests"},
		{"an archive whose request is null", `{"log":{"entries":[{"request":{"method":"POST","headers":[]}},{"request":null}]}}`, "request 2: the archive has none there"},
		{"an archive without a request", `{"log":{"entries":[{"startedDateTime":"2026-11-29T12:00:00Z"}]}}`, "request 1: the archive has none there"},
		{"an archive whose entry is null", `{"log":{"entries":[null]}}`, "request 1: the archive has none there"},
		{"an archive with a body that is not base64", `{"log":{"entries":[{"request":{"postData":{"encoding":"base64","text":"hush!"}}}]}}`, "not base64"},
		{"an event with a body that is not base64", `{"headers":{},"body":"hush!","isBase64Encoded":true}`, "not base64"},
		{"an event with a header of a kind of its own", `{"headers":{"a":["hush"]},"body":"{}"}`, "no text"},
		{"an archive with a header that is none", `{"log":{"entries":[{"request":{"headers":[{"name":"hush hush","value":""}]}}]}}`, "request 1"},
		{"text", "hush hush\nhush", "line 2"},
		{"one line of text", "hush hush", "no headers"},
		{"an answer", "HTTP/1.1 200 OK\r\nA: hush\r\n\r\n", "an answer"},
		{"a header with a space in its name", "POST / HTTP/1.1\nhush hush: 1\n\n", "line 2"},
		{"too many headers", "POST / HTTP/1.1\n" + strings.Repeat("A: hush\n", 501), "line 502"},
		{"curl without anything", "curl -s", "neither"},
		{"curl with two addresses", "curl http://hush http://hush", "more than one address"},
		{"curl with an open quotation mark", "curl 'hush", "without an end"},
		{"curl with an open double one", `curl "hush\"`, "without an end"},
		{"curl with an open $'", `curl $'hush\'`, "without an end"},
		{"curl with a variable", "curl $hush", "shell would replace"},
		{"curl with a variable inside", `curl "$hush"`, "shell would replace"},
		{"curl with an escape that is none", `curl $'\xhush'`, "escape"},
		{"curl with headers in a file", "curl http://hush -H @hush", "from a file"},
		{"curl that ends too early", "curl http://hush -H", "needs a value"},
		{"curl with a header of two lines", "curl http://hush -H $'A: hush\\nB: hush'", "a header that is none"},
	} {
		all, err := capture.Parse([]byte(c.text))
		if !errors.Is(err, capture.ErrFormat) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %d requests, %v", c.name, len(all), err)
		}
	}
}

// The header view is what a server sees: names without case, repeats kept.
func TestHeadersAsAServerSeesThem(t *testing.T) {
	all, err := capture.Parse([]byte("x-wc-webhook-signature: a\nX-WC-Webhook-Signature: b\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(http.Header{"X-Wc-Webhook-Signature": {"a", "b"}}, all[0].Header()); diff != "" {
		t.Error(diff)
	}
}

// What this repository keeps as events of the gateway can be read.
func TestEventsOfTheGatewayCanBeRead(t *testing.T) {
	files, err := filepath.Glob("../../../events/receiver/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d events, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := capture.Parse(raw); err != nil || len(all) != 1 || all[0].Format != capture.Event || len(all[0].Headers) == 0 {
			t.Errorf("%s: %d requests, %v", file, len(all), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"POST /a HTTP/1.1\r\nA: b\r\n\r\n{}", "curl 'http://x' -H 'A: b' --data-binary $'\\u00e9'", `{"log":{"entries":[{"request":{"headers":[],"postData":{"text":"x"}}}]}}`,
		`{"headers":{"a":"b"},"body":"e30=","isBase64Encoded":true}`, "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n2\r\n{}\r\n0\r\n\r\n", "curl \"", "curl -X", ":method: GET\na: b", "\xef\xbb\xbf{", "a: b\n c", "a:\n \x00", "a:\n b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := capture.Parse(raw)
		if err != nil {
			if !errors.Is(err, capture.ErrFormat) {
				t.Errorf("%v", err)
			}
			return
		}
		if len(all) == 0 {
			t.Error("neither requests nor an error")
		}
		size := 0
		for _, r := range all {
			size += len(r.Body)
			for _, h := range r.Headers {
				if h.Name == "" || strings.ContainsAny(h.Name, " \r\n:") || strings.ContainsAny(h.Value, "\r\n\x00") {
					t.Errorf("header %q: %q", h.Name, h.Value)
				}
			}
		}
		if size > 6*len(raw) { // an escape of a shell or of JSON is never shorter than what it stands for
			t.Errorf("%d bytes of bodies in a capture of %d", size, len(raw))
		}
	})
}

// Whatever is written as raw HTTP or as a curl command is read as it was.
func FuzzWrittenIsRead(f *testing.F) {
	f.Add("X-Sum", "a'b", []byte("{\"a\":\"b\"}\n"))
	f.Add("x", "\f", []byte("$`\\\"'\r\n"))
	f.Fuzz(func(t *testing.T, name, value string, body []byte) {
		value = strings.Trim(value, " \t")
		h := http.Header{}
		h.Set(name, value)
		for k := range h {
			name = k
		}
		if strings.ContainsAny(name+value, "\r\n\x00") || !letters(name) || value == "" || strings.EqualFold(name, "Transfer-Encoding") || bytes.HasPrefix(body, []byte("@")) {
			return
		}
		command := delivery.Curl(webhook.Request{Method: "POST", Header: h, Body: body}, "http://127.0.0.1/hooks/a")
		raw := append([]byte("POST /hooks/a HTTP/1.1\r\n"+name+": "+value+"\r\n\r\n"), body...)
		for format, text := range map[string][]byte{"curl": []byte(command), "raw": raw} {
			all, err := capture.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v: %q", format, err, text)
			}
			if got := all[0]; got.Method != "POST" || got.Headers[0].Name != name || got.Headers[0].Value != value || !bytes.Equal(got.Body, body) {
				t.Errorf("%s: %+v from %q", format, got, text)
			}
		}
	})
}

func letters(name string) bool {
	return name != "" && len(name) < 200 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-0123456789") == ""
}
