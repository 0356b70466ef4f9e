package handler_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/functions/receiver/handler"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/telemetry"
)

// yes is a network that says yes to every put and every message at once, so that our own work and the clients' is all
// that there is. Other calls, which are remembered, go on to the engine.
type yes struct{ next http.RoundTripper }

// RoundTrip answers.
func (y yes) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer string
	switch operation := r.Header.Get("X-Amz-Target"); {
	case strings.HasSuffix(operation, ".PutItem"):
		answer = "{}"
	case strings.HasSuffix(operation, ".SendMessage"):
		var in struct{ MessageBody string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		sum := md5.Sum([]byte(in.MessageBody)) // the client checks it
		answer = `{"MessageId":"1","MD5OfMessageBody":"` + hex.EncodeToString(sum[:]) + `"}`
	default:
		return y.next.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// large is a signed delivery of 8 KB, as the gateway passes it on.
func large(b *testing.B) []byte {
	b.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "infra", "bench", "product.json"))
	if err != nil {
		b.Fatal(err)
	}
	e := events.APIGatewayV2HTTPRequest{
		RawPath: "/hooks/woo-shop", PathParameters: map[string]string{"endpoint": "woo-shop"}, Headers: map[string]string{"x-wc-webhook-topic": "product.updated"}, Body: string(body),
	}
	e.RequestContext.HTTP.Method = http.MethodPost
	raw, err := json.Marshal(resigned(b, "woocommerce", capturedSecret, e))
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// BenchmarkReceive8KB is the whole function from JSON to JSON, with the clients and without the network.
func BenchmarkReceive8KB(b *testing.B) {
	r := newRig(b, nil)
	log := telemetry.NewLogger(io.Discard, telemetry.Process{Function: "receiver"})
	h := handler.New(handler.Settings{
		Table: r.db.TableName, WorkQueue: r.work, Bodies: r.bucket, SecretPath: "/engang/" + r.db.TableName, ConfigTTL: time.Hour, SecretTTL: time.Hour,
	}, dynamotest.DB{Endpoint: r.db.Endpoint}.Config(yes{http.DefaultTransport}), log)
	raw := large(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		answer, err := h.Invoke(b.Context(), raw)
		if err != nil || !strings.Contains(string(answer), "accepted") {
			b.Fatal(string(answer), err)
		}
	}
}
