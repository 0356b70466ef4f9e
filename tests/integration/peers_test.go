package integration_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/dynamo/dynamotest/invariants"
)

// What made libraries for the same purpose do work twice, in public: each test rebuilds one of these as events of
// ours, is named by the repository and the number of the issue or pull request there, and demands what should have
// come of it.

// gates holds several calls of the workers back, each by a gate of its own.
func gates(t *testing.T, o local.Options, test func(t *testing.T, s *system, claim, commit, call *gate)) {
	t.Helper()
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		all := []*gate{newGate("W3 claim", wire.Before), newGate("W4 complete", wire.Before), newGate("model call", wire.Before)}
		o := o
		o.Judge = func(c wire.Call, p wire.Phase) wire.Verdict {
			for _, g := range all {
				g.judge(c, p)
			}
			return wire.Pass
		}
		s := begin(o)
		t.Cleanup(func() {
			for _, g := range all {
				close(g.over)
			}
		})
		test(t, s, all[0], all[1], all[2])
	})
}

// A worker is one that was given an event, and its answer once there is one.
type worker struct{ answer chan string }

// worker gives an event to a worker beside those of the queue.
func (s *system) worker(event string) worker {
	w := worker{make(chan string, 1)}
	go func() {
		out, err := s.Invoke(s.t.Context(), "enrichment", message(s.t, event))
		if err != nil {
			w.answer <- err.Error()
			return
		}
		w.answer <- string(out)
	}()
	return w
}

// gives demands that the worker comes to its end by itself, and whether its message comes back.
func (w worker) gives(t testing.TB, back bool) {
	t.Helper()
	select {
	case out := <-w.answer:
		if !strings.Contains(out, "batchItemFailures") || strings.Contains(out, "itemIdentifier") != back {
			t.Errorf("a worker came to %s, want that its message comes back: %v", out, back)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a worker is held up: it works on what another one has")
	}
}

// leaseEnds changes when the lease of the only operation ends; the zero time takes the end away.
func (s *system) leaseEnds(at time.Time) {
	s.t.Helper()
	table, update := s.TableName(), "REMOVE #exp"
	in := &dynamodb.UpdateItemInput{
		TableName: &table, Key: keyOf(s.lease()), UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#exp": "exp"},
	}
	if !at.IsZero() {
		update = "SET #exp = :at"
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":at": &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixMilli(), 10)}}
	}
	if _, err := s.DynamoDB().UpdateItem(s.t.Context(), in); err != nil {
		s.t.Fatal(err)
	}
}

// lease is the only operation, which somebody works on.
func (s *system) lease() invariants.Item {
	s.t.Helper()
	all := s.items().Operations()
	if len(all) != 1 || all[0]["st"] != "running" || all[0]["exp"] == "" {
		s.t.Fatalf("operations %v, want one with a lease", all)
	}
	return all[0]
}

// once demands that the object has one operation, completed under this token, one result and one event, that so many
// calls were made in all, and that none was a loser's.
func (s *system) once(object, token string, calls int) {
	s.t.Helper()
	s.rest()
	s.holdsOf(object, 1, 1, 1, calls)
	if ops := s.items().Operations(); len(ops) != 1 || ops[0]["st"] != "completed" || ops[0]["tok"] != token || len(s.items().Losing()) != 0 {
		s.t.Errorf("operations %v, losing attempts %v; want one that is completed with token %s", ops, s.items().Losing(), token)
	}
}

// A repeat that was refused, since the first was in work, took the first one's mark away: the third ran.
func TestPeerPowertoolsTypeScript5675RefusedRepeatTakesTheMarkAway(t *testing.T) {
	sideBySide(t)
	t.Run("of one in work", func(t *testing.T) {
		eachGated(t, local.Options{Speed: calm}, "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
			id := s.accept(s.product(oldChair))
			first := s.work()
			let := g.next(t)
			before := s.items().Operations()
			for range 3 {
				s.worker(id).gives(t, true)
				s.repeated(id, s.product(oldChair))
				if diff := cmp.Diff(before, s.items().Operations()); diff != "" {
					t.Errorf("a repeat changed the operation in work (-before +after):\n%s", diff)
				}
			}
			let()
			first.wait()
			s.once("product:794", "1", 1)
		})
	})
	t.Run("of one that is done, by another content", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			id := s.accept(s.contact("msg_1", contact))
			s.settle()
			before := s.items().Operations()
			if a := s.contact("msg_1", strings.Replace(contact, "oak", "pine", 1)); a.Code != http.StatusOK || a.Status != "conflict" {
				t.Errorf("another content was answered %d %s", a.Code, a.Body)
			}
			s.repeated(id, s.contact("msg_1", contact))
			if diff := cmp.Diff(before, s.items().Operations()); diff != "" {
				t.Errorf("what was done is changed (-before +after):\n%s", diff)
			}
			s.once("contact:c-1", "1", 1)
		})
	})
}

// The mark of one in work had no end in it, since nothing said how much time its function had: a second one took it
// for dead at once, and both ran.
func TestPeerPowertoolsTypeScript5678AndPython8386LeaseWithoutAnEnd(t *testing.T) {
	sideBySide(t)
	eachGated(t, local.Options{Speed: calm}, "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
		id := s.accept(s.product(oldChair))
		first := s.work()
		let := g.next(t)
		s.lease() // ours has an end, whatever the function knows of its time
		s.leaseEnds(time.Time{})
		for range 2 {
			s.worker(id).gives(t, true)
		}
		if op := s.items().Operations()[0]; op["st"] != "running" || op["tok"] != "1" || op["cnt"] != "1" {
			t.Errorf("without an end the lease was taken over: %v", op)
		}
		let()
		first.wait()
		s.once("product:794", "1", 1)
	})
}

// Who took over looked first and wrote later, whatever had happened in between.
func TestPeerPowertoolsTypeScript5714TakenOverByAnOldLook(t *testing.T) {
	sideBySide(t)
	t.Run("the first one commits in between", func(t *testing.T) {
		gates(t, local.Options{Speed: calm}, func(t *testing.T, s *system, claim, commit, call *gate) {
			id := s.accept(s.product(oldChair))
			first := s.worker(id)
			claim.next(t)()
			call.next(t)()
			letFirst := commit.next(t)
			s.leaseEnds(time.Now().Add(-time.Minute))
			second := s.worker(id)
			letSecond := claim.next(t) // by its look the lease is over
			letFirst()
			first.gives(t, false)
			committed := s.items()
			letSecond()
			second.gives(t, false) // it meets what is done
			if diff := cmp.Diff(committed.Operations(), s.items().Operations()); diff != "" {
				t.Errorf("what was committed is changed (-before +after):\n%s", diff)
			}
			s.repeated(id, s.product(oldChair))
			s.once("product:794", "1", 1)
		})
	})
	t.Run("another one takes over in between", func(t *testing.T) {
		gates(t, local.Options{Speed: calm, Faults: "worker:kill@after-claim"}, func(t *testing.T, s *system, claim, commit, call *gate) {
			id := s.accept(s.product(oldChair))
			dead := s.worker(id)
			claim.next(t)()
			if out := <-dead.answer; !strings.Contains(out, wire.ErrKilled.Error()) {
				t.Fatalf("the first worker came to %s", out)
			}
			s.leaseEnds(time.Now().Add(-time.Minute))
			second, third := s.worker(id), s.worker(id)
			letOne, letOther := claim.next(t), claim.next(t) // by both looks the lease is over
			letOne()
			letCall := call.next(t)
			live := s.lease()
			letOther()
			select { // whichever came second
			case out := <-second.answer:
				second.answer <- out
				second, third = third, second
			case out := <-third.answer:
				third.answer <- out
			case <-call.held:
				t.Fatal("two workers took over")
			}
			third.gives(t, true)
			if diff := cmp.Diff(live, s.lease()); diff != "" {
				t.Errorf("the lease that was taken over is changed (-before +after):\n%s", diff)
			}
			letCall()
			commit.next(t)()
			second.gives(t, false)
			s.once("product:794", "2", 1)
		})
	})
}

// What is done was named by the input at the end of the work, and the work had changed its input: the mark of the
// beginning stayed, and the work was done again once that was over.
func TestPeerPowertoolsTypeScript5717NamedByAChangedInput(t *testing.T) {
	sideBySide(t)
	const address = "kari@example.com" // masked before digest and call: what a worker holds is not what it was given
	given := strings.Replace(contact, `"oak"`, `"oak, please write to `+address+`"`, 1)
	masked := func(t *testing.T, e *ear) {
		t.Helper()
		for _, input := range e.heard() {
			if strings.Contains(input, address) || !strings.Contains(input, "please write to") {
				t.Errorf("the model was given %s", input)
			}
		}
	}
	t.Run("and succeeds", func(t *testing.T) {
		eachWithEar(t, nil, func(t *testing.T, s *system, e *ear) {
			id := s.accept(s.contact("msg_1", given))
			if err := s.Faults().Add("worker:kill@after-W4"); err != nil {
				t.Fatal(err)
			}
			if out := <-s.worker(id).answer; !strings.Contains(out, wire.ErrKilled.Error()) {
				t.Fatalf("the first worker came to %s", out)
			}
			if ops := s.items().Operations(); len(ops) != 1 || ops[0]["st"] != "completed" {
				t.Errorf("the first worker left %v", ops)
			}
			s.worker(id).gives(t, false) // it names the same operation, which is done
			s.repeated(id, s.contact("msg_1", given))
			s.once("contact:c-1", "1", 1)
			masked(t, e)
		})
	})
	t.Run("and fails", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, begin func(local.Options) *system) {
			e, o := &ear{instead: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{}`, http.StatusInternalServerError) }}}, caseOptions()
			o.ModelURL = e.listen(t)
			s := begin(o)
			id := s.accept(s.contact("msg_1", given))
			s.worker(id).gives(t, true)
			if ops := s.items().Operations(); len(ops) != 1 || ops[0]["st"] != "pending" {
				t.Errorf("the first attempt left %v", ops)
			}
			s.once("contact:c-1", "2", 2)
			masked(t, e)
		})
	})
	t.Run("and its recipe is raised meanwhile", func(t *testing.T) {
		raised := edited(t, "    version: 3  ", "    version: 4  ", "        name: /name\n        description", "        name: /name\n        price: /price\n        description")
		eachGated(t, local.Options{Speed: calm}, "model call", wire.After, func(t *testing.T, s *system, g *gate) {
			id := s.accept(s.product(oldChair))
			first := s.work()
			let := g.next(t)
			claimed := s.lease()
			s.apply(raised)
			let()
			first.wait()
			s.repeated(id, s.product(oldChair))
			s.once("product:794", "1", 1)
			if op := s.items().Operations()[0]; op["sk"] != claimed["sk"] || !strings.HasPrefix(op["sk"], "O#product-card@000003#") {
				t.Errorf("claimed %s, completed %s", claimed["sk"], op["sk"])
			}
		})
	})
}
