// Package invariants holds a whole table against the promises: each check is named after what it
// guards, reads the items as they are stored (not through the store adapter, which might hide a
// fault), and is called by every suite at its end.
package invariants

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An Item is one stored item with its attributes as text: strings as they are, numbers as written,
// binary as a string of its bytes,
// lists and sets line by line.
type Item map[string]string

// Items is a whole table.
type Items []Item

// Read scans the whole table, consistently.
func Read(t testing.TB, client *dynamodb.Client, table string) Items {
	t.Helper()
	all, err := Scan(context.WithoutCancel(t.Context()), client, table)
	if err != nil {
		t.Fatalf("scan table: %v", err)
	}
	return all
}

// Scan is [Read] for callers outside a test.
func Scan(ctx context.Context, client *dynamodb.Client, table string) (Items, error) {
	var all Items
	var from map[string]types.AttributeValue
	yes := true
	for {
		out, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, ExclusiveStartKey: from, ConsistentRead: &yes})
		if err != nil {
			return nil, fmt.Errorf("scan table: %w", err)
		}
		for _, raw := range out.Items {
			item := Item{}
			for name, v := range raw {
				item[name] = text(v)
			}
			all = append(all, item)
		}
		if from = out.LastEvaluatedKey; len(from) == 0 {
			break
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id() < all[j].id() })
	return all, nil
}

func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberNS:
		return strings.Join(v.Value, "\n")
	case *types.AttributeValueMemberL:
		var lines []string
		for _, one := range v.Value {
			lines = append(lines, text(one))
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprintf("%T", v)
}

func (i Item) id() string { return i["pk"] + " / " + i["sk"] }

func (i Item) number(name string) int64 {
	n, err := strconv.ParseInt(i[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Events are the event items.
func (all Items) Events() Items { return all.pick(func(i Item) bool { return i["sk"] == "EVENT" }) }

// Operations are the operation items, without losing attempts.
func (all Items) Operations() Items {
	return all.pick(func(i Item) bool {
		return strings.HasPrefix(i["sk"], "O#") && !strings.Contains(i["sk"], "#LOST#")
	})
}

// Losing are the items of losing attempts.
func (all Items) Losing() Items {
	return all.pick(func(i Item) bool { return strings.Contains(i["sk"], "#LOST#") })
}

// Results are the result items.
func (all Items) Results() Items {
	return all.pick(func(i Item) bool { return strings.HasPrefix(i["sk"], "R#") })
}

// decided tells whether a person dismissed or cancelled it, so that it is final without being done.
func (i Item) decided() bool { return i["dec"] != "" || i["st"] == "failed" && i["by"] != "" }

func (all Items) pick(want func(Item) bool) Items {
	var out Items
	for _, i := range all {
		if want(i) {
			out = append(out, i)
		}
	}
	return out
}

// Attempts reads the log of attempts of an operation.
func (i Item) Attempts() ([]Attempt, error) {
	if i["att"] == "" {
		return nil, nil
	}
	var all []Attempt
	if err := json.Unmarshal([]byte(i["att"]), &all); err != nil {
		return nil, fmt.Errorf("%s: att is no list of attempts: %w", i.id(), err)
	}
	return all, nil
}

// An Attempt is one entry of the log, as far as the checks read it.
type Attempt struct {
	ID           string `json:"id"`
	FencingToken int64  `json:"fencing_token"`
	Outcome      string `json:"outcome"`
	Called       bool   `json:"called"`
}
