package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"engang/shared/telemetry"
)

// A Wire carries the calls of a whole system. It is safe for concurrent use.
type Wire struct {
	base   http.RoundTripper
	judge  Judge
	record *Record
	meter  *Meter // nil: write units are not computed
}

// New makes a wire on top of a transport. The judge may be nil, and so may the meter.
func New(base http.RoundTripper, judge Judge, record *Record, meter *Meter) *Wire {
	if judge == nil {
		judge = func(Call, Phase) Verdict { return Pass }
	}
	return &Wire{base: base, judge: judge, record: record, meter: meter}
}

// RoundTrip sends a request, unless it is judged otherwise. It is the transport of the one client that
// the functions call AWS and models with.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	call, invocation := describe(r)
	if invocation != nil && invocation.Killed() {
		return nil, ErrKilled
	}
	if err := obey(w.judge(call, Before), invocation); err != nil {
		return nil, err
	}
	measured := w.meter.before(call, r)
	begun := time.Now()
	answer, err := w.base.RoundTrip(r)
	var body []byte
	whole := false
	if err == nil {
		body, whole = swallow(answer) // the judge speaks after the whole answer came, not after its first byte
	}
	done := Done{Call: call, Operation: r.Header.Get("X-Amz-Target"), At: begun, Took: time.Since(begun)}
	if err == nil {
		done.Status = answer.StatusCode
	}
	if whole {
		measured.after(&done, body)
	}
	w.record.add(done)
	if err != nil {
		return nil, err
	}
	if !whole { // the caller meets its end as it would without a wire
		return answer, nil
	}
	if err := obey(w.judge(call, After), invocation); err != nil {
		return nil, err
	}
	if invocation != nil && invocation.Killed() { // by another call of the same process, while this one was under way
		return nil, ErrKilled
	}
	return answer, nil
}

func obey(v Verdict, i *Invocation) error {
	switch {
	case v == Kill && i != nil:
		i.Kill()
		return ErrKilled
	case v == Fail:
		return ErrBroken
	}
	return nil
}

func describe(r *http.Request) (Call, *Invocation) {
	call := Call{Name: telemetry.Call(r.Context()), Service: service(r), ID: r.Header.Get("Amz-Sdk-Invocation-Id"), Try: 1}
	for part := range strings.SplitSeq(r.Header.Get("Amz-Sdk-Request"), "; ") {
		if n, ok := strings.CutPrefix(part, "attempt="); ok {
			call.Try, _ = strconv.Atoi(n)
		}
	}
	i := From(r.Context())
	if i != nil {
		call.Function, call.Invocation = i.Function, i.ID
	}
	return call, i
}

// service tells an AWS request's service from its signature's scope: …/region/SERVICE/aws4_request.
func service(r *http.Request) string {
	if a := r.Header.Get("Authorization"); strings.HasPrefix(a, "AWS4-") {
		if parts := strings.Split(a, "/"); len(parts) > 4 {
			return parts[3]
		}
	}
	return "model" // the only other service there is
}

// mostSwallowed is how much of an answer is held back until all of it has come. What is longer is passed on as it
// comes: it may have no end.
const mostSwallowed = 8 << 20

// swallow reads an answer, and gives it a body that reads the same. It tells whether that is all of it: an answer may
// break off, and then its body breaks off there.
func swallow(answer *http.Response) (body []byte, whole bool) {
	from := answer.Body
	body, err := io.ReadAll(io.LimitReader(from, mostSwallowed))
	if err == nil && len(body) < mostSwallowed {
		from.Close()
		answer.Body = io.NopCloser(bytes.NewReader(body))
		return body, true
	}
	rest := io.Reader(from)
	if err != nil {
		rest = broken{err}
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), from}
	return body, false
}

// broken is what is left of an answer that broke off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, fmt.Errorf("read answer: %w", b.err) }
