package handler_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"engang/functions/receiver/handler"
	"engang/shared/config"
	"engang/shared/intake"
	"engang/shared/problem"
	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// taker answers as the test wants, and keeps what it was given.
type taker struct {
	reply intake.Reply
	err   error
	got   []intake.Delivery
}

func (k *taker) Deliver(_ context.Context, d intake.Delivery) (intake.Reply, error) {
	k.got = append(k.got, d)
	return k.reply, k.err
}

func over(k *taker, log *bytes.Buffer) *handler.Handler {
	return handler.Over(k, telemetry.NewLogger(log, telemetry.Process{Function: "receiver"}))
}

func event(method, endpoint, body string) events.APIGatewayV2HTTPRequest {
	var e events.APIGatewayV2HTTPRequest
	e.RawPath = "/hooks/" + endpoint
	e.PathParameters = map[string]string{"endpoint": endpoint}
	e.Headers = map[string]string{"content-type": "application/json", "x-wc-webhook-signature": "hush-signature"}
	e.RequestContext.DomainName = "hooks.example.com"
	e.RequestContext.RequestID = "request-1"
	e.RequestContext.HTTP.Method = method
	e.Body = body
	return e
}

const id = "evt_abcdefghijklmnop"

func TestWhatWasTakenIsAnsweredWith200(t *testing.T) {
	for _, tc := range []struct {
		name        string
		reply       intake.Reply
		body        string
		contentType string
	}{
		{"accepted", intake.Reply{Status: intake.Accepted, Event: id}, `{"status":"accepted","event":"` + id + `"}`, "application/json"},
		{"duplicate", intake.Reply{Status: intake.Duplicate, Event: id}, `{"status":"duplicate","event":"` + id + `"}`, "application/json"},
		{"conflict", intake.Reply{Status: intake.Conflict, Event: id}, `{"status":"conflict","event":"` + id + `"}`, "application/json"},
		{"ignored", intake.Reply{Status: intake.Ignored}, `{"status":"ignored"}`, "application/json"},
		{"ping", intake.Reply{Status: "pong"}, `{"status":"pong"}`, "application/json"},
		{"challenge in the sender's own format", intake.Reply{Status: "pong", Answer: webhook.Reply{Status: 200, Body: []byte("c-4711"), ContentType: "text/plain"}}, "c-4711", "text/plain"},
		{"an event of a sender that would show a body", intake.Reply{Status: intake.Accepted, Event: "evt_aaaaaaaaaaaaaaaa", Answer: webhook.Reply{Status: 200, Empty: true}}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			out, err := over(&taker{reply: tc.reply}, &log).Handle(t.Context(), event("POST", "woo-shop", "{}"))
			if err != nil {
				t.Fatal(err)
			}
			want := events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: tc.body, Headers: map[string]string{"Cache-Control": "no-store"}}
			if tc.contentType != "" {
				want.Headers["Content-Type"] = tc.contentType
			}
			if tc.reply.Answer.Body != nil || tc.reply.Answer.Empty { // ours is beside it
				want.Headers["Engang-Status"] = tc.reply.Status
				if tc.reply.Event != "" {
					want.Headers["Engang-Event"] = string(tc.reply.Event)
				}
			}
			if diff := cmp.Diff(want, out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusalsAreProblemDocuments(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		status int
		header map[string]string // beside Content-Type and Cache-Control
	}{
		{"unknown endpoint", config.ErrUnknown, 404, nil},
		{"method", &problem.MethodError{Allow: []string{"POST", "GET"}}, 405, map[string]string{"Allow": "POST, GET"}},
		{"size", problem.ErrTooLarge, 413, nil},
		{"signature", webhook.ErrSignature, 401, nil},
		{"no JSON", webhook.ErrMalformed, 400, nil},
		{"store", problem.ErrUnavailable, 503, map[string]string{"Retry-After": "5"}},
		{"bug", errors.New("hush"), 500, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			out, err := over(&taker{err: fmt.Errorf("take: %w", tc.err)}, &log).Handle(t.Context(), event("POST", "woo-shop", "{}"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"Content-Type": "application/problem+json", "Cache-Control": "no-store"}
			for name, value := range tc.header {
				want[name] = value
			}
			if diff := cmp.Diff(want, out.Headers); out.StatusCode != tc.status || diff != "" {
				t.Errorf("status %d, want %d; headers (-want +got):\n%s", out.StatusCode, tc.status, diff)
			}
			var doc problem.Problem
			if err := json.Unmarshal([]byte(out.Body), &doc); err != nil || doc.Status != tc.status || doc.Title == "" {
				t.Errorf("no problem document: %s", out.Body)
			}
			if strings.Contains(out.Body, "hush") {
				t.Errorf("an inner text goes out: %s", out.Body)
			}
			if tc.status == 500 && !strings.Contains(out.Body, "request-1") { // else nobody finds the line in the log
				t.Errorf("no reference in %s", out.Body)
			}
		})
	}
}

// Whoever sends forged deliveries must not learn how near they came.
func TestAllFailedVerificationsAreAnsweredAlike(t *testing.T) {
	var answers []events.APIGatewayV2HTTPResponse
	for _, err := range []error{webhook.ErrSignature, webhook.ErrTimestamp, webhook.ErrSource} {
		var log bytes.Buffer
		out, _ := over(&taker{err: fmt.Errorf("verify: %w", err)}, &log).Handle(t.Context(), event("POST", "woo-shop", "{}"))
		answers = append(answers, out)
		if !strings.Contains(log.String(), err.Error()) {
			t.Errorf("the log does not say which part failed: %s", &log)
		}
	}
	for _, other := range answers[1:] {
		if diff := cmp.Diff(answers[0], other); diff != "" {
			t.Errorf("two answers differ:\n%s", diff)
		}
	}
}

func TestTheDeliveryIsRestoredAsItWasSent(t *testing.T) {
	raw := "{\"name\":\"Mug \\/ \xf0\x9f\x99\x82\"}\n"
	plain := event("POST", "woo-shop", raw)
	plain.RawQueryString = "a=1&b=%20"
	encoded := plain
	encoded.Body, encoded.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(raw)), true
	for _, tc := range []struct {
		name  string
		event events.APIGatewayV2HTTPRequest
	}{{"as text", plain}, {"in base64", encoded}} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			k := &taker{reply: intake.Reply{Status: intake.Accepted, Event: id}}
			if out, _ := over(k, &log).Handle(t.Context(), tc.event); out.StatusCode != 200 {
				t.Fatalf("status %d", out.StatusCode)
			}
			want := []intake.Delivery{{Endpoint: "woo-shop", Request: webhook.Request{
				Method: "POST", URL: "https://hooks.example.com/hooks/woo-shop?a=1&b=%20", Body: []byte(raw),
				Header: http.Header{"Content-Type": {"application/json"}, "X-Wc-Webhook-Signature": {"hush-signature"}},
			}}}
			if diff := cmp.Diff(want, k.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenBase64IsMalformed(t *testing.T) {
	for _, body := range []string{"e30", "{}", "e30=e30="} {
		var log bytes.Buffer
		k := &taker{}
		e := event("POST", "woo-shop", body)
		e.IsBase64Encoded = true
		if out, _ := over(k, &log).Handle(t.Context(), e); out.StatusCode != 400 || len(k.got) != 0 {
			t.Errorf("%q: status %d, %d deliveries taken", body, out.StatusCode, len(k.got))
		}
		if !strings.Contains(log.String(), `"Refused":1`) {
			t.Errorf("%q is not counted: %s", body, &log)
		}
	}
}

// A name of another shape is nobody's: it costs no look-up and leaves no text of a stranger in the log.
func TestNamesThatNoEndpointCanHaveAreNotLookedUp(t *testing.T) {
	for _, name := range []string{"", "hush hush", "hush/../x", strings.Repeat("hush", 17), "hush\n", "hüsh"} {
		var log bytes.Buffer
		k := &taker{err: config.ErrUnknown}
		out, _ := over(k, &log).Handle(t.Context(), event("POST", name, "{}"))
		if out.StatusCode != 404 || len(k.got) != 1 || k.got[0].Endpoint != "" {
			t.Errorf("%q: status %d, looked up %+v", name, out.StatusCode, k.got)
		}
		if name != "" && strings.Contains(log.String(), name) {
			t.Errorf("%q is in the log: %s", name, &log)
		}
	}
}

func TestOneLineForEachDelivery(t *testing.T) {
	refused := fmt.Errorf("verify woocommerce delivery: %w", webhook.ErrSignature)
	for _, tc := range []struct {
		name  string
		taker taker
		want  map[string]any
	}{
		{"taken", taker{reply: intake.Reply{Status: intake.Accepted, Event: id, Type: "product.updated"}}, map[string]any{
			"level": "INFO", "event_id": id, "event_type": "product.updated", "status": 200.0, "outcome": "accepted"}},
		{"refused", taker{err: refused}, map[string]any{
			"level": "WARN", "event_id": "", "event_type": "", "status": 401.0, "outcome": "refused", "err": refused.Error()}},
		{"not acknowledged", taker{err: problem.ErrUnavailable}, map[string]any{
			"level": "ERROR", "event_id": "", "event_type": "", "status": 503.0, "outcome": "refused", "err": problem.ErrUnavailable.Error()}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			if _, err := over(&tc.taker, &log).Handle(t.Context(), event("POST", "woo-shop", `{"name":"hush"}`)); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(log.String(), "hush") || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("want one line without header or body:\n%s", &log)
			}
			var line map[string]any
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			if ms, ok := line["ms"].(float64); !ok || ms < 0 {
				t.Errorf("ms = %v", line["ms"])
			}
			delete(line, "ms")
			delete(line, "timestamp")
			for name, value := range map[string]any{"msg": "delivery", "function": "receiver", "endpoint": "woo-shop", "request_id": "request-1"} {
				tc.want[name] = value
			}
			if diff := cmp.Diff(tc.want, line); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
