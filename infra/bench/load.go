package bench

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/inbox"
	"engang/shared/object"
)

// loaders is how many write at once, and copies how many objects each writes at a time; batch is what DynamoDB takes of
// items at once.
const (
	loaders = 8
	copies  = 8
	batch   = 25
)

// words are what a product is called, one after the other: a word that stays makes an echo of the event before.
var words = []string{"oak", "oak", "ash", "ash", "elm"}

// fill stores events: the first ten by the pipeline itself, the others as copies of what it has stored by then, each
// with an object, ids and a place in the list of its own.
func (s *side) fill(ctx context.Context, o Options) error {
	if s.stored < Few {
		return fmt.Errorf("%d events are less than %d", s.stored, Few)
	}
	var objects []string
	for len(objects) < Few/len(words) {
		s.maker.made++
		objects = append(objects, strconv.Itoa(s.maker.made))
		for late, word := range words {
			delivery, err := s.maker.delivery(plain, version{s.maker.made, word, late})
			if err != nil {
				return err
			}
			if err := s.one(ctx, delivery, "accepted"); err != nil {
				return err
			}
			var done atomic.Int64
			if err := s.work(ctx, &done, 1); err != nil {
				return err
			}
		}
	}
	items, err := s.items(ctx)
	if err != nil {
		return err
	}
	return s.load(ctx, o, cut(items, objects[0]))
}

// items reads the whole table.
func (s *side) items(ctx context.Context) (all []map[string]types.AttributeValue, err error) {
	table := s.TableName()
	pages := dynamodb.NewScanPaginator(s.DynamoDB(), &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the table: %w", err)
		}
		all = append(all, page.Items...)
	}
	return all, nil
}

// A pattern is everything that is stored of one object: its events, their operations, its result.
type pattern struct {
	object string
	events []string // ids
	others []string // ids of attempts
	items  []map[string]types.AttributeValue
}

// cut takes what is stored of an object out of a table.
func cut(items []map[string]types.AttributeValue, object string) pattern {
	p := pattern{object: object}
	for _, it := range items {
		pk := text(it["pk"])
		switch {
		case strings.HasPrefix(pk, "E#") && strings.HasSuffix(text(it["obj"]), ":"+object):
			p.events = append(p.events, strings.TrimPrefix(pk, "E#"))
		case strings.HasPrefix(pk, "B#") && strings.HasSuffix(pk, ":"+object):
		default:
			continue
		}
		p.items = append(p.items, it)
		p.others = append(p.others, attemptID.FindAllString(text(it["att"]), -1)...)
	}
	p.others = slices.Compact(slices.Sorted(slices.Values(p.others)))
	return p
}

var attemptID = regexp.MustCompile(`att_[a-z0-9]+`)

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// listShards is over how many hash keys the product spreads a day in its list.
const listShards = 4

// copy is the pattern once more, of another object and other events. Bodies, inputs and outputs are shared.
func (p pattern) copy(n int) []map[string]types.AttributeValue {
	pairs := []string{p.object, strconv.Itoa(100_000_000 + n)}
	for _, id := range p.events {
		pairs = append(pairs, id, string(inbox.NewEventID(object.Scope{}, id, strconv.Itoa(n))))
	}
	for _, id := range p.others {
		random := strings.TrimPrefix(string(inbox.NewEventID(object.Scope{}, id, strconv.Itoa(n))), "evt_")
		pairs = append(pairs, id, id[:len(id)-len(random)]+random)
	}
	others := strings.NewReplacer(pairs...)
	all := make([]map[string]types.AttributeValue, len(p.items))
	for i, it := range p.items {
		all[i] = make(map[string]types.AttributeValue, len(it))
		for name, value := range it {
			all[i][name] = replaced(value, others)
		}
		if list := text(it["lq"]); list != "" {
			all[i]["lq"] = &types.AttributeValueMemberS{Value: list[:strings.LastIndexByte(list, '#')+1] + strconv.Itoa((n+i)%listShards)}
		}
	}
	return all
}

func replaced(v types.AttributeValue, others *strings.Replacer) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: others.Replace(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]types.AttributeValue, len(v.Value))
		for i, element := range v.Value {
			list[i] = replaced(element, others)
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return v
}

// load writes copies until the table holds its events.
func (s *side) load(ctx context.Context, o Options, p pattern) error {
	total := (s.stored - Few) / len(p.events)
	s.stored = Few + total*len(p.events) // whole objects
	var (
		next, stored atomic.Int64
		all          sync.WaitGroup
		faults       = make([]error, loaders)
		began        = time.Now()
	)
	for worker := range loaders {
		all.Go(func() {
			for faults[worker] == nil {
				end := int(next.Add(copies))
				var items []map[string]types.AttributeValue
				for n := end - copies; n < min(end, total); n++ {
					items = append(items, p.copy(n)...)
				}
				if len(items) == 0 {
					return
				}
				faults[worker] = s.write(ctx, items)
				if done := stored.Add(int64(copies * len(p.events))); worker == 0 { // one draws for all
					o.Progress(float64(done)/float64(s.stored), fmt.Sprintf("%d events loaded, %.0f/s", done, float64(done)/time.Since(began).Seconds()))
				}
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

var errUnprocessed = errors.New("the engine keeps leaving items of a batch unwritten")

// write writes items, in as many batches as they need.
func (s *side) write(ctx context.Context, items []map[string]types.AttributeValue) error {
	table := s.TableName()
	for len(items) > 0 {
		n := min(len(items), batch)
		requests := make([]types.WriteRequest, n)
		for i, it := range items[:n] {
			requests[i].PutRequest = &types.PutRequest{Item: it}
		}
		items = items[n:]
		left := map[string][]types.WriteRequest{table: requests}
		for tries := 0; len(left) > 0; tries++ {
			if tries == 10 {
				return errUnprocessed
			}
			out, err := s.DynamoDB().BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
			if err != nil {
				return fmt.Errorf("write a batch: %w", err)
			}
			left = out.UnprocessedItems
		}
	}
	return nil
}
