package front_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"engang/infra/local/front"
)

type gateway struct {
	*front.Gateway
	url  string
	seen []events.APIGatewayV2HTTPRequest
}

// serve starts a gateway whose functions answer with reply and keep what they were given.
func serve(t *testing.T, reply func() (string, error)) *gateway {
	g := &gateway{}
	invoke := func(_ context.Context, raw []byte) ([]byte, error) {
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		g.seen = append(g.seen, e)
		answer, err := reply()
		return []byte(answer), err
	}
	g.Gateway = &front.Gateway{Routes: []front.Route{
		{Method: "ANY", Path: "/hooks/{endpoint}", Timeout: time.Second, Invoke: invoke},
		{Method: "ANY", Path: "/api/{proxy+}", Timeout: time.Second, IAM: true, Invoke: invoke},
	}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func ok() (string, error) { return `{"statusCode":200,"body":"fine"}`, nil }

func (g *gateway) do(t *testing.T, method, path string, header http.Header, body []byte) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(got)
}

func TestAFunctionGetsWhatTheGatewayMakesOfARequest(t *testing.T) {
	g := serve(t, ok)
	g.do(t, "POST", "/hooks/woo%2Dshop?b=2&a=1&a=3", http.Header{
		"X-Twice": {"one", "two"}, "Content-Type": {"application/json; charset=utf-8"}, "Cookie": {"a=1; b=2"}, "User-Agent": {"sender"},
	}, []byte(`{"id":"æ"}`))
	e := g.seen[0]
	got := map[string]any{
		"version": e.Version, "route": e.RouteKey, "path": e.RawPath, "query": e.RawQueryString, "parameters": e.PathParameters, "joined": e.Headers["x-twice"],
		"type": e.Headers["content-type"], "length": e.Headers["content-length"], "host": e.Headers["host"] != "", "cookies": e.Cookies, "cookie header": e.Headers["cookie"],
		"body": e.Body, "base64": e.IsBase64Encoded, "method": e.RequestContext.HTTP.Method, "stage": e.RequestContext.Stage, "agent": e.RequestContext.HTTP.UserAgent,
		"values": e.QueryStringParameters, "identity": e.RequestContext.Authorizer == nil,
	}
	want := map[string]any{
		"version": "2.0", "route": "ANY /hooks/{endpoint}", "path": "/hooks/woo-shop", "query": "b=2&a=1&a=3", "parameters": map[string]string{"endpoint": "woo-shop"}, "joined": "one,two",
		"type": "application/json; charset=utf-8", "length": "11", "host": true, "cookies": []string{"a=1", "b=2"}, "cookie header": "",
		"body": `{"id":"æ"}`, "base64": false, "method": "POST", "stage": "$default", "agent": "sender",
		"values": map[string]string{"a": "1,3", "b": "2"}, "identity": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name := range e.Headers {
		if name != strings.ToLower(name) {
			t.Errorf("header %q is not in lower case", name)
		}
	}
}

func TestABodyIsBase64UnlessItSaysText(t *testing.T) {
	for _, c := range []struct {
		contentType string
		body        string
		base64      bool
	}{
		{"application/json", `{}`, false},
		{"text/plain", "x", false},
		{"APPLICATION/JSON", `{}`, false},
		{"application/x-www-form-urlencoded", "webhook_id=2", true}, // WooCommerce's ping
		{"application/octet-stream", "x", true},
		{"application/cloudevents+json", "{}", true},
		{"", "x", true},
		{"application/json", "\xff\xfe", true}, // no JSON event can hold these bytes
		{"application/octet-stream", "", false},
	} {
		g := serve(t, ok)
		header := http.Header{"Content-Type": {c.contentType}}
		if c.contentType == "" {
			header = nil
		}
		g.do(t, "POST", "/hooks/x", header, []byte(c.body))
		e := g.seen[0]
		got := e.Body
		if e.IsBase64Encoded {
			raw, err := base64.StdEncoding.DecodeString(e.Body)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if e.IsBase64Encoded != c.base64 || got != c.body {
			t.Errorf("%q: base64 %v, body %q", c.contentType, e.IsBase64Encoded, got)
		}
	}
}

func TestWhatTheGatewayRefusesItself(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		header             http.Header
		body               []byte
		status             int
	}{
		{"no such route", "POST", "/nowhere", nil, nil, 404},
		{"a route without its parameter", "POST", "/hooks/", nil, nil, 404},
		{"a path that goes on", "POST", "/hooks/a/b", nil, nil, 404},
		{"headers over the limit", "POST", "/hooks/a", http.Header{"X-Long": {strings.Repeat("x", front.MaxHeadBytes-100)}}, nil, 431},
		{"a request line over the limit", "POST", "/hooks/a?" + strings.Repeat("x", front.MaxHeadBytes), nil, nil, 431},
		{"a body over the limit", "POST", "/hooks/a", nil, make([]byte, front.MaxBodyBytes+1), 413},
		{"a body whose event is over the function's limit", "POST", "/hooks/a", nil, make([]byte, 5<<20), 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := serve(t, ok)
			answer, body := g.do(t, c.method, c.path, c.header, c.body)
			if answer.StatusCode != c.status || len(g.seen) != 0 || !strings.HasPrefix(body, `{"message":`) {
				t.Errorf("status %d %s, function called %d times", answer.StatusCode, body, len(g.seen))
			}
		})
	}
}

func TestHeadersJustBelowTheLimitPass(t *testing.T) {
	g := serve(t, ok)
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /hooks/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: "
	fmt.Fprint(conn, head+strings.Repeat("x", front.MaxHeadBytes-len(head)-2)+"\r\n\r\n")
	answer, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		t.Errorf("%.100s", answer)
	}
}

func TestAnswersOfAFunction(t *testing.T) {
	for _, c := range []struct {
		name   string
		reply  string
		err    error
		status int
		body   string
	}{
		{"a whole answer", `{"statusCode":405,"headers":{"Allow":"POST"},"body":"no"}`, nil, 405, "no"},
		{"a body in base64", `{"statusCode":200,"body":"eA==","isBase64Encoded":true}`, nil, 200, "x"},
		{"no status: the answer is the body", `{"a":1}`, nil, 200, `{"a":1}`},
		{"a function error", ``, errors.New("crashed with a secret"), 500, `{"message":"Internal Server Error"}`},
		{"an answer that is no JSON", `{`, nil, 500, `{"message":"Internal Server Error"}`},
		{"a status that is none", `{"statusCode":0}`, nil, 500, `{"message":"Internal Server Error"}`},
		{"broken base64", `{"statusCode":200,"body":"!","isBase64Encoded":true}`, nil, 500, `{"message":"Internal Server Error"}`},
	} {
		g := serve(t, func() (string, error) { return c.reply, c.err })
		answer, body := g.do(t, "POST", "/hooks/a", nil, nil)
		if answer.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %d %q", c.name, answer.StatusCode, body)
		}
	}
}

func TestHeadGetsNoBody(t *testing.T) {
	g := serve(t, ok)
	answer, body := g.do(t, "HEAD", "/hooks/a", nil, nil)
	if answer.StatusCode != 200 || body != "" || answer.ContentLength != 4 {
		t.Errorf("%d %q, length %d", answer.StatusCode, body, answer.ContentLength)
	}
}

func TestAFunctionThatIsTooSlowGives503AndGoesOn(t *testing.T) {
	release, finished := make(chan struct{}), make(chan struct{})
	g := serve(t, func() (string, error) {
		<-release
		close(finished)
		return ok()
	})
	g.Routes[0].Timeout = time.Millisecond
	if answer, body := g.do(t, "POST", "/hooks/a", nil, nil); answer.StatusCode != 503 || body != `{"message":"Service Unavailable"}` {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	close(release)
	<-finished
}

func TestTheThrottleAnswers429(t *testing.T) {
	g := serve(t, ok)
	g.Rate, g.Burst = 0.001, 2
	var got []int
	for range 3 {
		answer, _ := g.do(t, "POST", "/hooks/a", nil, nil)
		got = append(got, answer.StatusCode)
	}
	if diff := cmp.Diff([]int{200, 200, 429}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheAPIRouteCarriesAnIdentityAndAGreedyPath(t *testing.T) {
	g := serve(t, ok)
	g.Identity = func(r *http.Request) string { return r.Header.Get("X-As") }
	var shown front.Exchange
	g.Observe = func(x front.Exchange) { shown = x }
	g.do(t, "GET", "/api/events/evt_1", http.Header{"X-As": {"ann"}}, nil)
	e := g.seen[0]
	if e.PathParameters["proxy"] != "events/evt_1" || e.RequestContext.Authorizer.IAM.UserARN != "arn:aws:iam::000000000000:user/ann" {
		t.Errorf("parameters %v, identity %+v", e.PathParameters, e.RequestContext.Authorizer)
	}
	if shown.Status != 200 || shown.Path != "/api/events/evt_1" || string(shown.Answer) != "fine" {
		t.Errorf("observed %+v", shown)
	}
}
