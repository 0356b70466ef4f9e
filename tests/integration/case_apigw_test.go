package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// gatewayEvent is what the gateway makes of a request to an endpoint.
func gatewayEvent(r *http.Request, body string, encoded bool) events.APIGatewayV2HTTPRequest {
	var e events.APIGatewayV2HTTPRequest
	e.Version, e.RouteKey = "2.0", "ANY /hooks/{endpoint}"
	e.Headers = map[string]string{}
	for name := range r.Header {
		e.Headers[strings.ToLower(name)] = r.Header.Get(name)
	}
	e.Body, e.IsBase64Encoded = body, encoded
	_, endpoint, _ := strings.Cut(r.URL.Path, "/hooks/")
	e.RawPath, e.PathParameters = r.URL.Path, map[string]string{"endpoint": endpoint}
	e.RequestContext.Stage, e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = "$default", r.Method, r.URL.Path
	return e
}

// receive gives the receiver an event, past the front.
func (s *system) receive(e events.APIGatewayV2HTTPRequest) answer {
	s.t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := s.Invoke(s.t.Context(), "receiver", raw)
	if err != nil {
		s.t.Fatal(err)
	}
	var res events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &res); err != nil {
		s.t.Fatal(err)
	}
	a := answer{Code: res.StatusCode, Header: http.Header{}, Body: res.Body}
	for name, value := range res.Headers {
		a.Header.Set(name, value)
	}
	var doc struct {
		Status any
		Event  string
	}
	if err := json.Unmarshal([]byte(res.Body), &doc); err != nil {
		s.t.Fatal(err)
	}
	a.Status, _ = doc.Status.(string)
	a.Event = doc.Event
	return a
}

func TestCaseAPG01GatewayEncodesFormsAndBodiesWithoutAType(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		ping, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/hooks/woo-orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		ping.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if a := s.receive(gatewayEvent(ping, "d2ViaG9va19pZD0xMg==", true)); a.Code != http.StatusOK || a.Status != "pong" {
			t.Errorf("a ping in base64: %d %s", a.Code, a.Body)
		}
		body := order{id: 1, status: "processing", extra: `,"name":"Tr\u00f6ja ø"`}.body()
		r := s.orderRequest("order.updated", body)
		r.Header.Del("Content-Type")
		id := s.accept(s.receive(gatewayEvent(r, base64.StdEncoding.EncodeToString([]byte(body)), true)))
		s.repeated(id, s.receive(gatewayEvent(r, body, false)))
		for _, kind := range []string{"", "application/json", "application/json; charset=utf-8", "application/octet-stream", "text/plain", "application/x-www-form-urlencoded"} {
			r := s.orderRequest("order.updated", body) // through the front, which encodes what does not call itself text
			r.Header.Del("Content-Type")
			if kind != "" {
				r.Header.Set("Content-Type", kind)
			}
			s.repeated(id, s.send(r))
		}
		s.rest()
		if string(s.body(id)) != body {
			t.Errorf("kept as %s", s.body(id))
		}
	})
}

func TestCaseAPG03NamedStageStandsInThePath(t *testing.T) {
	loggedForCase(t, func(t *testing.T, s *system, log *logbook) {
		body := order{id: 1, status: "processing"}.body()
		r := s.orderRequest("order.updated", body)
		id := ""
		for _, c := range []struct{ stage, path string }{{"$default", "/hooks/woo-orders"}, {"prod", "/prod/hooks/woo-orders"}, {"$default", "/v1/hooks/woo-orders"}} {
			e := gatewayEvent(r, body, false)
			e.RequestContext.Stage, e.RawPath, e.RequestContext.HTTP.Path = c.stage, c.path, c.path
			a := s.receive(e)
			if id == "" {
				id = s.accept(a)
				continue
			}
			s.repeated(id, a)
		}
		log.take()
		e := gatewayEvent(r, body, false)
		e.RawPath, e.PathParameters["endpoint"] = "/prod/hooks/none", "none"
		s.refused(http.StatusNotFound, s.receive(e))
		if text := log.take(); !strings.Contains(text, `"Refused":1`) {
			t.Errorf("an unknown endpoint is not counted: %s", text)
		}
		r.URL.Path = "/prod/hooks/woo-orders" // of a stage that this gateway does not have
		s.refused(http.StatusNotFound, s.send(r))
		s.rest()
	})
}
