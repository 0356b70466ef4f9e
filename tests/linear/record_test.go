package linear_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/telemetry"
)

// A try is one request of an act, from when it was sent to when its answer was there.
type try struct {
	call       string
	begin, end int64
	refused    bool // by a condition
	failed     bool // for another reason: it had no effect, and says nothing
	lost       bool // its answer did not come through
}

func (y try) reads() bool { return strings.HasPrefix(y.call, "read ") }

// A trace is every try of one act.
type trace struct{ tries []try }

type traceKey struct{}

// A recorder is a transport that keeps when each request was sent and answered, and loses some of the answers.
type recorder struct {
	next   http.RoundTripper
	loss   float64 // of answers to writes
	tokens bool    // the engine knows a transaction again by its request token, as DynamoDB does

	mu      sync.Mutex
	random  *rand.Rand
	history history
	told    map[reason]int
	done    map[string]int // acts that were granted, by their first word
	losses  int
}

var began = time.Now()

func now() int64 { return time.Since(began).Nanoseconds() }

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	y := try{call: telemetry.Call(q.Context()), begin: now()}
	answer, err := r.next.RoundTrip(q)
	if err == nil {
		var raw []byte
		raw, err = io.ReadAll(answer.Body)
		err = errors.Join(err, answer.Body.Close())
		answer.Body = io.NopCloser(bytes.NewReader(raw))
		y.refused = answer.StatusCode != http.StatusOK && bytes.Contains(raw, []byte("ConditionalCheckFailed"))
		y.failed = answer.StatusCode != http.StatusOK && !y.refused
	}
	y.end = now()
	if y.lost = err == nil && r.loses(y); y.lost {
		answer, err = nil, dynamotest.ErrLost
	}
	if t, ok := q.Context().Value(traceKey{}).(*trace); ok { // one act makes one request at a time
		t.tries = append(t.tries, y)
	}
	return answer, err
}

func (r *recorder) loses(y try) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := !y.reads() && r.random.Float64() < r.loss
	if lost {
		r.losses++
	}
	return lost
}

// keep does an act and keeps it with what was told. An act of several requests is kept as several: of one whose answer
// was lost it is known here what the answer was; what an engine shows of a refusal only when asked again was seen later
// than it refused.
func (r *recorder) keep(ctx context.Context, client int, did act, do func(context.Context) (outcome, error)) (outcome, error) {
	t := &trace{}
	told, err := do(context.WithValue(ctx, traceKey{}, t))
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(did act, told outcome, y *try) {
		r.history = append(r.history, porcupine.Operation{ClientId: client, Input: did, Output: told, Call: y.begin, Return: y.end})
	}
	before := false // it took effect, and its answer was lost
	last, look := r.requests(t, func(y *try, why reason) {
		if why != granted || !before || !r.knows(did) {
			add(did, outcome{Why: why}, y)
		}
		before = before || why == granted
	})
	_, looks := did.(looking)
	switch {
	case told.Why == outsideOfModel && last == nil && look == nil && len(t.tries) > 0: // no answer came through
		told.Why, err = "?", nil
	case told.Why == outsideOfModel:
		return told, err
	case looks:
		add(did, told, look)
	case told.Why == granted && last.refused: // and taken for done by what stood there
		told.Why = done
		if look == nil {
			look = last
		}
		add(did, told, look)
	case told.Why == granted && before && r.knows(did): // it did nothing
	case told.Why != granted && look != nil:
		add(did, outcome{Why: told.Why}, last)
		if told.Saw != nil {
			add(looking{}, outcome{Why: onlyLookedAt, Saw: told.Saw}, look)
		}
	default:
		add(did, told, last)
	}
	r.told[told.Why]++
	if told.Why == granted {
		name, _, _ := strings.Cut(did.String(), " ")
		r.done[name]++
	}
	return told, err
}

// knows tells whether the engine answers a repeat of this act as the act, and does nothing: of transactions. Any other
// repeat takes effect once more where its condition holds again: a redrive, say, that somebody cancelled in between.
func (r *recorder) knows(did act) bool {
	switch did.(type) {
	case redriving, approving:
		return r.tokens
	}
	return false
}

// requests goes through the requests of an act: each whose answer was lost is told of, and the last one that came
// through is returned, with the last look.
func (r *recorder) requests(t *trace, lost func(*try, reason)) (last, look *try) {
	for i := range t.tries {
		switch y := &t.tries[i]; {
		case y.reads():
			look = y
		case y.failed:
		case !y.lost:
			last = y
		case y.refused:
			lost(y, refusedSomehow)
		default:
			lost(y, granted)
		}
	}
	return last, look
}

// weak is a transport that takes a part of a condition out of each request of one call.
type weak struct {
	next          http.RoundTripper
	call          string
	part, instead string
}

func (w weak) RoundTrip(q *http.Request) (*http.Response, error) {
	if telemetry.Call(q.Context()) != w.call {
		return w.next.RoundTrip(q)
	}
	raw, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	var doc any
	if err := errors.Join(q.Body.Close(), json.Unmarshal(raw, &doc)); err != nil {
		return nil, err
	}
	w.weaken(doc)
	if raw, err = json.Marshal(doc); err != nil {
		return nil, err
	}
	q = q.Clone(q.Context())
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	q.GetBody = nil
	return w.next.RoundTrip(q)
}

// weaken changes every condition below a node.
func (w weak) weaken(node any) {
	switch node := node.(type) {
	case map[string]any:
		for name, below := range node {
			if text, ok := below.(string); ok && name == "ConditionExpression" {
				node[name] = strings.ReplaceAll(text, w.part, w.instead)
			}
			w.weaken(below)
		}
	case []any:
		for _, below := range node {
			w.weaken(below)
		}
	}
}
