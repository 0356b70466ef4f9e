package handler_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"engang/functions/console/handler"
)

// withoutStore is a console whose table, bucket and queues let nobody in.
func withoutStore(t *testing.T) *handler.Handler {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException","message":"no"}`)
	}))
	t.Cleanup(down.Close)
	cfg := aws.Config{Region: "eu-north-1", BaseEndpoint: &down.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), RetryMaxAttempts: 1}
	set := handler.Settings{Table: "t", Bodies: "b", WorkQueue: down.URL + "/1/work", DeadLetters: down.URL + "/1/letters"}
	return handler.New(set, cfg, slog.New(slog.DiscardHandler))
}

// Whatever the store answers in its own distress, the caller is told to come again.
func TestAStoreThatCannotBeHadIs503(t *testing.T) {
	h := withoutStore(t)
	for _, path := range []string{"/api/events?", "/api/operations?", "/api/show?id=product%3A1", "/api/show?id=evt_aaaaaaaaaaaaaaaa", "/api/endpoints?name=x", "/api/review?", "/api/audit?"} {
		e := request(http.MethodGet, path, "tenant=shop&environment=test", "")
		e.RawPath, e.RawQueryString = splitQuery(path)
		out, err := h.Handle(t.Context(), e)
		if err != nil || out.StatusCode != http.StatusServiceUnavailable || out.Headers["Retry-After"] == "" || !json.Valid([]byte(out.Body)) {
			t.Errorf("%s: %d %s, %v", path, out.StatusCode, out.Body, err)
		}
	}
}

// A configuration is neither shown nor planned nor applied past a store that cannot be had.
func TestAConfigurationWaitsForTheStore(t *testing.T) {
	h := withoutStore(t)
	const empty = `{"set":{"scope":{"tenant":"shop","environment":"test"},"common":{"event_days":30,"result_days":400,"providers":{}},"endpoints":[],"recipes":[]}`
	for _, e := range []struct{ method, path, body string }{
		{http.MethodGet, "/api/config", ""}, {http.MethodPost, "/api/plan", empty + "}"}, {http.MethodPut, "/api/config", empty + `,"revision":0}`},
	} {
		query := "tenant=shop&environment=test"
		out, err := h.Handle(t.Context(), request(e.method, e.path, query, e.body))
		if err != nil || out.StatusCode != http.StatusServiceUnavailable || out.Headers["Retry-After"] == "" {
			t.Errorf("%s %s: %d %s, %v", e.method, e.path, out.StatusCode, out.Body, err)
		}
	}
}

// Neither is anything erased or shown past a store that cannot be had.
func TestAnErasureWaitsForTheStore(t *testing.T) {
	h := withoutStore(t)
	for _, path := range []string{"/api/erase", "/api/export"} {
		out, err := h.Handle(t.Context(), request(http.MethodPost, path, "tenant=shop&environment=test", `{"object":"product:794","reason":"why"}`))
		if err != nil || out.StatusCode != http.StatusServiceUnavailable || out.Headers["Retry-After"] == "" {
			t.Errorf("%s: %d %s, %v", path, out.StatusCode, out.Body, err)
		}
	}
}

func splitQuery(path string) (string, string) {
	for i := range path {
		if path[i] == '?' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}
