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
	if err == nil {
		body, err = swallow(answer) // the judge speaks after the whole answer came, not after its first byte
	}
	done := Done{Call: call, Operation: r.Header.Get("X-Amz-Target"), At: begun, Took: time.Since(begun)}
	if err == nil {
		done.Status = answer.StatusCode
		measured.after(&done, body)
	}
	w.record.add(done)
	if err != nil {
		return nil, err
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

func swallow(answer *http.Response) ([]byte, error) {
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}
