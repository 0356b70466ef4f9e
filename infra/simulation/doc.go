// Package simulation runs the system's own code through histories that a seed decides: senders, receivers, workers,
// reconcilers and people at once, in virtual time, over the real store adapter and the embedded engine, with a model
// of the queue and a model provider that fails and lies.
//
// Every call to the store, to a queue and to the model is a step. Whoever makes one waits in the transport until it
// is let through; one goes at a time, and the seed says whose turn it is and what the step meets: a crash before or
// after it took effect, a lost request or answer, a refusal, a stall that outlasts a lease. Nothing but the seed and
// the program decides: the same seed makes the same history, byte for byte.
//
//	senders ── deliveries ──> intake ┐                          ┌> engine (one table for each world)
//	queue ──── messages ────> enrich ┼─ steps ──> the schedule ─┼> queue and dead letters (modelled)
//	clock ──── minutes ─────> sweeps ┤      (seed: who, fault)  └> model (lies, fails, is slow)
//	people ─── acts ────────> control┘                          └> bucket (modelled)
//
// After a while the faults end, people resume what they paused, and time goes on until nothing is left to do. Then
// every promise is judged over the whole table and over what was seen on the way ([Outcome.Violations]).
//
// The times are those of a deployed system, with a longer limit on a worker's run than on its lease, so that one that
// stalls wakes up to a lease that another has. In a quarter of the histories half of the bodies do not fit an item, in a
// quarter a sender puts many events into one delivery, and in a quarter somebody erases an object. Others last for days:
// things are kept for one or two, and leave by TTL at some time after it, while it begins all over again.
//
// Not simulated: catch-up, several messages in one run of a worker, a worker that gives up when its run is nearly over
// (it is stopped instead), and faults of a person's reads. Of erasing: clocks that are further apart than is allowed for,
// TTL, new events of the object until it is over (they come afterwards), and that nobody begins it once more where a call
// was cut off. Not judged: deliveries that bring an erased event once more among others, and what one leaves that is
// under way when its event is erased.
package simulation
