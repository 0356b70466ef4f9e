package dynamo

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// A Statement is what tests look at of a statement.
type Statement struct {
	Update, When string
	Names        map[string]string
	Needs        []string
	Fixed        map[string]string
	Move, To     string
	From         []string
	Born         string
}

// Statements is every statement of expr.go by the name of its variable.
func Statements() map[string]Statement {
	all := map[string]Statement{}
	for name, s := range map[string]statement{
		"putEvent": putEvent, "putConflict": putConflict, "countSeen": countSeen, "settle": settle, "settleNaming": settleNaming, "park": park,
		"parkAlone": parkAlone, "pushSend": pushSend, "parkUnsent": parkUnsent, "reopenAny": reopenAny, "reopen": reopen, "replay": replay, "pushDue": pushDue,
		"claim": claim, "complete": complete, "retry": retry, "fail": fail, "supersede": supersede, "exhaust": exhaust, "raise": raise, "redrive": redrive,
		"putLosing": putLosing, "hold": hold, "renew": renew, "pause": pause,
		"putResult": putResult, "claimAddress": claimAddress, "putVersion": putVersion, "firstPointer": firstPointer, "movePointer": movePointer, "putEntry": putEntry,
	} {
		all[name] = exported(s)
		if kept := s.kept(); kept.update != s.update {
			all[name+" kept"] = exported(kept)
		}
	}
	return all
}

func exported(s statement) Statement {
	fixed := map[string]string{}
	for placeholder, value := range s.states {
		fixed[placeholder] = value.(*types.AttributeValueMemberS).Value
	}
	return Statement{s.update, s.when, s.names, s.needs, fixed, s.move.name, s.move.to, s.move.from, s.move.born}
}

// KeyConditions is every key condition of expr.go.
var KeyConditions = map[string]string{"collectionAfter": collectionAfter, "openBetween": openBetween, "listBefore": listBefore}

// Values is what a statement would send for the given values.
func Values(update, when string, given map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
	return write("test", update, when).values(given)
}

// SetPage makes every query ask for n items at a time.
func (t *Table) SetPage(n int32) { t.page = n }

// The readers and writers of items.
var (
	ReadEvent     = readEvent
	ReadOperation = readOperation
	ReadResult    = readResult
	ReadLosing    = readLosing
)

// ItemOverhead is what an update's values are taken to come on top of.
const ItemOverhead = itemOverhead
