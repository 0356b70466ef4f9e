package wire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// A shape is how a call is told from what is sent: the calls of another process come without their names.
type shape struct{ name, part string }

// updates are the writes that change an item, by a part of their expression that no other one before them in this
// list has.
var updates = []shape{
	{"SEEN", "SET #first = if_not_exists"},
	{"erase", "#era = :now"},
	{"W27 dismiss", "SET #dec = :person"},
	{"W27 dismiss", "SET #gen = :generation"},
	{"W27 dismiss", "SET #ev = :event"},
	{"cancel", "#why = :because"},
	{"W17 approve", "#st = :completed, #by"},
	{"W18 reject", "#st = :rejected"},
	{"W19 set aside", "#st = :superseded, #cnt = :zero"},
	{"W8 supersede", "#st = :superseded"},
	{"W4 complete", "#st = :completed"},
	{"W16 draft", "#st = :review"},
	{"W3 claim", "ADD #tok :one"},
	{"W9 exhaust", "#st = :failed"},
	{"W24 pause", "#st = :pending, #nbf = :now, #att"},
	{"W13 redrive", "#cnt = :zero, #wid = :write REMOVE #oq"},
	{"W20 renew", "#cnt = :zero, #wid = :write REMOVE #out"},
	{"W7 fail", "#st = :next, #att = :log, #wid = :write, #why"},
	{"W7 retry", "#st = :next, #att"},
	{"W10 raise", "SET #rank = :rank, #ev"},
	{"W10 raise", "#how = :outcome, #at = :now, #why"},
	{"W10 raise", "#st = :next, #oq"},
	{"W10 raise", "SET #gen = :stands"},
	{"W6 settle", "#st = :next"},
	{"W6 settle", "SET #ev = :waiting"},
	{"W12 park unsent", "#st = :parked, #why = :reason, #at"},
	{"W6r park", "#st = :parked"},
	{"W14 replay", "#st = :received, #rcp"},
	{"W13 redrive", "#st = :received"},
	{"W22 push due", "SET #od = :next, #try"},
	{"W11 push send", "SET #od = :next"},
	{"W23 open breaker", "#st = :open"},
	{"W25 probe", "SET #til = :next, #own"},
	{"W26 close breaker", "#st = :closed"},
	{"W28 reserve", "ADD #sum :worst"},
	{"correct spend", "ADD #sum :difference"},
	{"take minute", "#res = :one"},
}

// puts and removals are told by the keys of the item, and so are reads.
var puts = []shape{
	{"W2 conflict", "sk CONFLICT#"}, {"W1 put event", "pk E#"}, {"W15 losing attempt", "#LOST#"}, {"W5 result", "sk R#"}, {"W21 head", "sk H#"},
	{"write pause", "pk K#pause"}, {"write catch-up", "pk K#catchup#"}, {"note delivery", "pk K#last#"}, {"write config", "pk C#"}, {"audit", "pk A#"},
}

var removals = []shape{{"write pause", "pk K#pause"}, {"erase", ""}}

var reads = []shape{
	{"read event", "pk E#"}, {"read config", "pk C#"}, {"read result", "sk R#"}, {"read head", "sk H#"}, {"read breaker", "sk BREAKER"},
	{"read spend", "pk K#spend#"}, {"read catch-up", "pk K#catchup#"}, {"read last delivery", "pk K#last#"}, {"read operation", ""},
}

var queries = []shape{
	{"query review", "open review"}, {"query open", "open "}, {"query list", "list "}, {"audit", " A#"}, {"read event", " E#"}, {"query object", " B#"},
	{"read pauses", " K#pause"}, {"read config", " C#"},
}

// others are the calls that their own name tells.
var others = map[string]string{
	"GetParameters": "read secrets", "PutParameter": "write secret", "GetParametersByPath": "list secrets", "DeleteParameter": "remove secret",
	"SendMessage": "send event", "ChangeMessageVisibility": "change visibility", "GetQueueAttributes": "read backlog",
	"ReceiveMessage": "receive letters", "ChangeMessageVisibilityBatch": "return letters", "DeleteMessageBatch": "delete letters",
	"PUT": "put body", "GET": "read body", "DELETE": "erase body",
}

type text struct{ S string }

type keys struct {
	PK text `json:"pk"`
	SK text `json:"sk"`
}

// told finds the first shape that a text has.
func told(text string, shapes []shape) string {
	for _, s := range shapes {
		if strings.Contains(text, s.part) {
			return s.name
		}
	}
	return ""
}

// NameOf tells a call by what is sent, as the code names it: for calls that come from another process. A call that
// is not known has no name. What is no call of AWS is a model's.
func NameOf(r *http.Request, body []byte) string {
	target := r.Header.Get("X-Amz-Target")
	service, action, _ := strings.Cut(target, ".")
	switch {
	case service == "":
		return nameWithoutTarget(r)
	case !strings.HasPrefix(service, "DynamoDB_"):
		if action == "SendMessage" && strings.Contains(string(body), `"MessageAttributes"`) {
			return "send notice"
		}
		return others[action]
	}
	var in struct {
		Key, Item                 keys
		UpdateExpression          string
		IndexName                 string
		ExpressionAttributeValues map[string]text
		TransactItems             []map[string]struct{ UpdateExpression string }
	}
	_ = json.Unmarshal(body, &in) // values that are no text stay empty: they tell nothing
	switch action {
	case "UpdateItem":
		return told(in.UpdateExpression, updates)
	case "TransactWriteItems":
		if len(in.TransactItems) > 0 {
			return told(in.TransactItems[0]["Update"].UpdateExpression, updates)
		}
	case "PutItem":
		return told(in.Item.String(), puts)
	case "DeleteItem":
		return told(in.Key.String(), removals)
	case "GetItem":
		return told(in.Key.String(), reads)
	case "Query":
		hash := in.ExpressionAttributeValues[":shard"].S + in.ExpressionAttributeValues[":hash"].S
		return told(in.IndexName+" "+hash, queries)
	}
	return ""
}

func nameWithoutTarget(r *http.Request) string {
	if service(r) != "s3" {
		return "model call"
	}
	if r.URL.Query().Has("list-type") {
		return "list bodies"
	}
	return others[r.Method]
}

func (k keys) String() string { return "pk " + k.PK.S + " sk " + k.SK.S }
