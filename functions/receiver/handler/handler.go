// Package handler is the receiver function without its process: it turns an event of API Gateway into a
// delivery, and what became of it into the answer.
package handler

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/shared/intake"
	"engang/shared/problem"
	"engang/shared/recipe"
	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// taker is the use case.
type taker interface {
	Deliver(ctx context.Context, d intake.Delivery) (intake.Reply, error)
}

// A Handler answers the HTTP events of the receiver function. It is safe for concurrent use.
type Handler struct {
	intake taker
	log    *slog.Logger
}

// Over returns a handler over a use case of the caller's own. [New] wires the deployed one.
func Over(t taker, log *slog.Logger) *Handler { return &Handler{intake: t, log: log} }

// Invoke is Handle from JSON to JSON, as Lambda runs it.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	e, err := read(event)
	if err != nil {
		return nil, err
	}
	answer, err := h.Handle(ctx, e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// Handle answers one delivery, and never with an error: that would be the gateway's own 500, which says
// nothing. Every refusal is a problem document, and none redirects or says that the address is gone.
func (h *Handler) Handle(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	start := time.Now()
	reply, err := h.deliver(ctx, e)
	out, outcome := answer(reply), reply.Status
	if err != nil {
		p := problem.Of(err, e.RequestContext.RequestID)
		out, outcome = refuse(p), "refused"
	}
	h.tell(ctx, out.StatusCode, err,
		slog.String("event_id", string(reply.Event)),
		slog.String("endpoint", endpoint(e)),
		slog.String("event_type", reply.Type),
		slog.Int("status", out.StatusCode),
		slog.String("outcome", outcome),
		slog.Int64("ms", time.Since(start).Milliseconds()),
		slog.String("request_id", e.RequestContext.RequestID))
	return out, nil
}

// deliver hands a delivery to the use case. A panic is a bug: it costs this delivery an answer of 500, upon which the
// sender repeats it, and not the process.
func (h *Handler) deliver(ctx context.Context, e events.APIGatewayV2HTTPRequest) (_ intake.Reply, err error) {
	defer telemetry.Recover(ctx, h.log, &err, slog.String("request_id", e.RequestContext.RequestID))
	req, err := request(e)
	if err != nil {
		telemetry.Measure(ctx, h.log, telemetry.Count("Refused", 1))
		return intake.Reply{}, err
	}
	return h.intake.Deliver(ctx, intake.Delivery{Endpoint: endpoint(e), Request: req})
}

// tell writes the one line of a delivery: ids and numbers, never a header or a byte of the body. Which
// part of a verification failed is in the error, and so only here.
func (h *Handler) tell(ctx context.Context, status int, err error, attrs ...slog.Attr) {
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Any("err", err))
	}
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	h.log.LogAttrs(ctx, level, "delivery", attrs...)
}

// endpoint is its name. A text that none can have is not looked up, and not logged.
func endpoint(e events.APIGatewayV2HTTPRequest) string {
	if name := e.PathParameters["endpoint"]; recipe.IsName(name) {
		return name
	}
	return ""
}

// request restores what the sender sent. The gateway has written header names in lower case and put
// bodies that are not text into base64.
func request(e events.APIGatewayV2HTTPRequest) (webhook.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return webhook.Request{}, fmt.Errorf("decode base64 of the gateway: %w", errors.Join(problem.ErrMalformed, err))
		}
	}
	header := make(http.Header, len(e.Headers))
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	url := "https://" + e.RequestContext.DomainName + e.RawPath
	if e.RawQueryString != "" {
		url += "?" + e.RawQueryString
	}
	return webhook.Request{Method: e.RequestContext.HTTP.Method, URL: url, Header: header, Body: body}, nil
}

// answer is the 2xx of what was taken: our own JSON, or what the sender needs to hear. Beside that, what
// ours would have said is in headers, for who tries an endpoint.
func answer(r intake.Reply) events.APIGatewayV2HTTPResponse {
	body, contentType := string(r.Answer.Body), r.Answer.ContentType
	headers := map[string]string{"Cache-Control": "no-store"}
	if body != "" || r.Answer.Empty {
		headers["Engang-Status"] = r.Status
		if r.Event != "" {
			headers["Engang-Event"] = string(r.Event)
		}
	} else {
		b, _ := json.Marshal(struct { // two texts: it cannot fail
			Status string `json:"status"`
			Event  string `json:"event,omitempty"`
		}{r.Status, string(r.Event)})
		body, contentType = string(b), "application/json"
	}
	if contentType != "" {
		headers["Content-Type"] = contentType
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: cmp.Or(r.Answer.Status, http.StatusOK), Headers: headers, Body: body}
}

func refuse(p problem.Problem) events.APIGatewayV2HTTPResponse {
	headers := map[string]string{}
	for name := range p.Header() {
		headers[name] = p.Header().Get(name)
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: p.Status, Headers: headers, Body: string(p.JSON())}
}
