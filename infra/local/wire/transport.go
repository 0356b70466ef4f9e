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

// To is the transport for calls of one service: http.Client's Transport, and aws.Config's HTTPClient.
func (w *Wire) To(service string) *Transport { return &Transport{wire: w, service: service} }

// A Transport carries the calls to one service.
type Transport struct {
	wire    *Wire
	service string
}

// Do sends a request, as aws.HTTPClient asks for. The service is told from the request.
func (t *Transport) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// RoundTrip sends a request, unless it is judged otherwise.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	call, invocation := t.describe(r)
	if invocation != nil && invocation.Killed() {
		return nil, ErrKilled
	}
	if err := t.obey(t.wire.judge(call, Before), invocation); err != nil {
		return nil, err
	}
	measured := t.wire.meter.before(call, r)
	begun := time.Now()
	answer, err := t.wire.base.RoundTrip(r)
	if err == nil {
		err = swallow(answer) // the judge speaks after the whole answer came, not after its first byte
	}
	done := Done{Call: call, Operation: r.Header.Get("X-Amz-Target"), At: begun, Took: time.Since(begun)}
	if err == nil {
		done.Status = answer.StatusCode
		measured.after(&done)
	}
	t.wire.record.add(done)
	if err != nil {
		return nil, err
	}
	if err := t.obey(t.wire.judge(call, After), invocation); err != nil {
		return nil, err
	}
	if invocation != nil && invocation.Killed() { // by another call of the same process, while this one was under way
		return nil, ErrKilled
	}
	return answer, nil
}

func (t *Transport) obey(v Verdict, i *Invocation) error {
	switch {
	case v == Kill && i != nil:
		i.Kill()
		return ErrKilled
	case v == Fail:
		return ErrBroken
	}
	return nil
}

func (t *Transport) describe(r *http.Request) (Call, *Invocation) {
	call := Call{Name: telemetry.Call(r.Context()), Service: t.service, ID: r.Header.Get("Amz-Sdk-Invocation-Id"), Try: 1}
	if call.Service == "" {
		call.Service = service(r)
	}
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
	parts := strings.Split(r.Header.Get("Authorization"), "/")
	if len(parts) < 5 {
		return ""
	}
	return parts[3]
}

func swallow(answer *http.Response) error {
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
