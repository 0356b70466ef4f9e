package control_test

import (
	"fmt"
	"testing"
	"time"

	"engang/shared/operation"
)

// What nobody knows is not shown as nothing: a call without an answer may have been paid for.
func TestWhatAnAttemptCostIsKnownOrNot(t *testing.T) {
	const cost = 200_000_000
	for _, c := range []struct {
		name    string
		attempt operation.Attempt
		want    string // called, cost, whether the operation's cost is a lower bound
	}{
		{"answered, and paid for", operation.Attempt{Outcome: operation.Unusable, Called: true, HTTPStatus: 200, Tokens: &operation.Tokens{Input: 9}, CostUSD: cost}, `true "0.000200" false`},
		{"refused by the provider", operation.Attempt{Outcome: operation.Transient, Called: true, HTTPStatus: 429}, `true "0.000000" false`},
		{"nothing was sent", operation.Attempt{Outcome: operation.Transient}, `false "0.000000" false`},
		{"the output was there already", operation.Attempt{Outcome: operation.Usable}, `false "0.000000" false`},
		{"no answer came", operation.Attempt{Outcome: operation.Transient, Called: true}, `true null true`},
		{"a fault of the provider's own", operation.Attempt{Outcome: operation.Transient, Called: true, HTTPStatus: 504}, `true null true`},
		{"answered without its usage", operation.Attempt{Outcome: operation.Unusable, Called: true, HTTPStatus: 200}, `true null true`},
		{"nobody recorded an outcome", operation.Attempt{Outcome: operation.Lost}, `null null true`},
	} {
		m := newMemory()
		op := m.operation(m.event(1, "product:1", 5), "aa")
		c.attempt.ID, c.attempt.FencingToken = "att_1", 1
		m.ops[0].Attempts = []operation.Attempt{c.attempt}
		got, err := m.control().Show(t.Context(), shop, op.Key.String(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		a := got.Operation.Attempts[0]
		if is := fmt.Sprint(toJSON(t, a.Called), " ", toJSON(t, a.CostUSD), " ", got.Operation.CostAtLeast); is != c.want {
			t.Errorf("%s: %s, want %s", c.name, is, c.want)
		}
	}
}

// The attempt that runs may have called already, or not yet.
func TestAnAttemptThatRunsIsNotSaidToHaveCostNothing(t *testing.T) {
	m := newMemory()
	op := m.operation(m.event(1, "product:1", 5), "aa")
	m.ops[0].State, m.ops[0].Owner, m.ops[0].Attempts = operation.Running, "att_2", m.ops[0].Attempts[:1]
	got, err := m.control().Show(t.Context(), shop, op.Key.String(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if a := got.Operation.Attempts; len(a) != 2 || a[1].Called != nil || a[1].CostUSD != nil || !got.Operation.CostAtLeast {
		t.Errorf("attempts %s", toJSON(t, a))
	}
}

// A redrive leaves why the operation failed before; once it has another end, that is no reason any more.
func TestAReasonIsShownWhileItHolds(t *testing.T) {
	for state, shown := range map[operation.State]bool{operation.Failed: true, operation.Review: true, operation.Pending: false, operation.Running: false, operation.Completed: false} {
		m := newMemory()
		op := m.operation(m.event(1, "product:1", 5), "aa")
		m.ops[0].State, m.ops[0].Reason, m.ops[0].Category = state, "refusal", operation.CategoryUnusableOutput
		got, err := m.control().Show(t.Context(), shop, op.Key.String(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if o := got.Operation; (o.Reason != "") != shown || (o.Category != "") != shown {
			t.Errorf("%s: reason %q, category %q", state, o.Reason, o.Category)
		}
	}
}
