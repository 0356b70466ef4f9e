package dynamo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxItemSize is the most bytes that DynamoDB stores as one item, names included.
const MaxItemSize = 400 << 10

// itemOverhead stands for what an update's values come on top of: keys, names, and the attributes that
// other writes left.
const itemOverhead = 4 << 10

// ErrTooLarge says that an item would be over [MaxItemSize]. Nothing was written, and a repeat is useless.
var ErrTooLarge = errors.New("item over 400 KB")

func fits(size int) error {
	if size > MaxItemSize {
		return fmt.Errorf("%d bytes: %w", size, ErrTooLarge)
	}
	return nil
}

// ItemSize computes the size of an item in bytes as DynamoDB bills and limits it: names and values in
// UTF-8, numbers by their digits, 3 bytes and one for each element for a list or a map.
func ItemSize(it map[string]types.AttributeValue) int {
	size := 0
	for name, value := range it {
		size += len(name) + valueSize(value)
	}
	return size
}

func valueSize(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberL:
		size := 3
		for _, element := range v.Value {
			size += 1 + valueSize(element)
		}
		return size
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + ItemSize(v.Value)
	case *types.AttributeValueMemberSS:
		return len(strings.Join(v.Value, ""))
	case *types.AttributeValueMemberBS:
		size := 0
		for _, element := range v.Value {
			size += len(element)
		}
		return size
	case *types.AttributeValueMemberNS:
		size := 0
		for _, element := range v.Value {
			size += numberSize(element)
		}
		return size
	}
	return 1 // null, boolean
}

// numberSize is one byte for every two significant digits, one more, and one for a minus sign.
func numberSize(text string) int {
	digits, minus := strings.CutPrefix(text, "-")
	digits, _, _ = strings.Cut(strings.ToLower(digits), "e")
	digits = strings.Trim(strings.Replace(digits, ".", "", 1), "0")
	size := (len(digits)+1)/2 + 1
	if minus {
		size++
	}
	return size
}
