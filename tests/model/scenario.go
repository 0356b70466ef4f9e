package model

// An arrival is one delivery over HTTP: which event, with which content.
type arrival struct{ ev, dig uint8 }

// A Scenario fixes events, deliveries and budgets. What is not said is one object, one recipe, no fault.
type Scenario struct {
	Name        string
	About       string
	Transaction bool // it is searched with W4, W5 and W6 in one transaction as well

	ver      [nEvents]uint8 // object version of each event
	obj      [nEvents]uint8
	arrivals []arrival
	tie      bool  // receive stamps may come in either order (same version)
	recipes  uint8 // versions, or with multi two recipes of each event
	poison   bool  // event 0 always kills its worker before the claim
	claims   uint8 // claims of one operation
	receives uint8 // of one message, before the queue sets it aside
	sends    uint8 // of the reconciler, before it parks
	budget   budget

	policy  uint8 // 0 auto, 1 draft, 2 either (review-on-flag)
	split   bool  // event 0 is a delivery that holds events 1 and 2
	parts   [nEvents]uint8
	quiet   bool // heads are written between put and send
	quick   bool // all deliveries fall into one quiet period
	breaker bool
	sweeps  uint8 // 2: two reconcilers, read and push apart
	losing  bool  // losing attempts are recorded
	lostRed bool  // the answer to a redrive may be lost
	multi   bool  // each event has two recipes
	shared  bool  // and the first takes the same out of every content
	limit   uint8 // what a day may cost; 0: no limit
	kept    bool  // the clean-up takes drafts' operations and results into account
}

// people tells whether persons cancel or dismiss in a scenario.
func (sc Scenario) people() bool {
	b := sc.budget
	return b.stop+b.stopEv+b.dismiss+b.back > 0
}

// with gives a budget looks of persons, and calls that the provider cannot serve.
func (b budget) with(look, out uint8) budget {
	b.look, b.out = look, out
	return b
}

// faults is how many may happen: in all, and of each kind.
func faults(tot, crash, lost, dup uint8) budget {
	return budget{tot: tot, crash: crash, lost: lost, dup: dup}
}

// late adds stalls of a holder, and slow reconcilers or old caches.
func (b budget) late(stall, slow uint8) budget {
	b.stall, b.slow = stall, slow
	return b
}

// calls adds calls that fail for now, and for good.
func (b budget) calls(bad, badT uint8) budget {
	b.bad, b.badT = bad, badT
	return b
}

// acts adds redrives, and replays under a raised recipe.
func (b budget) acts(red, rep uint8) budget {
	b.red, b.rep, b.raise = red, rep, rep
	return b
}

func (b budget) cleaned(ttl uint8) budget {
	b.ttl = ttl
	return b
}

// stopped adds cancellations of operations and of events, and dismissals.
func (b budget) stopped(op, ev, dismiss uint8) budget {
	b.stop, b.stopEv, b.dismiss = op, ev, dismiss
	return b
}

func (b budget) held(n uint8) budget {
	b.hold = n
	return b
}

func (b budget) backs(n uint8) budget {
	b.back = n
	return b
}

var (
	once  = []arrival{{0, 0}}
	twice = []arrival{{0, 0}, {0, 0}}
	ab    = []arrival{{0, 0}, {1, 1}} // two versions, two contents
	aa    = []arrival{{0, 0}, {1, 0}} // two versions, one content
	aaa   = []arrival{{0, 0}, {1, 0}, {2, 0}}
	aba   = []arrival{{0, 0}, {1, 1}, {2, 0}}
	abc   = []arrival{{0, 0}, {1, 1}, {2, 2}}

	v1   = [nEvents]uint8{1}
	v11  = [nEvents]uint8{1, 1}
	v12  = [nEvents]uint8{1, 2}
	v123 = [nEvents]uint8{1, 2, 3}
	two  = [nEvents]uint8{0, 1} // objects
)

// core are the scenarios of infra/protocol.md sections 1 to 9.
var core = []Scenario{
	{Name: "dup", About: "1 event, 2 deliveries", ver: v1, arrivals: twice, budget: faults(3, 2, 2, 1).late(2, 1).calls(1, 0)},
	{Name: "exhaust", About: "1 event, attempt limit 2, final failure, redrive, native dead letter", ver: v1, arrivals: twice, claims: 2, receives: 2, sends: 6, budget: faults(2, 2, 1, 1).late(1, 0).calls(2, 1).acts(1, 0)},
	{Name: "order", About: "v1 A, v2 B", ver: v12, arrivals: ab, budget: faults(3, 2, 2, 1).late(2, 0).calls(1, 0)},
	{Name: "echo", About: "v1 A, v2 A", ver: v12, arrivals: aa, budget: faults(3, 1, 1, 1).late(1, 0)},
	{Name: "aba", About: "v1 A, v2 B, v3 A", ver: v123, arrivals: aba, budget: faults(2, 1, 1, 1).late(1, 0).calls(1, 0)},
	{Name: "tie", About: "two contents in one second, stamps in both orders", ver: v11, arrivals: ab, tie: true, budget: faults(2, 2, 1, 1).late(1, 0).calls(1, 0)},
	{Name: "conflict", About: "same key, other digest, 3 deliveries", ver: v1, arrivals: []arrival{{0, 0}, {0, 1}, {0, 0}}, budget: faults(3, 2, 2, 1).late(1, 0)},
	{Name: "raise", About: "v1, v2, recipe raised, replay", ver: v12, arrivals: ab, recipes: 2, budget: faults(2, 1, 1, 1).late(1, 0).acts(0, 1)},
	{Name: "redrive", About: "v1 A, v2 A, final failure, redrive", ver: v12, arrivals: aa, claims: 2, receives: 2, budget: faults(2, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0)},
	{Name: "redrive-aba", About: "v1 A, v2 B, v3 A, final failure, redrive", ver: v123, arrivals: aba, claims: 2, receives: 2, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0)},
	{Name: "objects", About: "two objects", ver: v11, obj: two, arrivals: aa, budget: faults(2, 1, 1, 1).late(1, 0).calls(1, 0)},
	{Name: "poison", About: "event that kills its worker, redrive", ver: v1, arrivals: twice, poison: true, claims: 2, receives: 2, sends: 3, budget: faults(3, 1, 1, 1).late(1, 0).acts(1, 0)},
	{Name: "ttl", About: "echo after the clean-up removed the operation", ver: v12, arrivals: aa, budget: faults(2, 1, 1, 1).late(1, 0).cleaned(1)},
}

// onTop are the scenarios of infra/protocol.md section 10.
var onTop = []Scenario{
	{Name: "review", About: "1 event, 2 deliveries, 2 persons, redrive of what was rejected", ver: v1, arrivals: twice, policy: 1, budget: faults(2, 1, 1, 0).late(1, 0).acts(1, 0).with(2, 0)},
	{Name: "review-echo", About: "v1 A, v2 A", ver: v12, arrivals: aa, policy: 1, budget: faults(1, 1, 1, 1).late(1, 0).acts(1, 0).with(2, 0)},
	{Name: "review-order", About: "v1 A, v2 B, 3 looks", ver: v12, arrivals: ab, policy: 1, budget: faults(2, 1, 1, 1).late(1, 0).with(3, 0)},
	{Name: "review-aba", About: "v1 A, v2 B, v3 A, 3 looks", ver: v123, arrivals: aba, policy: 1, budget: faults(1, 1, 1, 0).late(1, 0).with(3, 0)},
	{Name: "review-fail", About: "v1 A, v2 A, final failure, redrive, attempt limit 2", ver: v12, arrivals: aa, policy: 1, claims: 2, budget: faults(1, 1, 1, 0).calls(0, 1).acts(1, 0).with(1, 0)},
	{Name: "review-flag", About: "v1 A, v2 B, each output a draft or not", ver: v12, arrivals: ab, policy: 2, budget: faults(2, 1, 1, 1).late(1, 0).with(2, 0)},
	{Name: "review-raise", About: "v1, v2, recipe raised, replay", ver: v12, arrivals: ab, policy: 1, recipes: 2, budget: faults(1, 1, 1, 1).late(1, 0).acts(0, 1).with(2, 0)},
	{Name: "split", About: "2 parts of two objects, one also arrives alone", ver: [nEvents]uint8{1, 1, 1}, obj: [nEvents]uint8{0, 0, 1}, arrivals: aa, split: true, parts: [nEvents]uint8{0, 0, 1}, budget: faults(2, 2, 1, 1).late(1, 0)},
	{Name: "split-order", About: "2 deliveries of one batch, 2 parts of one object", ver: [nEvents]uint8{1, 1, 2}, arrivals: twice, split: true, parts: [nEvents]uint8{0, 0, 1}, budget: faults(2, 2, 1, 1).late(1, 0)},
	{Name: "quiet", About: "3 quick saves A, B, C", ver: v123, arrivals: abc, quiet: true, quick: true, budget: faults(2, 2, 2, 1).late(1, 0)},
	{Name: "quiet-retry", About: "2 quick saves, one delivered twice", ver: v12, arrivals: []arrival{{0, 0}, {1, 1}, {1, 1}}, quiet: true, quick: true, budget: faults(3, 2, 1, 1).late(1, 0)},
	{Name: "quiet-late", About: "v1 A, v2 B, any time, transient answer", ver: v12, arrivals: ab, quiet: true, budget: faults(2, 2, 1, 1).late(1, 0).calls(1, 0)},
	{Name: "quiet-aba", About: "v1 A, v2 B, v3 A, any time", ver: v123, arrivals: aba, quiet: true, budget: faults(2, 1, 1, 1).late(1, 0)},
	{Name: "breaker", About: "2 objects, 4 calls that cannot be served", ver: v11, obj: two, arrivals: aa, breaker: true, sends: 3, budget: faults(1, 1, 1, 0).late(1, 1).with(0, 4)},
	{Name: "breaker-faults", About: "2 objects, 1 such call, 2 faults", ver: v11, obj: two, arrivals: aa, breaker: true, sends: 3, budget: faults(2, 1, 1, 0).late(1, 1).with(0, 1)},
	{Name: "breaker-one", About: "1 event, 3 such calls, 3 faults", ver: v1, arrivals: once, breaker: true, claims: 4, sends: 5, budget: faults(3, 2, 1, 1).late(1, 1).with(0, 3)},
	{Name: "reconcilers", About: "two at once, 1 event, 2 deliveries", ver: v1, arrivals: twice, sweeps: 2, budget: faults(3, 2, 1, 1).late(1, 0)},
	{Name: "losing", About: "1 event, 2 deliveries, transient answer", ver: v1, arrivals: twice, losing: true, budget: faults(3, 1, 2, 1).late(2, 0).calls(1, 0)},
	{Name: "losing-draft", About: "1 event with a draft, transient answer", ver: v1, arrivals: once, losing: true, policy: 1, budget: faults(3, 1, 2, 1).late(2, 0).calls(1, 0).with(2, 0)},
	{Name: "redrive-lost", About: "2 final failures, 2 redrives, answer lost", ver: v1, arrivals: once, lostRed: true, claims: 2, budget: faults(2, 0, 1, 1).late(1, 0).calls(0, 2).acts(2, 0)},
	{Name: "redrive-lost-draft", About: "the same with rejected drafts", ver: v1, arrivals: once, lostRed: true, policy: 1, budget: faults(2, 1, 1, 0).late(1, 0).acts(2, 0).with(3, 0)},
	{Name: "breaker-draft", About: "v1 A, v2 B with drafts", ver: v12, arrivals: ab, breaker: true, policy: 1, sends: 3, budget: faults(1, 1, 1, 0).late(1, 0).with(2, 1)},
	{Name: "quiet-draft", About: "v1 A, v2 B, v3 A, any time, with drafts", ver: v123, arrivals: aba, quiet: true, policy: 1, budget: faults(1, 1, 1, 0).late(1, 0).with(2, 0)},
	{Name: "recipes", About: "1 event, 2 recipes, one fails, redrive", ver: v1, arrivals: once, multi: true, recipes: 2, claims: 2, budget: faults(2, 1, 1, 1).late(1, 0).calls(0, 1).acts(1, 0)},
	{Name: "recipes-draft", About: "the same, each output a draft or not", ver: v1, arrivals: once, multi: true, recipes: 2, claims: 2, policy: 2, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0).with(2, 0)},
	{Name: "recipes-order", About: "v1 A, v2 B, 2 recipes", ver: v12, arrivals: ab, multi: true, recipes: 2, budget: faults(2, 1, 1, 1).late(1, 0)},
}
