package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
)

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
		"parkAlone": parkAlone, "pushSend": pushSend, "parkUnsent": parkUnsent, "reopenAny": reopenAny, "reopenUnder": reopenUnder, "reopen": reopen, "replay": replay, "pushDue": pushDue,
		"claim": claim, "complete": complete, "retry": retry, "fail": fail, "supersede": supersede, "exhaust": exhaust, "raise": raise, "raiseListed": raiseListed, "raiseDecided": raiseDecided, "waitsFor": waitsFor, "handOver": handOver, "takeUp": takeUp, "asSeen": asSeen, "redrive": redrive,
		"putLosing": putLosing, "hold": hold, "renew": renew, "giveBack": giveBack,
		"approve": approve, "reject": reject, "setAside": setAside, "dismiss": dismiss, "cancel": cancel, "dismissEvent": dismissEvent, "dismissWith": dismissWith, "sameEvent": sameEvent, "needsEvent": needsEvent, "dismissConflict": dismissConflict,
		"openBreaker": openBreaker, "probeBreaker": probeBreaker, "closeBreaker": closeBreaker, "resumeBreaker": resumeBreaker, "putPause": putPause, "putPauseUntil": putPauseUntil, "removePause": removePause,
		"reserve": reserve, "correct": correct, "takeMinute": takeMinute, "putHead": putHead,
		"erase": erase, "eraseSettled": eraseSettled, "eraseConflict": eraseConflict, "removeSeen": removeSeen, "removeAny": removeAny,
		"firstCatchUp": firstCatchUp, "moveCatchUp": moveCatchUp, "noteDelivery": noteDelivery,
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
	return Statement{s.update, s.when, s.names(), s.needs(), fixed, s.move.name, s.move.to, s.move.from, s.move.born}
}

// KeyConditions is every key condition of expr.go.
var KeyConditions = map[string]string{"collectionAfter": collectionAfter, "collectionUntil": collectionUntil, "openBetween": openBetween, "listBefore": listBefore}

// Values is what a statement would send for the given values.
func Values(update, when string, given map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
	return write("test", update, when).values(given)
}

// SetPage makes every query ask for n items at a time.
func (t *Table) SetPage(n int32) { t.page = n }

// The readers and writers of items.
var (
	EventItem     = eventItem
	ReadEvent     = readEvent
	ReadOperation = readOperation
	ReadResult    = readResult
	ReadLosing    = readLosing
)

// ItemOverhead is what an update's values are taken to come on top of.
const ItemOverhead = itemOverhead

// KeyTexts is one key of each kind, as text.
func KeyTexts(id inbox.EventID, k operation.Key, endpoint string, at time.Time) map[string]string {
	joined := func(k key) string { return k.pk + " / " + k.sk }
	return map[string]string{
		"event": joined(eventKey(id)), "seen": joined(seenKey(id)), "conflict": joined(conflictKey(id, "d2")),
		"operation": joined(operationKey(k)), "losing": joined(losingKey(k, "att_1")), "result": joined(resultKey(k.Scope, k.Object, k.Recipe)),
		"address": joined(addressKey(endpoint)), "pointer": joined(pointerKey(k.Scope)), "audit": auditHash(k.Scope, at), "review": reviewStamp(at, k),
		"head": joined(headKey(k.Scope, k.Object, k.Recipe.Name)), "breaker": joined(breakerKey(pause.Model{Scope: k.Scope, Provider: "open ai", Name: "gpt#5"})),
		"pause": joined(pauseKey(pause.Target{Scope: k.Scope, Kind: pause.AModel, Name: "openai/gpt-5"})), "everything": joined(pauseKey(pause.Target{Scope: k.Scope, Kind: pause.Everything})),
		"day": joined(dayKey(k.Scope, k.Recipe.Name, "2026-11-29")), "minute": joined(minuteKey(k.Scope, k.Recipe.Name, "2026-11-29T12:00")),
		"catch-up": joined(catchUpKey(k.Scope, "a/b")), "heard": joined(heardKey(k.Scope, "a/b")),
		"version": joined(versionKey(config.Version{Scope: k.Scope, Kind: "recipe", Name: k.Recipe.Name, Version: k.Recipe.Version})),
	}
}

// ReadBack writes the key of an operation, or of its losing attempt, and reads it.
func ReadBack(k operation.Key, attempt operation.AttemptID) (operation.Key, operation.AttemptID, error) {
	written := operationKey(k)
	if attempt != "" {
		written = losingKey(k, attempt)
	}
	return readOperationKey(written.pk, written.sk)
}

// PauseBack writes the key of a pause and reads it.
func PauseBack(t pause.Target) (pause.Target, error) { return readPauseKey(pauseKey(t).sk) }

// ReadPauseKey reads what is paused from a sort key.
var ReadPauseKey = readPauseKey

// ReadOperationKey reads the key of an operation.
func ReadOperationKey(pk, sk string) (operation.Key, error) {
	k, _, err := readOperationKey(pk, sk)
	return k, err
}

// Shards says in which shard of either index an event is.
func Shards(s object.Scope, received time.Time, id inbox.EventID) (open, list string) {
	return openHash(id), listHash(s, received, id)
}
