package dynamo_test

import (
	"errors"
	"testing"
	"time"

	"engang/shared/audit"
	"engang/shared/dynamo/dynamotest"
)

// Whoever has another act pass for one that is recorded acts unseen.
func TestAnotherActIsNoRepeatOfARecordedOne(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		first := audit.Entry{Scope: shop, At: later(1), ID: "act_1", By: "ann", Act: "erase", Target: "product:794", Reason: "asked to", ExpiresAt: later(1000)}
		must(t, table.Audit(t.Context(), first))
		for _, c := range []struct {
			name   string
			change func(*audit.Entry)
			want   error
		}{
			{"the same", func(*audit.Entry) {}, nil},
			{"the same, kept for longer", func(e *audit.Entry) { e.ExpiresAt = later(2000) }, nil},
			{"the same, kept without end", func(e *audit.Entry) { e.ExpiresAt = time.Time{} }, nil},
			{"the same, with more of the time than is kept", func(e *audit.Entry) { e.At = e.At.Add(time.Microsecond).Local() }, nil},
			{"by another person", func(e *audit.Entry) { e.By = "eve" }, audit.ErrOther},
			{"another act", func(e *audit.Entry) { e.Act = "export" }, audit.ErrOther},
			{"on another object", func(e *audit.Entry) { e.Target = "product:8" }, audit.ErrOther},
			{"for another reason", func(e *audit.Entry) { e.Reason = "" }, audit.ErrOther},
		} {
			e := first
			c.change(&e)
			if err := table.Audit(t.Context(), e); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		got, err := table.AuditTrail(t.Context(), shop, noon)
		must(t, err)
		same(t, "trail", []audit.Entry{first}, got)
	})
}
