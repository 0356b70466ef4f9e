package crash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A history holds each call that took effect against those before it: what the table at rest does not show any more.
type history struct {
	mu      sync.Mutex
	granted map[string]int64 // the token of the newest lease, by operation
}

type number struct{ N string }

type sentence struct{ S string }

// A write is what a call of the table says, as far as it is looked into.
type write struct {
	Key                       struct{ PK, SK sentence }
	ExpressionAttributeValues map[string]json.RawMessage
}

// took looks at a call that took effect, and says what it breaks.
func (h *history) took(w *world, e exchange) []string {
	switch {
	case e.call == "send event":
		return unstored(w, e)
	case e.call == "W1 put event" || e.sent == "":
		return nil
	}
	var in write
	if err := json.Unmarshal([]byte(e.sent), &in); err != nil {
		return []string{err.Error()}
	}
	key := in.Key.PK.S + " " + in.Key.SK.S
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.call == "W3 claim" {
		if h.granted == nil {
			h.granted = map[string]int64{}
		}
		h.granted[key] = 1 + formerToken(e.answer)
		return nil
	}
	var token number
	_ = json.Unmarshal(in.ExpressionAttributeValues[":token"], &token) // one that has none is older than all
	if n, _ := strconv.ParseInt(token.N, 10, 64); n < h.granted[key] {
		return []string{fmt.Sprintf("fenced: %s took effect with token %s, though lease %d was given", e.call, token.N, h.granted[key])}
	}
	return nil
}

// formerToken is the token of the item as it was before a claim.
func formerToken(answer *http.Response) int64 {
	raw, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(raw))
	var out struct{ Attributes struct{ Tok number } }
	if err != nil || json.Unmarshal(raw, &out) != nil {
		return 0
	}
	n, _ := strconv.ParseInt(out.Attributes.Tok.N, 10, 64)
	return n
}

// unstored says which event a message tells of that is not stored.
func unstored(w *world, e exchange) []string {
	var in struct{ MessageBody string }
	var message struct{ Event string }
	if json.Unmarshal([]byte(e.sent), &in) != nil || json.Unmarshal([]byte(in.MessageBody), &message) != nil || message.Event == "" {
		return []string{"send event: a message that tells of no event"}
	}
	if !w.stored(message.Event) {
		return []string{"durable-ack: a message was sent for " + message.Event + ", which is not stored"}
	}
	return nil
}

// stored tells whether an event is in the table.
func (w *world) stored(id string) bool {
	table := w.TableName()
	out := must(w.DynamoDB().GetItem(w.ctx, &dynamodb.GetItemInput{TableName: &table, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "E#" + id}, "sk": &types.AttributeValueMemberS{Value: "EVENT"},
	}}))
	return len(out.Item) > 0
}

// profile is what a flow leaves, but for what differs from run to run.
func (w *world) profile() string {
	var lines []string
	for _, i := range w.items() {
		switch {
		case i["sk"] == "EVENT":
			lines = append(lines, fmt.Sprintf("event %s %s", i["st"], i["how"]))
		case strings.HasPrefix(i["sk"], "O#") && !strings.Contains(i["sk"], "#LOST#"):
			attempts, _ := i.Attempts()
			line := fmt.Sprintf("%s operation %s, token %s, %s claims:", i["pk"], i["st"], i["tok"], i["cnt"])
			for _, a := range attempts {
				line += " " + string(a.Outcome)
			}
			lines = append(lines, line)
		case strings.HasPrefix(i["sk"], "R#"), strings.Contains(i["sk"], "#LOST#"):
			name, _, losing := strings.Cut(i["pk"]+" "+i["sk"], "#LOST#") // and whose it was
			lines = append(lines, fmt.Sprint(name, losing))
		}
	}
	lines = append(sorted(lines), w.answers...)
	return strings.Join(lines, "\n")
}

// carriedInOrder carries a call, or, where the world is to be wrong, the receiver's put behind its send.
func (w *watch) carriedInOrder(r *http.Request, call, sent string) (*http.Response, error) {
	if !w.swaps || w.put == nil && call != "W1 put event" {
		return w.carry(r)
	}
	if call == "W1 put event" {
		w.put = r.Clone(r.Context())
		w.put.Body = io.NopCloser(strings.NewReader(sent))
		return &http.Response{
			StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2,
		}, nil
	}
	answer, err := w.carry(r)
	if call == "send event" {
		late := w.put
		time.AfterFunc(time.Millisecond, func() { _, _ = w.carry(late) })
		w.put = nil
	}
	return answer, err
}
