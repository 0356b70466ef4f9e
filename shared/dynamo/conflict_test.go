package dynamo_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// A meeting answers the first calls of a name as the store does while another transaction is under way.
type meeting struct {
	call, answer string
	times        int
	met, passed  int
}

func (m *meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) != m.call {
		return http.DefaultTransport.RoundTrip(r)
	}
	if m.met == m.times {
		m.passed++
		return http.DefaultTransport.RoundTrip(r)
	}
	m.met++
	return &http.Response{
		StatusCode: http.StatusBadRequest, ProtoMajor: 1, Request: r, Body: io.NopCloser(bytes.NewReader([]byte(m.answer))),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

const (
	exception = `{"__type":"com.amazonaws.dynamodb.v20120810#`
	cancelled = exception + `TransactionCanceledException","Message":"cancelled","CancellationReasons":[`
	conflict  = cancelled + `{"Code":"None"},{"Code":"TransactionConflict"}]}`
	mixed     = cancelled + `{"Code":"ConditionalCheckFailed"},{"Code":"TransactionConflict"}]}`
	busy      = exception + `TransactionConflictException","message":"a transaction is under way"}`
)

func TestAConflictOfTransactionsDecidesNothing(t *testing.T) {
	redrive := func(t *testing.T, table *dynamo.Table) error {
		return table.Redrive(t.Context(), operation.Redrive{Key: work, Seen: operation.Failed, Token: 1, Event: eventID(1), WriteID: "r", Now: later(500), Due: later(800)})
	}
	push := func(t *testing.T, table *dynamo.Table) error {
		return table.PushDue(t.Context(), eventID(1), 0, later(900))
	}
	for _, tt := range []struct {
		name    string
		meeting meeting
		before  func(t *testing.T, db dynamotest.DB, table *dynamo.Table)
		do      func(t *testing.T, table *dynamo.Table) error
	}{
		{"a transaction", meeting{call: "W13 redrive", answer: conflict, times: 2}, failed, redrive},
		{"a transaction, beside a condition that is refused until the other one is through", meeting{call: "W13 redrive", answer: mixed, times: 2}, failed, redrive},
		{"a transaction with a whole item", meeting{call: "W17 approve", answer: conflict, times: 2}, held, func(t *testing.T, table *dynamo.Table) error {
			return table.Approve(t.Context(), approval(1))
		}},
		{"a plain update", meeting{call: "W22 push due", answer: busy, times: 2}, sent, push},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				tt.before(t, db, db.Open(nil))
				m := tt.meeting
				if err := tt.do(t, db.Open(&m)); err != nil || m.met != 2 || m.passed != 1 {
					t.Errorf("%d conflicts and %d calls more: %v", m.met, m.passed, err)
				}
			})
		})
	}
}

// What goes on without end is told as what it is, and as no decision.
func TestAConflictThatDoesNotEndIsAnError(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		failed(t, db, db.Open(nil))
		stored := snapshot(t, db)
		m := meeting{call: "W13 redrive", answer: conflict, times: -1}
		err := db.Open(&m).Redrive(t.Context(), operation.Redrive{Key: work, Seen: operation.Failed, Token: 1, Event: eventID(1), WriteID: "r", Now: later(500), Due: later(800)})
		if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok || errors.Is(err, inbox.ErrNotFound) || m.met != dynamotest.Tries {
			t.Errorf("after %d tries: %v", m.met, err)
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("something was written (-before +after):\n%s", diff)
		}
	})
}
