package model_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"engang/shared/model"
	"engang/shared/operation"
)

// always answers every request at once.
type always string

// RoundTrip answers.
func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

// BenchmarkCall is the making of a request and the reading of an answer, without the network.
func BenchmarkCall(b *testing.B) {
	c := model.New(&http.Client{Transport: always(good)}, goodKeys)
	to := model.Connection{BaseURL: "http://127.0.0.1:1/v1", APIKey: "ssm:models/openai"}
	b.ReportAllocs()
	for b.Loop() {
		if a := c.Call(b.Context(), to, prompt()); a.Outcome != operation.Usable {
			b.Fatalf("%+v", a)
		}
	}
}
