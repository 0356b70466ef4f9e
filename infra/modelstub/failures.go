package modelstub

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A failure is one way to fail: serve answers in place of the API, change spoils a good answer.
type failure struct {
	status int // HTTP status that is answered; zero: none
	serve  func(http.ResponseWriter, *http.Request)
	change func(*request, reply)
}

// RetryAfterSeconds is how long a rate-limited caller is asked to wait.
const RetryAfterSeconds = 1

// failures is what can be asked for, each as the API does it.
var failures = map[string]failure{
	"429":   refusal(rateLimited),
	"500":   refusal(&fault{status: 500, kind: "server_error", message: "The server had an error while processing your request."}),
	"503":   refusal(&fault{status: 503, kind: "service_unavailable_error", code: "server_is_overloaded", message: "Our servers are currently overloaded. Please try again later."}),
	"quota": refusal(&fault{status: 429, kind: "insufficient_quota", code: "insufficient_quota", message: "You exceeded your current quota, please check your plan and billing details."}),
	"key":   refusal(&fault{status: 401, kind: "invalid_request_error", code: "invalid_api_key", message: "Incorrect API key provided."}),
	"model": refusal(&fault{status: 404, kind: "invalid_request_error", code: "model_not_found", message: "The model does not exist or you do not have access to it."}),
	// A project with data residency, asked at the address of another region.
	"region": refusal(&fault{status: 401, kind: "invalid_request_error", code: "incorrect_hostname", message: "Attempted to access resource with incorrect regional hostname."}),
	// What our own compiler of schemas should have refused.
	"form": refusal(&fault{status: 400, kind: "invalid_request_error", code: "invalid_json_schema", param: "text.format.schema", message: "Invalid schema for response_format."}),

	"timeout":   {status: http.StatusGatewayTimeout, serve: gatewayTimeout},
	"hang":      {serve: hang},
	"reset":     {serve: reset},
	"torn":      {status: http.StatusOK, serve: tear},
	"drip":      {status: http.StatusOK, serve: drip},
	"endless":   {status: http.StatusOK, serve: flood},
	"malformed": {status: http.StatusOK, serve: malformed},

	"refusal":   {status: http.StatusOK, change: refuse},
	"length":    {status: http.StatusOK, change: cutOff},
	"filter":    {status: http.StatusOK, change: filter},
	"empty":     {status: http.StatusOK, change: reasonOnly},
	"schema":    {status: http.StatusOK, change: breakSchema},
	"missing":   {status: http.StatusOK, change: leaveOut},
	"nousage":   {status: http.StatusOK, change: func(_ *request, d reply) { d["usage"] = nil }},
	"duplicate": {status: http.StatusOK, change: sayTwice},
}

var rateLimited = &fault{
	status: 429, kind: "requests", code: "rate_limit_exceeded", message: "Rate limit reached for requests.",
	header: http.Header{
		"Retry-After":                    {strconv.Itoa(RetryAfterSeconds)},
		"Retry-After-Ms":                 {strconv.Itoa(RetryAfterSeconds * 1000)},
		"X-Ratelimit-Limit-Requests":     {"500"},
		"X-Ratelimit-Remaining-Requests": {"0"},
		"X-Ratelimit-Reset-Requests":     {strconv.Itoa(RetryAfterSeconds) + "s"},
	},
}

func refusal(f *fault) failure {
	return failure{status: f.status, serve: func(w http.ResponseWriter, _ *http.Request) { f.write(w) }}
}

// gatewayTimeout is what stands before the API giving up on it: no JSON, no error object.
func gatewayTimeout(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusGatewayTimeout)
	_, _ = io.WriteString(w, "<html><head><title>504 Gateway Time-out</title></head></html>")
}

// hang never answers: it ends when the caller goes away.
func hang(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// reset breaks the connection after the request was read, with a TCP reset where it can.
func reset(w http.ResponseWriter, _ *http.Request) { hangUp(w, "") }

// tear breaks it in the middle of a good answer.
func tear(w http.ResponseWriter, _ *http.Request) {
	hangUp(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4096\r\n\r\n"+begun)
}

// hangUp breaks the connection behind what was said. Only the connection itself can be reset: a handler that ends
// without its whole answer closes it in order.
func hangUp(w http.ResponseWriter, said string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, said)
	if tcp, ok := conn.(*net.TCPConn); ok && said == "" { // with something said, a reset could overtake it
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// begun is how a good answer begins.
const begun = `{"id":"resp_cut","object":"response","status":"completed","output":[{"type":"mess`

// drip begins a good answer and never ends it: a byte now and then, as a proxy keeps a connection alive.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	say := http.NewResponseController(w)
	for _, err := io.WriteString(w, begun); err == nil; _, err = io.WriteString(w, "a") {
		if say.Flush() != nil || wait(r.Context(), 20*time.Millisecond) != nil {
			break
		}
	}
	panic(http.ErrAbortHandler)
}

// flood is an answer without end, as fast as it is read.
func flood(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	chunk := strings.Repeat("a", 64<<10)
	for _, err := io.WriteString(w, begun); err == nil; _, err = io.WriteString(w, chunk) {
	}
	panic(http.ErrAbortHandler)
}

// malformed is an answer that a proxy cut: status and type are good, the document is not whole.
func malformed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, begun)
}

func refuse(_ *request, d reply) {
	d.message()["content"] = []any{reply{"type": "refusal", "refusal": "I'm sorry, but I can't help with that."}}
}

func cutOff(_ *request, d reply) {
	text := d.text()
	d.stop("max_output_tokens", text[:len(text)/2])
}

func filter(_ *request, d reply) { d.stop("content_filter", "") }

// reasonOnly is a model that thought until the cap: no message at all, and everything is billed.
func reasonOnly(req *request, d reply) {
	d.stop("max_output_tokens", "")
	d["output"] = d["output"].([]any)[:1]
	spent := max(req.MaxOutputTokens, 64)
	d.bill(spent, spent)
}

// breakSchema takes the first property away, which strict mode rules out and models have done.
func breakSchema(req *request, d reply) {
	d.say(write(req, style{without: 1}))
}

// leaveOut fits the schema and lacks what was asked for: free texts are empty, lists as short as allowed.
func leaveOut(req *request, d reply) {
	d.say(write(req, style{bare: true}))
}

func sayTwice(_ *request, d reply) {
	d["output"] = append(d["output"].([]any), d.message())
}

// stop makes the response an incomplete one with what was said so far.
func (d reply) stop(reason, said string) {
	d["status"] = "incomplete"
	d["incomplete_details"] = reply{"reason": reason}
	d.say(strings.ToValidUTF8(said, ""))
	d.message()["status"] = "incomplete"
}
