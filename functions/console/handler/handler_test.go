package handler_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"engang/functions/console/handler"
	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

var shop = object.Scope{Tenant: "shop", Environment: "test"}

// desk notes what it was asked, and answers with an error if it has one.
type desk struct {
	asked  string
	output string // that is revealed
	err    error
}

func (d *desk) note(format string, args ...any) error {
	d.asked = fmt.Sprintf(format, args...)
	return d.err
}

func (d *desk) Scope(_ context.Context, named object.Scope, endpoint string) (object.Scope, error) {
	if named == (object.Scope{}) {
		return shop, nil
	}
	return named, nil
}

func (d *desk) Events(_ context.Context, s object.Scope, f control.EventFilter, span control.Span) (control.List[control.Event], error) {
	return control.List[control.Event]{Items: []control.Event{}}, d.note("events %s %+v %s %s %s %d", s, f, stamp(span.Since), stamp(span.Until), span.After, span.Limit)
}

func (d *desk) Operations(_ context.Context, s object.Scope, f control.OperationFilter, span control.Span) (control.List[control.Operation], error) {
	return control.List[control.Operation]{Items: []control.Operation{}}, d.note("operations %s %+v %d", s, f, span.Limit)
}

func (d *desk) Show(_ context.Context, s object.Scope, id string, since time.Time) (control.Any, error) {
	return control.Any{Event: &control.Event{Kind: "event", ID: id}}, d.note("show %s %s %s", s, id, stamp(since))
}

func (d *desk) Find(_ context.Context, s object.Scope, endpoint, id string, _ time.Time) (control.Any, error) {
	return control.Any{}, d.note("find %s %s %s", s, endpoint, id)
}

func (d *desk) Endpoint(_ context.Context, name string) (control.Endpoint, error) {
	return control.Endpoint{Name: name}, d.note("endpoint %s", name)
}

func (d *desk) Reveal(_ context.Context, s object.Scope, l control.Look) (control.Content, error) {
	return control.Content{ID: l.ID, Output: json.RawMessage(d.output)}, d.note("reveal %s %+v", s, l)
}

func (d *desk) ScopeOf(_ context.Context, id inbox.EventID) (object.Scope, error) {
	return object.Scope{Tenant: "of", Environment: string(id)}, d.err
}

func (d *desk) Config(_ context.Context, s object.Scope) (control.Config, error) {
	return control.Config{Kind: "config"}, d.note("config %s", s)
}

func (d *desk) Plan(_ context.Context, p control.Proposal) (control.Application, error) {
	return control.Application{Kind: "plan"}, d.note("plan %s %d %v %v %s", p.Set.Scope, len(p.Set.Endpoints), p.AllowModelChange, p.Seen, p.By)
}

func (d *desk) Apply(_ context.Context, p control.Proposal) (control.Application, error) {
	return control.Application{Kind: "applied"}, d.note("apply %s %d %v %v %s", p.Set.Scope, len(p.Set.Endpoints), p.AllowModelChange, p.Seen, p.By)
}

func (d *desk) Review(_ context.Context, s object.Scope, f control.ReviewFilter, span control.Span) (control.List[control.Waiting], error) {
	return control.List[control.Waiting]{Items: []control.Waiting{}}, d.note("review %s %q %q %s %s %d", s, f.Kind, f.Owner, stamp(f.Older), span.After, span.Limit)
}

func (d *desk) Approve(_ context.Context, s object.Scope, a control.Deciding) (control.Decided, error) {
	return control.Decided{Kind: "decision"}, d.note("approve %s %+v", s, a)
}

func (d *desk) Reject(_ context.Context, s object.Scope, a control.Deciding) (control.Decided, error) {
	return control.Decided{Kind: "decision"}, d.note("reject %s %+v", s, a)
}

func (d *desk) Dismiss(_ context.Context, s object.Scope, a control.Deciding) (control.Decided, error) {
	return control.Decided{Kind: "decision"}, d.note("dismiss %s %+v", s, a)
}

func (d *desk) Audit(_ context.Context, s object.Scope, f control.ActFilter, span control.Span) (control.List[control.Act], error) {
	return control.List[control.Act]{Items: []control.Act{}}, d.note("audit %s %+v %s %s %s %d", s, f, stamp(span.Since), stamp(span.Until), span.After, span.Limit)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}

const (
	aSet     = `"set":{"scope":{"tenant":"shop","environment":"test"},"common":{"event_days":30},"endpoints":[{"name":"a"}],"recipes":[]}`
	small    = "{" + aSet + "}"
	applying = "{" + aSet + `,"allow_model_change":true,"revision":7}`
)

func request(method, path, query, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: path, RawQueryString: query, Body: body}
	e.RequestContext.HTTP.Method, e.RequestContext.RequestID = method, "req-1"
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:ann"}}
	return e
}

func answer(t *testing.T, d *desk, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, string) {
	t.Helper()
	var log bytes.Buffer
	out, err := handler.Over(d, "v1", slog.New(slog.NewTextHandler(&log, nil))).Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return out, log.String()
}

func TestCallsReachTheUseCaseAsTheyAreMeant(t *testing.T) {
	for _, c := range []struct{ method, path, query, body, asked string }{
		{"GET", "/api/events", "", "", "events shop/test {Endpoint: Type: Object: State: EventID: Duplicates:false} - -  0"},
		{"GET", "/api/events", "tenant=a&environment=b&endpoint=e&type=t&object=product%3A7&state=parked&event_id=x%26y&duplicates=true&since=2026-11-01T00:00:00Z&until=2026-11-02T00:00:00Z&after=c&limit=7", "",
			"events a/b {Endpoint:e Type:t Object:product:7 State:parked EventID:x&y Duplicates:true} 2026-11-01T00:00:00Z 2026-11-02T00:00:00Z c 7"},
		{"GET", "/api/operations", "recipe=r&state=s&category=unusable+output&object=o&limit=500", "", "operations shop/test {Recipe:r State:s Category:unusable output Object:o} 500"},
		{"GET", "/api/show", "id=product%3A794%2Fproduct-card%403%2F9f&since=2026-11-01T00:00:00Z", "", "show shop/test product:794/product-card@3/9f 2026-11-01T00:00:00Z"},
		{"GET", "/api/show", "endpoint=woo-shop&event_id=msg_1", "", "find shop/test woo-shop msg_1"},
		{"GET", "/api/audit", "", "", "audit shop/test {Object: Target:} - -  0"},
		{"GET", "/api/audit", "tenant=a&environment=b&object=product%3A7&target_id=evt_1&since=2026-11-01T00:00:00Z&until=2026-11-02T00:00:00Z&after=c&limit=7", "", "audit a/b {Object:product:7 Target:evt_1} 2026-11-01T00:00:00Z 2026-11-02T00:00:00Z c 7"},
		{"GET", "/api/endpoints", "name=woo-shop", "", "endpoint woo-shop"},
		{"POST", "/api/reveal", "", `{"id":"evt_1","reason":"why"}`, "reveal shop/test {ID:evt_1 By:arn:ann Reason:why}"},
		{"GET", "/api/version", "", "", ""},
		{"GET", "/api/show", "id=evt_aaaaaaaaaaaaaaaa", "", "show of/evt_aaaaaaaaaaaaaaaa evt_aaaaaaaaaaaaaaaa -"},
		{"GET", "/api/show", "id=evt_aaaaaaaaaaaaaaaa&tenant=a&environment=b", "", "show a/b evt_aaaaaaaaaaaaaaaa -"},
		{"GET", "/api/config", "", "", "config shop/test"},
		{"GET", "/api/config", "tenant=a&environment=b", "", "config a/b"},
		{"GET", "/api/review", "", "", `review shop/test "" "" -  0`},
		{"GET", "/api/review", "tenant=a&environment=b&kind=draft&owner=catalogue&older=2026-11-01T00:00:00Z&after=c&limit=7", "", `review a/b "draft" "catalogue" 2026-11-01T00:00:00Z c 7`},
		{"POST", "/api/review/approve", "", `{"id":"o","digest":"sha256:cd","reason":"why","although_newer":true}`, "approve shop/test {ID:o Digest:sha256:cd Seen: AlthoughNewer:true By:arn:ann Reason:why}"},
		{"POST", "/api/review/reject", "tenant=a&environment=b", `{"id":"o","digest":"sha256:cd","reason":"why"}`, "reject a/b {ID:o Digest:sha256:cd Seen: AlthoughNewer:false By:arn:ann Reason:why}"},
		{"POST", "/api/review/dismiss", "", `{"id":"o","reason":"why"}`, "dismiss shop/test {ID:o Digest: Seen: AlthoughNewer:false By:arn:ann Reason:why}"},
		{"POST", "/api/review/dismiss", "", `{"id":"o","reason":"why","seen":"2/evt_1"}`, "dismiss shop/test {ID:o Digest: Seen:2/evt_1 AlthoughNewer:false By:arn:ann Reason:why}"},
		{"POST", "/api/plan", "", small, "plan shop/test 1 false 0 arn:ann"},
		{"PUT", "/api/config", "tenant=shop&environment=test", applying, "apply shop/test 1 true 7 arn:ann"},
	} {
		d := &desk{}
		out, _ := answer(t, d, request(c.method, c.path, c.query, c.body))
		if out.StatusCode != http.StatusOK || d.asked != c.asked || out.Headers["Cache-Control"] != "no-store" || !json.Valid([]byte(out.Body)) {
			t.Errorf("%s %s?%s: %d %s\nasked %s\nwant  %s", c.method, c.path, c.query, out.StatusCode, out.Body, d.asked, c.asked)
		}
	}
}

// What a person decides about is shown as it is stored: an ampersand is none of ours to write otherwise.
func TestAnOutputIsShownAsItIs(t *testing.T) {
	const output = `{"summary":"Cups & <b>mugs</b>"}`
	out, _ := answer(t, &desk{output: output}, request("POST", "/api/reveal", "", `{"id":"o","reason":"why"}`))
	if !strings.Contains(out.Body, output) {
		t.Errorf("shown %s", out.Body)
	}
}

func TestABodyMayComeInBase64(t *testing.T) {
	e := request("POST", "/api/reveal", "", base64.StdEncoding.EncodeToString([]byte(`{"id":"evt_1","reason":"why"}`)))
	e.IsBase64Encoded = true
	d := &desk{}
	if out, _ := answer(t, d, e); out.StatusCode != http.StatusOK || !strings.HasPrefix(d.asked, "reveal") {
		t.Errorf("%d %s", out.StatusCode, out.Body)
	}
}

// decidedBy is a decision that was refused since somebody had rejected the draft.
func decidedBy(who string, why error) error {
	return errors.Join(why, &operation.RefusedError{Stored: operation.Operation{
		Key: operation.Key{Object: object.ID{Kind: "product", Value: "794"}, Recipe: inbox.RecipeRef{Name: "card", Version: 3}, Digest: "9f"}, State: operation.Rejected,
		Decision: &operation.Decision{By: who, At: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)},
	}})
}

func TestRefusalsAreProblemDocuments(t *testing.T) {
	for _, c := range []struct {
		name, method, path, query, body string
		err                             error
		status                          int
		says                            string
	}{
		{"no such address", "GET", "/api/nothing", "", "", nil, 404, "no-such-address"},
		{"another method", "POST", "/api/events", "", "", nil, 405, "method-not-allowed"},
		{"a misspelt filter", "GET", "/api/events", "stat=parked", "", nil, 400, "bad-parameter"},
		{"a misspelt filter of acts", "GET", "/api/audit", "target=x", "", nil, 400, "bad-parameter"},
		{"a cursor of acts that is none", "GET", "/api/audit", "after=x", "", control.ErrCursor, 400, "cursor"},
		{"no time", "GET", "/api/events", "since=yesterday", "", nil, 400, "since"},
		{"no number", "GET", "/api/events", "limit=501", "", nil, 400, "limit"},
		{"no truth", "GET", "/api/events", "duplicates=maybe", "", nil, 400, "duplicates"},
		{"a broken query", "GET", "/api/events", "a=%zz", "", nil, 400, "malformed"},
		{"no JSON", "POST", "/api/reveal", "", "id=1", nil, 400, "malformed"},
		{"too long", "POST", "/api/reveal", "", strings.Repeat(" ", handler.MaxCall+1), nil, 413, "too-large"},
		{"no id", "GET", "/api/show", "id=x", "", object.ErrNoID, 400, "evt_"},
		{"an ambiguous id", "GET", "/api/show", "id=x", "", control.ErrAmbiguous, 400, "a beginning that no other has"},
		{"a strange cursor", "GET", "/api/events", "after=x", "", control.ErrCursor, 400, "after"},
		{"another one's cursor, or a former version's", "POST", "/api/erase", "", `{"object":"product:1","reason":"x","after":"eyJpZCI6Ij"}`, fmt.Errorf("%w: %w", control.ErrCursor, audit.ErrOther), 400, "either nothing, to begin again, or the cursor that this version gave the same caller"},
		{"several tenants", "GET", "/api/events", "", "", control.ErrScope, 400, "tenant and environment"},
		{"one of several tenants", "GET", "/api/config", "", "", &control.ScopeError{Fit: []object.Scope{shop, {Tenant: "other", Environment: "test"}}}, 400, "(one of shop/test, other/test)"},
		{"no reason", "POST", "/api/reveal", "", "{}", control.ErrReason, 400, "reason"},
		{"no such event", "GET", "/api/show", "id=x", "", inbox.ErrNotFound, 404, "not-found"},
		{"no such event, in whatever tenant", "GET", "/api/show", "id=evt_aaaaaaaaaaaaaaaa", "", inbox.ErrNotFound, 404, "not-found"},
		{"a plan that is no JSON", "POST", "/api/plan", "", "set=1", nil, 400, "malformed"},
		{"a set with a key that is not known", "POST", "/api/plan", "", `{"set":{"endpoints":[{"name":"a","colour":"red"}]}}`, nil, 400, "of different versions"},
		{"a plan over a revision", "POST", "/api/plan", "", applying, nil, 400, "revision"},
		{"an apply over nothing", "PUT", "/api/config", "", small, nil, 400, "revision"},
		{"another tenant than the set's", "POST", "/api/plan", "tenant=other&environment=test", small, nil, 400, "tenant and environment"},
		{"another method", "DELETE", "/api/config", "", "", nil, 405, "method-not-allowed"},
		{"a set too long", "PUT", "/api/config", "", strings.Repeat(" ", handler.MaxConfig+1), nil, 413, "too-large"},
		{"a set that is refused", "POST", "/api/plan", "", small, config.Faults{{At: "/recipes/a", Reason: "r", Remedy: "d"}}, 422, `"faults":[{"at":"/recipes/a"`},
		{"somebody was faster", "PUT", "/api/config", "", applying, config.ErrMoved, 409, "refused-by-state"},
		{"a decision that is no JSON", "POST", "/api/review/approve", "", "id=1", nil, 400, "malformed"},
		{"a decision by a look", "GET", "/api/review/approve", "", "", nil, 405, "method-not-allowed"},
		{"a decision with a misspelt parameter", "POST", "/api/review/reject", "tenat=a", "{}", nil, 400, "bad-parameter"},
		{"a dismissal of a draft", "POST", "/api/review/dismiss", "", `{"id":"o","digest":"sha256:cd","reason":"r"}`, nil, 400, "digest"},
		{"an approval of a failure", "POST", "/api/review/approve", "", `{"id":"o","seen":"2/evt_1","reason":"r"}`, nil, 400, "seen"},
		{"a rejection of a failure", "POST", "/api/review/reject", "", `{"id":"o","seen":"2/evt_1","reason":"r"}`, nil, 400, "seen"},
		{"another failure", "POST", "/api/review/dismiss", "", "{}", decidedBy("ann", operation.ErrOtherFailure), 409, "other-failure"},
		{"a failure whose event is in work", "POST", "/api/review/dismiss", "", "{}", decidedBy("ann", operation.ErrInWork), 409, "in-work"},
		{"a list since no time", "GET", "/api/review", "older=yesterday", "", nil, 400, "older"},
		{"a list by time", "GET", "/api/review", "since=2026-11-01T00:00:00Z", "", nil, 400, "bad-parameter"},
		{"a decision of nobody", "POST", "/api/review/approve", "", "{}", problem.ErrIdentity, 403, "no-identity"},
		{"another draft", "POST", "/api/review/approve", "", "{}", decidedBy("ann", operation.ErrOtherDraft), 409, `"stands":{"id":"product:794/card@3/9f","state":"rejected"`},
		{"decided already", "POST", "/api/review/reject", "", "{}", decidedBy("ann", operation.ErrDecided), 409, "rejected by ann at 2026-11-29T12:00:00Z"},
		{"set aside", "POST", "/api/review/approve", "", "{}", &operation.OvertakenError{}, 409, "set-aside"},
		{"content that is gone", "POST", "/api/reveal", "", "{}", control.ErrGone, 404, "not-found"},
		{"no such endpoint", "GET", "/api/endpoints", "name=x", "", config.ErrUnknown, 404, "not-configured"},
		{"the store is down", "GET", "/api/show", "id=x", "", fmt.Errorf("%w: dial", problem.ErrUnavailable), 503, "unavailable"},
		{"a bug", "GET", "/api/show", "id=x", "", errors.New("product 794 costs 12"), 500, "req-1"},
	} {
		out, log := answer(t, &desk{err: c.err}, request(c.method, c.path, c.query, c.body))
		var p struct{ Status int }
		if err := json.Unmarshal([]byte(out.Body), &p); err != nil || p.Status != c.status || out.StatusCode != c.status ||
			out.Headers["Content-Type"] != "application/problem+json" || !strings.Contains(out.Body, c.says) {
			t.Errorf("%s: %d %s", c.name, out.StatusCode, out.Body)
		}
		if strings.Contains(out.Body, "costs 12") || !strings.Contains(log, "req-1") {
			t.Errorf("%s: answer %s, log %s", c.name, out.Body, log)
		}
	}
}

// The payloads under events/ are what `sam local invoke` gets: they must be calls that this function knows.
func TestPayloadsAreCalls(t *testing.T) {
	files, err := filepath.Glob("../../../events/console/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if out, _ := answer(t, &desk{}, e); out.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", file, out.StatusCode, out.Body)
		}
	}
}

func TestSettingsReportEveryFault(t *testing.T) {
	for _, name := range []string{"TABLE_NAME", "BODIES_BUCKET", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "OPEN_AGE_SECONDS", "VERSION", "LOG_LEVEL"} {
		t.Setenv(name, "")
	}
	t.Setenv("LOG_LEVEL", "LOUD")
	_, err := handler.SettingsFromEnv()
	for _, name := range []string{"TABLE_NAME", "BODIES_BUCKET", "WORK_QUEUE_URL", "WORK_DEAD_LETTER_QUEUE_URL", "LOG_LEVEL"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	t.Setenv("LOG_LEVEL", "WARN")
	t.Setenv("TABLE_NAME", "engang")
	t.Setenv("BODIES_BUCKET", "b")
	t.Setenv("WORK_QUEUE_URL", "https://sqs.eu-north-1.amazonaws.com/1/work")
	t.Setenv("WORK_DEAD_LETTER_QUEUE_URL", "https://sqs.eu-north-1.amazonaws.com/1/letters")
	got, err := handler.SettingsFromEnv()
	want := handler.Settings{
		Table: "engang", Bodies: "b", WorkQueue: "https://sqs.eu-north-1.amazonaws.com/1/work", DeadLetters: "https://sqs.eu-north-1.amazonaws.com/1/letters",
		OpenAge: 5 * time.Minute, Version: "dev", Level: slog.LevelWarn,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
