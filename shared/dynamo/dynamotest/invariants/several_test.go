package invariants_test

import (
	"testing"

	"engang/shared/dynamo/dynamotest/invariants"
)

// Each recipe of an event has an end of its own, and the event says one word for all.
func TestEachRecipeOfAnEventIsJudgedByItself(t *testing.T) {
	const ops = "product:7/card@1/d1\nproduct:7/note@1/d9"
	event := func(how, op string) invariants.Item {
		return invariants.Item{"pk": "E#evt_6", "sk": "EVENT", "st": "settled", "how": how, "ten": "shop", "env": "test", "obj": "product:7", "rank": "r1", "gen": "0", "rcp": "card@1,note@1", "op": op, "expires_at": "9"}
	}
	note := func(state, event string) invariants.Item {
		return invariants.Item{"pk": "B#shop#test#product:7", "sk": "O#note@000001#d9", "st": state, "tok": "1", "ev": event, "by": "ann", "out": "out A", "dig": outA, "expires_at": map[bool]string{true: "9"}[state == "completed" || state == "superseded"]}
	}
	for _, tt := range []struct {
		name   string
		change func(m map[string]invariants.Item)
		atRest bool
		sound  bool
	}{
		{"a person rejected the other one's draft", func(m map[string]invariants.Item) {
			m["several"], m["note"] = event("completed", ops), note("rejected", "evt_6")
		}, true, true},
		{"the other one gave way to a newer event", func(m map[string]invariants.Item) {
			m["several"], m["note"] = event("completed", ops), note("superseded", "evt_6")
		}, true, true},
		{"the other one is done, and has no result", func(m map[string]invariants.Item) {
			m["several"], m["note"] = event("completed", ops), note("completed", "evt_6")
		}, true, false},
		{"a newer event has done the other one, and is about to write its result", func(m map[string]invariants.Item) {
			m["several"], m["note"] = event("completed", ops), note("completed", "evt_9")
			delete(m["note"], "by")
			m["note"]["att"] = `[{"id":"att_7","fencing_token":1,"outcome":"usable","called":true}]`
			m["newer"] = invariants.Item{"pk": "E#evt_9", "sk": "EVENT", "st": "received", "oq": "open#1", "od": "1#evt_9", "rank": "r2"}
		}, false, true},
		{"a draft of the other one waits, and this one's result is newer than any completed event", func(m map[string]invariants.Item) {
			m["several"], m["note"] = event("review", ops), note("rejected", "evt_6")
			m["several"]["rank"], m["result"]["rank"] = "r2", "r2"
		}, true, true},
		{"it was cancelled when this one was done", func(m map[string]invariants.Item) {
			m["several"] = event("cancelled", "product:7/note@1/d9")
			m["several"]["rank"], m["result"]["rank"] = "r2", "r2"
		}, true, true},
		{"it was cancelled, and this one with it", func(m map[string]invariants.Item) {
			m["several"] = event("cancelled", "product:7/card@1/d1")
			m["several"]["rank"], m["result"]["rank"] = "r2", "r2"
		}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := sound()
			tt.change(m)
			if got := invariants.Violations(items(m), tt.atRest); (len(got) == 0) != tt.sound {
				t.Errorf("violations %q", got)
			}
		})
	}
}

// A draft that a person rejected and redrove is followed by another one.
func TestWhatAPersonAskedForAgainIsCalledForAgain(t *testing.T) {
	for _, asked := range []bool{true, false} {
		m := sound()
		m["again"] = invariants.Item{"pk": "B#shop#test#product:8", "sk": "O#card@000001#d8", "st": "review", "tok": "2", "oq": "review", "od": "1#x", "out": "out A", "dig": outA,
			"att": `[{"id":"att_8","fencing_token":1,"outcome":"usable","called":true},{"id":"att_9","fencing_token":2,"outcome":"usable","called":true}]`}
		if asked {
			m["act"] = invariants.Item{"pk": "A#shop#test#2026-11-29", "sk": "1#x", "act": "redrive", "target": "product:8/card@1/d8"}
		}
		if got := invariants.Violations(items(m), true); (len(got) == 0) != asked {
			t.Errorf("asked for %v: %q", asked, got)
		}
	}
}
