package dynamo

import (
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
)

// Conditions that several writes share.
const (
	isNew  = "attribute_not_exists(#pk)"
	mine   = "#st = :running AND #tok = :token AND #own = :me"
	live   = "#st = :received AND #gen = :generation"
	newer  = "attribute_not_exists(#pk) OR #rank < :rank"
	exists = "attribute_exists(#pk)"
	filled = "attribute_not_exists(#era)"
)

// The writes to an event and beside it. Each is named as in infra/protocol.md section 3.
var (
	// W1: the event is stored once. Refused: [inbox.Judge] says what the delivery is.
	putEvent = write("W1 put event", "", isNew,
		starts(inbox.Lifecycle.Start))

	// W2: the other fact is kept beside the event. Refused: recorded already.
	putConflict = write("W2 conflict", "", isNew)

	// SEEN: one more delivery of a stored event; never refused, and counts twice after a lost answer.
	countSeen = write("SEEN", "SET #first = if_not_exists(#first, :now), #last = :now, #ttl = :later ADD #num :one", "")

	// W6: the event's work is over. Refused: settled already, or reopened since.
	settle = write("W6 settle", "SET #st = :next, #how = :outcome, #op = :operation, #at = :now, #ttl = :later REMOVE #oq, #od", live,
		moves(":next", inbox.Settle), state(":received", inbox.Received))

	// W6 of an event that says more: a coalesced one names the newer one, a split one what was left out of it.
	settleNaming = write("W6 settle", "SET #st = :next, #how = :outcome, #op = :operation, #at = :now, #why = :reason, #ttl = :later REMOVE #oq, #od", live,
		moves(":next", inbox.Settle), state(":received", inbox.Received))

	// W6 of an event that meets a failed operation: no expiry, and the operation stands in the review list.
	park = write("W6 settle", "SET #st = :next, #op = :operation, #at = :now, #why = :reason, #cat = :category REMOVE #oq, #od", live,
		moves(":next", inbox.Park), state(":received", inbox.Received))

	// W6, the half of an operation that an event is parked on, which stays as it is. Refused: it waits no more, or waits
	// with a newer event.
	waitsFor = write("W6 settle", "SET #ev = :waiting", "#ev = :waiting AND #st = :failed",
		state(":failed", operation.Failed))

	// W6r: parked without an operation; the event itself stands in the review list.
	parkAlone = write("W6r park", "SET #st = :parked, #why = :reason, #cat = :category, #at = :now, #oq = :review, #od = :when", live,
		moves(":parked", inbox.Park), state(":received", inbox.Received), says(":review", review))

	// W11: one reconciler of several gets to send. Refused: settled meanwhile, or another reconciler.
	pushSend = write("W11 push send", "SET #od = :next ADD #try :one", "#st = :received AND #od = :seen",
		moves("", inbox.Push), state(":received", inbox.Received))

	// W12: sent too often without a sign of life. Refused as W11, or not sent that often.
	parkUnsent = write("W12 park unsent", "SET #st = :parked, #why = :reason, #at = :now, #oq = :review, #od = :when REMOVE #cat, #op", "#st = :received AND #od = :seen AND #try >= :limit",
		moves(":parked", inbox.Park), state(":received", inbox.Received), says(":review", review))

	// W13, W20, the event's half: whatever its state, the operation's half decides. Refused: the event is gone, or
	// was erased.
	reopenAny = write("W13 redrive", "SET #st = :received, #oq = :open, #od = :due, #try = :zero REMOVE #ttl, #dec, #dat, #dnt ADD #gen :one", exists+" AND "+filled,
		moves(":received", inbox.Redrive))

	// W13, W20, the event's half, as it was looked at. Refused also: it runs under other recipes by now.
	reopenUnder = write("W13 redrive", "SET #st = :received, #oq = :open, #od = :due, #try = :zero REMOVE #ttl, #dec, #dat, #dnt ADD #gen :one", filled+" AND #rcp = :former",
		moves(":received", inbox.Redrive))

	// W13, the event's half alone, for one parked without an operation. Refused: it is not parked any more.
	reopen = write("W13 redrive", "SET #st = :received, #oq = :open, #od = :due, #try = :zero REMOVE #ttl, #dec, #dat, #dnt ADD #gen :one", "#st = :parked",
		moves(":received", inbox.Reopen), state(":parked", inbox.Parked))

	// W10, the half of an older event that was parked on this operation alone: the newer one stands for it. Refused, as
	// the other two halves: it does not stand as it was seen.
	handOver = write("W10 raise", "SET #st = :next, #how = :outcome, #at = :now, #why = :reason, #ttl = :later REMOVE #cat", "#st = :parked AND attribute_not_exists(#oq) AND #gen = :generation",
		moves(":next", inbox.HandOver), state(":parked", inbox.Parked), says(":outcome", string(inbox.Coalesced)))

	// W10, the half of an older event with several recipes: what the others came to, its worker finds out.
	takeUp = write("W10 raise", "SET #st = :next, #oq = :open, #od = :due, #try = :zero ADD #gen :one", "#st = :parked AND attribute_not_exists(#oq) AND #gen = :generation",
		moves(":next", inbox.TakeUp), state(":parked", inbox.Parked))

	// W10, the half of an older event that does not wait with the operation: it stays as it is.
	asSeen = write("W10 raise", "SET #gen = :stands", "#st = :seen AND #gen = :stands")

	// W14: the event runs again under a raised recipe. Refused: it is open, has run
	// under it already, or was erased.
	replay = write("W14 replay", "SET #st = :received, #rcp = :recipe, #oq = :open, #od = :due, #try = :zero REMOVE #ttl ADD #gen :one", "#st = :settled AND #rcp = :former AND "+filled,
		moves(":received", inbox.Replay), state(":settled", inbox.Settled))

	// W27: nothing is to be done about a parked event. Refused: it does not stand in the review list, or was parked
	// anew since it was seen.
	dismissEvent = write("W27 dismiss", "SET #dec = :person, #dat = :now, #dnt = :reason, #ttl = :later REMOVE #oq, #od", "#oq = :review AND #st = :parked AND #gen = :generation",
		moves("", inbox.Dismiss), state(":parked", inbox.Parked), says(":review", review))

	// W27, the event's half: it was parked with its operation, which is dismissed. Refused: it is not parked so, was
	// dismissed already, or was opened since it was seen.
	dismissWith = write("W27 dismiss", "SET #dec = :person, #dat = :now, #dnt = :reason, #ttl = :later", "#st = :parked AND attribute_not_exists(#oq) AND attribute_not_exists(#dec) AND #gen = :generation",
		moves("", inbox.Dismiss), state(":parked", inbox.Parked))

	// W27, the event's half where it is not dismissed: it stays as it is. Refused: it was opened since it was seen.
	// As an update it needs no right that the role does not have, and two dismissals at once meet in it.
	sameEvent = write("W27 dismiss", "SET #gen = :generation", "#gen = :generation")

	// W27, the half of another operation that needs the event, which stays as it is. Refused: it needs it no more.
	needsEvent = write("W27 dismiss", "SET #ev = :event", "#ev = :event AND #st = :failed AND #oq = :review",
		state(":failed", operation.Failed), says(":review", review))

	// W27: nothing is to be done about another fact under an event's key. Refused as above.
	dismissConflict = write("W27 dismiss", "SET #dec = :person, #dat = :now, #dnt = :reason, #ttl = :later REMOVE #oq, #od", "#oq = :review",
		says(":review", review))

	// Nothing is left of an event but that it came, and whoever works on it is refused. Refused: it is settled.
	erase = write("erase", "SET #st = :settled, #how = :outcome, #at = :now, #era = :now, #ttl = :later REMOVE #oq, #od, #body, #len, #obj, #did, #sid, #flaw, #kind, #why, #cat, #op, #dec, #dat, #dnt ADD #gen :one", "#st = :received OR #st = :parked",
		moves(":settled", inbox.Erase), state(":received", inbox.Received), state(":parked", inbox.Parked), says(":outcome", string(inbox.Cancelled)))

	// The same once it is settled. Refused: erased already, or opened again.
	eraseSettled = write("erase", "SET #era = :now REMOVE #body, #len, #obj, #did, #sid, #flaw, #kind, #why, #cat, #op ADD #gen :one", "#st = :settled AND "+filled,
		moves("", inbox.Empty), state(":settled", inbox.Settled))

	// Nothing is left of another fact under an event's key but that it came. Refused: erased already, or gone.
	eraseConflict = write("erase", "SET #era = :now, #ttl = :later REMOVE #did, #oq, #od, #dec, #dat, #dnt", exists+" AND "+filled)

	// W22: the worker postpones the event through the open index. Refused: settled or reopened meanwhile.
	pushDue = write("W22 push due", "SET #od = :next, #try = :zero", live,
		moves("", inbox.Push), state(":received", inbox.Received))
)

// The writes to an operation and beside it.
var (
	// W3: takes the lease and starts an attempt. Refused: [operation.JudgeClaim] says what was met.
	claim = write("W3 claim", "SET #st = :running, #own = :me, #beg = :now, #exp = :until, #wid = :write, #ev = :event, #rank = :rank REMOVE #ttl ADD #tok :one, #cnt :one", "attribute_not_exists(#pk) OR (#st = :pending AND #nbf <= :now AND #cnt < :limit) OR (#st = :running AND #exp < :past AND #cnt < :limit) OR (#st = :superseded AND #rank < :rank)",
		moves(":running", operation.Begin), state(":pending", operation.Pending), state(":superseded", operation.Superseded), starts(operation.Lifecycle.Start))

	// W4: commits the output. Refused, as every finish: [operation.JudgeFinish] says what was met.
	complete = write("W4 complete", "SET #st = :completed, #out = :output, #dig = :digest, #att = :log, #wid = :write, #ttl = :later REMOVE #own, #exp", mine,
		moves(":completed", operation.Complete), state(":running", operation.Running))

	// W7: worth another try, not before its time.
	retry = write("W7 retry", "SET #st = :next, #att = :log, #wid = :write, #nbf = :when REMOVE #own, #exp", mine,
		moves(":next", operation.Retry), state(":running", operation.Running))

	// W7: given up; it stands in the review list.
	fail = write("W7 fail", "SET #st = :next, #att = :log, #wid = :write, #why = :reason, #cat = :category, #oq = :review, #od = :when REMOVE #own, #exp", mine,
		moves(":next", operation.Fail), state(":running", operation.Running), says(":review", review))

	// W8: a newer version has its result; the claim is not counted.
	supersede = write("W8 supersede", "SET #st = :superseded, #wid = :write, #ttl = :later ADD #cnt :minus, #fen :given REMOVE #own, #exp", mine,
		moves(":superseded", operation.Overtake), state(":running", operation.Running))

	// W9: claims are used up and no lease runs. Refused: someone was faster; claim again.
	exhaust = write("W9 exhaust", "SET #st = :failed, #why = :reason, #wid = :write, #oq = :review, #od = :when REMOVE #own, #exp", "#cnt >= :limit AND (#st = :pending OR (#st = :running AND #exp < :past))",
		moves(":failed", operation.Exhaust), state(":pending", operation.Pending), state(":running", operation.Running), says(":review", review))

	// W10: a newer event waits for it. Refused: [operation.JudgeRaise] says whether it was known already.
	raise = write("W10 raise", "SET #rank = :rank, #ev = :event", "#st = :seen AND #rank < :rank")

	// W10 of a failure that is news. Refused also: a person has dismissed or cancelled it, or it waits with another
	// event than it did.
	raiseListed = write("W10 raise", "SET #rank = :rank, #ev = :event", "#st = :seen AND #rank < :rank AND #oq = :review AND #ev = :before",
		says(":review", review))

	// W10 of a failure that a person has dismissed or cancelled. Refused also: it is news again.
	raiseDecided = write("W10 raise", "SET #rank = :rank, #ev = :event", "#st = :seen AND #rank < :rank AND attribute_not_exists(#oq)")

	// W13, the operation's half: a new budget, and no mark of a dismissal or cancellation. Refused: redriven
	// already, or it failed again since.
	redrive = write("W13 redrive", "SET #st = :pending, #nbf = :now, #cnt = :zero, #wid = :write REMOVE #oq, #od, #ttl, #cat, #by, #at, #note, #dec, #dat, #dnt", "#st = :failed AND #ev = :event AND #tok = :seen",
		moves(":pending", operation.Reopen), state(":failed", operation.Failed))

	// W15: what a fenced worker's call cost. Refused: recorded already.
	putLosing = write("W15 losing attempt", "", isNew)

	// W16: the output waits for a decision.
	hold = write("W16 draft", "SET #st = :review, #out = :output, #dig = :digest, #att = :log, #why = :reason, #oq = :review, #od = :when, #wid = :write REMOVE #own, #exp", mine,
		moves(":review", operation.Hold), state(":running", operation.Running))

	// W17, the operation's half: what was looked at is committed. Refused, as W18 and W19:
	// [operation.JudgeDecision] says what was met.
	approve = write("W17 approve", "SET #st = :completed, #by = :person, #at = :now, #note = :reason, #wid = :write, #ttl = :later REMOVE #oq, #od", "#st = :review AND #dig = :digest AND #rank = :rank",
		moves(":completed", operation.Approve), state(":review", operation.Review))

	// W18: a person refuses the draft.
	reject = write("W18 reject", "SET #st = :rejected, #by = :person, #at = :now, #note = :reason, #wid = :write REMOVE #oq, #od", "#st = :review AND #dig = :digest",
		moves(":rejected", operation.Reject), state(":review", operation.Review))

	// W19: a newer result is there. Refused too when a newer event waits for the draft.
	setAside = write("W19 set aside", "SET #st = :superseded, #cnt = :zero, #wid = :write, #ttl = :later REMOVE #oq, #od", "#st = :review AND #rank = :rank",
		moves(":superseded", operation.SetAside), state(":review", operation.Review))

	// W20, the operation's half: a new budget, and the refused output is removed. Refused as W13.
	renew = write("W20 renew", "SET #st = :pending, #nbf = :now, #cnt = :zero, #wid = :write REMOVE #out, #dig, #by, #at, #note", "#st = :rejected AND #ev = :event AND #tok = :seen",
		moves(":pending", operation.Renew), state(":rejected", operation.Rejected))

	// W27, the operation's half: nothing is to be done about a failure. Refused: it does not stand in the review list,
	// has failed again since it was seen, or a newer event waits for it.
	dismiss = write("W27 dismiss", "SET #dec = :person, #dat = :now, #dnt = :reason, #wid = :write, #ttl = :later REMOVE #oq, #od", "#oq = :review AND #st = :failed AND #tok = :seen AND #ev = :event",
		moves("", operation.Dismiss), state(":failed", operation.Failed), says(":review", review))

	// A person stops it; whoever has the lease loses it, and what was seen before, or is done again, is refused: it
	// takes a token of its own. It does not stand in the review list. Refused: it is final, or was claimed or cancelled
	// since it was seen.
	cancel = write("cancel", "SET #st = :failed, #cat = :category, #why = :because, #by = :person, #at = :now, #note = :reason, #wid = :write, #ttl = :later ADD #tok :one, #fen :fence REMOVE #own, #exp, #oq, #od", "#tok = :seen AND (#st = :pending OR #st = :running OR #st = :review)",
		moves(":failed", operation.Cancel), state(":pending", operation.Pending), state(":running", operation.Running), state(":review", operation.Review),
		says(":category", string(operation.CategoryCancelled)), says(":because", "cancelled by a person"))

	// W24: the provider cannot serve; the claim is not counted.
	giveBack = write("W24 pause", "SET #st = :pending, #nbf = :now, #att = :log, #wid = :write ADD #cnt :minus REMOVE #own, #exp", mine,
		moves(":pending", operation.Pause), state(":running", operation.Running))
)

// The writes to a breaker.
var (
	// W23: the model cannot serve. Refused: it is open already.
	openBreaker = write("W23 open breaker", "SET #st = :open, #til = :next, #why = :reason, #at = :now, #wid = :write", "attribute_not_exists(#pk) OR #st = :closed",
		moves(":open", pause.Trip), state(":closed", pause.Closed), starts(pause.Lifecycle.Start))

	// W25: one of all that saw the same probe time tries. Refused: another one does.
	probeBreaker = write("W25 probe", "SET #til = :next, #own = :me, #wid = :write", "#st = :open AND #til = :seen",
		moves("", pause.Try), state(":open", pause.Open))

	// W26: the probe was answered. Refused: it is not this attempt's probe any more.
	closeBreaker = write("W26 close breaker", "SET #st = :closed, #at = :now, #wid = :write REMOVE #own, #til", "#st = :open AND #own = :me",
		moves(":closed", pause.Settle), state(":open", pause.Open))

	// W26 on behalf of a person, whoever probes. Refused: it is closed.
	resumeBreaker = write("W26 close breaker", "SET #st = :closed, #at = :now, #wid = :write REMOVE #own, #til", "#st = :open",
		moves(":closed", pause.Resume), state(":open", pause.Open))
)

// The writes to what a recipe spends. The attribute #res is named after the attempt ([reservation]), so that an
// attempt counts once.
var (
	// W28: the worst cost of a call is set aside. Refused: set aside already, or the limit is used up.
	reserve = write("W28 reserve", "SET #res = :worst, #lim = :limit, #ttl = :later ADD #sum :worst", "(attribute_not_exists(#sum) OR #sum <= :room) AND attribute_not_exists(#res)")

	// The reservation is replaced by what the call cost. Refused: replaced already.
	correct = write("correct spend", "ADD #sum :difference, #cost :paid REMOVE #res", "attribute_exists(#res)")

	// One call is counted against the minute. Refused: counted already, or the limit is used up.
	takeMinute = write("take minute", "SET #res = :one, #lim = :limit, #ttl = :later ADD #num :one", "(attribute_not_exists(#num) OR #num < :limit) AND attribute_not_exists(#res)")
)

// The other writes.
var (
	// An item of an object is removed that belongs to the event that was seen. Refused: another one has taken it over.
	removeSeen = write("erase", "", "attribute_not_exists(#ev) OR #ev = :event")

	// An item of an object that belongs to no event is removed; never refused.
	removeAny = write("erase", "", "")

	// W21: the newest stored event of an object with a quiet period. Refused: a newer one is there.
	putHead = write("W21 head", "", newer)

	// What a person pauses without an end; the last one stands.
	putPause = write("write pause", "", "")

	// What a person pauses for a time. Refused: a pause that ends later, or never, is in force.
	putPauseUntil = write("write pause", "", "attribute_not_exists(#pk) OR #til <= :until")

	// A person resumes it; never refused.
	removePause = write("write pause", "", "")

	// How far a source was asked, for the first time. Refused: somebody has begun.
	firstCatchUp = write("write catch-up", "", isNew)

	// How far a source was asked moves from what was read. Refused: somebody moved it meanwhile.
	moveCatchUp = write("write catch-up", "", "#rev = :seen")

	// When a sender was last heard; the last one stands.
	noteDelivery = write("note delivery", "", "")

	// W5: the result, ordered by rank alone. Refused: written already, or a newer one stands.
	putResult = write("W5 result", "", newer)

	// An endpoint's address belongs to one tenant and environment. Refused: another one has it.
	claimAddress = write("write config", "", "attribute_not_exists(#pk) OR (#ten = :tenant AND #env = :environment)")

	// A version is immutable. Refused: the same content, or another one, is there.
	putVersion = write("write config", "", isNew)

	// The first pointer of a scope. Refused: somebody has set one.
	firstPointer = write("write config", "", isNew)

	// The pointer moves from what was read. Refused: somebody moved it meanwhile.
	movePointer = write("write config", "", "#rev = :seen")

	// An act is recorded once. Refused: recorded already.
	putEntry = write("audit", "", isNew)
)

// The key conditions of queries, which page by their range key: each page begins behind the last key of
// the one before it, so that a key that has left the index meanwhile does no harm.
const (
	collectionAfter = "#pk = :hash AND #sk > :after"
	collectionUntil = "#pk = :hash AND #sk < :before"
	openBetween     = "#oq = :shard AND #od BETWEEN :after AND :before"
	listBefore      = "#lq = :shard AND #ld < :before"
)
