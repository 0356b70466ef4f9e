package integration_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/shared/control"
)

// A stored item, as the engine has it.
type stored = map[string]types.AttributeValue

func textOf(i stored, name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// multiply stores n more events like the one that there is, each about an object of its own, a few minutes apart,
// and for every tenth its operation and result as well. The queues know nothing of them.
func (s *system) multiply(n int) {
	s.t.Helper()
	table := s.TableName()
	out, err := s.DynamoDB().Scan(s.t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		s.t.Fatal(err)
	}
	items := slices.DeleteFunc(out.Items, func(i stored) bool { return !strings.HasPrefix(textOf(i, "pk"), "B#") && textOf(i, "sk") != "EVENT" })
	var writes []types.WriteRequest
	for k := range n {
		for _, i := range items {
			if strings.HasPrefix(textOf(i, "pk"), "B#") && k%10 != 0 {
				continue
			}
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: another(i, k)}})
		}
	}
	for some := range slices.Chunk(writes, 25) {
		done, err := s.DynamoDB().BatchWriteItem(s.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: some}})
		if err != nil || len(done.UnprocessedItems) > 0 {
			s.t.Fatalf("%d items left, %v", len(done.UnprocessedItems), err)
		}
	}
}

// another is the same item of the kth other event.
func another(i stored, k int) stored {
	id := "evt_" + strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(fmt.Sprintf("%016d", k))
	one := maps.Clone(i)
	for name, v := range one {
		if t, ok := v.(*types.AttributeValueMemberS); ok {
			one[name] = &types.AttributeValueMemberS{Value: strings.ReplaceAll(t.Value, "product:794", fmt.Sprint("product:", 100_000+k))}
		}
	}
	if textOf(i, "sk") != "EVENT" {
		one["ev"] = &types.AttributeValueMemberS{Value: id}
		return one
	}
	at := time.Now().Add(-time.Duration(k) * 4 * time.Minute)
	one["pk"], one["rcv"] = &types.AttributeValueMemberS{Value: "E#" + id}, &types.AttributeValueMemberN{Value: fmt.Sprint(at.UnixMilli())}
	one["lq"] = &types.AttributeValueMemberS{Value: fmt.Sprintf("shop#test#%s#%d", at.UTC().Format(time.DateOnly), k%4)}
	one["ld"] = &types.AttributeValueMemberS{Value: fmt.Sprintf("%013d#%s", at.UnixMilli(), id)}
	return one
}

// replayed loads n events and replays them, after a dry run: no paid call, nothing changed.
func (s *system) replayed(n int) {
	s.t.Helper()
	s.accept(s.product(oldChair))
	s.rest()
	s.multiply(n - 1)
	before, record := s.stored(), s.Record().Counts()
	for _, how := range [][]string{{"--dry-run"}, {"--reason", "to be sure"}} {
		want := control.Replayed{Kind: "replay", DryRun: how[0] == "--dry-run", Events: n, Finished: n}
		if diff := cmp.Diff(want, s.ran(how...)); diff != "" {
			s.t.Errorf("%v: %s", how, diff)
		}
	}
	if asked := s.asked(record); !slices.Equal(asked, []string{"query list", "read config", "read event"}) || s.calls() != 1 {
		s.t.Errorf("%d model calls, calls %q", s.calls(), asked)
	}
	if diff := cmp.Diff(before, s.stored()); diff != "" {
		s.t.Errorf("changed: %.2000s", diff)
	}
}

func TestAThousandEventsAreReplayed(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(_ *testing.T, s *system) { s.replayed(1_000) })
}

// BenchmarkReplay replays ten thousand stored events on the embedded engine, whose query goes through the whole table.
func BenchmarkReplay(b *testing.B) {
	const n = 10_000
	s := start(b, local.Options{Speed: calm})
	s.replayed(n)
	b.ResetTimer()
	for b.Loop() {
		if r := s.ran("--reason", "to be sure"); r.Events != n || r.Finished != n {
			b.Fatalf("%+v", r)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
}
