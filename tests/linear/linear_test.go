package linear_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
)

// A race is what all do at once, each so many times, and how often each act is chosen.
type race struct {
	name  string
	acts  map[string]int
	each  int
	limit int     // claims of one operation
	loss  float64 // of answers
	seeds uint64  // histories; zero: one
}

var races = []race{
	{name: "claim of what is not there", acts: map[string]int{"claim": 1, "look": 1}, each: 3, limit: 99},
	{name: "claim, finish, takeover", acts: map[string]int{"claim": 6, "retry": 3, "pause": 2, "supersede": 1, "stall": 3, "look": 1}, each: 10, limit: 999},
	{name: "one commits", acts: map[string]int{"claim": 4, "complete": 4, "stall": 3, "look": 1}, each: 5, limit: 99},
	{name: "claims that are used up", acts: map[string]int{"claim": 6, "retry": 2, "exhaust": 2, "redrive": 2, "stall": 3}, each: 8, limit: 3},
	{name: "settle, reopen, replay", acts: map[string]int{"settle": 4, "park": 3, "reopen": 3, "replay": 1, "look at the event": 2}, each: 8, limit: 99},
	{name: "approve, reject, raise, publish", acts: map[string]int{"claim": 3, "draft": 5, "approve": 4, "reject": 1, "set aside": 1, "raise": 3, "redrive": 3, "publish": 1, "look": 2}, each: 10, limit: 99},
	{name: "approve, raise", acts: map[string]int{"claim": 3, "draft": 5, "approve": 5, "raise": 5, "reject": 1, "redrive": 3, "look": 2}, each: 10, limit: 99},
	{name: "redrive", acts: map[string]int{"claim": 4, "fail": 5, "redrive": 5, "park": 2, "settle": 1, "cancel": 1, "look": 1, "look at the event": 1}, each: 10, limit: 99},
	{name: "everything", acts: everything, each: 12, limit: 5, seeds: 3},
	{name: "everything, and answers are lost", acts: everything, each: 12, limit: 5, loss: 0.1, seeds: 3},
}

var everything = map[string]int{
	"claim": 12, "retry": 6, "pause": 2, "supersede": 2, "draft": 4, "fail": 2, "complete": 1, "stall": 3, "exhaust": 1, "raise": 3, "redrive": 4, "approve": 4, "reject": 1, "set aside": 1, "cancel": 1,
	"publish": 2, "settle": 3, "park": 2, "reopen": 1, "replay": 1, "look": 2, "look at the event": 1, "look at the result": 1,
}

// direct keeps enough connections for all at once.
var direct http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: dynamotest.Many}

// tooLong bounds how long a history is thought about: what is not decided by then proves nothing.
const tooLong = 2 * time.Minute

func TestWhatManySeeAtOnceIsLinearizable(t *testing.T) {
	for _, r := range races {
		t.Run(r.name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				for seed := range max(r.seeds, 1) {
					r.holds(t, db.Fresh(t), seed)
				}
			})
		})
	}
}

// holds runs a race once and checks its history.
func (r race) holds(t *testing.T, db dynamotest.DB, seed uint64) {
	t.Helper()
	rec := r.run(t, db, direct, seed)
	began := time.Now()
	verdict, why := rec.history.check()
	t.Logf("seed %d: %d acts of %d at once, %d answers lost, checked in %s; told %v; done %v", seed, len(rec.history), dynamotest.Many, rec.losses, time.Since(began).Round(time.Millisecond), rec.told, rec.done)
	if verdict != porcupine.Ok {
		t.Errorf("%s: %s", verdict, why)
	}
	if rec.told[granted] == 0 || rec.told[byOperation]+rec.told[byEvent] == 0 {
		t.Errorf("nobody met anybody: %v", rec.told)
	}
}

// A checker that never finds anything would look the same. Each of these is a condition that the store does without.
func TestAHistoryOfABrokenStoreIsNotLinearizable(t *testing.T) {
	for _, tt := range []struct {
		name    string
		race    string
		call    string
		part    string
		instead string
	}{
		{"a claim does not look at the end of the lease", "claim, finish, takeover", "W3 claim", "#exp < :past", "(#exp < :past OR attribute_exists(#exp))"},
		{"a commit compares neither token nor name", "one commits", "W4 complete", "#tok = :token AND #own = :me", "(#tok = :token OR attribute_exists(#tok)) AND (#own = :me OR attribute_exists(#own))"},
		{"an end compares no generation", "settle, reopen, replay", "W6 settle", "#gen = :generation", "(#gen = :generation OR attribute_exists(#gen))"},
		{"an approval compares no rank", "approve, raise", "W17 approve", "#rank = :rank", "(#rank = :rank OR attribute_exists(#rank))"},
		{"a redrive compares no token", "redrive", "W13 redrive", "#tok = :seen", "(#tok = :seen OR attribute_exists(#tok))"},
		{"a result compares no rank", "everything", "W5 result", "#rank < :rank", "(#rank < :rank OR attribute_exists(#rank))"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				r := races[slices.IndexFunc(races, func(r race) bool { return r.name == tt.race })]
				broken := weak{direct, tt.call, tt.part, tt.instead}
				const tries = 40 // whether it comes to it is a matter of luck
				for seed := range uint64(tries) {
					rec := r.run(t, db.Fresh(t), broken, seed)
					if verdict, _ := rec.history.check(); verdict == porcupine.Illegal {
						return
					}
				}
				t.Errorf("%d histories of a broken store were found to be linearizable", tries)
			})
		})
	}
}

// The specification itself: what it allows, and what it does not, said by hand.
func TestTheSpecificationTellsHistoriesApart(t *testing.T) {
	one, other := claimOf("a", 1000), claimOf("b", 1000)
	late := claimOf("c", 100_000)
	running := item{State: "running", Token: 1, Owner: "a", Until: millis(one.Until), Claims: 1, WriteID: "a", Event: one.Event, Rank: one.Rank}
	ok, no := outcome{Why: granted}, outcome{Why: byOperation}
	for _, tt := range []struct {
		name    string
		history history
		want    bool
	}{
		{"two claim at once, one has it", history{{Input: one, Output: ok, Call: 1, Return: 9}, {Input: other, Output: no, Call: 2, Return: 8}}, true},
		{"two claim at once, both have it", history{{Input: one, Output: ok, Call: 1, Return: 9}, {Input: other, Output: ok, Call: 2, Return: 8}}, false},
		{"who came first was refused", history{{Input: other, Output: no, Call: 1, Return: 2}, {Input: one, Output: ok, Call: 3, Return: 4}}, false},
		{"the refused one sees who has it", history{{Input: one, Output: ok, Call: 1, Return: 2}, {Input: other, Output: outcome{Why: byOperation, Saw: running}, Call: 3, Return: 4}}, true},
		{"the refused one sees nothing", history{{Input: one, Output: ok, Call: 1, Return: 2}, {Input: other, Output: outcome{Why: byOperation, Saw: item{}}, Call: 3, Return: 4}}, false},
		{"a lease that is over is taken over", history{{Input: one, Output: outcome{Token: 1}, Call: 1, Return: 2}, {Input: late, Output: outcome{Token: 2}, Call: 3, Return: 4}}, true},
		{"a token is given twice", history{{Input: one, Output: outcome{Token: 1}, Call: 1, Return: 2}, {Input: late, Output: outcome{Token: 1}, Call: 3, Return: 4}}, false},
		{"it is taken for done by who did it", history{{Input: one, Output: ok, Call: 1, Return: 2}, {Input: one, Output: outcome{Why: done, Token: 1}, Call: 3, Return: 4}}, true},
		{"it is taken for done by another", history{{Input: one, Output: ok, Call: 1, Return: 2}, {Input: other, Output: outcome{Why: done, Token: 1}, Call: 3, Return: 4}}, false},
		{"a refusal that nobody was told of", history{{Input: one, Output: ok, Call: 1, Return: 2}, {Input: other, Output: outcome{Why: refusedSomehow}, Call: 3, Return: 4}}, true},
		{"a refusal by nothing", history{{Input: other, Output: outcome{Why: refusedSomehow}, Call: 1, Return: 2}, {Input: one, Output: ok, Call: 3, Return: 4}}, false},
		{"looks that go back", history{
			{Input: one, Output: ok, Call: 1, Return: 9}, {Input: looking{}, Output: outcome{Why: onlyLookedAt, Saw: running}, Call: 2, Return: 3}, {Input: looking{}, Output: outcome{Why: onlyLookedAt, Saw: item{}}, Call: 4, Return: 5},
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := porcupine.CheckOperations(model(), tt.history); got != tt.want {
				t.Errorf("linearizable: %v, want %v", got, tt.want)
			}
			if verdict, why := tt.history.check(); (verdict == porcupine.Ok) != tt.want { // the short way comes to the same
				t.Errorf("%s, want %v: %s", verdict, tt.want, why)
			}
		})
	}
}

// run lets all do their acts at once, and returns what they did and were told.
func (r race) run(t *testing.T, db dynamotest.DB, transport http.RoundTripper, seed uint64) *recorder {
	t.Helper()
	receive(t, db.Open(nil))
	rec := &recorder{next: transport, loss: r.loss, tokens: db.Reference(), random: rand.New(rand.NewPCG(seed, 99)), told: map[reason]int{}, done: map[string]int{}}
	w := &world{race: r, table: db.Open(rec), rec: rec}
	for i, err := range dynamotest.AtOnce(func(i int) error {
		who := &somebody{world: w, number: i, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		return who.acts(t.Context())
	}) {
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	slices.SortStableFunc(rec.history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return rec
}

func receive(t *testing.T, table *dynamo.Table) {
	t.Helper()
	if _, err := table.Receive(t.Context(), arrival()); err != nil {
		t.Fatal(err)
	}
}

// explained makes an outcome of an error.
func explained(err error, reasons map[error]reason) (outcome, error) {
	if err == nil {
		return outcome{}, nil
	}
	for target, why := range reasons {
		if errors.Is(err, target) {
			return outcome{Why: why}, nil
		}
	}
	if stored, ok := refusal(err); ok {
		return outcome{Why: byOperation, Saw: itemOf(stored)}, nil
	}
	return outcome{Why: outsideOfModel}, err
}

func (s *somebody) acts(ctx context.Context) error {
	for range s.each {
		if err := s.do(ctx, s.choose()); err != nil {
			return err
		}
	}
	return nil
}
