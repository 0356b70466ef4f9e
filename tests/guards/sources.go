package main

// A source is a file with guards.
type source struct {
	file      string
	functions []string // whose every row is a guard
	orders    []order
}

// sources are the files that say what a write demands, what a refusal means, and what comes after what, in the order of
// the table.
var sources = []source{
	{file: expressions},
	{file: "shared/dynamo/items.go", orders: itemOrders},
	{file: "shared/dynamo/event.go", functions: []string{"Table.Receive"}},
	{file: "shared/dynamo/operation.go", functions: []string{"Table.Claim", "ownClaim", "Table.finish", "Table.Exhaust"}},
	{file: "shared/dynamo/raise.go", functions: []string{"Table.Raise", "knownRaise", "olderHalf"}},
	{file: "shared/dynamo/transact.go", functions: []string{"conflicts.IsErrorRetryable", "Table.commit", "Table.Redrive"}, orders: transactionOrders},
	{file: "shared/dynamo/table.go", functions: []string{"Table.refused"}},
	{file: "shared/dynamo/review.go", functions: []string{"Table.Approve", "Table.Dismiss", "ownDecision", "Table.DismissEvent"}, orders: reviewOrders},
	{file: "shared/dynamo/result.go", functions: []string{"Table.RecordLosing", "Table.PutResult"}},
	{file: "shared/dynamo/breaker.go", functions: []string{"Table.OpenBreaker", "Table.Probe", "Table.CloseBreaker", "moved"}},
	{file: "shared/dynamo/spend.go", functions: []string{"Table.Reserve", "Table.TakeMinute", "counted", "Table.Correct"}},
	{file: "shared/dynamo/erase.go", functions: []string{"Table.emptyEvent", "Table.DeleteWork", "Table.removeWork"}, orders: emptyOrders},
	{file: "shared/dynamo/audit.go", functions: []string{"sameEntry"}},
	{file: "shared/dynamo/catchup.go", functions: []string{"Table.MoveCatchUp"}, orders: catchUpOrders},
	{file: "shared/dynamo/config.go", functions: []string{"Table.MovePointer", "Table.PutVersion"}, orders: configOrders},

	{file: "shared/inbox/event.go", functions: []string{"Judge"}},
	{file: "shared/operation/judge.go", functions: []string{"JudgeClaim", "JudgeFinish"}},
	{file: "shared/operation/request.go", functions: []string{"JudgeRaise"}},
	{file: "shared/operation/decision.go", functions: []string{"JudgeDecision", "Operation.Needs"}},

	{file: "shared/intake/keep.go", functions: []string{"Intake.keep"}, orders: keepOrders},
	{file: "shared/enrich/enrich.go", functions: []string{"Worker.Run"}, orders: runOrders},
	{file: "shared/enrich/job.go", functions: []string{"job.refusedClaim", "job.leased"}, orders: jobOrders},
	{file: "shared/enrich/finish.go", functions: []string{"job.finish", "Worker.persist", "job.publish", "job.exhaust"}, orders: finishOrders},
	{file: "shared/enrich/ending.go", functions: []string{"job.broken", "job.failedBefore", "job.waiting", "job.raise", "Worker.write"}, orders: endOrders},
	{file: "shared/enrich/hold.go", functions: []string{"job.admitted", "job.probe"}, orders: holdOrders},
	{file: "shared/enrich/quiet.go", functions: []string{"job.newer"}},
	{file: "shared/enrich/redriven.go", functions: []string{"Worker.Redriven", "Worker.reopenEvent", "Worker.reopenOperation"}},
	{file: "shared/enrich/split.go", functions: []string{"Worker.store"}, orders: splitOrders},
	{file: "shared/reconcile/reconcile.go", functions: []string{"Sweeper.one", "Sweeper.send", "Sweeper.park"}, orders: sweepOrders},

	{file: "shared/control/redrive.go", functions: []string{"redriving.waits"}, orders: redriveOrders},
	{file: "shared/control/replay.go", functions: []string{"replaying.open"}, orders: replayOrders},
	{file: "shared/control/letters.go", functions: []string{"Control.joinOperation"}, orders: letterOrders},
	{file: "shared/control/review.go", functions: []string{"act.approve", "act.setAside", "act.wrote", "act.judge"}},
	{file: "shared/control/dismiss.go", functions: []string{"act.dismissOperation", "act.failure", "act.ours"}, orders: dismissOrders},
	{file: "shared/control/cancel.go", functions: []string{"stopping.operation", "stopping.end", "stopping.working", "stopping.goesOn"}, orders: cancelOrders},
	{file: "shared/control/erase.go", functions: []string{"eraser.again", "eraser.walked", "eraser.event", "eraser.batch"}, orders: eraseOrders},
	{file: "shared/control/journey.go", functions: []string{"Control.begin", "Control.recordJourney"}},
	{file: "shared/control/record.go", functions: []string{"answerable", "identified"}},
}

// An order is something that comes before something else, or goes together with it, and what the file looks like where
// it does not: in what is written instead, $on asks whether this one is out, and $id is its name.
type order struct {
	id    string
	edits []string // what stands once in the file, and what is written instead, in turn
}
