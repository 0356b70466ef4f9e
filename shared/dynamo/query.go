package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// duePage is how many events one page of the open index brings at most.
const duePage = 100

// A Page asks for one page of a list.
type Page struct {
	After string // what the page before it gave as next; empty for the first
	Limit int    // at least 1
}

// A search is one key condition in an index, or in the table.
type search struct {
	call     string
	index    string // empty: the table, read consistently
	when     string
	given    item
	limit    int32
	backward bool
}

// query makes one request. More tells whether there may be items behind the last one.
func (t *Table) query(ctx context.Context, q search) (items []item, more bool, err error) {
	consistent, forward := q.index == "", !q.backward
	in := &dynamodb.QueryInput{
		TableName: &t.name, IndexName: optional(q.index), KeyConditionExpression: &q.when, ExpressionAttributeNames: statement{when: q.when}.names(),
		ExpressionAttributeValues: q.given, ConsistentRead: &consistent, ScanIndexForward: &forward,
	}
	if q.limit > 0 {
		in.Limit = &q.limit
	}
	out, err := t.client.Query(telemetry.WithCall(ctx, q.call), in)
	if err != nil {
		return nil, false, err
	}
	for _, it := range out.Items {
		items = append(items, it)
	}
	return items, len(out.LastEvaluatedKey) > 0, nil
}

// collection reads all items under one hash key, in the order of their sort keys.
func (t *Table) collection(ctx context.Context, call, hash string) (all []item, err error) {
	after := " " // before every sort key
	for {
		q := search{call: call, when: collectionAfter, given: item{":hash": str(hash), ":after": str(after)}, limit: t.page}
		items, more, err := t.query(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if !more || len(items) == 0 {
			return all, nil
		}
		r := &reader{it: items[len(items)-1]}
		if after = r.text("sk"); r.err != nil {
			return nil, r.err
		}
	}
}

// Due reads one page of the open events of a shard whose due time is before the given one, the longest
// due first. After is what the page before gave as next, or empty; next is empty at the end. The index
// holds keys only and may be old: read each event before acting on it.
func (t *Table) Due(ctx context.Context, shard int, before time.Time, after string) (ids []inbox.EventID, next string, err error) {
	q := search{call: "query open", index: "open", when: openBetween, limit: t.limit(duePage), given: item{
		":shard": str(openShard(shard)), ":after": str(fmt.Sprintf("%013d", 0)), ":before": str(fmt.Sprintf("%013d", before.UnixMilli())),
	}}
	if after != "" {
		q.given[":after"] = str(after + "!") // the first text behind it that no other range key comes before
	}
	items, more, err := t.query(ctx, q)
	if err != nil {
		return nil, "", fmt.Errorf("read due events of shard %d: %w", shard, err)
	}
	for _, it := range items {
		r := &reader{it: it}
		ids = append(ids, inbox.EventID(strings.TrimPrefix(r.text("pk"), eventPrefix)))
		next = r.text("od")
	}
	if !more {
		next = ""
	}
	return ids, next, nil
}

func (t *Table) limit(usual int32) int32 {
	if t.page > 0 {
		return t.page
	}
	return usual
}

// Listed reads one page of the events that were first stored on a day (UTC), the newest first. Next is
// empty at the end of the day. The index may be a moment old.
func (t *Table) Listed(ctx context.Context, s object.Scope, day time.Time, page Page) (ids []inbox.EventID, next string, err error) {
	var found []string // range keys: time#id
	more := false
	for n := range listShards {
		shard, rest, err := t.listedShard(ctx, listShard(s, day, n), page)
		if err != nil {
			return nil, "", fmt.Errorf("list events of %s on %s: %w", s, dayText(day), err)
		}
		found = append(found, shard...)
		more = more || rest
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(b, a) })
	if len(found) > page.Limit {
		found, more = found[:page.Limit], true
	}
	for _, ld := range found {
		_, id, _ := strings.Cut(ld, "#")
		ids = append(ids, inbox.EventID(id))
	}
	if more && len(found) > 0 {
		next = found[len(found)-1]
	}
	return ids, next, nil
}

// listedShard reads up to a page's worth of one shard, and tells whether there may be more.
func (t *Table) listedShard(ctx context.Context, shard string, page Page) (found []string, more bool, err error) {
	before := page.After
	if before == "" {
		before = "~" // behind every range key
	}
	for len(found) < page.Limit {
		q := search{call: "query list", index: "list", when: listBefore, backward: true, limit: t.limit(int32(page.Limit)),
			given: item{":shard": str(shard), ":before": str(before)}}
		items, more, err := t.query(ctx, q)
		if err != nil {
			return nil, false, err
		}
		for _, it := range items {
			r := &reader{it: it}
			before = r.text("ld")
			found = append(found, before)
		}
		if !more || len(items) == 0 {
			return found, false, nil
		}
	}
	return found, true, nil
}

// Object reads everything that is kept of an object, consistently: operations, attempts of fenced
// workers, results.
func (t *Table) Object(ctx context.Context, s object.Scope, id object.ID) (ops []operation.Operation, losing []operation.Losing, results []operation.Result, err error) {
	items, err := t.collection(ctx, "query object", objectHash(s, id))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read object %s: %w", id, err)
	}
	for _, it := range items {
		r := &reader{it: it}
		switch sk := r.text("sk"); {
		case strings.HasPrefix(sk, operationPrefix) && strings.Contains(sk, losingInfix):
			var l operation.Losing
			l, r.err = readLosing(it)
			losing = append(losing, l)
		case strings.HasPrefix(sk, operationPrefix):
			var op operation.Operation
			op, r.err = readOperation(it)
			ops = append(ops, op)
		case strings.HasPrefix(sk, resultPrefix):
			var res operation.Result
			res, r.err = readResult(it)
			results = append(results, res)
		}
		if r.err != nil {
			return nil, nil, nil, fmt.Errorf("read object %s: %w", id, r.err)
		}
	}
	return ops, losing, results, nil
}
