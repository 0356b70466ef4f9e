package artifacts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"engang/events"
	"engang/infra/engang/delivery"
	"engang/infra/local"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// endpointOf is an endpoint that takes a sample.
func endpointOf(t *testing.T, name string, s events.Sample) config.Endpoint {
	t.Helper()
	e := config.Endpoint{Name: name, Provider: s.Provider, PublicURL: s.Endpoint.PublicURL, Type: s.Endpoint.Type, Secrets: []secrets.Ref{secrets.Ref("ssm:hooks/" + name + "/1")}}
	rule := config.EventRule{Recipes: []string{}}
	if s.Endpoint.TypeAt != "" {
		at := pointer(t, s.Endpoint.TypeAt)
		e.TypeAt = &at
	}
	if s.Endpoint.HMACHeader != "" {
		e.HMAC = &config.HMAC{Header: s.Endpoint.HMACHeader, Encoding: "hex"}
	}
	if s.Endpoint.ObjectID != "" {
		rule.Object = &config.ObjectRule{Kind: s.Endpoint.ObjectKind, ID: pointer(t, s.Endpoint.ObjectID)}
	}
	e.Events = map[string]config.EventRule{s.Case: rule}
	if e.Type != "" {
		e.Events = map[string]config.EventRule{e.Type: rule}
	}
	return e
}

func pointer(t *testing.T, text string) document.Pointer {
	t.Helper()
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// signed is a payload of events/receiver for an endpoint of this name, signed anew: the function's clock is the real one.
func signed(t *testing.T, raw []byte, e config.Endpoint, s events.Sample, secret string) []byte {
	t.Helper()
	row, ok := webhook.Lookup(s.Provider)
	if !ok {
		t.Fatalf("no row for %s", s.Provider)
	}
	row, err := row.For(e.Adds())
	if err != nil {
		t.Fatal(err)
	}
	draft, err := delivery.Load(s.Name())
	if err != nil {
		t.Fatal(err)
	}
	draft.Header, draft.Body = s.Header.Clone(), s.Body // of the file, also where a captured case has the same name
	m, err := delivery.NewMaker(delivery.Maker{Scheme: row, Secret: secrets.NewValue(secret), Draft: draft, URL: e.PublicURL})
	if err != nil {
		t.Fatal(err)
	}
	req, err := m.Make(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{}
	for name := range req.Header {
		headers[strings.ToLower(name)] = req.Header.Get(name)
	}
	file["headers"], file["body"], file["isBase64Encoded"], file["rawQueryString"] = headers, string(req.Body), false, delivery.Query(req)
	file["pathParameters"] = map[string]string{"endpoint": e.Name}
	out, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every payload of events/receiver is taken by the built receiver, and what it says was stored is in the table.
func TestTheReceiverTakesWhatItsSendersSend(t *testing.T) {
	s := start(t, local.Options{Manual: true})
	samples, err := events.Samples()
	if err != nil {
		t.Fatal(err)
	}
	set, raw := localSet(t), payloads(t, "receiver")
	ready := map[string][]byte{}
	for i, sample := range samples {
		name := fmt.Sprintf("sample-%d", i)
		e := endpointOf(t, name, sample)
		e.Scope = set.Scope
		set.Endpoints = append(set.Endpoints, e)
		secret := sample.Secret
		if secret == "" {
			secret = "of-a-sender-that-signs-otherwise"
		}
		if err := s.PutSecret(t.Context(), e.Secrets[0], secret); err != nil {
			t.Fatal(err)
		}
		file := strings.TrimSuffix(strings.TrimPrefix(sample.File, "receiver/"), ".json")
		ready[file] = signed(t, raw[file], e, sample, secret)
		delete(raw, file)
	}
	if _, err := s.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if len(raw) != 1 || raw["woocommerce-bad-signature"] == nil {
		t.Errorf("payloads without a sample: %d", len(raw))
	}
	ready["woocommerce-bad-signature"] = raw["woocommerce-bad-signature"]
	for file, event := range ready {
		t.Run(file, func(t *testing.T) { received(t, s, file, event) })
	}
}

// notTaken are payloads that are not stored, with the answer's code and status.
var notTaken = map[string]struct {
	code   int
	status string
}{
	"woocommerce-bad-signature":        {http.StatusUnauthorized, ""},
	"woocommerce-ping":                 {http.StatusOK, "pong"},
	"slack-url_verification":           {http.StatusOK, "pong"},
	"paypal-PAYMENT-CAPTURE-COMPLETED": {http.StatusServiceUnavailable, ""}, // its certificate is not to be had: only the handlers in this process take a local one
}

func received(t *testing.T, s *local.System, file string, event []byte) {
	var out lambdaevents.APIGatewayV2HTTPResponse
	invoke(t, s, "receiver", event, &out)
	var body struct{ Status, Event, Type string }
	_ = json.Unmarshal([]byte(out.Body), &body) // a challenge's answer is none
	if want, ok := notTaken[file]; ok {
		if out.StatusCode != want.code || want.code == http.StatusOK && body.Status != want.status && out.Headers["Engang-Status"] != want.status {
			t.Errorf("answered %d %v %s", out.StatusCode, out.Headers, out.Body)
		}
		return
	}
	id := body.Event
	if id == "" {
		id = out.Headers["Engang-Event"]
	}
	if out.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("answered %d %s", out.StatusCode, out.Body)
	}
	var shown lambdaevents.APIGatewayV2HTTPResponse
	invoke(t, s, "console", call(t, "GET", "show", "id="+id, ""), &shown)
	var e control.Event
	if err := json.Unmarshal([]byte(shown.Body), &e); err != nil || e.ID != id || e.State != "received" && e.State != "parked" {
		t.Errorf("stored is %d %s", shown.StatusCode, shown.Body)
	}
}

// call is an event of the console function.
func call(t *testing.T, method, path, query, body string) []byte {
	t.Helper()
	e := lambdaevents.APIGatewayV2HTTPRequest{RawPath: "/api/" + path, RawQueryString: query, Body: body}
	e.RequestContext.HTTP.Method = method
	e.RequestContext.Authorizer = &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::123456789012:user/ann"}}
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The answers to events/console, for a stack in which nothing has happened.
func TestTheConsoleAnswersCalls(t *testing.T) {
	want := map[string]struct {
		code int
		has  string
	}{
		"version": {200, `"version":"dev"`}, "list-events": {200, `"items":[]`}, "dlq": {200, `"items":[]`}, "show-config": {200, `"kind":"config"`},
		"plan":  {422, `"faults":[`}, // it takes away what the local system has applied
		"apply": {409, `"status":409`}, "pause": {200, `"kind":"pause"`}, "replay": {200, `"kind":"replay"`}, "erase": {200, `"kind":"erasure"`}, "export": {200, `"kind":"export"`},
		"approve": {404, `"status":404`}, "redrive": {404, `"status":404`},
	}
	s := start(t, local.Options{Manual: true})
	for file, event := range payloads(t, "console") {
		t.Run(file, func(t *testing.T) {
			var out lambdaevents.APIGatewayV2HTTPResponse
			invoke(t, s, "console", event, &out)
			w, known := want[file]
			if !known || out.StatusCode != w.code || !json.Valid([]byte(out.Body)) || !strings.Contains(out.Body, w.has) {
				t.Errorf("answered %d %s, want %+v", out.StatusCode, out.Body, w)
			}
			if kind := out.Headers["Content-Type"]; kind != "application/json" && kind != "application/problem+json" {
				t.Errorf("headers %v", out.Headers)
			}
		})
	}
}

// The built worker takes a message of each kind, in the shape of the queue's; the event of the real one is finished.
func TestTheWorkerTakesMessages(t *testing.T) {
	s := start(t, local.Options{Manual: true})
	for file, event := range payloads(t, "enrichment") {
		t.Run(file, func(t *testing.T) {
			var out lambdaevents.SQSEventResponse
			invoke(t, s, "enrichment", event, &out)
			var in lambdaevents.SQSEvent
			if err := json.Unmarshal(event, &in); err != nil {
				t.Fatal(err)
			}
			var want []lambdaevents.SQSBatchItemFailure // an event that is not there is looked for again, until the queue gives up
			for _, m := range in.Records {
				want = append(want, lambdaevents.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
			if diff := cmp.Diff(want, out.BatchItemFailures); diff != "" {
				t.Error(diff)
			}
		})
	}
	set := localSet(t)
	sample, ok := delivery.Sample("woocommerce/product.updated")
	if !ok {
		t.Fatal("no sample")
	}
	i := slices.IndexFunc(set.Endpoints, func(e config.Endpoint) bool { return e.Name == "woo-shop" })
	event := signed(t, payloads(t, "receiver")["woocommerce-product-updated"], set.Endpoints[i], sample, local.Secret("woocommerce", "ssm:hooks/woo-shop/1"))
	received(t, s, "woocommerce-product-updated", event)

	work := s.QueueURL("WorkQueue")
	got, err := s.SQS().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &work})
	if err != nil || len(got.Messages) != 1 {
		t.Fatalf("%d messages, %v", len(got.Messages), err)
	}
	var batch lambdaevents.SQSEvent
	if err := json.Unmarshal(payloads(t, "enrichment")["event"], &batch); err != nil {
		t.Fatal(err)
	}
	batch.Records[0].Body, batch.Records[0].ReceiptHandle = *got.Messages[0].Body, *got.Messages[0].ReceiptHandle
	raw, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	var out lambdaevents.SQSEventResponse
	invoke(t, s, "enrichment", raw, &out)
	o := object(t, s, "product:11")
	if len(out.BatchItemFailures) != 0 || len(o.Results) != 1 || o.Events[0].Outcome != "completed" || s.Stub().Count() != 1 {
		t.Errorf("failures %+v, %d calls, object %+v", out.BatchItemFailures, s.Stub().Count(), o)
	}
}

func object(t *testing.T, s *local.System, id string) (o control.Object) {
	t.Helper()
	var shown lambdaevents.APIGatewayV2HTTPResponse
	invoke(t, s, "console", call(t, "GET", "show", "id="+id, ""), &shown)
	if err := json.Unmarshal([]byte(shown.Body), &o); err != nil {
		t.Fatalf("%d %s", shown.StatusCode, shown.Body)
	}
	return o
}

// The built reconciler sends what its sender's enqueue lost.
func TestTheReconcilerSweeps(t *testing.T) {
	s := start(t, local.Options{Manual: true, Faults: "queue:down"})
	set := localSet(t)
	i := slices.IndexFunc(set.Endpoints, func(e config.Endpoint) bool { return e.Name == "woo-shop" })
	sample, _ := delivery.Sample("woocommerce/product.updated")
	event := signed(t, payloads(t, "receiver")["woocommerce-product-updated"], set.Endpoints[i], sample, local.Secret("woocommerce", "ssm:hooks/woo-shop/1"))
	received(t, s, "woocommerce-product-updated", event)
	if n, err := s.Work(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d messages, %v: it was enqueued", n, err)
	}
	minute := payloads(t, "reconciler")["minute"]
	for n := 0; n == 0; time.Sleep(100 * time.Millisecond) { // until the event is due
		var none any
		invoke(t, s, "reconciler", minute, &none)
		var err error
		if n, err = s.Work(t.Context()); err != nil || none != nil {
			t.Fatal(err, none)
		}
	}
	if o := object(t, s, "product:11"); len(o.Results) != 1 || o.Events[0].Sends != 1 {
		t.Errorf("object %+v", o)
	}
}
