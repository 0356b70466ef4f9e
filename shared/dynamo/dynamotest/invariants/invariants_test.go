package invariants_test

import (
	"maps"
	"strings"
	"testing"

	"engang/shared/dynamo/dynamotest/invariants"
)

const outA = "3b8f56d00821a222f51f018d498f18c0f6528d997c5d980ed7c3195b9e4f8abf" // SHA-256 of "out A"

// sound is a table at rest that keeps every promise: one event, its operation, its result.
func sound() map[string]invariants.Item {
	return map[string]invariants.Item{
		"event": {"pk": "E#evt_1", "sk": "EVENT", "st": "settled", "how": "completed", "ten": "shop", "env": "test", "rank": "r1", "gen": "1",
			"op": "product:7/card@1/d1", "expires_at": "9"},
		"operation": {"pk": "B#shop#test#product:7", "sk": "O#card@000001#d1", "st": "completed", "tok": "2", "out": "out A", "dig": outA, "expires_at": "9",
			"att": `[{"id":"att_1","fencing_token":1,"outcome":"transient"},{"id":"att_2","fencing_token":2,"outcome":"usable","called":true}]`},
		"result": {"pk": "B#shop#test#product:7", "sk": "R#card#000001", "rank": "r1", "out": "out A", "dig": outA},
		"losing": {"pk": "B#shop#test#product:7", "sk": "O#card@000001#d1#LOST#att_0"},
		"failed": {"pk": "B#shop#test#product:8", "sk": "O#card@000001#d2", "st": "failed", "tok": "1", "ev": "evt_7", "oq": "review", "od": "1#x"},
		"parked": {"pk": "E#evt_2", "sk": "EVENT", "st": "parked", "why": "no id", "oq": "review", "od": "1#evt_2"},
		"approved": {"pk": "B#shop#test#product:9", "sk": "O#card@000002#d3", "st": "completed", "tok": "1", "rank": "r4", "out": "out A", "dig": outA, "by": "ann", "expires_at": "9",
			"att": `[{"id":"att_3","fencing_token":1,"outcome":"flagged","called":true}]`},
		"published":  {"pk": "B#shop#test#product:9", "sk": "R#card#000002", "rank": "r4", "out": "out A", "dig": outA},
		"dismissed":  {"pk": "B#shop#test#product:8", "sk": "O#card@000001#d4", "st": "failed", "tok": "1", "dec": "ann", "ev": "evt_6", "expires_at": "9"},
		"with it":    {"pk": "E#evt_6", "sk": "EVENT", "st": "parked", "why": "refusal", "ten": "shop", "env": "test", "op": "product:8/card@1/d4", "dec": "ann", "expires_at": "9"},
		"waiting":    {"pk": "E#evt_7", "sk": "EVENT", "st": "parked", "why": "refusal", "ten": "shop", "env": "test", "op": "product:8/card@1/d4\nproduct:8/card@1/d2"},
		"cancelled":  {"pk": "B#shop#test#product:8", "sk": "O#card@000001#d5", "st": "failed", "tok": "2", "fen": "2", "cat": "cancelled", "by": "ann", "expires_at": "9"},
		"set down":   {"pk": "E#evt_3", "sk": "EVENT", "st": "parked", "why": "no id", "dec": "ann", "expires_at": "9"},
		"other fact": {"pk": "E#evt_3", "sk": "CONFLICT#d", "dec": "ann", "expires_at": "9"},
		"erased":     {"pk": "E#evt_4", "sk": "EVENT", "st": "settled", "how": "completed", "era": "8", "expires_at": "9"},
		"coalesced":  {"pk": "E#evt_5", "sk": "EVENT", "st": "settled", "how": "coalesced", "why": "evt_1", "rank": "r0", "expires_at": "9"},
		"day":        {"pk": "K#spend#shop#test#card", "sk": "2026-11-29", "sum": "500", "cost": "200", "r_att_1": "100", "r_att_2": "200", "lim": "500"},
		"minute":     {"pk": "K#spend#shop#test#card", "sk": "M#2026-11-29T12:00", "num": "2", "r_att_1": "1", "r_att_2": "1", "lim": "2"},
		"breaker":    {"pk": "K#shop#test#openai#gpt", "sk": "BREAKER", "st": "open", "til": "7", "own": "att_1"},
		"turned":     {"pk": "K#shop#test#openai#old", "sk": "BREAKER", "st": "closed"},
	}
}

func items(m map[string]invariants.Item) (all invariants.Items) {
	for _, i := range m {
		all = append(all, i)
	}
	return all
}

func TestASoundTableHasNoViolations(t *testing.T) {
	if got := invariants.Violations(items(sound()), true); len(got) != 0 {
		t.Errorf("violations %q", got)
	}
}

// Each check can fail: one change of a sound table for every way to break it.
func TestEachCheckCanFail(t *testing.T) {
	tests := []struct {
		item, attribute, value string
		rule                   string // beginning of the violated check's name
	}{
		{"event", "st", "received", "no-dead-ends: nothing is open"},
		{"operation", "st", "running", "no-dead-ends: nothing is open"},
		{"event", "oq", "open#1", "durable-ack"},
		{"failed", "oq", "", "no-dead-ends: what waits"},
		{"operation", "oq", "review", "no-dead-ends: what waits"},
		{"parked", "why", "", "no-dead-ends: what waits"},
		{"event", "oq", "review", "no-dead-ends: what waits"},
		{"result", "rank", "r0", "newest-wins: a completed event"},
		{"event", "op", "", "newest-wins: a completed event"},
		{"result", "rank", "r2", "newest-wins: a result has"},
		{"result", "out", "out B", "fenced: a result is"},
		{"operation", "out", "out B", "fenced: an output"},
		{"operation", "out", "", "fenced: an output"},
		{"operation", "tok", "1", "one-paid-call: tokens"},
		{"operation", "att", `[{"id":"a","fencing_token":2,"outcome":"usable"},{"id":"b","fencing_token":2,"outcome":"usable"}]`, "one-paid-call: tokens"},
		{"operation", "att", "nonsense", "one-paid-call: tokens"},
		{"operation", "fen", "3\n2", "one-paid-call: tokens"},
		{"operation", "att", `[{"id":"a","fencing_token":1,"outcome":"usable"},{"id":"b","fencing_token":2,"outcome":"transient"}]`, "one-paid-call: at most one"},
		{"operation", "att", `[{"id":"a","fencing_token":1,"outcome":"transient"}]`, "one-paid-call: at most one"},
		{"operation", "att", `[{"id":"att_0","fencing_token":2,"outcome":"usable"}]`, "one-paid-call: no attempt"},
		{"failed", "expires_at", "9", "TTL"},
		{"operation", "expires_at", "", "TTL"},
		{"cancelled", "expires_at", "", "TTL"},
		{"cancelled", "oq", "review", "no-dead-ends: what waits"},
		{"dismissed", "oq", "review", "no-dead-ends: what waits"},
		{"dismissed", "st", "pending", "no-dead-ends: what waits"},
		{"set down", "oq", "review", "no-dead-ends: what waits"},
		{"set down", "st", "received", "no-dead-ends: what waits"},
		{"other fact", "oq", "review", "no-dead-ends: what waits"},
		{"set down", "dec", "", "no-dead-ends: a parked event"},
		{"with it", "dec", "", "no-dead-ends: a parked event"},
		{"failed", "oq", "", "no-dead-ends: a parked event"},
		{"failed", "ev", "evt_8", "no-dead-ends: a parked event"},
		{"published", "rank", "r3", "approved-bytes"},
		{"published", "rank", "r3", "newest-wins: a result has"},
		{"published", "sk", "R#card#000003", "approved-bytes"},
		{"coalesced", "rank", "r1", "newest-wins: a coalesced"},
		{"coalesced", "why", "evt_6", "newest-wins: a coalesced"},
		{"day", "cost", "100", "limits: a day"},
		{"day", "r_att_3", "1", "limits: a day"},
		{"day", "lim", "499", "limits: a day"},
		{"minute", "num", "3", "limits: a minute"},
		{"minute", "lim", "1", "limits: a minute"},
		{"breaker", "til", "", "no-dead-ends: an open breaker"},
		{"breaker", "st", "closed", "no-dead-ends: an open breaker"},
		{"breaker", "st", "half", "no-dead-ends: an open breaker"},
		{"turned", "own", "att_1", "no-dead-ends: an open breaker"},
		{"erased", "obj", "product:7", "erase: nothing"},
		{"erased", "st", "parked", "erase: nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.item+" "+tt.attribute+" "+tt.value, func(t *testing.T) {
			m := sound()
			m[tt.item][tt.attribute] = tt.value
			for _, v := range invariants.Violations(items(m), true) {
				if strings.HasPrefix(v, tt.rule) {
					return
				}
			}
			t.Errorf("%s was not reported", tt.rule)
		})
	}
}

// An event with two recipes, of which one failed, is parked; the other's result has its rank all the same.
func TestAParkedEventMayStandBehindAResult(t *testing.T) {
	two := map[string]string{"st": "parked", "ten": "shop", "env": "test", "obj": "product:7", "rank": "r2", "gen": "0"}
	tests := []struct {
		name    string
		recipes string
		failed  string
		why     string
		sound   bool
	}{
		{"the other recipe failed", "card@1,note@1", "product:7/note@1/d9", "refusal", true},
		{"this recipe failed", "card@1,note@1", "product:7/card@1/d9", "refusal", false},
		{"the other recipe lacks its input", "card@1,note@1", "", "note@1: required but missing", true},
		{"this recipe lacks its input", "card@1,note@1", "", "card@1: required but missing", false},
		{"it has other recipes", "tags@1,note@1", "product:7/note@1/d9", "refusal", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := sound()
			e := maps.Clone(two)
			e["pk"], e["sk"], e["rcp"], e["op"], e["why"] = "E#evt_3", "EVENT", tt.recipes, tt.failed, tt.why
			if tt.failed == "" {
				e["oq"], e["od"] = "review", "1#evt_3"
			} else {
				name := strings.TrimSuffix(strings.TrimPrefix(tt.failed, "product:7/"), "@1/d9")
				m["its failure"] = map[string]string{"pk": "B#shop#test#product:7", "sk": "O#" + name + "@000001#d9", "st": "failed", "tok": "1", "ev": "evt_3", "oq": "review", "od": "1#d9"}
			}
			m["two"] = e
			m["result"]["rank"] = "r2"
			got := invariants.Violations(items(m), true)
			if (len(got) == 0) != tt.sound {
				t.Errorf("violations %q", got)
			}
		})
	}
}

func TestProgressOnlyGoesForward(t *testing.T) {
	tests := []struct{ item, attribute, value, want string }{
		{"operation", "tok", "1", "token fell"},
		{"operation", "st", "pending", "committed operation changed"},
		{"operation", "out", "out B", "committed operation changed"},
		{"result", "rank", "r0", "got older"},
		{"event", "gen", "0", "generation fell"},
		{"event", "pk", "E#other", "vanished"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			after := sound()
			after[tt.item] = maps.Clone(after[tt.item])
			after[tt.item][tt.attribute] = tt.value
			bad := invariants.Progress(items(sound()), items(after))
			if len(bad) != 1 || !strings.Contains(bad[0], tt.want) {
				t.Errorf("reported %q", bad)
			}
		})
	}
	if bad := invariants.Progress(items(sound()), items(sound())); len(bad) != 0 {
		t.Errorf("no change was reported as %q", bad)
	}
}

func TestWhatBelongsToAnErasedEventMayGo(t *testing.T) {
	for _, erased := range []bool{true, false} {
		before, after := sound(), sound()
		id := strings.TrimPrefix(before["event"]["pk"], "E#")
		before["operation"]["ev"], before["result"]["ev"] = id, id
		delete(after, "losing")
		if delete(after, "operation"); erased {
			after["event"] = maps.Clone(after["event"])
			after["event"]["era"], after["event"]["op"] = "1", ""
			delete(after, "result")
			if bad := invariants.Violations(items(after), true); len(bad) != 0 {
				t.Errorf("an erased event: %q", bad)
			}
		}
		if bad := invariants.Progress(items(before), items(after)); (len(bad) == 0) != erased {
			t.Errorf("erased %v: %q", erased, bad)
		}
	}
}

func TestAReplayedEventMayStandBehindItsFormerResult(t *testing.T) {
	for _, tt := range []struct {
		name       string
		recipes    string
		generation string
		sound      bool
	}{
		{"replayed under a raised version", "card@2", "1", true},
		{"never opened again", "card@2", "0", false},
		{"of another recipe", "note@2", "1", false},
		{"under a lower version", "card@1", "1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := sound()
			m["replayed"] = invariants.Item{
				"pk": "E#evt_3", "sk": "EVENT", "st": "settled", "how": "superseded", "ten": "shop", "env": "test", "obj": "product:7", "rank": "r2", "gen": tt.generation, "rcp": tt.recipes, "expires_at": "1",
			}
			m["result"]["rank"] = "r2"
			if got := invariants.Violations(items(m), true); (len(got) == 0) != tt.sound {
				t.Errorf("violations %q", got)
			}
		})
	}
}
