package handler_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"engang/functions/receiver/handler"
	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/document"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/object"
	"engang/shared/parameters"
	"engang/shared/queue"
	"engang/shared/secrets"
	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// What signed the deliveries in events/receiver. The WooCommerce ones are requests of a running shop,
// with the bytes and the signature that it sent.
const (
	capturedSecret = "SyntheticSecret1"
	contactSecret  = "whsec_bG9jYWwtY3JtLXNlY3JldC0zMi1ieXRlcy1sb25n"
)

// contactSignedAt is the signed time of standard-webhooks-contact-created.json.
var contactSignedAt = time.Unix(1795980615, 0)

// A rig is the deployed wiring on the embedded engine.
type rig struct {
	*handler.Handler
	db     dynamotest.DB
	cfg    aws.Config
	bucket string
	work   string // queue URL
	log    bytes.Buffer
}

// newRig wires the handler over a transport that may break calls.
func newRig(t testing.TB, transport http.RoundTripper) *rig {
	t.Helper()
	db := dynamotest.Embedded(t)
	r := &rig{db: db, cfg: db.Config(nil), bucket: strings.ToLower(db.TableName)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := sqs.NewFromConfig(r.cfg).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &db.TableName})
	must(err)
	r.work = *out.QueueUrl
	client := s3.NewFromConfig(r.cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err = client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &r.bucket})
	must(err)
	path := "/engang/" + db.TableName
	keys := parameters.Open(r.cfg, path)
	must(keys.Put(t.Context(), "hooks/woo-shop/1", secrets.NewValue(capturedSecret)))
	must(keys.Put(t.Context(), "hooks/crm/1", secrets.NewValue(contactSecret)))
	_, err = apply.Publish(t.Context(), db.Open(nil), applied(t), rand.Text)
	must(err)

	log := telemetry.NewLogger(&r.log, telemetry.Process{Function: "receiver"})
	r.Handler = handler.New(handler.Settings{
		Table: db.TableName, WorkQueue: r.work, Bodies: r.bucket, SecretPath: path, ConfigTTL: time.Minute, SecretTTL: time.Minute,
		Limits: intake.Limits{Stored: time.Minute, Send: time.Minute, Count: time.Minute},
	}, db.Config(transport), log)
	return r
}

func applied(t testing.TB) config.Set {
	scope := object.Scope{Tenant: "shop", Environment: "test"}
	at := func(text string) document.Pointer {
		p, err := document.ParsePointer(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	version := at("/data/updated_at")
	return config.Set{Scope: scope, Endpoints: []config.Endpoint{
		{Name: "woo-shop", Scope: scope, Provider: "woocommerce", Secrets: []secrets.Ref{"ssm:hooks/woo-shop/1", "ssm:hooks/woo-shop/2"}, // the second is not set yet
			Events: map[string]config.EventRule{"product.updated": {}}},
		{Name: "crm", Scope: scope, Provider: "standard-webhooks", Secrets: []secrets.Ref{"ssm:hooks/crm/1"},
			Events: map[string]config.EventRule{"contact.created": {Object: &config.ObjectRule{Kind: "contact", ID: at("/data/id")}, Version: &version}}},
	}}
}

func read(t *testing.T, name string) (e events.APIGatewayV2HTTPRequest) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "events", "receiver", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// resigned is a delivery signed as of now, since the handler's clock is the real one. Its other headers stay.
func resigned(t testing.TB, provider, secret string, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	t.Helper()
	scheme, _ := webhook.Lookup(provider)
	h := http.Header{}
	for name, value := range e.Headers {
		h.Set(name, value)
	}
	req, err := scheme.Sign(webhook.Request{Header: h, Body: []byte(e.Body)}, secrets.NewValue(secret), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name := range req.Header {
		e.Headers[strings.ToLower(name)] = req.Header.Get(name)
	}
	return e
}

type answer struct {
	Status string        `json:"status"`
	Event  inbox.EventID `json:"event"`
}

func (r *rig) handle(t *testing.T, e events.APIGatewayV2HTTPRequest) (int, answer) {
	t.Helper()
	out, err := r.Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if out.StatusCode == 200 {
		if err := json.Unmarshal([]byte(out.Body), &a); err != nil {
			t.Fatalf("%v: %s", err, out.Body)
		}
	}
	return out.StatusCode, a
}

// sent are the references in the work queue.
func (r *rig) sent(t *testing.T) (ids []inbox.EventID) {
	t.Helper()
	out, err := sqs.NewFromConfig(r.cfg).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &r.work, MaxNumberOfMessages: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		msg, err := queue.Decode(*m.Body)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, msg.Event)
	}
	return ids
}

func TestDeliveriesOfEventsFolderThroughTheWholeReceiver(t *testing.T) {
	for _, tc := range []struct {
		name    string
		event   func(*testing.T) events.APIGatewayV2HTTPRequest
		status  int
		answer  string
		object  string // of the stored event; "": nothing is stored
		version string
	}{
		{"an update of a running WooCommerce", func(t *testing.T) events.APIGatewayV2HTTPRequest { return read(t, "woocommerce-product-updated") },
			200, intake.Accepted, "product:11", "2026-11-29T19:30:14Z"},
		{"the same in base64", func(t *testing.T) events.APIGatewayV2HTTPRequest {
			e := read(t, "woocommerce-product-updated")
			e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(e.Body)), true
			return e
		}, 200, intake.Accepted, "product:11", "2026-11-29T19:30:14Z"},
		{"a contact by Standard Webhooks", func(t *testing.T) events.APIGatewayV2HTTPRequest {
			return resigned(t, "standard-webhooks", contactSecret, read(t, "standard-webhooks-contact-created"))
		}, 200, intake.Accepted, "contact:con_4821", "2026-11-29T19:30:13Z"},
		{"the ping of WooCommerce", func(t *testing.T) events.APIGatewayV2HTTPRequest { return read(t, "woocommerce-ping") }, 200, "pong", "", ""},
		{"signed with another secret", func(t *testing.T) events.APIGatewayV2HTTPRequest { return read(t, "woocommerce-bad-signature") }, 401, "", "", ""},
		{"a captured contact, sent again much later", func(t *testing.T) events.APIGatewayV2HTTPRequest {
			return read(t, "standard-webhooks-contact-created")
		}, 401, "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			e := tc.event(t)
			status, got := r.handle(t, e)
			if status != tc.status || got.Status != tc.answer {
				t.Fatalf("%d %+v, want %d %s\n%s", status, got, tc.status, tc.answer, &r.log)
			}
			sent := r.sent(t)
			if tc.object == "" {
				if got.Event != "" || len(sent) != 0 {
					t.Errorf("event %q, sent %v", got.Event, sent)
				}
				return
			}
			ev, err := r.db.Open(nil).Event(t.Context(), got.Event)
			if err != nil {
				t.Fatal(err)
			}
			if ev.State != inbox.Received || ev.Object.String() != tc.object || ev.Rank.Version().String() != tc.version || ev.Reason != "" {
				t.Errorf("stored %+v", ev)
			}
			if diff := cmp.Diff([]inbox.EventID{got.Event}, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			raw := read(t, map[bool]string{true: "woocommerce-product-updated", false: "standard-webhooks-contact-created"}[tc.object == "product:11"]).Body
			if kept, err := bodies.Open(r.cfg, r.bucket).Read(t.Context(), ev.Body); err != nil || string(kept) != raw {
				t.Errorf("kept %d bytes, %v; want the %d that came", len(kept), err, len(raw))
			}
		})
	}
}

func TestASecretThatIsMissingIsLoggedByReference(t *testing.T) {
	r := newRig(t, nil)
	if status, got := r.handle(t, read(t, "woocommerce-product-updated")); status != 200 || got.Status != intake.Accepted {
		t.Errorf("%d %+v: one usable secret is enough", status, got)
	}
	if !strings.Contains(r.log.String(), `"secret":"hooks/woo-shop/2"`) {
		t.Errorf("nothing tells the operator:\n%s", &r.log)
	}
}

// The file is signed for its own time, so that whoever verifies it by hand finds it right.
func TestContactFileIsSignedForItsTime(t *testing.T) {
	e := read(t, "standard-webhooks-contact-created")
	scheme, _ := webhook.Lookup("standard-webhooks")
	req := webhook.Request{Method: "POST", Header: http.Header{}, Body: []byte(e.Body)}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	if err := scheme.Verify(req, []secrets.Value{secrets.NewValue(contactSecret)}, webhook.Expect{}, contactSignedAt); err != nil {
		t.Error(err)
	}
}

func TestABodyOverTheItemLimitGoesToTheBucketFirst(t *testing.T) {
	r := newRig(t, nil)
	e := read(t, "standard-webhooks-contact-created")
	noise := make([]byte, 30_000)
	rand.Read(noise)
	e.Body = strings.Replace(e.Body, "Nordlys Kaffe", base64.StdEncoding.EncodeToString(noise), 1)
	e = resigned(t, "standard-webhooks", contactSecret, e)
	status, got := r.handle(t, e)
	if status != 200 || got.Status != intake.Accepted {
		t.Fatalf("%d %+v", status, got)
	}
	ev, err := r.db.Open(nil).Event(t.Context(), got.Event)
	if err != nil {
		t.Fatal(err)
	}
	if ev.Body.Key == "" || len(ev.Body.Packed) != 0 {
		t.Errorf("kept %d bytes beside the event, key %q", len(ev.Body.Packed), ev.Body.Key)
	}
	if kept, err := bodies.Open(r.cfg, r.bucket).Read(t.Context(), ev.Body); err != nil || string(kept) != e.Body {
		t.Errorf("kept %d bytes, %v; want %d", len(kept), err, len(e.Body))
	}
}

func TestFaultsOfTheOutsideCalls(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  *dynamotest.Fault
		status int
		answer string
		stored bool
		sends  int
	}{
		{"the store is down", &dynamotest.Fault{Target: "W1", N: -1}, 503, "", false, 0},
		{"the answer of the put is lost once", &dynamotest.Fault{Target: "W1", N: 1, Applied: true}, 200, intake.Accepted, true, 1},
		// Nobody knows that it is stored: the sender comes again, and meets an open event.
		{"every answer of the put is lost", &dynamotest.Fault{Target: "W1", N: dynamotest.Tries, Applied: true}, 503, "", true, 0},
		{"the configuration cannot be read", &dynamotest.Fault{Target: "read config", N: -1}, 503, "", false, 0},
		{"the secrets cannot be read", &dynamotest.Fault{Target: "read secrets", N: -1}, 503, "", false, 0},
		{"the queue is down", &dynamotest.Fault{Target: "send event", N: -1}, 200, intake.Accepted, true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.fault)
			e := read(t, "woocommerce-product-updated")
			status, got := r.handle(t, e)
			if tc.fault.Hits() == 0 {
				t.Fatal("the fault hit nothing")
			}
			if status != tc.status || got.Status != tc.answer {
				t.Errorf("%d %+v, want %d %s\n%s", status, got, tc.status, tc.answer, &r.log)
			}
			if n := len(r.sent(t)); n != tc.sends {
				t.Errorf("%d sends, want %d", n, tc.sends)
			}
			if open := r.due(t); (len(open) == 1) != tc.stored {
				t.Errorf("%d open events; stored should be %v", len(open), tc.stored)
			}
			if strings.Contains(r.log.String(), capturedSecret) || strings.Contains(r.log.String(), "MUG-1") {
				t.Errorf("the log repeats secret or body:\n%s", &r.log)
			}
		})
	}
}

// due are all open events, as the reconciler finds them once their time has come.
func (r *rig) due(t *testing.T) (ids []inbox.EventID) {
	t.Helper()
	table := r.db.Open(nil)
	for shard := range dynamo.OpenShards {
		some, _, err := table.Due(t.Context(), shard, time.Now().Add(time.Hour), "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, some...)
	}
	return ids
}

func TestFiftyDeliveriesAtOnceAreOneEvent(t *testing.T) {
	r := newRig(t, nil)
	e := read(t, "woocommerce-product-updated")
	answers := make(chan answer, dynamotest.Many)
	for _, err := range dynamotest.AtOnce(func(int) error {
		out, err := r.Handle(t.Context(), e)
		if err != nil {
			return err
		}
		var a answer
		err = json.Unmarshal([]byte(out.Body), &a)
		answers <- a
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	close(answers)
	count, ids := map[string]int{}, map[inbox.EventID]bool{}
	for a := range answers {
		count[a.Status]++
		ids[a.Event] = true
	}
	if diff := cmp.Diff(map[string]int{intake.Accepted: 1, intake.Duplicate: dynamotest.Many - 1}, count); diff != "" || len(ids) != 1 {
		t.Errorf("%d events; answers (-want +got):\n%s", len(ids), diff)
	}
	for id := range ids {
		_, seen, conflicts, err := r.db.Open(nil).Deliveries(t.Context(), id)
		if err != nil || seen.Count != dynamotest.Many-1 || len(conflicts) != 0 {
			t.Errorf("seen %d, %d conflicts, %v", seen.Count, len(conflicts), err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Setenv("TABLE_NAME", "engang")
	t.Setenv("WORK_QUEUE_URL", "https://sqs.eu-north-1.amazonaws.com/1/work")
	t.Setenv("BODIES_BUCKET", "bodies")
	t.Setenv("SECRET_PATH", "/engang/shop")
	t.Setenv("MAX_BODY_BYTES", "2097152")
	t.Setenv("OPEN_AGE_SECONDS", "120")
	s, err := handler.SettingsFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	want := intake.UsualLimits
	want.Body, want.OpenAge = 2<<20, 2*time.Minute
	if diff := cmp.Diff(want, s.Limits); diff != "" || s.Table != "engang" || s.Bodies != "bodies" || s.SecretPath != "/engang/shop" || s.ConfigTTL <= 0 || s.SecretTTL <= 0 {
		t.Errorf("settings %+v, limits (-want +got):\n%s", s, diff)
	}
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "BODIES_BUCKET", "SECRET_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("MAX_BODY_BYTES", "4194305") // Lambda takes no more
	_, err = handler.SettingsFromEnv()
	for _, name := range []string{"TABLE_NAME", "WORK_QUEUE_URL", "BODIES_BUCKET", "SECRET_PATH", "MAX_BODY_BYTES"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}
