package dynamo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
)

// one of each kind of item, in each state that changes what is stored.
func oneOfEach(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	for n := 1; n <= 11; n++ {
		ev := arrival(n)
		ev.Batch, ev.CaughtUp = n == 7, n == 3
		if n == 2 {
			ev.Body, ev.Reason, ev.Category, ev.Object = inbox.Body{Key: "raw/shop/test/evt", Bytes: 70_000}, "no object id", "invalid input", inbox.Event{}.Object
		}
		must(t, receive(t.Context(), table, ev))
	}
	must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 5, 0)), 100, operation.Unusable)))
	endings := map[int]inbox.Ending{3: settling(0, 0), 4: parking(0, 0), 5: parkingWith(0, 0), 8: parking(0, 0), 11: settling(0, 0)}
	for n, e := range endings {
		e.Event = eventID(n)
		must(t, table.End(t.Context(), e))
	}
	_, err := table.DeleteWork(t.Context(), deletion(99)) // the operation that event 5 was parked on: one of each comes below
	must(t, err)
	for _, n := range []int{6, 9} {
		must(t, table.ParkUnsent(t.Context(), dynamo.Unsent{ID: eventID(n), DueKey: eventOf(t, table, n).DueKey, Reason: "sent too often", At: later(700)}))
	}
	must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(8), DeliveryID: "dlv2"}))
	must(t, table.CountSeen(t.Context(), eventID(1), later(9)))

	for i, do := range operationWays() {
		c := asking(i, 1, i*10)
		c.Key.Digest = fmt.Sprint("digest", i)
		l := claimed(t, table, c)
		if do != nil {
			must(t, do(table, t.Context(), ending(l, i, operation.Usable)))
		}
	}
	oneOfEachDecision(t, table)
	must(t, table.RecordLosing(t.Context(), work, operation.Attempt{ID: "att_9", FencingToken: 2, Outcome: operation.Usable, Called: true, CostUSD: 318_000_000, Tokens: &operation.Tokens{Input: 412, Output: 96}}))
	_, _, err = table.PutResult(t.Context(), operation.Result{Scope: shop, Object: product, Recipe: card, Rank: ranked(1), Operation: work, Event: eventID(1), Output: []byte(`{"summary":"é"}`), Digest: "dig", At: noon, ExpiresAt: later(99)})
	must(t, err)
	oneOfEachHold(t, table)
	must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(10), Digest: "d2", At: later(8), DeliveryID: "dlv2"}))
	for _, n := range []int{10, 11} {
		must(t, table.EmptyEvent(t.Context(), eventID(n), later(800)))
	}
	must(t, table.ClaimAddress(t.Context(), "woo-shop", shop))
	must(t, table.MovePointer(t.Context(), shop, 0, pointer(1), "w-1"))
	must(t, table.PutVersion(t.Context(), config.Version{Scope: shop, Kind: "recipe", Name: "product-card", Version: 3, JSON: []byte(`{"name":"product-card"}`), Digest: "dig"}))
	must(t, table.Audit(t.Context(), audit.Entry{Scope: shop, At: noon, ID: "act_1", By: "ann", Act: "redrive", Target: "evt_1", Reason: "asked to"}))
}

// oneOfEachDecision decides on what waits for a person.
func oneOfEachDecision(t *testing.T, table *dynamo.Table) {
	t.Helper()
	r, d := rejection(100), dismissal(101)
	r.Key, r.Digest, d.Key = numbered(6), "dig6", numbered(7)
	d.EventGone, d.WithEvent = true, false
	must(t, table.Reject(t.Context(), r))
	must(t, table.Dismiss(t.Context(), d))
	for _, n := range []int{8, 9} {
		c := cancellation(100 + n)
		c.Key = numbered(n)
		must(t, table.Cancel(t.Context(), c))
	}
	seen, err := table.Operation(t.Context(), numbered(10))
	must(t, err)
	a := approval(100)
	a.Seen = seen
	must(t, table.Approve(t.Context(), a))
	aside := settingAside(103)
	aside.Key, aside.Rank = numbered(11), ranked(1)
	must(t, table.SetAside(t.Context(), aside))
	must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d3", At: later(9), DeliveryID: "dlv3"}))
	for n, conflict := range map[int]string{8: "", 9: "", 1: "d3"} {
		e := eventDismissal(100)
		e.Event, e.Conflict = eventID(n), conflict
		must(t, table.DismissEvent(t.Context(), e))
	}
}

// oneOfEachHold leaves what holds work, and what limits it.
func oneOfEachHold(t *testing.T, table *dynamo.Table) {
	t.Helper()
	must(t, table.PutHead(t.Context(), head(1, eventID(1))))
	probed(t, table)
	closed := opening(101)
	closed.Model.Name = "gpt-5.4"
	must(t, table.OpenBreaker(t.Context(), closed))
	must(t, table.CloseBreaker(t.Context(), pause.Closing{Model: closed.Model, WriteID: writeID(102), Now: later(700)}))
	must(t, table.PutPause(t.Context(), pausing(pause.Recipe, "product-card")))
	forever := pausing(pause.Everything, "")
	forever.Until = time.Time{}
	must(t, table.PutPause(t.Context(), forever))
	must(t, table.Reserve(t.Context(), reservation(1)))
	must(t, table.Correct(t.Context(), correction(1)))
	must(t, table.Reserve(t.Context(), reservation(2)))
	must(t, table.TakeMinute(t.Context(), minute(1)))
	must(t, table.MoveCatchUp(t.Context(), catchingUp(1, 0)))
	must(t, table.NoteDelivery(t.Context(), shop, "woo-shop", later(9)))
}

// operationWays leaves one operation in each state; nil leaves it running.
func operationWays() []finish {
	return []finish{
		nil, (*dynamo.Table).Retry, (*dynamo.Table).Complete, (*dynamo.Table).Hold, (*dynamo.Table).Fail, (*dynamo.Table).Supersede,
		(*dynamo.Table).Hold, (*dynamo.Table).Fail, nil, (*dynamo.Table).Hold, (*dynamo.Table).Hold, (*dynamo.Table).Hold, // decided on later
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wire is an attribute value as DynamoDB's JSON has it.
type wire struct {
	S  *string  `json:",omitempty"`
	N  *string  `json:",omitempty"`
	B  []byte   `json:",omitempty"`
	L  []wire   `json:",omitempty"`
	NS []string `json:",omitempty"`
}

func toWire(v types.AttributeValue) wire {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return wire{S: &v.Value}
	case *types.AttributeValueMemberN:
		return wire{N: &v.Value}
	case *types.AttributeValueMemberB:
		return wire{B: v.Value}
	case *types.AttributeValueMemberL:
		var all []wire
		for _, element := range v.Value {
			all = append(all, toWire(element))
		}
		return wire{L: all}
	case *types.AttributeValueMemberNS:
		return wire{NS: v.Value}
	}
	panic(fmt.Sprintf("no item of ours has a %T", v))
}

func (w wire) value() types.AttributeValue {
	switch {
	case w.S != nil:
		return &types.AttributeValueMemberS{Value: *w.S}
	case w.N != nil:
		return &types.AttributeValueMemberN{Value: *w.N}
	case w.B != nil:
		return &types.AttributeValueMemberB{Value: w.B}
	case w.NS != nil:
		return &types.AttributeValueMemberNS{Value: w.NS}
	}
	list := &types.AttributeValueMemberL{}
	for _, element := range w.L {
		list.Value = append(list.Value, element.value())
	}
	return list
}

const currentItems = "testdata/items/v3.json"

// What this version stores is what is agreed. A change of it needs a new file beside the old ones,
// whose items must stay readable: TestItemsOfEveryVersionAreRead.
func TestItemsAreStoredAsAgreed(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		oneOfEach(t, db, db.Open(nil))
		stored := map[string]map[string]wire{}
		for name, it := range snapshot(t, db) {
			stored[name] = map[string]wire{}
			for attribute, value := range it {
				stored[name][attribute] = toWire(value)
			}
		}
		golden(t, currentItems, indented(t, stored))
	})
}

func indented(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	must(t, e.Encode(v))
	return b.String()
}

// A table outlives versions of the code: every item that any version stored is read, and means the same.
func TestItemsOfEveryVersionAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/items/v*.json")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no stored items")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			must(t, err)
			var stored map[string]map[string]wire
			must(t, json.Unmarshal(text, &stored))
			read := map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(stored)) {
				it := map[string]types.AttributeValue{}
				for attribute, w := range stored[name] {
					it[attribute] = w.value()
				}
				v, err := readAny(name, it)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if v != nil {
					read[name] = v
				}
			}
			var plain any
			must(t, json.Unmarshal([]byte(indented(t, read)), &plain))
			golden(t, strings.Replace(file, ".json", ".read", 1), indented(t, filled(plain)))
		})
	}
}

// filled leaves out what says nothing, so that a new field of the domain changes no golden file.
func filled(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, value := range object {
		if text := fmt.Sprint(value); text != "<nil>" && text != "" && text != "0" && text != "false" && text != "0001-01-01T00:00:00Z" {
			out[name] = filled(value)
		}
	}
	return out
}

func readAny(name string, it map[string]types.AttributeValue) (any, error) {
	_, sk, _ := strings.Cut(name, " / ")
	switch {
	case sk == "EVENT":
		return dynamo.ReadEvent(it)
	case strings.Contains(sk, "#LOST#"):
		return dynamo.ReadLosing(it)
	case strings.HasPrefix(sk, "O#"):
		return dynamo.ReadOperation(it)
	case strings.HasPrefix(sk, "R#"):
		return dynamo.ReadResult(it)
	}
	return nil, nil // the small ones are read where they are queried
}

// A damaged item is an error that names the attribute and shows nothing of its content.
func TestDamagedItemsAreErrors(t *testing.T) {
	s := func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
	n := func(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }
	list := func(all ...types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: all}
	}
	event := map[string]types.AttributeValue{"pk": s("E#evt_1"), "sk": s("EVENT"), "st": s("received"), "od": s("0000000000001#evt_1"), "oq": s("open#1")}
	op := map[string]types.AttributeValue{"pk": s("B#s#t#p:1"), "sk": s("O#r@000001#d"), "st": s("failed")}
	result := map[string]types.AttributeValue{"pk": s("B#s#t#p:1"), "sk": s("R#r#000001"), "op": s("O#r@000001#d")}
	for _, tt := range []struct {
		name      string
		item      map[string]types.AttributeValue
		attribute string
		value     types.AttributeValue
	}{
		{"text as number", event, "dig", n("1")},
		{"number as text", event, "gen", s("secret")},
		{"fraction", event, "rcv", n("1.5")},
		{"no list", event, "op", s("secret")},
		{"list of numbers", event, "op", list(n("1"))},
		{"object without kind", event, "obj", s("794")},
		{"recipe without version", event, "rcp", s("card")},
		{"due time that is none", event, "od", s("soon")},
		{"bytes as number", event, "body", n("1")},
		{"attempts that are no JSON", op, "att", s("{")},
		{"output as list", op, "out", list()},
		{"fences that are no set", op, "fen", n("2")},
		{"a fence that is no number", op, "fen", &types.AttributeValueMemberNS{Value: []string{"2.5"}}},
		{"key that is none", op, "sk", s("O#r")},
		{"queued at no time", map[string]types.AttributeValue{"pk": op["pk"], "sk": op["sk"], "oq": s("review"), "od": s("0000000000001#x")}, "od", s("x")},
		{"result of no operation", result, "op", s("x")},
		{"result of no recipe", result, "sk", s("R#r#x")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := text(tt.item["pk"]) + " / " + text(tt.item["sk"])
			if _, err := readAny(name, tt.item); err != nil {
				t.Fatalf("the whole item: %v", err)
			}
			damaged := maps.Clone(tt.item)
			damaged[tt.attribute] = tt.value
			_, err := readAny(name, damaged)
			if err == nil {
				t.Fatal("it was read")
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows content: %v", err)
			}
		})
	}
}
