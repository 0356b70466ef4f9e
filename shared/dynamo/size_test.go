package dynamo_test

import (
	"engang/shared/config"

	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
)

func TestItemSizes(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	for _, tt := range []struct {
		name  string
		value types.AttributeValue
		size  int // of the value alone
	}{
		{"text", text("abc"), 3},
		{"text in UTF-8", text("é€"), 5},
		{"no text", text(""), 0},
		{"bytes", &types.AttributeValueMemberB{Value: make([]byte, 7)}, 7},
		{"small number", number("7"), 2},
		{"two digits", number("42"), 2},
		{"three digits", number("428"), 3},
		{"zeros at the end do not count", number("1795953600000"), 5},
		{"zero", number("0"), 1},
		{"minus", number("-1"), 3},
		{"fraction", number("0.0012"), 2},
		{"power", number("1.5E10"), 2},
		{"truth", &types.AttributeValueMemberBOOL{Value: true}, 1},
		{"nothing", &types.AttributeValueMemberNULL{Value: true}, 1},
		{"empty list", &types.AttributeValueMemberL{}, 3},
		{"list", &types.AttributeValueMemberL{Value: []types.AttributeValue{text("ab"), number("1")}}, 3 + 2 + 2 + 2},
		{"map", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"ab": text("c")}}, 3 + 1 + 3},
		{"set of texts", &types.AttributeValueMemberSS{Value: []string{"ab", "c"}}, 3},
		{"set of bytes", &types.AttributeValueMemberBS{Value: [][]byte{{1, 2}, {3}}}, 3},
		{"set of numbers", &types.AttributeValueMemberNS{Value: []string{"1", "428"}}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := dynamo.ItemSize(map[string]types.AttributeValue{"name": tt.value}); got != len("name")+tt.size {
				t.Errorf("%d bytes, want %d and the name", got-len("name"), tt.size)
			}
		})
	}
}

// The reference engine bills by what we compute: an item of exactly 1 KB costs one unit, a byte more two.
func TestItemSizesAreWhatIsBilled(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		if !db.Reference() {
			return // it bills nothing; TestItemSizes holds what we compute
		}
		oneOfEach(t, db, db.Open(nil))
		for name, it := range snapshot(t, db) {
			for more, want := range []float64{1, 2} { // an update costs the larger of before and after
				it["filler"] = &types.AttributeValueMemberS{}
				it["filler"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", 1024-dynamo.ItemSize(it)+more)}
				out, err := db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &db.TableName, Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
				if err != nil {
					t.Fatal(err)
				}
				if got := *out.ConsumedCapacity.Table.CapacityUnits; got != want {
					t.Errorf("%s with %d bytes cost %v units, want %v", name, dynamo.ItemSize(it), got, want)
				}
			}
		}
	})
}

// The limit is on the byte: what DynamoDB takes is sent, what it refuses is not.
func TestTheLargestItemIsStored(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		version := config.Version{Scope: shop, Kind: "recipe", Name: "card", Version: 1, Digest: "d"}
		rest := len("pk"+"C#shop#test") + len("sk"+"recipe#card#000001") + len("json") + len("dig"+"d")
		for _, over := range []int{0, 1} {
			version.Version = 1 + over
			version.JSON = []byte(strings.Repeat("x", dynamo.MaxItemSize-rest+over))
			if err := table.PutVersion(t.Context(), version); (err == nil) != (over == 0) {
				t.Errorf("%d bytes over the limit: %.200s", over, fmt.Sprint(err))
			}
		}
	})
}
