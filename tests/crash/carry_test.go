package crash_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/sivchari/kumo"

	"engang/infra/local/wire"
	"engang/shared/telemetry"
)

type watchKey struct{}

// ours carries the calls of clients that know nothing of a watch, as that of the shops, which is the process's own.
type ours struct{ next http.RoundTripper }

func (o ours) RoundTrip(r *http.Request) (*http.Response, error) {
	if w, ok := r.Context().Value(watchKey{}).(*watch); ok {
		return w.RoundTrip(r)
	}
	return o.next.RoundTrip(r)
}

// engine is the embedded engine as a handler: sockets have no place in virtual time. Its own way to that,
// kumo.NewTestServer, needs Go 1.27.
var engine = sync.OnceValue(func() http.Handler {
	server := reflect.ValueOf(kumo.NewServer()).Elem().FieldByName("httpServer").UnsafePointer()
	return (*httptest.Server)(server).Config.Handler
})

// carry has a call answered: by the engine, the model, or the shop.
func (w *watch) carry(r *http.Request) (*http.Response, error) {
	call := telemetry.Call(r.Context())
	if w.table != nil && strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
		return w.table.RoundTrip(r)
	}
	var handler http.Handler
	switch {
	case call == "model call":
		handler = w.world.Stub()
	case call == "list changes":
		handler = w.world.shop
	default:
		handler = engine()
	}
	if r.Header.Get("X-Amz-Target") == "AmazonSQS.ReceiveMessage" {
		return w.poll(r)
	}
	return asked(handler, r, call)
}

// poll waits for messages. The engine's own wait would hold up virtual time.
func (w *watch) poll(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	const waits = `"WaitTimeSeconds":1`
	at := []byte(strings.Replace(string(raw), waits, `"WaitTimeSeconds":0`, 1))
	for last := bytes.Equal(raw, at); ; last = true {
		one := r.Clone(r.Context())
		one.Body, one.ContentLength = io.NopCloser(bytes.NewReader(at)), int64(len(at))
		answer, err := asked(engine(), one, "")
		if err != nil || last {
			return answer, err
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || strings.Contains(string(body), "MessageId") {
			answer.Body = io.NopCloser(bytes.NewReader(body))
			return answer, err
		}
		time.Sleep(time.Second)
	}
}

// asked has a handler answer a request.
func asked(handler http.Handler, r *http.Request, call string) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:40000"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	if err := serve(handler, rec, in); err != nil {
		return nil, err
	}
	if call == "model call" {
		time.Sleep(latency)
	}
	answer := rec.Result()
	answer.Request = r
	return answer, nil
}

// serve tells a handler that breaks the connection off.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(error); ok && errors.Is(e, http.ErrAbortHandler) {
				err = wire.ErrBroken
				return
			}
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// refusal is how a service says that it has too much to do.
func refusal(r *http.Request, call string) *http.Response {
	service, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	a := struct {
		status            int
		kind, body, extra string
	}{http.StatusBadRequest, "application/x-amz-json-1.0", "", ""}
	switch {
	case strings.HasPrefix(service, "DynamoDB"):
		a.body = `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Rate exceeded"}`
	case service == "AmazonSQS":
		a.body = `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"Rate exceeded"}`
	case service == "AmazonSSM":
		a.kind, a.body = "application/x-amz-json-1.1", `{"__type":"ThrottlingException","message":"Rate exceeded"}`
	case call == "model call":
		a.status, a.kind = http.StatusTooManyRequests, "application/json"
		a.body = `{"error":{"message":"Rate limit reached for requests.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	case strings.HasPrefix(call, "list changes"):
		a.status, a.kind, a.body = http.StatusServiceUnavailable, "text/html", "<html>too busy</html>"
	default:
		a.status, a.kind = http.StatusServiceUnavailable, "application/xml"
		a.body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>`
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
}
