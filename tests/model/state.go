package model

// Sizes of a global state.
const (
	nEvents     = 3
	nOperations = 4 // by object and content, or by recipe and content
	nResults    = 2 // by object or recipe
	nMessages   = 7 // of the work queue; most scenarios use fewer
	nDeliveries = 4
	nWorkers    = 2
	nPersons    = 2 // who decide on drafts
	nSweeps     = 2 // reconcilers, where a scenario has two
	nDays       = 2 // today and the day before, where a scenario has a limit
)

// Where an event stands: its state, and how it was settled.
const (
	evNone      = iota
	evOpen      // stored, and in the index
	evDone      // settled as completed or superseded
	evParked    // with its operation
	evUnsent    // parked by the reconciler, with a reason of its own
	evDraft     // settled as review or rejected: a person decides, or has decided
	evCoalesced // a newer event of the quiet period stands for it
	evCancelled // settled as cancelled
)

// Where a worker stands: the call that it makes next.
const (
	wIdle = iota
	wClaim
	wReadResult
	wCalling
	wTx       // one transaction of W4, W5 and W6
	wComplete // W4
	wPublish  // W5
	wSettle   // W6
	wDelete
	wRetry   // W7
	wFail    // W7
	wExhaust // W9
	wNotice
	wOlder // reads the event that an operation failed for, before W10
	wRaise // W10
	wPark  // W6
	wReturn
	wSupersede   // W8
	wHolderWrite // weakened: holder-clock
	wReadFirst   // weakened: superseded-before-claim
	wLook        // variant split-read: after a refused claim
	wLookDone    // variant split-read: after a refused completion
	wDraft       // W16
	wDraftSettle // W6 as review or rejected
	wSplitPut    // W1 of a part
	wSplitSend
	wHead     // reads the head, to name the event that stands for this one
	wCoalesce // W6 as coalesced
	wBreaker  // reads breaker and pauses, through a cache
	wProbe    // W25
	wOpen     // W23
	wGiveBack // W24
	wPush     // W22
	wClose    // W26
	wLosing   // W15
	wReserve  // W28
	wCall     // reserved, about to call
	wCorrect  // the reservation becomes what the call cost
	wCancel   // W6 as cancelled
)

// Where a delivery stands.
const (
	dNew = iota
	dPut
	dSend
	dAnswered // 2xx
	dDead     // crashed: nothing answered
	dConflict
	dHead // W21
)

// Who has a message.
const (
	mVisible = 0 // 1 and 2 are the workers
	mDelayed = 4 // given back, until the lease that it met is over
)

// Every field is a byte, so that states are compared as flat memory. A field that is marked g is known to the
// checks alone: no process may read it.

type event struct {
	st, wid, dig, stamp, gen, rcp, rq uint8 // rq counts the reconciler's sends
	ops                               uint8 // g: operations claimed for it
	ack                               uint8 // g: some delivery of it was answered 2xx
	by, psh                           uint8 // coalesced by event by-1, its second recipe in the upper half; pushed, and why: one of the push reasons
	dec                               uint8 // parked with an operation that was dismissed, and marked so
	off                               uint8 // g: its recipes whose operations were cancelled or dismissed, when it was settled
}

type op struct {
	st, tok, exp, natt, wid, out, evk, rank uint8 // evk is the newest event that asked + 1
	oq, cat, dsm                            uint8 // in the review list; category cancelled; dismissed
	old                                     uint8 // its last look at the result is longer ago than results are kept
	ser                                     uint8 // g: claims ever; stands for the attempt id too
	made                                    uint8 // g: bit per claim that started a call
	exc                                     uint8 // g: bit per claim whose call is excused: recorded unusable, its lease over, or refused by a person
	rev, app, dec                           uint8 // g: bit per output: was a draft, was approved, was decided
	rec, lst, gone                          uint8 // g: bit per claim: recorded in the log; own losing item; its worker died before it could record it
	fls                                     uint8 // g: how often it failed
}

type result struct{ rank, op, out uint8 }

type worker struct {
	pc, ev, gen, op, tok, ser, retry, rank, out, own uint8
	seen, rcp, bad, probe                            uint8 // state that W10 counts on; recipe in hand; what became of the event's recipes; has the probe (2: it was answered)
	by                                               uint8 // a recipe is coalesced by event by-1, the second one in the upper half
	on                                               uint8 // bit per recipe whose failed operation the event is parked on
	old, oldSt, oldGen                               uint8 // event + 1 that a failed operation was seen with, and how that stands
	was                                              uint8 // weakened only: state that the claim found
	fls                                              uint8 // g: the failure that its notice tells of
	rsv, got, cost, then                             uint8 // day of its reservation (1 today); it is granted; what the call cost; where it goes on after the correction
}

// What became of the recipes of an event (worker.bad).
const (
	badFirst  = 1 << iota // the first recipe failed
	badSecond             // the second one did
	badDraft              // a draft waits, or was rejected
	badHeld               // one is held
	badNewer              // one is coalesced
	offFirst              // the first one's operation was cancelled or dismissed
	offSecond             // the second one's was
)

type person struct{ pc, op, out, rank, retry uint8 } // with one draft before the eyes

type sweep struct{ pc, ev, ok uint8 } // ok: the due time that it read still stands

type breaker struct{ st, til, own, n uint8 } // open; probe time passed; who probes; g: probes of this probe time

type head struct{ rank, ev uint8 }

type message struct{ ev, rc, h uint8 } // ev + 1, 0 is a free slot

type delivery struct{ pc, retry uint8 }

// A day is what a recipe has spent and reserved; res has a bit per attempt that has not reported.
type day struct {
	sum  uint8
	res  [nOperations]uint8
	paid uint8 // g: what its calls really cost, those under way at their worst
}

// A stop is a person who cancels an operation, or an event with what works for it.
type stop struct{ pc, op, ev, gen, tok, retry, own, seen, out uint8 }

// A dismissal is a person who takes a failed operation off the review list; fls is g: which failure was looked at.
type dismissal struct{ pc, op, tok, ev, gen, retry, fls uint8 }

// A State is one global state.
type State struct {
	ev  [nEvents]event
	op  [nOperations]op
	res [nResults]result
	w   [nWorkers]worker
	m   [nMessages]message
	d   [nDeliveries]delivery

	dlq  [nEvents]uint8     // letters that the queue itself put there
	ntc  [nOperations]uint8 // notices there, at most one counts
	ntok [nOperations]uint8 // token that the notice tells, where notices come back by the queue's own redrive
	nfls [nOperations]uint8 // g: failure that the notice tells of

	opPc   uint8 // operator: idle, about to send, second half of a redrive that is not atomic, or 10 + operation
	opEv   uint8
	opTok  uint8 // what was seen before a redrive whose answer was lost
	opSt   uint8
	cfg    uint8 // recipe version in force
	conf   uint8 // conflict facts stored
	p      [nPersons]person
	rec    [nSweeps]sweep
	br     breaker
	head   [nResults]head
	top    [nResults]uint8 // g: rank of a result that the clean-up removed
	miss   uint8           // g: events stored without their head
	days   [nDays]day
	hold   uint8 // bit per recipe that a person has paused
	stop   stop
	dsm    dismissal
	budget budget
}

// A budget is what may still go wrong, and what people may still do.
type budget struct {
	tot, crash, lost, dup, stall, slow uint8 // faults, in all and by kind
	bad, badT                          uint8 // calls that fail for now, and for good
	red, rep, raise, ttl               uint8 // redrives, replays, raised recipes, clean-ups
	look, out                          uint8 // looks of persons; calls that the provider cannot serve
	stop, stopEv, dismiss, hold        uint8 // cancelled operations and events, dismissals, pauses
	back                               uint8 // notices that come back by the queue's own redrive
}

// take uses up one fault.
func (b *budget) take(kind *uint8) {
	*kind--
	b.tot--
}

// has tells whether a fault of a kind is left.
func (b *budget) has(kind uint8) bool { return kind > 0 && b.tot > 0 }
