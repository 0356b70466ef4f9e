package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
)

// A contract is what one write promises. Each is held on every engine.
type contract struct {
	name    string
	call    string                                                          // its name, for faults
	before  func(t *testing.T, db dynamotest.DB, table *dynamo.Table)       // what is stored when the write comes
	write   func(ctx context.Context, table *dynamo.Table, who int) error   // who makes the write id, and content of one's own
	effect  func(t *testing.T, table *dynamo.Table, who int)                // holds after who's write took effect, once
	other   func(error) bool                                                // what another one's write meets afterwards
	again   func(error) bool                                                // what our own repeat meets afterwards; nil: success
	refused map[string]func(ctx context.Context, table *dynamo.Table) error // writes that the stored item refuses, by why; they meet other
	all     bool                                                            // every writer is told that it is done, though one write counts
}

func (c contract) ours(err error) bool {
	if c.again == nil {
		return err == nil
	}
	return c.again(err)
}

func done(err error) bool { return err == nil }

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// snapshot is all that is stored, by key.
func snapshot(t *testing.T, db dynamotest.DB) map[string]map[string]types.AttributeValue {
	t.Helper()
	all := map[string]map[string]types.AttributeValue{}
	pages := dynamodb.NewScanPaginator(db.Client(), &dynamodb.ScanInput{TableName: &db.TableName, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			all[text(it["pk"])+" / "+text(it["sk"])] = it
		}
	}
	return all
}

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// difference compares two snapshots.
func difference(a, b map[string]map[string]types.AttributeValue) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberL{}, types.AttributeValueMemberNS{}))
}

func TestWritesKeepTheirContracts(t *testing.T) {
	for _, c := range slices.Concat(eventContracts(), claimContracts(), finishContracts(), operationContracts(), decisionContracts(), holdContracts(), spendContracts(), eraseContracts(), catchUpContracts(), otherContracts()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dynamotest.Engine(t, c.run)
		})
	}
}

// run holds one contract on one engine, each case on what was stored before and nothing else.
func (c contract) run(t *testing.T, db dynamotest.DB) {
	cases := map[string]func(t *testing.T, db dynamotest.DB){
		"accepts": c.accepts, "refuses another": c.refusesAnother, "own repeat": c.ownRepeat,
		"request lost": c.requestLost, "answer lost": c.answerLost, "every answer lost": c.everyAnswerLost, "at once": c.atOnce,
	}
	for why, write := range c.refused {
		cases["refuses "+why] = func(t *testing.T, db dynamotest.DB) { c.refusesUnchanged(t, db, write) }
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			own := db.Fresh(t)
			if c.before != nil {
				c.before(t, own, own.Open(nil))
			}
			cases[name](t, own)
			indexed(t, snapshot(t, own))
		})
	}
}

// indexed checks that an item has both keys of an index or neither, that range keys are unique, and that
// what is open or waits for a person is where it is looked for, and nothing else is.
func indexed(t *testing.T, all map[string]map[string]types.AttributeValue) {
	t.Helper()
	unique := map[string]string{}
	for name, it := range all {
		for _, keys := range [][2]string{{"oq", "od"}, {"lq", "ld"}} {
			hash, sort := text(it[keys[0]]), text(it[keys[1]])
			if (hash == "") != (sort == "") {
				t.Errorf("%s has %s %q and %s %q", name, keys[0], hash, keys[1], sort)
			}
			if other := unique[hash+sort]; hash != "" && other != "" {
				t.Errorf("%s and %s have one place in the index", name, other)
			}
			unique[hash+sort] = name
		}
		shard, state := text(it["oq"]), text(it["st"])
		decided := text(it["dec"]) != "" || state == "failed" && text(it["by"]) != "" // dismissed, cancelled
		switch isEvent := strings.HasSuffix(name, "/ EVENT"); {
		case isEvent && (state == "received") != strings.HasPrefix(shard, "open#"):
			t.Errorf("%s is %s and stands in %q", name, state, shard)
		case !isEvent && state != "" && (state == "failed" && !decided || state == "review") != (shard == "review"):
			t.Errorf("%s is %s and stands in %q", name, state, shard)
		case decided && shard == "review":
			t.Errorf("%s was taken off the review list and stands there", name)
		}
	}
}

func (c contract) accepts(t *testing.T, db dynamotest.DB) {
	table := db.Open(nil)
	if err := c.write(t.Context(), table, 0); err != nil {
		t.Fatal(err)
	}
	c.effect(t, table, 0)
}

func (c contract) refusesAnother(t *testing.T, db dynamotest.DB) {
	table := db.Open(nil)
	if err := c.write(t.Context(), table, 0); err != nil {
		t.Fatal(err)
	}
	c.refusesUnchanged(t, db, func(ctx context.Context, table *dynamo.Table) error { return c.write(ctx, table, 1) })
	c.effect(t, table, 0)
}

func (c contract) refusesUnchanged(t *testing.T, db dynamotest.DB, write func(context.Context, *dynamo.Table) error) {
	stored := snapshot(t, db)
	if err := write(t.Context(), db.Open(nil)); !c.other(err) {
		t.Errorf("it met %v", err)
	}
	if diff := difference(stored, snapshot(t, db)); diff != "" {
		t.Errorf("it changed something (-before +after):\n%s", diff)
	}
}

func (c contract) ownRepeat(t *testing.T, db dynamotest.DB) {
	table := db.Open(nil)
	if err := c.write(t.Context(), table, 0); err != nil {
		t.Fatal(err)
	}
	stored := snapshot(t, db)
	if err := c.write(t.Context(), table, 0); !c.ours(err) {
		t.Errorf("our own repeat met %v", err)
	}
	if diff := difference(stored, snapshot(t, db)); diff != "" {
		t.Errorf("our own repeat changed something (-before +after):\n%s", diff)
	}
}

func (c contract) requestLost(t *testing.T, db dynamotest.DB) {
	stored := snapshot(t, db)
	fault := &dynamotest.Fault{Target: c.call, N: dynamotest.Tries}
	table := db.Open(fault)
	if err := c.write(t.Context(), table, 0); !errors.Is(err, dynamotest.ErrLost) {
		t.Fatalf("with every request lost it met %v", err)
	}
	if fault.Hits() != dynamotest.Tries {
		t.Fatalf("%d requests named %q were hit", fault.Hits(), c.call)
	}
	if diff := difference(stored, snapshot(t, db)); diff != "" {
		t.Fatalf("a lost request changed something (-before +after):\n%s", diff)
	}
	if err := c.write(t.Context(), table, 0); err != nil {
		t.Fatalf("the repeat met %v", err)
	}
	c.effect(t, table, 0)
}

// answerLost loses one answer: the client itself repeats the request.
func (c contract) answerLost(t *testing.T, db dynamotest.DB) {
	fault := &dynamotest.Fault{Target: c.call, Applied: true, N: 1}
	if err := c.write(t.Context(), db.Open(fault), 0); !c.ours(err) && err != nil {
		t.Errorf("it met %v", err)
	}
	if fault.Hits() != 1 {
		t.Fatalf("%d requests named %q were hit", fault.Hits(), c.call)
	}
	c.effect(t, db.Open(nil), 0)
}

// everyAnswerLost loses all of them: the caller does not know, and makes the same write again.
func (c contract) everyAnswerLost(t *testing.T, db dynamotest.DB) {
	table := db.Open(&dynamotest.Fault{Target: c.call, Applied: true, N: dynamotest.Tries})
	if err := c.write(t.Context(), table, 0); !errors.Is(err, dynamotest.ErrLost) {
		t.Fatalf("with every answer lost it met %v", err)
	}
	if err := c.write(t.Context(), table, 0); !c.ours(err) {
		t.Errorf("the repeat met %v", err)
	}
	c.effect(t, table, 0)
}

func (c contract) atOnce(t *testing.T, db dynamotest.DB) {
	table := db.Open(nil)
	errs := dynamotest.AtOnce(func(i int) error { return c.write(t.Context(), table, i) })
	if c.all {
		for i, err := range errs {
			if err != nil {
				t.Fatalf("writer %d met %v", i, err)
			}
		}
		return
	}
	var winners []int
	for i, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, i)
		case !c.other(err):
			t.Errorf("writer %d met %v", i, err)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%d of %d won: %v", len(winners), len(errs), winners)
	}
	c.effect(t, table, winners[0])
}

// writeID is the write id of one writer.
func writeID(who int) string { return fmt.Sprintf("w-%d", who) }
