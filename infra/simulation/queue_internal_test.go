package simulation

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	shared "engang/shared/queue"
)

const anEvent inbox.EventID = "evt_aaaaaaaaaaaaaaaa"

// bench is a queue in a world without anything else.
func bench(seed uint64) *queue {
	w := &world{dice: dice(seed), Options: Options{Without: map[string]bool{}}, seen: newSeen()}
	w.calmAt = 1 // no message is given twice
	w.clock = 1
	w.letters = &queue{w: w, name: "dead letters"}
	w.work = &queue{w: w, name: "work", letters: w.letters}
	return w.work
}

func TestAMessageIsHiddenFromWhenItIsReceived(t *testing.T) {
	q := bench(1)
	q.put(shared.Message{Event: anEvent}, 10*time.Second)
	if n := q.visible(); n != 0 {
		t.Errorf("%d visible before the delay is over", n)
	}
	q.w.clock += 10 * time.Second
	m := q.receive()
	if at, ok := q.next(); q.visible() != 0 || !ok || at != q.w.clock+visibility {
		t.Errorf("%d visible; the next at %s", q.visible(), at)
	}
	old := m.handle()
	q.w.clock += visibility
	again := q.receive()
	if again != m || again.receives != 2 {
		t.Fatalf("received %+v", again)
	}
	if said := q.remove(old); said != "not there" || len(q.messages) != 1 {
		t.Errorf("by the receipt before the last: %s", said)
	}
	if said := q.remove(again.handle()); said != "deleted" || len(q.messages) != 0 {
		t.Errorf("by the last receipt: %s", said)
	}
}

func TestAMessageThatIsReceivedTooOftenIsADeadLetter(t *testing.T) {
	q := bench(1)
	q.put(shared.Message{Event: anEvent}, 0)
	for range mostReceive {
		if q.receive() == nil {
			t.Fatal("set aside too early")
		}
		q.w.clock += visibility
	}
	if m := q.receive(); m != nil || len(q.messages) != 0 || len(q.letters.messages) != 1 || q.letters.messages[0].Event != anEvent {
		t.Errorf("received %v, %d left, letters %v", m, len(q.messages), q.letters.messages)
	}
}

func TestMessagesComeInAnyOrder(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(50) {
		q := bench(seed)
		for range 3 {
			q.put(shared.Message{Event: anEvent}, 0)
		}
		orders[q.receive().id+q.receive().id+q.receive().id] = true
	}
	if len(orders) != 6 {
		t.Errorf("orders %v, want all six", orders)
	}
}

func TestThrowsDependOnWhatTheyAreForAlone(t *testing.T) {
	d := dice(7)
	want := d.throw("one", 3)
	_ = d.throw("other", 3)
	if got := d.throw("one", 3); got != want {
		t.Errorf("%d, want %d", got, want)
	}
	hits := 0
	for i := range 10_000 {
		if d.chance(250, "chance", i) {
			hits++
		}
	}
	if hits < 2200 || hits > 2800 {
		t.Errorf("%d of 10,000 for 250 in a thousand", hits)
	}
	seen := map[uint64]bool{}
	for i := range 1000 {
		seen[d.throw("one", i)] = true
		seen[dice(i).throw("one", 3)] = true
	}
	if len(seen) < 1990 {
		t.Errorf("%d numbers in 2,000 throws", len(seen))
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The table is the one that every other test has, and that template.yaml declares.
func TestTheTableIsTheOneOfTheTests(t *testing.T) {
	want := dynamotest.Schema("t")
	if diff := cmp.Diff(text(t, want), text(t, schema("t"))); diff != "" {
		t.Error(diff)
	}
}
