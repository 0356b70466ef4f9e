package integration_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"engang/infra/local"
	"engang/infra/rights"
	"engang/infra/rights/rightstest"
)

// refusals fails a test in which a function calls what its role in the template does not allow: also where the code
// lives with the refusal. What the roles allow and nobody needs is found by tests/architecture.
type refusals struct{ t testing.TB }

func (r refusals) told(u local.Use) {
	if !u.Allowed {
		r.t.Errorf("%s is refused by its role", u)
	}
}

// A deaf test hears of failures, and does not fail.
type deaf struct {
	testing.TB
	heard int
}

func (d *deaf) Errorf(string, ...any) { d.heard++ }

func TestACallThatIsRefusedFailsItsTest(t *testing.T) {
	d := &deaf{TB: t}
	for _, allowed := range []bool{true, false} {
		refusals{d}.told(local.Use{Use: rights.Use{Action: "dynamodb:PutItem"}, Function: "receiver", Call: "note delivery", Allowed: allowed})
	}
	if d.heard != 1 {
		t.Errorf("heard of %d calls", d.heard)
	}
}

// A gathering is which calls were refused, each once.
type gathering struct {
	mu    sync.Mutex
	calls []string
}

func (g *gathering) told(u local.Use) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if call := u.Function + " " + u.Call; !u.Allowed && !slices.Contains(g.calls, call) {
		g.calls = append(g.calls, call)
	}
}

// A lack is a copy of the template in which a role lacks something, what a scenario meets then, and which call is refused.
type lack struct {
	name     string
	copy     func(t *testing.T, template string) string
	refused  string // "receiver W1 put event"
	scenario func(*system) (red bool)
}

func statement(where string) func(*testing.T, string) string {
	return func(t *testing.T, template string) string { return rightstest.Without(t, template, where) }
}

func other(old, new string) func(*testing.T, string) string {
	return func(t *testing.T, template string) string {
		if !strings.Contains(template, old) {
			t.Fatalf("the template has no %q", old)
		}
		return strings.Replace(template, old, new, 1)
	}
}

func unanswered(s *system) bool {
	return s.product(product{ID: 1, Name: "Chair"}).Code != http.StatusOK
}

// unsettled delivers and works once. An event that could not be worked on is open then.
func unsettled(s *system) bool {
	s.accept(s.product(product{ID: 1, Name: "Chair"}))
	s.step()
	return s.open() == 1
}

// unseen delivers twice. What is not counted was not seen.
func unseen(s *system) bool {
	event := s.accept(s.product(product{ID: 1, Name: "Chair"}))
	s.product(product{ID: 1, Name: "Chair"})
	return s.event(event).Deliveries == 1
}

func looked(path string) func(*system) bool {
	return func(s *system) bool { return s.get(path, &struct{}{}) != http.StatusOK }
}

func unswept(s *system) bool { return s.Reconcile(s.t.Context()) != nil }

// A scenario goes wrong in each function when its role lacks a statement, an action or a kind of items.
func TestWithoutARightAScenarioIsRed(t *testing.T) {
	raw, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []lack{
		{"receiver: a statement", statement("ReceiverRole KeepEvents"), "receiver W1 put event", unanswered},
		{"receiver: a secret's path", other("/${AWS::StackName}/hooks/*", "/${AWS::StackName}/other/*"), "receiver read secrets", unanswered},
		{"receiver: a kind of items", other(`{"dynamodb:LeadingKeys": ["E#*", "C#*"]}`, `{"dynamodb:LeadingKeys": ["E#*"]}`), "receiver read config", unanswered},
		{"receiver: what is not waited for", statement("ReceiverRole CountRepeats"), "receiver SEEN", unseen},
		{"enrichment: a statement", statement("EnrichmentRole ReadModelKeys"), "enrichment read secrets", unsettled},
		{"enrichment: an action", other(`["dynamodb:GetItem", "dynamodb:UpdateItem"]`, `["dynamodb:GetItem"]`), "enrichment W3 claim", unsettled},
		{"enrichment: a kind of items", other(`{"dynamodb:LeadingKeys": ["E#*", "B#*", "A#*"]}`, `{"dynamodb:LeadingKeys": ["E#*", "A#*"]}`), "enrichment W5 result", unsettled},
		{"reconciler: a statement", statement("ReconcilerRole FindOpenEvents"), "reconciler query open, reconciler query review", unswept},
		{"console: a statement", statement("ConsoleRole ReadOne"), "console read config", looked("/api/config")},
		{"console: one of its indexes", other(`, !Sub "${Table.Arn}/index/list"`, ""), "console query list", looked("/api/events")},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, begin func(local.Options) *system) {
				if c.scenario(begin(local.Options{})) {
					t.Fatal("the scenario is red with the template as it is")
				}
				g := &gathering{}
				s := begin(local.Options{OnUse: g.told, ConfigFiles: []string{"../../infra/local.yaml"}, TemplatePath: rightstest.Saved(t, c.copy(t, string(raw)))})
				if red, refused := c.scenario(s), strings.Join(g.calls, ", "); !red || refused != c.refused {
					t.Errorf("red: %v; refused is %q, want %q", red, refused, c.refused)
				}
			})
		})
	}
}

// S3 tells that an object is gone only to who may list the bucket: others are refused. What the console shows and exports
// must not stop at a body whose life is over.
func TestABodyThatIsGoneIsToldSo(t *testing.T) {
	each(t, local.Options{Speed: brisk}, func(t *testing.T, s *system) {
		event := s.accept(s.updated(bigProduct(1, 200_000)))
		s.settle()
		for _, key := range s.objects() {
			if _, err := s.S3().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(s.BucketName("Bodies")), Key: &key}); err != nil {
				t.Fatal(err)
			}
		}
		if a := s.post("/api/reveal", `{"id":"`+event+`","reason":"a look"}`); a.Code != http.StatusNotFound {
			t.Errorf("the body is answered %d %s", a.Code, a.Body)
		}
		if a := s.post("/api/export", `{"object":"product:1","reason":"a request"}`); a.Code != http.StatusOK || !strings.Contains(a.Body, event) {
			t.Errorf("the export is answered %d %s", a.Code, a.Body)
		}
	})
}
