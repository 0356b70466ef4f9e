package dynamo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// The attributes of items. Their names are stored: never renamed, never given another meaning. Short
// names keep a small event within one write unit; domain packages and the API have whole words.
//
//	event      st State, ten and env Scope, end Endpoint, prv Provider, typ Type, obj Object, rcv ReceivedAt, did DeliveryID, sid SenderID,
//	           wid WriteID, dig Digest, rank Rank, rcp Recipes "a@1,b@2", gen Generation, try Sends, body and len Body (bytes inline, text = key of the bucket),
//	           how Outcome, op Operations, why Reason, cat Category, at EndedAt, flaw and kind Reason and Category given at the put,
//	           many Batch, cau CaughtUp, dec dat dnt Dismissed, era Erased
//	conflict   at At, did DeliveryID, dec dat dnt Dismissed, era when it was erased
//	seen again num Count, first FirstAt, last LastAt
//	operation  st State, tok Token, fen Fences, own Owner, beg BegunAt, exp LeaseEnd, cnt Claims, nbf NotBefore, wid WriteID, ev Event, rank Rank,
//	           out Output, dig Digest, att Attempts as one JSON text, why Reason, cat Category, by at note Decision, dec dat dnt Dismissed
//	losing     att the Attempt as JSON text
//	result     rank Rank, op sort key of the operation, ev Event, out Output, dig Digest, at At
//	head       rank Rank, ev Event
//	breaker    st State, til Until, own Owner, why Reason, at At, wid WriteID
//	pause      til Until, by By, why Reason, at At
//	day        sum Sum (picodollars, as all money), r_att_… reserved by this attempt, cost of the calls that ended, lim limit of the last reservation
//	catch-up   since Since, cur Cursor, due Due, rev Revision, wid WriteID
//	heard      at when the sender was last heard
//	minute     num calls, r_att_… counted for this attempt, lim limit of the last one
//	all        oq od lq ld index keys, expires_at (TTL, seconds). Other times are milliseconds.
const expiresAt = "expires_at"

// An item is one item as it is stored.
type item map[string]types.AttributeValue

func str[S ~string](v S) types.AttributeValue { return &types.AttributeValueMemberS{Value: string(v)} }

func num[N ~int | ~int64](v N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(v), 10)}
}

func raw(v []byte) types.AttributeValue {
	if v == nil {
		v = []byte{} // nil would be no value at all
	}
	return &types.AttributeValueMemberB{Value: v}
}

// numbers is a set of one number.
func numbers(n int64) types.AttributeValue {
	return &types.AttributeValueMemberNS{Value: []string{strconv.FormatInt(n, 10)}}
}

func millis(t time.Time) types.AttributeValue { return num(t.UnixMilli()) }

func seconds(t time.Time) types.AttributeValue { return num(t.Unix()) }

func list(texts []string) types.AttributeValue {
	all := make([]types.AttributeValue, len(texts))
	for i, text := range texts {
		all[i] = str(text)
	}
	return &types.AttributeValueMemberL{Value: all}
}

// set puts texts that are not empty.
func (it item) set(texts map[string]string) {
	for name, text := range texts {
		if text != "" {
			it[name] = str(text)
		}
	}
}

// setExpiry puts the expiry, if there is one.
func (it item) setExpiry(t time.Time) {
	if !t.IsZero() {
		it[expiresAt] = seconds(t)
	}
}

// A reader reads attributes and keeps the first fault. An absent attribute is the zero value.
type reader struct {
	it  item
	err error
}

func (r *reader) fault(name string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("read attribute %s: %w", name, err)
	}
}

func (r *reader) text(name string) string {
	switch v := r.it[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.fault(name, fmt.Errorf("a %T where a text is expected", v))
	}
	return ""
}

func (r *reader) number(name string) int64 {
	switch v := r.it[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			r.fault(name, err)
		}
		return n
	default:
		r.fault(name, fmt.Errorf("a %T where a number is expected", v))
	}
	return 0
}

func (r *reader) bytes(name string) []byte {
	switch v := r.it[name].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		if len(v.Value) > 0 {
			return v.Value
		}
	case *types.AttributeValueMemberS: // the embedded engine's way to return no bytes
		if v.Value != "" {
			return []byte(v.Value)
		}
	default:
		r.fault(name, fmt.Errorf("a %T where bytes are expected", v))
	}
	return nil
}

// numbers reads a set of numbers, the smallest first.
func (r *reader) numbers(name string) (all []int64) {
	switch v := r.it[name].(type) {
	case nil:
	case *types.AttributeValueMemberNS:
		for _, text := range v.Value {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				r.fault(name, err)
			}
			all = append(all, n)
		}
	default:
		r.fault(name, fmt.Errorf("a %T where a set of numbers is expected", v))
	}
	slices.Sort(all)
	return all
}

func (r *reader) texts(name string) (all []string) {
	switch v := r.it[name].(type) {
	case nil:
	case *types.AttributeValueMemberL:
		for _, element := range v.Value {
			text, ok := element.(*types.AttributeValueMemberS)
			if !ok {
				r.fault(name, fmt.Errorf("a %T in a list of texts", element))
				return nil
			}
			all = append(all, text.Value)
		}
	default:
		r.fault(name, fmt.Errorf("a %T where a list is expected", v))
	}
	return all
}

func (r *reader) millis(name string) time.Time {
	if n := r.number(name); n != 0 {
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

func (r *reader) expiry() time.Time {
	if n := r.number(expiresAt); n != 0 {
		return time.Unix(n, 0).UTC()
	}
	return time.Time{}
}

// queued reads since when an item stands in the review list.
func (r *reader) queued() time.Time {
	if r.text("oq") != review {
		return time.Time{}
	}
	at, _, err := stamped(r.text("od"))
	if err != nil {
		r.fault("od", err)
	}
	return at
}

func (r *reader) json(name string, into any) {
	text := r.text(name)
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.fault(name, err)
	}
}

// recipesText is "a@1,b@2".
func recipesText(refs []inbox.RecipeRef) string {
	texts := make([]string, len(refs))
	for i, ref := range refs {
		texts[i] = ref.String()
	}
	return strings.Join(texts, ",")
}

func (r *reader) recipes(name string) (refs []inbox.RecipeRef) {
	text := r.text(name)
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		ref, err := inbox.ParseRecipeRef(part)
		if err != nil {
			r.fault(name, err)
		}
		refs = append(refs, ref)
	}
	return refs
}

// eventItem is an event as W1 stores it: received, and in both indexes.
func eventItem(ev inbox.Event) item {
	it := item{
		"st": str(inbox.Received), "rcv": millis(ev.ReceivedAt), "rcp": str(recipesText(ev.Recipes)), "gen": num(0), "try": num(0),
		"oq": str(openHash(ev.ID)), "od": str(stamp(ev.DueAt, string(ev.ID))),
		"lq": str(listHash(ev.Scope, ev.ReceivedAt, ev.ID)), "ld": str(stamp(ev.ReceivedAt, string(ev.ID))),
	}
	it.set(map[string]string{
		"ten": ev.Scope.Tenant, "env": ev.Scope.Environment, "end": ev.Endpoint, "prv": ev.Provider, "typ": ev.Type, "obj": ev.Object.String(),
		"did": ev.DeliveryID, "sid": ev.SenderID, "wid": ev.WriteID, "dig": ev.Digest, "rank": string(ev.Rank), "flaw": ev.Reason, "kind": ev.Category,
	})
	switch {
	case ev.Body.Key != "":
		it["body"] = str(ev.Body.Key)
	case len(ev.Body.Packed) > 0:
		it["body"] = raw(ev.Body.Packed)
	}
	if ev.Body.Bytes > 0 {
		it["len"] = num(ev.Body.Bytes)
	}
	if ev.Batch {
		it["many"] = num(1)
	}
	if ev.CaughtUp {
		it["cau"] = num(1)
	}
	return it
}

func readEvent(it item) (inbox.Event, error) {
	r := &reader{it: it}
	ev := inbox.Event{
		ID: inbox.EventID(strings.TrimPrefix(r.text("pk"), eventPrefix)), Scope: object.Scope{Tenant: r.text("ten"), Environment: r.text("env")},
		Endpoint: r.text("end"), Provider: r.text("prv"), Type: r.text("typ"), ReceivedAt: r.millis("rcv"), DeliveryID: r.text("did"), SenderID: r.text("sid"),
		Digest: r.text("dig"), Rank: object.Rank(r.text("rank")), Recipes: r.recipes("rcp"), Body: r.body(),
		State: inbox.State(r.text("st")), WriteID: r.text("wid"), Generation: int(r.number("gen")), Sends: int(r.number("try")),
		Batch: r.number("many") == 1, CaughtUp: r.number("cau") == 1, Operations: r.texts("op"), EndedAt: r.millis("at"), ExpiresAt: r.expiry(), Erased: r.millis("era"),
	}
	if err := ev.Object.UnmarshalText([]byte(r.text("obj"))); err != nil {
		r.fault("obj", err)
	}
	r.readEnd(&ev)
	return ev, r.err
}

// readEnd reads what depends on the state: reopening an event leaves what an earlier end wrote.
func (r *reader) readEnd(ev *inbox.Event) {
	switch ev.State {
	case inbox.Received:
		due, _, err := stamped(r.text("od"))
		if err != nil {
			r.fault("od", err)
		}
		ev.DueAt, ev.DueKey = due, r.text("od")
		ev.Reason, ev.Category = r.text("flaw"), r.text("kind")
		ev.Operations, ev.EndedAt = nil, time.Time{}
	case inbox.Settled:
		ev.Outcome = inbox.Outcome(r.text("how"))
		if ev.Outcome == inbox.Coalesced || ev.Outcome == inbox.Split {
			ev.Reason = r.text("why")
		}
	case inbox.Parked:
		ev.Reason, ev.Dismissed = r.text("why"), r.dismissed()
		queued := r.queued()
		if queued.IsZero() || queued.Equal(ev.EndedAt) {
			ev.Category = r.text("cat")
		} else { // W12, which once wrote neither time nor category nor operations
			ev.EndedAt, ev.Operations = queued, nil
		}
	}
}

// dismissed reads who took an item off the review list.
func (r *reader) dismissed() *inbox.Dismissed {
	if r.text("dec") == "" {
		return nil
	}
	return &inbox.Dismissed{By: r.text("dec"), At: r.millis("dat"), Note: r.text("dnt")}
}

// body reads where the bytes are: inline, or the key of the bucket as a text.
func (r *reader) body() inbox.Body {
	b := inbox.Body{Bytes: int(r.number("len"))}
	if _, isText := r.it["body"].(*types.AttributeValueMemberS); isText {
		b.Key = r.text("body")
	} else {
		b.Packed = r.bytes("body")
	}
	return b
}

func readOperation(it item) (operation.Operation, error) {
	r := &reader{it: it}
	k, _, err := readOperationKey(r.text("pk"), r.text("sk"))
	if err != nil {
		return operation.Operation{}, err
	}
	op := operation.Operation{
		Key: k, State: operation.State(r.text("st")), Token: r.number("tok"), Fences: r.numbers("fen"), Owner: operation.AttemptID(r.text("own")), BegunAt: r.millis("beg"), LeaseEnd: r.millis("exp"),
		Claims: int(r.number("cnt")), NotBefore: r.millis("nbf"), WriteID: r.text("wid"), Event: inbox.EventID(r.text("ev")), Rank: object.Rank(r.text("rank")),
		Output: r.bytes("out"), Digest: r.text("dig"), Reason: r.text("why"), Category: operation.Category(r.text("cat")), QueuedAt: r.queued(), ExpiresAt: r.expiry(),
	}
	r.json("att", &op.Attempts)
	if by := r.text("by"); by != "" {
		op.Decision = &operation.Decision{By: by, At: r.millis("at"), Note: r.text("note")}
	}
	if d := r.dismissed(); d != nil {
		op.Dismissed = &operation.Decision{By: d.By, At: d.At, Note: d.Note}
	}
	if op.State != operation.Failed { // of a failure before: a redrive leaves it
		op.Category = ""
	}
	if op.State == operation.Failed && op.Decision == nil && givenUp(op) { // W9, which writes no category
		op.Category = operation.CategoryTransient
	}
	return op, r.err
}

// givenUp tells whether the last attempt of a failed operation never reported an end, or none of them
// said what went wrong.
func givenUp(op operation.Operation) bool {
	n := len(op.Attempts)
	return op.Category == "" || n == 0 || op.Attempts[n-1].FencingToken < op.Token
}

func resultItem(res operation.Result) item {
	it := item{"rank": str(res.Rank), "op": str(operationSort(res.Operation)), "out": raw(res.Output), "at": millis(res.At)}
	it.set(map[string]string{"ev": string(res.Event), "dig": res.Digest})
	it.setExpiry(res.ExpiresAt)
	return it
}

func readResult(it item) (operation.Result, error) {
	r := &reader{it: it}
	pk := r.text("pk")
	k, _, err := readOperationKey(pk, r.text("op"))
	if err != nil {
		return operation.Result{}, err
	}
	name, version, _ := strings.Cut(strings.TrimPrefix(r.text("sk"), resultPrefix), "#")
	ref, err := readRecipe(name, version)
	if err != nil {
		return operation.Result{}, err
	}
	return operation.Result{
		Scope: k.Scope, Object: k.Object, Recipe: ref, Rank: object.Rank(r.text("rank")), Operation: k, Event: inbox.EventID(r.text("ev")),
		Output: r.bytes("out"), Digest: r.text("dig"), At: r.millis("at"), ExpiresAt: r.expiry(),
	}, r.err
}
