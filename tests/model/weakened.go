package model

// A Weakening is the protocol with one rule taken away. Each must break what it says; one that passes would mean
// that the check cannot fail.
type Weakening struct {
	Name     string
	Scenario string
	Breaks   string // what the violation begins with
	About    string
	budget   *budget // instead of the scenario's, to stay small
}

func few(b budget) *budget { return &b }

var (
	noFault   = few(budget{})
	twoStalls = few(faults(2, 0, 0, 0).late(2, 0))
	looked    = few(budget{look: 2})
)

// weakened are those of infra/protocol.md sections 1 to 9.
var weakened = []Weakening{
	{"complete-unconditional", "dup", "fenced", "completion written without any condition (as AWS Powertools does in four languages)", twoStalls},
	{"complete-no-token", "dup", "fenced", "completion conditional on state running only, no token", twoStalls},
	{"holder-clock", "dup", "fenced", "holder looks at its own clock, then writes without the token", nil},
	{"lease-deleted-by-ttl", "ttl", "fenced", "the clean-up removes a lease that is over; the token starts at 1 again; conditions compare the token only", nil},
	{"design-literal", "dup", "fenced", "result written, by rank and then token, before the operation is completed", nil},
	{"no-skew-allowance", "dup", "one-paid-call", "a claimant whose clock is ahead takes a lease that still runs", few(faults(2, 0, 0, 0).late(1, 1))},
	{"no-write-id-put", "dup", "own-write", "the receiver does not recognise its own put", nil},
	{"no-write-id-claim", "dup", "own-write", "the worker does not recognise its own claim", nil},
	{"no-write-id-complete", "dup", "own-write", "the worker does not recognise its own completion", nil},
	{"result-token-only", "order", "newest-wins", "result guarded by the token only", nil},
	{"result-version-only", "tie", "newest-wins", "result guarded by version <, no order within a second", noFault},
	{"result-version-le", "tie", "newest-wins", "result guarded by version <=, last writer wins within a second", nil},
	{"echo-no-raise", "echo", "settled-means-result", "same input under another event is linked, the result is not touched", nil},
	{"superseded-final", "aba", "settled-means-result", "superseded is a final state of the operation", noFault},
	{"superseded-by-seen", "order", "settled-means-result", "superseded decided by the newest event seen, not by the newest result", nil},
	{"superseded-before-claim", "order", "no-dead-ends", "superseded decided before the claim, the operation not told", few(budget{bad: 1})},
	{"settle-before-result", "dup", "settled-means-result", "event settled before the result is written", nil},
	{"enqueue-before-put", "dup", "ref-stored", "reference sent before the put", nil},
	{"ack-before-put", "dup", "durable-ack", "answered before the put", nil},
	{"no-reconciler", "dup", "no-dead-ends", "no reconciler: the receiver dies between put and send", few(faults(2, 2, 0, 0))},
	{"reconcile-without-age", "dup", "false-park", "reconciler takes events of any age", nil},
	{"recipe-not-pinned", "raise", "one-operation", "recipe version read from the worker's own cache instead of the event", nil},
	{"conflict-overwrites", "conflict", "conflict", "second body under the same key replaces the first", nil},
	{"no-generation", "review", "no-dead-ends", "settle compares the state of the event, not its generation", few(faults(1, 0, 0, 1).late(1, 0).acts(1, 0).with(1, 0))},
	{"redrive-not-atomic", "redrive", "no-dead-ends", "operation reopened in one write, event in a second", few(faults(1, 1, 0, 0).calls(0, 1).acts(1, 0))},
	{"no-link-raise", "redrive", "false-park", "an event parked on a failed operation does not raise the operation's rank", few(budget{badT: 1, red: 1})},
}

// weakenedOnTop are those of section 10.
var weakenedOnTop = []Weakening{
	{"draft-no-token", "review", "fenced", "the draft is written by a worker whose lease was taken over", twoStalls},
	{"approve-without-digest", "review", "approved-bytes", "approval compares state and rank, not the bytes looked at", nil},
	{"approve-without-rank", "review-echo", "settled-means-result", "approval publishes with the rank looked at, although an echo has raised it", nil},
	{"approve-without-state", "review", "one-decision", "approval compares digest and rank only: it passes after a rejection", nil},
	{"reject-without-state", "review", "one-decision", "rejection compares the digest only: it passes after an approval", nil},
	{"reject-without-digest", "review", "approved-bytes", "rejection compares the state only", nil},
	{"approve-not-atomic", "review", "settled-means-result", "operation approved in one write, result in a second", nil},
	{"approve-result-unconditional", "review-order", "newest-wins", "approval of an older draft replaces the newer result", nil},
	{"review-no-raise", "review-echo", "settled-means-result", "an event that meets a draft of its content does not raise the draft's rank", nil},
	{"drop-without-rank", "review-aba", "settled-means-result", "a draft is set aside as older although an echo has raised it meanwhile", looked},
	{"draft-is-called-again", "review-aba", "one-paid-call", "a draft set aside as older is called again when its content comes back", looked},
	{"rejected-is-claimable", "review-echo", "one-decision", "a new event with rejected content claims the operation again", nil},
	{"redrive-keeps-rejected", "review", "one-decision", "redrive of a rejected operation keeps the rejected output", nil},
	{"draft-published", "review", "approved-bytes", "the draft is written to the result before the decision", nil},
	{"split-settle-first", "split", "split", "the delivery is settled before its events are stored", nil},
	{"head-before-put", "quiet", "coalesced: the event", "head written before the event is stored", nil},
	{"head-unconditional", "quiet", "coalesced: more", "head written without the rank condition", nil},
	{"coalesce-same", "quiet", "coalesced: the event", "coalesced also when the head is this very event", nil},
	{"coalesce-before-claim", "quiet-late", "no-dead-ends", "coalesced decided before the claim, the operation not told", few(faults(1, 1, 0, 0).calls(1, 0))},
	{"probe-without-seen", "breaker", "one-probe", "the probe is claimed on state open only, not on the probe time that was read", nil},
	{"pause-counts", "breaker", "paused", "a call that meets a provider that cannot serve counts as an attempt", nil},
	{"pause-no-token", "breaker-one", "fenced", "an attempt is given back by a worker whose lease was taken over", few(twoStalls.with(0, 1))},
	{"push-keeps-try", "breaker", "false-park", "a worker that pushes the due time leaves the reconciler's count", nil},
	{"push-without-seen", "reconcilers", "one-send", "W11 compares the state only, not the due time that was read", nil},
	{"loss-by-write-id", "losing", "recorded-once", "a refused finish is booked as a loss by the write id alone, without a look at the attempts", nil},
	{"redrive-without-token", "redrive-lost", "one-redrive", "a redrive whose answer was lost is repeated on the next failure", nil},
	{"redrive-without-token", "redrive-lost-draft", "one-redrive", "the same with a rejected draft", nil},
	{"settle-after-first-recipe", "recipes", "settled-means-result", "event settled after the first of two recipes", nil},
	{"failure-forgotten", "recipes", "settled-means-result", "event settled although its first recipe failed", nil},
}

// weakenedBeyond are those of what was searched after the core, and of the order that is built.
var weakenedBeyond = []Weakening{
	{"park-before-notice", "dup", "no-dead-ends: an event", "the event is parked before the dead-letter queue is told", few(faults(1, 1, 0, 0).calls(0, 1))},
	{"failed-not-listed", "exhaust", "no-dead-ends: what waits", "an operation whose attempts are used up is not put into the review list", nil},
	{"one-notice", "recipes", "no-dead-ends", "of two recipes that failed only the first one is told", few(budget{badT: 2})},
	{"finish-without-state", "cancel", "fenced", "a finish compares the attempt only: it passes after a cancellation", nil},
	{"cancel-without-token", "cancel-draft", "approved-bytes", "a draft is cancelled that was not looked at", nil},
	{"cancelled-is-broken", "cancel", "no-dead-ends", "an event that meets a cancelled operation is parked like one that failed", few(budget{stop: 1})},
	{"cancelled-no-raise", "cancel-echo", "newest-wins", "an event that meets a cancelled operation does not raise its rank", few(budget{stop: 1})},
	{"cancel-event-first", "cancel", "no-dead-ends", "the event is settled as cancelled before what works for it", few(budget{bad: 1, stopEv: 1, tot: 1, crash: 1})},
	{"cancel-event-without-claim", "cancel", "no-dead-ends", "an operation that is not there yet is not made: a worker before its claim makes it", few(budget{bad: 1, stopEv: 1})},
	{"dismiss-without-token", "dismiss", "one-decision", "a dismissal compares the state only: it passes on a later failure", nil},
	{"reserve-by-read", "spend", "spend: the calls", "the day's limit is judged by a read, not by the store", nil},
	{"reserve-by-operation", "spend-one", "spend: the calls", "a reservation is the operation's, not the attempt's", nil},
	{"reserve-twice", "spend", "spend: a repeat", "a reservation whose answer was lost is made once more", nil},
	{"correct-twice", "spend", "spend: calls cost", "a correction whose answer was lost is made once more", nil},
	{"no-look-after-reservation", "spend-one", "one-paid-call", "the lease is not looked at again after the reservation, before the call", nil},
	{"pause-counts", "spend-one", "paused", "an attempt that the day's limit stops counts", nil},
	{"push-keeps-try", "hold-recipes", "false-park", "a worker that meets a pause leaves the reconciler's count", nil},
	{"held-recipe-forgotten", "hold-recipes", "settled-means-result", "event settled although one of its recipes is held", nil},
	{"probe-for-one-recipe", "breaker-recipes", "no-dead-ends", "a probe that the first recipe needs no call for is not the second one's", few(budget{out: 1})},
	{"coalesced-recipe-settles", "quiet-recipes", "settled-means-result", "an event is settled when its first recipe is coalesced", nil},
	{"drafts-expire", "ttl-draft", "one-paid-call", "the clean-up removes a draft that waits", nil},
	{"rejected-expire", "ttl-draft", "one-paid-call", "the clean-up removes a rejected operation", nil},
	{"results-expire", "ttl-redrive", "newest-wins: an older", "what failed is called again after a newer result came and left", nil},
	{"results-expire", "ttl-flag", "newest-wins: an older", "a draft is approved after a newer result came and left", nil},
	{"draft-kept-by-state", "review-aba", "one-paid-call", "a kept draft is taken up only when the claim meets the operation superseded, not after a crash behind that claim", few(faults(1, 1, 0, 0).with(2, 0))},
	{"draft-kept-by-state", "cancel-draft", "one-paid-call", "the same when a cancelled draft is redriven", nil},
	{"cancel-keeps-token", "cancel-redrive", "one-redrive: one act", "a cancellation leaves the token: a redrive from before it passes after it", nil},
	{"notice-undoes-decision", "notices", "one-decision: a notice", "a notice that comes back opens what a person has dismissed", nil},
	{"notice-without-token", "notices", "one-redrive: a notice", "a notice that comes back opens any failure of its operation", nil},
	{"redrive-keeps-category", "cancel-exhaust", "no-dead-ends: a failure", "a redrive leaves the category cancelled, and W9 sets none", nil},
	{"cancel-by-newest-event", "cancel-event", "no-dead-ends", "of an event only those operations are cancelled whose newest event it is", few(budget{bad: 2, stopEv: 2})},
	{"cancel-event-claims-once", "cancel-event-order", "no-dead-ends", "an operation that is superseded between the two looks is left claimable", few(budget{bad: 1, stopEv: 1})},
	{"dismiss-while-open", "dismiss", "no-dead-ends: an event", "a failure is dismissed before its event is parked", few(budget{badT: 1, dismiss: 1})},
	{"dismiss-without-event", "dismiss-echo", "no-dead-ends: an event", "a dismissal does not compare the newest event", few(budget{badT: 1, dismiss: 1})},
	{"dismiss-without-generation", "dismiss-recipes", "no-dead-ends: an event", "a dismissal does not compare the event's generation: another recipe's operation needs the event no more", few(budget{badT: 2, dismiss: 1, red: 1})},
	{"raise-alone", "redrive", "no-dead-ends: an event", "a newer event that meets the failed operation leaves the older one parked on it", few(budget{badT: 1})},
	{"raise-without-older", "redrive", "no-dead-ends: an event", "W10 does not compare how the older event stands: it was read before it was parked", few(budget{badT: 1})},
	{"park-alone", "redrive", "no-dead-ends: an event", "an event is parked without a look at what it is parked on", few(budget{badT: 1})},
	{"older-parks", "redrive", "false-park", "an event that meets an operation which waits with a newer one is parked beside it", few(budget{badT: 1})},
	{"second-recipe-forgotten", "waits-shared", "no-dead-ends: an operation waits", "an event is settled when the first of its two failed operations waits with a newer one", few(budget{badT: 2})},
	{"needed-in-work", "waits-shared", "no-dead-ends: an event", "a dismissal leaves the event to another operation that is in work for it", few(faults(1, 0, 0, 0).late(1, 0).calls(0, 2).acts(1, 0).stopped(0, 0, 1))},
	{"raise-decided-anyhow", "dismiss-echo", "no-dead-ends: an event", "W10 of what was seen dismissed passes on a later failure", few(budget{badT: 2, dismiss: 1, red: 1})},
	{"raise-without-dismissal", "dismiss-echo", "no-dead-ends: an event", "W10 does not tell a dismissed operation", few(budget{badT: 1, dismiss: 1})},
}

// Variants are other permitted ways of building the same rule; these must pass.
var variants = []Weakening{
	{"split-read", "dup", "", "a refused write does not bring the item; a separate consistent read follows", nil},
	{"split-read", "redrive", "", "the same with redrive", few(faults(1, 1, 1, 1).late(1, 0).calls(0, 1).acts(1, 0))},
	{"duplicate-never-enqueues", "dup", "", "a duplicate of an open event sends nothing; only the reconciler does", nil},
	{"as-written", "exhaust", "", "the notice before the rank", nil},
}

// Weakened are all weakenings.
func Weakened() []Weakening {
	all := append([]Weakening(nil), weakened...)
	all = append(all, weakenedOnTop...)
	return append(all, weakenedBeyond...)
}

// Variants are all permitted variants.
func Variants() []Weakening { return variants }

// Case is the search of a weakening, or of a variant.
func (w Weakening) Case() Case {
	for _, sc := range Scenarios() {
		if sc.Name == w.Scenario {
			if w.budget != nil {
				sc.budget = *w.budget
			}
			return Case{Scenario: sc, Other: w.Name}
		}
	}
	panic("no scenario " + w.Scenario)
}
