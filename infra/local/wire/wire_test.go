package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"engang/infra/local/wire"
	"engang/shared/telemetry"
)

const signed = "AWS4-HMAC-SHA256 Credential=id/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x"

// rig is a server that counts what reaches it, and a wire to it.
type rig struct {
	served int
	wire   *wire.Wire
	record wire.Record
	url    string
}

func newRig(t *testing.T, judge wire.Judge) *rig {
	r := &rig{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.served++
		io.WriteString(w, "answer")
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	r.wire = wire.New(http.DefaultTransport, judge, &r.record, nil)
	return r
}

func (r *rig) call(ctx context.Context, name string) (string, error) {
	req, err := http.NewRequestWithContext(telemetry.WithCall(ctx, name), http.MethodPost, r.url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", signed)
	req.Header.Set("Amz-Sdk-Invocation-Id", "call-1")
	req.Header.Set("Amz-Sdk-Request", "attempt=2; max=3")
	answer, err := r.wire.RoundTrip(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

func TestACallPassesAndIsRecordedByItsName(t *testing.T) {
	var seen []wire.Call
	r := newRig(t, func(c wire.Call, p wire.Phase) wire.Verdict {
		if p == wire.Before {
			seen = append(seen, c)
		}
		return wire.Pass
	})
	ctx, i := wire.Begin(t.Context(), "enrichment", "req-1")
	defer i.End()
	if body, err := r.call(ctx, "W4 complete"); err != nil || body != "answer" {
		t.Fatalf("%q, %v", body, err)
	}
	want := wire.Call{Name: "W4 complete", Service: "dynamodb", Function: "enrichment", Invocation: "req-1", ID: "call-1", Try: 2}
	if len(seen) != 1 || seen[0] != want {
		t.Errorf("judged %+v, want %+v", seen, want)
	}
	if calls := r.record.Calls(); len(calls) != 1 || calls[0].Status != 200 || r.record.Counts()["W4 complete"] != 1 {
		t.Errorf("recorded %+v", calls)
	}
}

// An answer that breaks off does so where it did without a wire, and one without an end is not waited for.
func TestAnAnswerThatIsNotWholeIsPassedOnAsItCame(t *testing.T) {
	for _, c := range []struct {
		name   string
		serve  func(w http.ResponseWriter)
		reads  int64 // bytes
		breaks bool
	}{
		{"it breaks off", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "begun")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 5, true},
		{"it never ends", func(w http.ResponseWriter) {
			for chunk, err := strings.Repeat("a", 64<<10), error(nil); err == nil; _, err = io.WriteString(w, chunk) {
			}
		}, 20 << 20, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.serve(w) }))
			defer server.Close()
			judged := 0
			w := wire.New(http.DefaultTransport, func(_ wire.Call, p wire.Phase) wire.Verdict {
				if p == wire.After {
					judged++
				}
				return wire.Pass
			}, &wire.Record{}, nil)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := w.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			n, err := io.CopyN(io.Discard, answer.Body, c.reads)
			if n != c.reads || err != nil || answer.StatusCode != http.StatusOK || judged != 0 {
				t.Fatalf("%d bytes with status %d, %v; judged %d times as a whole answer", n, answer.StatusCode, err, judged)
			}
			if _, err := answer.Body.Read(make([]byte, 1)); (err != nil) != c.breaks || errors.Is(err, io.EOF) {
				t.Errorf("then %v", err)
			}
		})
	}
}

func TestVerdictsBeforeAndAfter(t *testing.T) {
	for _, c := range []struct {
		name    string
		phase   wire.Phase
		verdict wire.Verdict
		served  int
		err     error
		killed  bool
	}{
		{"killed before: nothing is sent", wire.Before, wire.Kill, 0, wire.ErrKilled, true},
		{"killed after: it took effect", wire.After, wire.Kill, 1, wire.ErrKilled, true},
		{"failed before: nothing is sent", wire.Before, wire.Fail, 0, wire.ErrBroken, false},
		{"failed after: the answer is lost", wire.After, wire.Fail, 1, wire.ErrBroken, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ wire.Call, p wire.Phase) wire.Verdict {
				if p == c.phase {
					return c.verdict
				}
				return wire.Pass
			})
			ctx, i := wire.Begin(t.Context(), "enrichment", "req-1")
			defer i.End()
			_, err := r.call(ctx, "W4 complete")
			if !errors.Is(err, c.err) || r.served != c.served || i.Killed() != c.killed || (ctx.Err() != nil) != c.killed {
				t.Errorf("error %v, served %d, killed %v, context %v", err, r.served, i.Killed(), ctx.Err())
			}
		})
	}
}

func TestNothingOfAKilledInvocationIsSent(t *testing.T) {
	r := newRig(t, nil)
	ctx, i := wire.Begin(t.Context(), "enrichment", "req-1")
	i.Kill()
	// A context of its own does not help a dead process.
	if _, err := r.call(context.WithoutCancel(ctx), "W15 losing attempt"); !errors.Is(err, wire.ErrKilled) || r.served != 0 {
		t.Errorf("error %v, served %d", err, r.served)
	}
}

func TestMeterFollowsTheBillingRules(t *testing.T) {
	item := func(text string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	kilobyte := strings.Repeat("x", 1024)
	const open = `"oq":{"S":"open#1"},"od":{"S":"5#e"}`
	for _, c := range []struct {
		name, action, body, old, now string
		writes, reads                float64
	}{
		{"a put of a small item", "PutItem", `{"TableName":"t","Item":{"pk":{"S":"a"}}}`, `null`, `{"pk":{"S":"a"}}`, 1, 0},
		{"a put into the index", "PutItem", `{"TableName":"t","Item":{"pk":{"S":"a"}}}`, `null`, `{"pk":{"S":"a"},` + open + `}`, 2, 0},
		{"an update that leaves the index", "UpdateItem", `{"TableName":"t","Key":{"pk":{"S":"a"}}}`, `{"pk":{"S":"a"},` + open + `}`, `{"pk":{"S":"a"}}`, 2, 0},
		{"an update that moves in the index", "UpdateItem", `{"TableName":"t","Key":{"pk":{"S":"a"}}}`, `{"oq":{"S":"o"},"od":{"S":"1"}}`, `{"oq":{"S":"o"},"od":{"S":"2"}}`, 3, 0},
		{"an update bills the larger of both items", "UpdateItem", `{"TableName":"t","Key":{"pk":{"S":"a"}}}`, `{"v":{"S":"` + kilobyte + `"}}`, `{"v":{"N":"12"}}`, 2, 0},
		{"a transaction costs twice", "TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"t","Key":{"pk":{"S":"a"}}}}]}`, `{}`, `{}`, 2, 0},
		{"a consistent read", "GetItem", `{"TableName":"t","Key":{"pk":{"S":"a"}},"ConsistentRead":true}`, `{"v":{"S":"x"}}`, `{}`, 0, 1},
		{"a read that may be old", "GetItem", `{"TableName":"t","Key":{"pk":{"S":"a"}}}`, `{"v":{"S":"x"}}`, `{}`, 0, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			looks := 0
			meter := &wire.Meter{Keys: []string{"pk"}, Indexes: [][]string{{"oq", "od"}}, Item: func(string, map[string]json.RawMessage) map[string]json.RawMessage {
				looks++
				return item([]string{c.old, c.now}[min(looks-1, 1)])
			}}
			var record wire.Record
			var sent string
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				sent = string(b)
			}))
			defer server.Close()
			w := wire.New(http.DefaultTransport, nil, &record, meter)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+c.action)
			req.Header.Set("Authorization", signed)
			if _, err := w.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
			got := record.Calls()[0]
			if got.WriteUnits != c.writes || got.ReadUnits != c.reads || sent != c.body {
				t.Errorf("%v write units, %v read units, sent %q", got.WriteUnits, got.ReadUnits, sent)
			}
		})
	}
}

func TestAMeterMayAskTheEngine(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   float64
	}{
		{`{"ConsumedCapacity":{"CapacityUnits":3}}`, 3},
		{`{"ConsumedCapacity":[{"CapacityUnits":3},{"CapacityUnits":1.5}]}`, 4.5},
		{`{}`, 0},
	} {
		var sent struct {
			ReturnConsumedCapacity string
			Key                    map[string]any
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			io.WriteString(w, c.answer)
		}))
		defer server.Close()
		var record wire.Record
		w := wire.New(http.DefaultTransport, nil, &record, &wire.Meter{Ask: true, Item: func(string, map[string]json.RawMessage) map[string]json.RawMessage { return nil }})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(`{"Key":{"pk":{"S":"a"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.UpdateItem")
		req.Header.Set("Authorization", signed)
		if _, err := w.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if got := record.Calls()[0].Capacity; got != c.want || sent.ReturnConsumedCapacity != "TOTAL" || sent.Key["pk"] == nil {
			t.Errorf("%s: %v, sent %+v", c.answer, got, sent)
		}
	}
}

func TestARestingMeterComputesNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var record wire.Record
	meter := &wire.Meter{Keys: []string{"pk"}, Item: func(string, map[string]json.RawMessage) map[string]json.RawMessage { return nil }}
	w := wire.New(http.DefaultTransport, nil, &record, meter)
	for _, rests := range []bool{true, false} {
		meter.Rest(rests)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(`{"Item":{"pk":{"S":"a"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		req.Header.Set("Authorization", signed)
		if _, err := w.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
	}
	if calls := record.Calls(); calls[0].WriteUnits != 0 || calls[1].WriteUnits == 0 {
		t.Errorf("write units: %v at rest, %v at work", calls[0].WriteUnits, calls[1].WriteUnits)
	}
	(*wire.Meter)(nil).Rest(true) // a system without one may be asked too
}
