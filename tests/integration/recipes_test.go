package integration_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/configfile"
	"engang/infra/local"
	"engang/shared/control"
)

// edited is local.yaml with passages replaced, given as old and new in turn, in a folder of the test.
func edited(t testing.TB, passages ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "infra", "local.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for i := 0; i < len(passages); i += 2 {
		if strings.Count(text, passages[i]) != 1 {
			t.Fatalf("local.yaml does not have %q once", passages[i])
		}
		text = strings.Replace(text, passages[i], passages[i+1], 1)
	}
	path := filepath.Join(t.TempDir(), "engang.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// apply makes a configuration file live.
func (s *system) apply(path string) {
	s.t.Helper()
	set, err := configfile.Read(path)
	if err == nil {
		_, err = s.Apply(s.t.Context(), set)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// noteRecipe is a second recipe for products.
const noteRecipe = `
recipes:
  product-note:
    version: 1
    input:
      fields:
        name: /name
        text: {from: /description, as: text, max: 500}
      required: [name]
    model:
      provider: openai
      name: gpt-5.4-mini-2026-03-17
      options: {max_output_tokens: 400}
    instructions: Write one note for the people in the warehouse. Use only facts in the input.
    output:
      name: product_note
      schema:
        type: object
        additionalProperties: false
        required: [note]
        properties:
          note: {type: string}
    checks:
      - {path: /note, length: [10, 400]}
    policy: auto
`

// twoRecipes is local.yaml with two recipes for product.updated, and one for product.created.
func twoRecipes(t testing.TB) string {
	t.Helper()
	return edited(t,
		"product.updated: {recipes: [product-card],", "product.updated: {recipes: [product-card, product-note],",
		"\nrecipes:\n", noteRecipe)
}

// recipesOf are the object's operations and results by recipe: "product-card@3 completed".
func recipesOf(o control.Object) (operations, results []string) {
	for _, op := range o.Operations {
		operations = append(operations, op.Recipe+" "+op.State)
	}
	for _, r := range o.Results {
		results = append(results, r.Recipe)
	}
	slices.Sort(operations)
	slices.Sort(results)
	return operations, results
}

// bothDone demands that an event came to its end with both recipes done.
func (s *system) bothDone(id string) {
	s.t.Helper()
	operations, results := recipesOf(s.object("product:794"))
	if !slices.Equal(operations, []string{"product-card@3 completed", "product-note@1 completed"}) || !slices.Equal(results, []string{"product-card@3", "product-note@1"}) {
		s.t.Errorf("operations %v, results %v", operations, results)
	}
	e := s.event(id)
	if e.State != "settled" || e.Outcome != "completed" || len(e.Operations) != 2 || !slices.Equal(e.Recipes, []string{"product-card@3", "product-note@1"}) {
		s.t.Errorf("event %+v", e)
	}
}

func TestEveryRecipeOfAnEventIsDoneOnce(t *testing.T) {
	each(t, local.Options{ConfigFiles: []string{twoRecipes(t)}, Speed: calm}, func(t *testing.T, s *system) {
		id := s.accept(s.product(oldChair))
		s.rest()
		s.bothDone(id)
		if s.calls() != 2 {
			t.Errorf("%d calls, want one for each recipe", s.calls())
		}
		id = s.accept(s.product(echo))
		s.rest()
		s.bothDone(id)
		for _, r := range s.object("product:794").Results {
			if r.ObjectVersion != newVersion || r.Event != id {
				t.Errorf("after an echo the result of %s is of %s", r.Recipe, r.ObjectVersion)
			}
		}
		if s.calls() != 2 {
			t.Errorf("an echo brought it to %d calls", s.calls())
		}
	})
}

// A worker dies with one recipe done and the other not: the next worker makes no call for the first.
func TestACrashBetweenTwoRecipes(t *testing.T) {
	path := twoRecipes(t)
	options := func(string) local.Options { return local.Options{ConfigFiles: []string{path}, Speed: 100} }
	eachCase(t, map[string]string{
		"the first is committed, its result not written":              "worker:kill@after-W4",
		"the first has its result, the second is not begun":           "worker:kill@after-W5",
		"the first was done for another event, the second is in work": "worker:kill@before-call",
	}, options, func(t *testing.T, s *system, fault string) {
		if fault == "worker:kill@before-call" {
			s.accept(s.woo("product.created", oldChair.Body())) // product-card alone
			s.settle()
		}
		if err := s.Faults().Add(fault); err != nil {
			t.Fatal(err)
		}
		id := s.accept(s.product(oldChair))
		s.rest()
		if len(s.Faults().Fired()) != 1 {
			t.Fatal("no worker was killed")
		}
		s.bothDone(id)
		if s.calls() != 2 {
			t.Errorf("%d calls, want one for each recipe", s.calls())
		}
	})
}

// deadLetters takes the messages of the dead-letter queue, by the id of the event that each is about.
func (s *system) deadLetters() []types.Message {
	s.t.Helper()
	out, err := s.SQS().ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(s.QueueURL("WorkDeadLetterQueue")), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Messages
}

// notice demands one dead letter: a notice of this event, with these attributes.
func (s *system) notice(event, operation, reason, category string) types.Message {
	s.t.Helper()
	letters := s.deadLetters()
	if len(letters) != 1 {
		s.t.Fatalf("%d dead letters, want 1", len(letters))
	}
	for name, want := range map[string]string{"operation": operation, "reason": reason, "category": category} {
		if got := aws.ToString(letters[0].MessageAttributes[name].StringValue); got != want {
			s.t.Errorf("attribute %s of the dead letter is %q, want %q", name, got, want)
		}
	}
	if body := aws.ToString(letters[0].Body); !strings.Contains(body, `{"notice":{"event":"`+event+`"`) {
		s.t.Errorf("dead letter %s, want a notice of %s", body, event)
	}
	return letters[0]
}

// redrive moves a dead letter to the work queue, as the queue's own redrive button does, and has it worked on.
func (s *system) redrive(letter types.Message) {
	s.t.Helper()
	if _, err := s.SQS().SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(s.QueueURL("WorkQueue")), MessageBody: letter.Body}); err != nil {
		s.t.Fatal(err)
	}
	if s.step() == 0 {
		s.t.Fatal("nothing to work on")
	}
}

// One recipe fails, the other's result stands; what failed is named, and is done alone when it is put back.
func TestOneOfTwoRecipesFails(t *testing.T) {
	path := twoRecipes(t)
	for _, c := range []struct {
		name, failed, done string
		before             bool // product-card is done by then: the second recipe is the one that calls
	}{
		{"the first", "product-card@3", "product-note@1", false},
		{"the second", "product-note@1", "product-card@3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, local.Options{ConfigFiles: []string{path}, Speed: calm}, func(t *testing.T, s *system) {
				if c.before {
					s.accept(s.woo("product.created", oldChair.Body()))
					s.settle()
				}
				if err := s.Faults().Add("model:refusal"); err != nil {
					t.Fatal(err)
				}
				id := s.accept(s.product(oldChair))
				s.rest()
				o := s.object("product:794")
				operations, results := recipesOf(o)
				if want := []string{c.done + " completed", c.failed + " failed"}; !sameSet(operations, want) || !slices.Equal(results, []string{c.done}) {
					t.Errorf("operations %v, results %v, want %v and %s", operations, results, want, c.done)
				}
				i := slices.IndexFunc(o.Operations, func(op control.Operation) bool { return op.State == "failed" })
				e := s.event(id)
				if i < 0 || e.State != "parked" || !slices.Equal(e.Operations, []string{o.Operations[i].ID}) || e.Reason != "refusal" || e.Category != "unusable output" {
					t.Fatalf("event %+v, operations %+v", e, o.Operations)
				}
				letter := s.notice(id, o.Operations[i].ID, "refusal", "unusable output")
				if s.calls() != 2 {
					t.Errorf("%d calls, want 2", s.calls())
				}

				s.redrive(letter)
				s.rest()
				s.bothDone(id)
				if s.calls() != 3 {
					t.Errorf("%d calls after the redrive, want 3", s.calls())
				}
			})
		})
	}
}

// One recipe lacks its input: no operation of it, and the other's result stands.
func TestOneOfTwoRecipesLacksItsInput(t *testing.T) {
	path := edited(t,
		"product.updated: {recipes: [product-card],", "product.updated: {recipes: [product-card, product-note],",
		"\nrecipes:\n", strings.Replace(noteRecipe, "required: [name]", "required: [text]", 1))
	each(t, local.Options{ConfigFiles: []string{path}, Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		const reason = "product-note@1: required but missing or empty in the payload: text (/description)"
		id := s.accept(s.woo("product.updated", `{"id":794,"name":"Table of solid oak","date_modified_gmt":"2026-11-29T12:00:00"}`))
		s.rest()
		if e := s.event(id); e.State != "parked" || e.Reason != reason || e.Category != "invalid input" || len(e.Operations) != 0 {
			t.Errorf("event %+v", e)
		}
		s.notice(id, id, reason, "invalid input")
		for _, r := range s.object("product:794").Results {
			if newer := r.ObjectVersion == newVersion; newer != (r.Recipe == "product-card@3") {
				t.Errorf("result of %s is of %s", r.Recipe, r.ObjectVersion)
			}
		}
		if s.calls() != 3 {
			t.Errorf("%d calls, want 3", s.calls())
		}
	})
}

func sameSet(got, want []string) bool {
	slices.Sort(want)
	return slices.Equal(got, want)
}
