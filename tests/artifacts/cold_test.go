package artifacts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/infra/local"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// standIns are programs that are built as the receiver is, and stand in its place.
var standIns = map[string]string{"hello": "./tests/artifacts/testdata/hello", "clients": "./tests/artifacts/testdata/clients"}

// standIn is a folder of built functions in which another program is the receiver.
func standIn(b *testing.B, name string) string {
	b.Helper()
	flags, err := readmeFlags()
	if err != nil {
		b.Fatal(err)
	}
	folder := filepath.Join(scratch, name)
	if err := goBuild(flags, standIns[name], filepath.Join(folder, "ReceiverFunction", "bootstrap")); err != nil {
		b.Fatal(err)
	}
	others, err := filepath.Abs(built(b))
	if err != nil {
		b.Fatal(err)
	}
	for _, function := range functions[1:] {
		if err := os.Symlink(filepath.Join(others, resource(function)), filepath.Join(folder, resource(function))); err != nil && !os.IsExist(err) {
			b.Fatal(err)
		}
	}
	return folder
}

// A starter starts a receiver, or what stands in for it, and waits for its first answer.
type starter struct {
	system *local.System
	took   []time.Duration
}

// fresh is a delivery of a product of its own, as the gateway passes it on.
func fresh(b *testing.B, id int) []byte {
	b.Helper()
	row, _ := webhook.Lookup("woocommerce")
	req := webhook.Request{Header: http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}, Body: []byte(strings.Replace(product, `"id":794`, fmt.Sprintf(`"id":%d`, id), 1))}
	req, err := row.Sign(req, secrets.NewValue(local.Secret("woocommerce", "ssm:hooks/woo-shop/1")), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	e := events.APIGatewayV2HTTPRequest{RawPath: "/hooks/woo-shop", PathParameters: map[string]string{"endpoint": "woo-shop"}, Headers: map[string]string{}, Body: string(req.Body)}
	e.RequestContext.HTTP.Method = http.MethodPost
	for name := range req.Header {
		e.Headers[strings.ToLower(name)] = req.Header.Get(name)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

func (s *starter) cold(b *testing.B) {
	b.Helper()
	event := fresh(b, len(s.took)+1)
	s.system.Restart()
	begun := time.Now()
	raw, err := s.system.Invoke(b.Context(), "receiver", event)
	s.took = append(s.took, time.Since(begun))
	if err != nil || !strings.Contains(string(raw), `"statusCode":200`) {
		b.Fatalf("%s, %v", raw, err)
	}
}

func (s *starter) median() time.Duration {
	slices.Sort(s.took)
	return s.took[len(s.took)/2]
}

// BenchmarkColdStart holds the time from the start of the receiver's process until it has answered its first delivery
// against that of two functions built the same way: one that says hello, and one that makes the same calls with the
// same clients and does nothing else. They take turns, so that what else the machine does meets all alike. Lambda's
// own part, the machine that it boots and the program that it fetches, is in none of the times.
func BenchmarkColdStart(b *testing.B) {
	all := map[string]*starter{"receiver": {system: start(b, local.Options{Manual: true})}}
	for name := range standIns {
		all[name] = &starter{system: start(b, local.Options{Manual: true, Artifacts: standIn(b, name)})}
	}
	for b.Loop() {
		for _, s := range all {
			s.cold(b)
		}
	}
	ours := all["receiver"].median()
	b.ReportMetric(float64(ours.Microseconds())/1000, "ms")
	for name := range standIns {
		b.ReportMetric(float64(ours)/float64(all[name].median()), "x-"+name)
	}
}
