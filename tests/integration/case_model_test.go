package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/shared/control"
)

// paying is a good order by its id.
func paying(id int) order { return order{id: id, status: "processing"} }

// givenUp demands that an event is parked on its only operation, which stands in review with this reason, and that
// nothing was made public.
func (s *system) givenUp(id, reason string) control.Operation {
	s.t.Helper()
	e := s.event(id)
	o := s.object(e.Object)
	op := o.Operations[0]
	if e.State != "parked" || e.Reason != reason || len(o.Operations) != 1 || op.State != "failed" || op.Reason != reason || op.Category != "unusable output" || op.Review == nil || len(o.Results) != 0 {
		s.t.Errorf("event %+v, operations %+v, results %+v, want %q", e, o.Operations, o.Results, reason)
	}
	return op
}

func TestCaseMOD01RefusalRetriedUntilTheLimit(t *testing.T) {
	eachWithEar(t, nil, func(t *testing.T, s *system, e *ear) {
		if err := e.stub.Fail("refusal", -1); err != nil {
			t.Fatal(err)
		}
		o := paying(1)
		id := s.accept(s.order("order.updated", o.body()))
		s.rest()
		op := s.givenUp(id, "refusal")
		if len(op.Attempts) != 1 || op.Attempts[0].Tokens == nil || op.CostUSD == 0 {
			t.Errorf("attempts %+v, cost %s", op.Attempts, op.CostUSD)
		}
		s.notice(id, op.ID, "refusal", "unusable output")
		s.repeated(id, s.order("order.updated", o.body())) // neither a repeat asks again
		o.modified = "2026-11-29T12:00:01"
		newer := s.accept(s.order("order.updated", o.body())) // nor a newer event with the same content
		s.rest()
		s.givenUp(newer, "refusal")
		s.notice(newer, op.ID, "refusal", "unusable output")
		if len(e.heard()) != 1 {
			t.Errorf("%d calls", len(e.heard()))
		}
	})
}

func TestCaseMOD03TruncationRetriedFiveTimes(t *testing.T) {
	eachWithEar(t, nil, func(t *testing.T, s *system, e *ear) {
		if err := e.stub.Fail("length", -1); err != nil {
			t.Fatal(err)
		}
		id := s.accept(s.order("order.updated", paying(1).body()))
		s.rest()
		op := s.givenUp(id, "cut off by the length limit twice")
		asked := e.requests()
		if len(asked) != 2 || asked[0]["max_output_tokens"] != 600.0 || asked[1]["max_output_tokens"] != 1200.0 {
			t.Fatalf("%d calls, attempts %+v", len(asked), op.Attempts)
		}
		delete(asked[0], "max_output_tokens")
		delete(asked[1], "max_output_tokens")
		if diff := cmp.Diff(asked[0], asked[1]); diff != "" {
			t.Errorf("the second call asks for something else:\n%s", diff)
		}
	})
}

func TestCaseMOD05IncompleteWithoutAReason(t *testing.T) {
	details := []any{map[string]any{}, nil, map[string]any{"reason": nil}, map[string]any{"reason": "lunch"}}
	sideBySide(t)
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		o := caseOptions()
		next := 0
		e := &ear{say: func(answer map[string]any) {
			answer["status"], answer["incomplete_details"] = "incomplete", details[next]
			next++
		}}
		o.ModelURL = e.listen(t)
		s := begin(o)
		for i := range details {
			id := s.accept(s.order("order.updated", paying(1+i).body()))
			s.rest()
			want := "the response is incomplete without a reason"
			if i == 3 {
				want = "the response is incomplete for a reason not known here"
			}
			if op := s.givenUp(id, want); len(op.Attempts) != 1 || op.Attempts[0].Status != "incomplete" || op.Attempts[0].Tokens == nil {
				t.Errorf("attempts %+v", op.Attempts)
			}
		}
	})
}

func TestCaseMOD06QuotaTakenForARateLimit(t *testing.T) {
	sideBySide(t)
	t.Run("quota", func(t *testing.T) {
		onEach(t, func(t *testing.T, begin func(local.Options) *system) {
			log, o := &logbook{to: t.Output()}, caseOptions()
			o.Log = log
			s := begin(o)
			s.fails("quota", -1)
			const orders = 6
			for i := range orders {
				s.accept(s.order("order.updated", paying(1+i).body()))
			}
			for s.step() > 0 {
			}
			if n := strings.Count(log.take(), `"msg":"provider cannot serve"`); n != 1 {
				t.Errorf("%d alarms", n)
			}
			for _, op := range s.items().Operations() {
				if op["st"] != "pending" || op["cnt"] != "0" {
					t.Errorf("operation %s with %s claims counted", op["st"], op["cnt"])
				}
			}
			s.Stub().Heal()
			before := s.calls()
			s.hurry()
			s.rest()
			for i := range orders {
				if op := s.object(paying(1 + i).object()).Operations[0]; op.State != "completed" || op.Claims != 1 {
					t.Errorf("operation %s after %d claims", op.State, op.Claims)
				}
			}
			if before > 5 || s.calls() != before+orders || s.inReview() != "" {
				t.Errorf("%d calls while the quota was used up, %d later, in review %q", before, s.calls()-before, s.inReview())
			}
		})
	})
	t.Run("rate limit", func(t *testing.T) {
		eachLimited(t, "Retry-After", "20", func(t *testing.T, s *system, id string) {
			op, e := s.object("order:1").Operations[0], s.event(id)
			due := op.Attempts[0].EndedAt.Add(20 * time.Second).Truncate(time.Millisecond)
			if op.State != "pending" || op.Claims != 1 || op.DueAt.Before(due) || e.DueAt.Before(due) || op.Attempts[0].RetryAfterMS != 20_000 {
				t.Errorf("operation %+v, event until %s, asked to wait until %s", op, e.DueAt, due)
			}
			if n := s.queued(); n != 0 || s.breaker() != nil {
				t.Errorf("%d messages are left whose receive count grows; breaker %v", n, s.breaker())
			}
		})
	})
}

// eachLimited has an order met by a rate limit with this header.
func eachLimited(t *testing.T, header, value string, test func(t *testing.T, s *system, id string)) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		e, o := &ear{instead: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(header, value)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
		}}}, caseOptions()
		o.ModelURL = e.listen(t)
		s := begin(o)
		id := s.accept(s.order("order.updated", paying(1).body()))
		for len(e.heard()) == 0 {
			s.step()
		}
		test(t, s, id)
	})
}

// firstOnly changes the first answer alone.
func firstOnly(say func(answer map[string]any)) func(answer map[string]any) {
	said := false
	return func(answer map[string]any) {
		if !said {
			said = true
			say(answer)
		}
	}
}

// eachSpoilt runs a test on each engine with a model whose first answer is changed.
func eachSpoilt(t *testing.T, o local.Options, say func(answer map[string]any), test func(t *testing.T, s *system, e *ear)) {
	t.Helper()
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		e, o := &ear{say: firstOnly(say)}, o
		o.ModelURL = e.listen(t)
		test(t, begin(o), e)
	})
}

func TestCaseMOD07FailedForQuotaAndSubmittedAgain(t *testing.T) {
	sideBySide(t)
	say := func(answer map[string]any) {
		answer["status"], answer["output"] = "failed", []any{}
		answer["error"] = map[string]any{"code": "insufficient_quota", "message": "You exceeded your current quota"}
	}
	eachSpoilt(t, caseOptions(), say, func(t *testing.T, s *system, e *ear) {
		first := s.accept(s.order("order.updated", paying(1).body()))
		for len(e.heard()) == 0 {
			s.step()
		}
		s.accept(s.order("order.updated", paying(2).body()))
		s.step()
		if len(e.heard()) != 1 || s.breaker()["st"] != "open" || s.event(first).State != "received" {
			t.Errorf("%d calls, breaker %v, event %+v", len(e.heard()), s.breaker(), s.event(first))
		}
		s.hurry()
		s.rest()
		op := s.object("order:1").Operations[0]
		if got, claims := attemptsOf(&op); claims != 1 || !slices.Equal(got, []string{"paused provider paused 200", "usable  200"}) || len(e.heard()) != 3 {
			t.Errorf("%d claims, attempts %q, %d calls", claims, got, len(e.heard()))
		}
	})
}

func TestCaseMOD09InProgressOutsideBackgroundMode(t *testing.T) {
	sideBySide(t)
	say := func(answer map[string]any) {
		answer["status"], answer["output"], answer["usage"] = "in_progress", []any{}, nil
	}
	eachSpoilt(t, caseOptions(), say, func(t *testing.T, s *system, e *ear) {
		id := s.accept(s.order("order.updated", paying(1).body()))
		s.rest()
		op := s.object("order:1").Operations[0]
		if got, _ := attemptsOf(&op); !slices.Equal(got, []string{"transient transient 200", "usable  200"}) || s.event(id).Outcome != "completed" || len(e.heard()) != 2 {
			t.Fatalf("attempts %q, event %s, %d calls", got, s.event(id).Outcome, len(e.heard()))
		}
		if a := op.Attempts[0]; a.Status != "in_progress" || a.CostUSD != nil || !op.CostAtLeast { // unknown is not nothing
			t.Errorf("attempt %+v, cost %s at least: %v", a, op.CostUSD, op.CostAtLeast)
		}
	})
}

// messages gives an answer these messages, each with a phase and a text.
func messages(answer map[string]any, all ...[3]string) {
	list := answer["output"].([]any)
	first := list[1].(map[string]any)
	list = list[:1]
	for _, m := range all {
		one := maps.Clone(first)
		one["id"] = m[0]
		if m[1] != "" {
			one["phase"] = m[1]
		}
		one["content"] = []any{map[string]any{"type": "output_text", "text": m[2], "annotations": []any{}}}
		list = append(list, one)
	}
	answer["output"] = list
}

func TestCaseMOD10SameOutputMessageTwice(t *testing.T) {
	sideBySide(t)
	const x, other = `{"note":"The order is paid and waits to be sent."}`, `{"note":"The order is not paid."}`
	for name, c := range map[string]struct {
		messages [][3]string
		reason   string // why it is not usable
	}{
		"the same message twice":                {[][3]string{{"msg_a", "", x}, {"msg_a", "", x}}, ""},
		"a comment and the same words as final": {[][3]string{{"msg_a", "commentary", x}, {"msg_b", "final_answer", x}}, ""},
		"a comment and another final answer":    {[][3]string{{"msg_a", "commentary", other}, {"msg_b", "final_answer", x}}, ""},
		"two different answers":                 {[][3]string{{"msg_a", "", x}, {"msg_b", "", other}}, "the response holds two different answers"},
	} {
		t.Run(name, func(t *testing.T) {
			eachSpoilt(t, caseOptions(), func(answer map[string]any) { messages(answer, c.messages...) }, func(t *testing.T, s *system, e *ear) {
				id := s.accept(s.order("order.updated", paying(1).body()))
				s.rest()
				if c.reason != "" {
					s.givenUp(id, c.reason)
				} else if got := s.items().Results(); len(got) != 1 || got[0]["out"] != x {
					t.Errorf("results %v", got)
				}
				if len(e.heard()) != 1 {
					t.Errorf("%d calls", len(e.heard()))
				}
			})
		})
	}
}

// daily is local.yaml with a limit of money for a day.
func daily(t testing.TB, usd string) string {
	t.Helper()
	return edited(t, "limits: {attempts: 5}             # also usd_per_event, usd_per_day, per_minute\n", fmt.Sprintf("limits: {attempts: 5, usd_per_day: %q}\n", usd))
}

func TestCaseMOD11NullInsideUsageDetails(t *testing.T) {
	sideBySide(t)
	for _, c := range []struct {
		name  string
		say   func(usage map[string]any) any
		known bool
	}{
		{"details that are null", func(usage map[string]any) any {
			usage["input_tokens_details"], usage["output_tokens_details"] = nil, nil
			return usage
		}, true},
		{"details with nulls in them", func(usage map[string]any) any {
			usage["input_tokens_details"], usage["output_tokens_details"] = map[string]any{"cached_tokens": nil}, map[string]any{"reasoning_tokens": nil}
			return usage
		}, true},
		{"usage that is null", func(map[string]any) any { return nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			say := func(answer map[string]any) { answer["usage"] = c.say(answer["usage"].(map[string]any)) }
			o := local.Options{Speed: calm, ConfigFiles: []string{daily(t, "1.00")}}
			eachSpoilt(t, o, say, func(t *testing.T, s *system, e *ear) {
				id := s.accept(s.product(oldChair))
				s.rest()
				op := s.object("product:794").Operations[0]
				sum := s.spent("product-card", op.Attempts[0].StartedAt.UTC())
				if s.event(id).Outcome != "completed" || len(e.heard()) != 1 || op.CostAtLeast == c.known || (op.Attempts[0].CostUSD != nil) != c.known {
					t.Errorf("event %+v, %d calls, cost %v, at least: %v, counted as $%f", s.event(id), len(e.heard()), op.Attempts[0].CostUSD, op.CostAtLeast, sum)
				}
				if worst := sum > 0.0019; worst == c.known { // 1,200 tokens of output
					t.Errorf("counted as $%f", sum)
				}
				if diff := sum - float64(op.CostUSD)/1e12; c.known && (diff < -1e-6 || diff > 1e-6) { // what was set aside is given back
					t.Errorf("counted as $%f, cost $%s", sum, op.CostUSD)
				}
			})
		})
	}
}

func TestCaseMOD12StrictModeRejectsASchema(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		set := s.Config()
		set.Recipes = slices.Clone(set.Recipes)
		for i, r := range set.Recipes {
			if r.Name == "order-note" { // our own compiler keeps to the strict subset: this never goes out
				set.Recipes[i].Version++
				set.Recipes[i].Output.Schema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["note"],"properties":{"note":{"type":"string","format":"uri"}}}`)
			}
		}
		if _, err := s.Apply(t.Context(), set); err == nil || !strings.Contains(err.Error(), "unknown format") {
			t.Errorf("a schema outside the strict subset was applied: %v", err)
		}
		s.fails("form", 1) // the provider has changed its mind
		id := s.accept(s.order("order.updated", paying(1).body()))
		for s.calls() == 0 {
			s.step()
		}
		op := s.object("order:1").Operations[0]
		if _, claims := attemptsOf(&op); s.breaker()["st"] != "open" || claims != 0 || s.event(id).State != "received" || s.queued() != 0 {
			t.Errorf("breaker %v, %d claims, event %+v", s.breaker(), claims, s.event(id))
		}
		s.hurry()
		s.rest()
		if letters := s.deadLetters(); len(letters) != 0 || s.event(id).Outcome != "completed" {
			t.Errorf("%d dead letters, event %+v", len(letters), s.event(id))
		}
	})
}

func TestCaseMOD14ReasoningUsedTheWholeBudget(t *testing.T) {
	sideBySide(t)
	eachSpoilt(t, local.Options{Speed: calm}, func(map[string]any) {}, func(t *testing.T, s *system, e *ear) {
		if err := e.stub.Fail("empty", 1); err != nil {
			t.Fatal(err)
		}
		id := s.accept(s.product(oldChair))
		s.rest()
		asked, op := e.requests(), s.object("product:794").Operations[0]
		if len(asked) != 2 || asked[1]["max_output_tokens"] != 2*asked[0]["max_output_tokens"].(float64) || cmp.Diff(asked[0]["reasoning"], asked[1]["reasoning"]) != "" {
			t.Fatalf("asked %v", asked)
		}
		a := op.Attempts
		if got, _ := attemptsOf(&op); !slices.Equal(got, []string{"truncated unusable output 200", "usable  200"}) || s.event(id).Outcome != "completed" {
			t.Errorf("attempts %q, event %+v", got, s.event(id))
		}
		if a[0].Tokens.Output != 1200 || a[0].Tokens.Reasoning != 1200 || op.CostUSD != *a[0].CostUSD+*a[1].CostUSD {
			t.Errorf("tokens %+v, cost %s", a[0].Tokens, op.CostUSD)
		}
	})
}
