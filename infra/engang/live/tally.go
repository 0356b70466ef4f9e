package live

import (
	"fmt"
	"slices"
	"strings"

	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/operation"
)

// A tally counts what happened to the sample.
type tally struct {
	deliveries, events, attempts, results int

	paid     int // calls that were answered and had to be paid for
	unusable int // of these: nothing could be made of the answer
	refused  int // calls that the provider refused: not paid for
	failed   int // calls without an answer, or without one that says what was used
	silent   int // attempts that left no word, whether they called or not
	calls    int // as the stub counted them; zero without one
	cost     operation.Money
}

// What the story promises: of the first time, and of every other.
var (
	firstTime  = tally{deliveries: 3, events: 1, attempts: 2, paid: 1, silent: 1, calls: 1, results: 1}
	nothingNew = tally{deliveries: 3}
)

// calls is the other side's count: what was really called.
func (t *Story) calls() int {
	if stub := t.System.Stub(); stub != nil {
		return stub.Count()
	}
	return 0
}

// count counts what there is.
func (t *Story) count(doc control.Object) tally {
	n := tally{deliveries: doc.Deliveries, events: len(doc.Events), results: len(doc.Results), calls: t.calls()}
	for _, o := range doc.Operations {
		n.attempts += len(o.Attempts)
		n.cost += o.CostUSD
		for _, a := range o.Attempts {
			n.attempt(a)
		}
	}
	return n
}

func (n *tally) attempt(a control.Attempt) {
	switch {
	case a.Tokens != nil:
		n.paid++
		if a.Outcome != string(operation.Usable) && a.Outcome != string(operation.Flagged) {
			n.unusable++
		}
	case a.Called == nil:
		n.silent++
	case *a.Called && a.CostUSD == nil:
		n.failed++
	case *a.Called:
		n.refused++
	}
}

// since takes away what there was before.
func (n tally) since(b tally) tally {
	return tally{
		deliveries: n.deliveries - b.deliveries, events: n.events - b.events, attempts: n.attempts - b.attempts, results: n.results - b.results,
		paid: n.paid - b.paid, unusable: n.unusable - b.unusable, refused: n.refused - b.refused, failed: n.failed - b.failed,
		silent: n.silent - b.silent, calls: n.calls - b.calls, cost: n.cost - b.cost,
	}
}

// lost is how many calls nobody recorded: known where the other side counts, else it may be as many as
// left no word, but for the one whose worker was killed before it could call.
func (t *Story) lost(n tally) int {
	if t.System.Stub() == nil {
		return max(n.silent-t.promise.silent, 0)
	}
	return max(n.calls-n.paid-n.refused-n.failed, 0)
}

// headline is the sum in one line.
func (t *Story) headline(n tally) string {
	fresh := ""
	if t.promise == nothingNew {
		fresh = "new "
	}
	paid := text.Count(n.paid, "paid call", "paid calls")
	if n.unusable > 0 {
		paid += fmt.Sprintf(" (%d unusable; $%s)", n.unusable, n.cost)
	}
	parts := []string{text.Count(n.deliveries, "delivery", "deliveries"), text.Count(n.events, fresh+"event", fresh+"events"), paid}
	for _, more := range []struct {
		n         int
		one, many string
	}{
		{n.refused, "call refused by the provider (not paid)", "calls refused by the provider (not paid)"},
		{n.failed, "failed call (perhaps paid)", "failed calls (perhaps paid)"},
		{t.lost(n), "call whose answer was lost (perhaps paid)", "calls whose answers were lost (perhaps paid)"},
	} {
		if more.n > 0 {
			parts = append(parts, text.Count(more.n, more.one, more.many))
		}
	}
	return strings.Join(append(parts, text.Count(n.results, fresh+"result", fresh+"results")), ", ") + "."
}

// differences says which numbers are not as promised, each with the promised one.
func (t *Story) differences(n tally) string {
	var parts []string
	add := func(is, promised int, one, many string) {
		if is != promised {
			parts = append(parts, fmt.Sprintf("%s (%d)", text.Count(is, one, many), promised))
		}
	}
	p := t.promise
	add(n.deliveries, p.deliveries, "delivery", "deliveries")
	add(n.events, p.events, "event", "events")
	add(n.attempts, p.attempts, "attempt", "attempts")
	add(n.paid, p.paid, "paid call", "paid calls")
	add(n.unusable, 0, "unusable answer", "unusable answers")
	add(n.refused, 0, "refused call", "refused calls")
	add(n.failed, 0, "failed call", "failed calls")
	add(t.lost(n), 0, "lost answer", "lost answers")
	add(n.results, p.results, "result", "results")
	return strings.Join(parts, ", ")
}

// inReview tells whether something of an object waits for a person.
func inReview(doc control.Object) bool {
	return slices.ContainsFunc(doc.Operations, func(o control.Operation) bool { return o.Review != nil }) ||
		slices.ContainsFunc(doc.Events, func(e control.Event) bool { return e.State == "parked" })
}

// conclude sums up, and holds the numbers against the promise.
func (t *Story) conclude(doc control.Object) error {
	n := t.count(doc).since(t.before)
	w := t.Screen.Out
	fmt.Fprintf(w, "\n  %s", t.headline(n))
	space := " "
	if len(doc.Results) == 0 && inReview(doc) {
		fmt.Fprintf(w, "\n  There is no result: %s stands in review, and waits for a person. Why: %s", sampleObject, t.Screen.Suggest("show "+sampleObject))
		space = "\n  "
	}
	if !t.Once {
		fmt.Fprintf(w, space+"Try next, in another terminal:\n    %s        %s            %s", t.Screen.Suggest("show "+sampleObject), t.Screen.Suggest("events"), t.Screen.Suggest("send woocommerce/product.updated --repeat 50"))
	}
	fmt.Fprint(w, "\n\n")
	differences := t.differences(n)
	switch {
	case differences == "":
		return nil
	case t.Once:
		return fmt.Errorf("%w: %s", ErrPromise, differences)
	}
	fmt.Fprintf(w, "  %v: %s\n\n", ErrPromise, differences)
	return nil
}
