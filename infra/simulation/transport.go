package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"

	"engang/shared/telemetry"
)

// A sent is a request that was read.
type sent struct {
	call
	*http.Request
	raw  []byte
	body requestBody
}

// A requestBody is what the simulation understands of a request to the table.
type requestBody struct {
	Key, Item                 map[string]attribute
	UpdateExpression          string
	ConditionExpression       string
	ExpressionAttributeValues map[string]attribute
	TransactItems             []map[string]requestBody
}

// An attribute is a value of an item, as far as it is a text, a number or bytes.
type attribute struct{ S, N, B string }

func (a attribute) number() int64 {
	n, err := strconv.ParseInt(a.N, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// writes are the single writes of a request.
func (b requestBody) writes() []requestBody {
	if len(b.TransactItems) == 0 {
		return []requestBody{b}
	}
	var all []requestBody
	for _, part := range b.TransactItems {
		for _, one := range part {
			all = append(all, one)
		}
	}
	return all
}

func (b requestBody) key() map[string]attribute {
	if len(b.Key) > 0 {
		return b.Key
	}
	return b.Item
}

// item names the item that is written: "B#shop#test#product:1 O#card@000001#9f2c41d0".
func (b requestBody) item() string { return b.key()["pk"].S + " " + b.key()["sk"].S }

// RoundTrip is the transport of every client: of the table's, the bucket's, and the model's.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := read(r)
	if err != nil {
		return nil, err
	}
	a := actorOf(r.Context())
	if inBucket(r) {
		return w.askBucket(a, q)
	}
	if a == nil || a.person && a.onlyReads(q) {
		return w.engine.RoundTrip(q.Request)
	}
	if r.Header.Get("X-Amz-Target") == "" {
		return w.askModel(a, q)
	}
	w.weaken(q)
	var answer *http.Response
	var failed error
	err = a.step(q.call, func() string {
		answer, failed = w.engine.RoundTrip(q.Request)
		if failed != nil {
			return failed.Error()
		}
		return w.observe(a, q, answer)
	})
	switch {
	case err == errThrottled:
		return answerWith(r, http.StatusBadRequest, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"too much"}`)), nil
	case err != nil:
		return nil, err
	}
	return answer, failed
}

// onlyReads tells whether a person's call is answered without a step: lists are read side by side. A dead one gets no
// answer, which the context of the call has said already.
func (a *actor) onlyReads(q *sent) bool {
	return !a.dead && (strings.HasPrefix(q.name, "read ") || strings.HasPrefix(q.name, "query ") || strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Query"))
}

func read(r *http.Request) (*sent, error) {
	var raw []byte
	if r.Body != nil {
		var err error
		if raw, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	}
	own := *r
	q := &sent{Request: &own, raw: raw, call: call{name: telemetry.Call(r.Context()), try: 1}}
	q.Request.Body = readCloser{bytes.NewReader(raw)}
	for part := range strings.SplitSeq(r.Header.Get("Amz-Sdk-Request"), "; ") {
		if n, ok := strings.CutPrefix(part, "attempt="); ok {
			q.try, _ = strconv.Atoi(n)
		}
	}
	if inBucket(r) {
		q.on = shortKey(keyIn(r) + r.URL.Query().Get("prefix"))
		return q, nil
	}
	if actorOf(r.Context()) == nil || r.Header.Get("X-Amz-Target") == "" {
		return q, nil
	}
	if err := json.Unmarshal(raw, &q.body); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	q.on = q.about()
	return q, nil
}

// about says in short what a request to the table is about.
func (q *sent) about() string {
	if v, ok := q.body.ExpressionAttributeValues[":shard"]; ok {
		return v.S
	}
	if v, ok := q.body.ExpressionAttributeValues[":hash"]; ok {
		return v.S
	}
	var names []string
	for _, one := range q.body.writes() {
		names = append(names, short(one.item()))
	}
	return strings.Join(names, " and ")
}

// short leaves out of an item's name what all have, and most of a digest.
func short(item string) string {
	pk, sk, _ := strings.Cut(item, " ")
	if sk == "EVENT" {
		return strings.TrimPrefix(pk, "E#")
	}
	object := pk[strings.LastIndexByte(pk, '#')+1:]
	if kind, rest, ok := strings.Cut(sk, "#"); ok && kind == "O" {
		recipe, digest, _ := strings.Cut(rest, "#")
		name, version, _ := strings.Cut(recipe, "@")
		return fmt.Sprintf("%s/%s@%s/%.6s", object, name, strings.TrimLeft(version, "0"), digest) + losing(digest)
	}
	return object + " " + sk
}

func losing(digest string) string {
	if _, attempt, ok := strings.Cut(digest, "#LOST#"); ok {
		return " losing " + attempt
	}
	return ""
}

// refreshed gives the request's body back with other bytes.
func (q *sent) refreshed(raw []byte) {
	q.raw = raw
	q.Request.Body, q.Request.ContentLength = readCloser{bytes.NewReader(raw)}, int64(len(raw))
}

// peek reads an answer, and leaves it as it was.
func peek(answer *http.Response) []byte {
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil
	}
	answer.Body = readCloser{bytes.NewReader(raw)}
	return raw
}

// wrote tells who watches the request that it left the machine.
func wrote(r *http.Request) {
	if t := httptrace.ContextClientTrace(r.Context()); t != nil {
		if t.WroteHeaders != nil {
			t.WroteHeaders()
		}
		if t.WroteRequest != nil {
			t.WroteRequest(httptrace.WroteRequestInfo{})
		}
	}
}

// askModel is a call of the model: the request, the time that the model takes, and the answer.
func (w *world) askModel(a *actor, q *sent) (*http.Response, error) {
	q.on = short(a.operation)
	var said reply
	err := a.step(q.call, func() string {
		wrote(q.Request)
		said = w.model(a, q.raw)
		return said.kind
	})
	switch {
	case err == errThrottled:
		return answerWith(q.Request, http.StatusTooManyRequests, []byte(`{"error":{"type":"requests","code":"rate_limit_exceeded","message":"slow down"}}`)), nil
	case err != nil:
		return nil, err
	}
	took := min(said.took, limits.Call)
	if err := a.pause(took); err != nil {
		return nil, err
	}
	if said.took > limits.Call || said.status == 0 {
		w.note(a, "", "the model's answer does not come")
		return nil, timeout{}
	}
	answer := answerWith(q.Request, said.status, said.body)
	for name, value := range said.header {
		answer.Header.Set(name, value)
	}
	return answer, nil
}

// A timeout is what a connection says after its deadline.
type timeout struct{}

// Error says so.
func (timeout) Error() string { return "no answer in time" }

// Timeout is true.
func (timeout) Timeout() bool { return true }
