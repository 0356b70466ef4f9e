package main

var keepOrders = []order{
	{"intake.Intake.keep: W1 before the body", []string{
		`	if ev.Body, err = in.Bodies.Keep(ctx, ev.ID, raw); err != nil {`,
		`	if $on {
		_, _ = in.Store.Receive(ctx, ev)
	}
	if ev.Body, err = in.Bodies.Keep(ctx, ev.ID, raw); err != nil {`}},
	{"intake.Intake.keep: the send before W1", []string{
		`	receipt, err := in.Store.Receive(ctx, ev)`,
		`	if $on {
		in.send(ctx, ev)
	}
	receipt, err := in.Store.Receive(ctx, ev)`}},
	{"intake.Intake.keep: the head (W21) before W1", []string{
		`	receipt, err := in.Store.Receive(ctx, ev)`,
		`	if $on {
		in.lead(ctx, ev)
	}
	receipt, err := in.Store.Receive(ctx, ev)`}},
	{"intake.Intake.keep: a caller that hangs up stops what follows W1", []string{
		`	ctx = context.WithoutCancel(ctx) // it is stored`,
		`	if $on {
		ctx, _ = context.WithCancel(ctx)
	} else {
		ctx = context.WithoutCancel(ctx)
	} // it is stored`}},
	{"intake.Intake.keep: the head (W21) after the send", []string{
		`	case inbox.Accepted:
		in.lead(ctx, ev)
		in.send(ctx, ev)`,
		`	case inbox.Accepted:
		if $on {
			in.send(ctx, ev)
		}
		in.lead(ctx, ev)
		if !$on {
			in.send(ctx, ev)
		}`}},
	{"intake.Intake.keep: a repeat of an open event has no head (W21)", []string{
		`may have died before
		in.lead(ctx, ev)`,
		`may have died before
		if !$on {
			in.lead(ctx, ev)
		}`}},
	{"intake.Intake.keep: a repeat of an open event is not sent", []string{
		`		in.send(ctx, ev)
		in.count(ctx, ev)`,
		`		if !$on {
			in.send(ctx, ev)
		}
		in.count(ctx, ev)`}},
	{"intake.Intake.keep: an event that is not sent is refused", []string{
		`		reply.Status = Accepted`,
		`		if $on && in.Queue.Send(ctx, inbox.Reference{Event: ev.ID}) != nil {
			return Reply{}, problem.ErrUnavailable
		}
		reply.Status = Accepted`}},
	{"intake.Intake.keep: a conflict that is not recorded (W2) is acknowledged", []string{
		`		if err := in.conflict(ctx, ev); err != nil {`,
		`		if err := in.conflict(ctx, ev); err != nil && !$on {`}},
}

var runOrders = []order{
	{"enrich.Worker.recipes: W6 after each recipe", []string{
		`		all = append(all, e)
	}`,
		`		all = append(all, e)
		if $on {
			return w.end(ctx, ev, all)
		}
	}`}},
}

var jobOrders = []order{
	{"enrich.job.attempt: the result is read before W3", []string{
		`	lease, err := j.Store.Claim(ctx, claim)`,
		`	if $on {
		if r, found, err := j.Store.Result(ctx, j.key.Scope, j.key.Object, j.key.Recipe); err == nil && found && r.Rank.Newer(j.ev.Rank) {
			return j.ended(inbox.Superseded), false, nil
		}
	}
	lease, err := j.Store.Claim(ctx, claim)`}},
	{"enrich.job.attempt: the head is read before W3", []string{
		`	lease, err := j.Store.Claim(ctx, claim)`,
		`	if $on {
		if newer, err := j.newer(ctx); err == nil && newer != "" {
			return j.coalescedBy(newer), false, nil
		}
	}
	lease, err := j.Store.Claim(ctx, claim)`}},
	{"enrich.job.refusedClaim: an echo writes no result (W5)", []string{
		`		e, err = j.publish(ctx, stored.Output, stored.Digest)`,
		`		if $on {
			e = j.ended(inbox.Completed)
		} else {
			e, err = j.publish(ctx, stored.Output, stored.Digest)
		}`}},
	{"enrich.job.leased: the limits (W28) are asked after the call", []string{
		`	if stopped, e, err := j.limited(ctx, lease); stopped {`,
		`	if $on {
		answer := j.call(ctx, lease)
		if stopped, e, err := j.limited(ctx, lease); stopped {
			return e, err
		}
		return j.answered(ctx, lease, answer)
	}
	if stopped, e, err := j.limited(ctx, lease); stopped {`}},
}

var finishOrders = []order{
	{"enrich.Worker.persist: a try may use up the function's time", []string{
		`		ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.Limits.Answer, answerTime))`,
		`		limit := cmp.Or(w.Limits.Answer, answerTime)
		if $on {
			limit = time.Hour
		}
		ctx, cancel := context.WithTimeout(ctx, limit)`}},
	{"enrich.job.finish: every repeat has a write id of its own", []string{
		`	err := j.persist(ctx, func(ctx context.Context) error { return do(ctx, f) })`,
		`	err := j.persist(ctx, func(ctx context.Context) error {
		if $on {
			f.WriteID = j.NewID()
		}
		return do(ctx, f)
	})`}},
	{"enrich.job.finish: a losing attempt is not recorded (W15)", []string{
		`			if err := j.persist(ctx, func(ctx context.Context) error { return j.Store.RecordLosing(ctx, j.key, losing) }); err != nil {`,
		`			if err := j.persist(ctx, func(ctx context.Context) error {
				if $on {
					return nil
				}
				return j.Store.RecordLosing(ctx, j.key, losing)
			}); err != nil {`}},
	{"enrich.job.complete: W5 before W4", []string{
		`	if err := j.finish(ctx, j.Store.Complete, operation.Completed, f, a); err != nil {`,
		`	if $on {
		e, err := j.publish(ctx, output, f.Digest)
		if err == nil {
			err = j.finish(ctx, j.Store.Complete, operation.Completed, f, a)
		}
		return e, err
	}
	if err := j.finish(ctx, j.Store.Complete, operation.Completed, f, a); err != nil {`}},
	{"enrich.job.publish: W6 before W5", []string{
		`	stored, written, err := j.Store.PutResult(`,
		`	if $on {
		if err := j.end(ctx, j.ev, []ending{j.ended(inbox.Completed)}); err != nil {
			return ending{}, err
		}
	}
	stored, written, err := j.Store.PutResult(`}},
	{"enrich.job.hold: W6 before W16", []string{
		`	if err := j.finish(ctx, j.Store.Hold, operation.Review, f, a); err != nil {`,
		`	if $on {
		if err := j.end(ctx, j.ev, []ending{j.ended(inbox.InReview)}); err != nil {
			return ending{}, err
		}
	}
	if err := j.finish(ctx, j.Store.Hold, operation.Review, f, a); err != nil {`}},
	{"enrich.job.superseded: W6 before W8", []string{
		`	if err := j.finish(ctx, j.Store.Supersede, operation.Superseded, f, operation.Attempt{}); err != nil {`,
		`	if $on {
		if err := j.end(ctx, j.ev, []ending{j.ended(inbox.Superseded)}); err != nil {
			return ending{}, err
		}
	}
	if err := j.finish(ctx, j.Store.Supersede, operation.Superseded, f, operation.Attempt{}); err != nil {`}},
	{"enrich.job.pause: no W23", []string{
		`	j.trip(ctx, a, until)`,
		`	if !$on {
		j.trip(ctx, a, until)
	}`}},
	{"enrich.job.pause: W24 before W23", []string{
		`	j.trip(ctx, a, until)`,
		`	if $on {
		defer j.trip(ctx, a, until)
	} else {
		j.trip(ctx, a, until)
	}`}},
}

var endOrders = []order{
	{"enrich.job.broken: no W10", []string{
		`	found, stored, err := j.raise(ctx, r)`,
		`	if $on {
		return e, nil
	}
	found, stored, err := j.raise(ctx, r)`}},
	{"enrich.job.broken: W10 is not told what a person decided", []string{
		`	found, stored, err := j.raise(ctx, r)`,
		`	r.Listed = !$on
	found, stored, err := j.raise(ctx, r)`}},
	{"enrich.job.broken: the older event stays parked", []string{
		`			r.Older = &older`,
		`			if !$on {
				r.Older = &older
			}`}},
	{"enrich.job.decidedBefore: no W10", []string{
		`	_, _, err := j.raise(ctx, operation.Raise{Seen: operation.Failed})`,
		`	if $on {
		return j.ended(inbox.Cancelled), nil
	}
	_, _, err := j.raise(ctx, operation.Raise{Seen: operation.Failed})`}},
	{"enrich.job.waiting: no W10", []string{
		`	_, _, err := j.raise(ctx, operation.Raise{Seen: seen})`,
		`	if $on {
		return j.ended(how), nil
	}
	_, _, err := j.raise(ctx, operation.Raise{Seen: seen})`}},
	{"enrich.Worker.end: no notice", []string{
		`		if err := w.notify(ctx, ev, one); err != nil {`,
		`		if $on {
		} else if err := w.notify(ctx, ev, one); err != nil {`}},
	{"enrich.Worker.end: W6 before the notice", []string{
		`		} else if err := w.notify(ctx, ev, one); err != nil {`,
		`		} else if $on {
			defer w.notify(ctx, ev, one)
		} else if err := w.notify(ctx, ev, one); err != nil {`}},
}

var holdOrders = []order{
	{"enrich.job.probe: W3 without W25", []string{
		`	err := j.Store.Probe(ctx, pause.Probe{`,
		`	if $on {
		j.probing = attempt
		return nil
	}
	err := j.Store.Probe(ctx, pause.Probe{`}},
	{"enrich.job.served: no W26", []string{
		`		*j.closings = append(*j.closings, pause.Closing{`,
		`		if $on {
			return
		}
		*j.closings = append(*j.closings, pause.Closing{`}},
}

var splitOrders = []order{
	{"enrich.Worker.split: W6 of the batch before its parts", []string{
		`	for _, child := range parts.Events {`,
		`	if $on && !flawed {
		if err := w.end(ctx, ev, []ending{{outcome: inbox.Split}}); err != nil {
			return err
		}
	}
	for _, child := range parts.Events {`}},
	{"enrich.Worker.store: the send of a part before W1", []string{
		`	receipt, err := w.Store.Receive(ctx, child)`,
		`	if $on {
		if err := w.queue(ctx, child); err != nil {
			return 0, err
		}
	}
	receipt, err := w.Store.Receive(ctx, child)`}},
	{"enrich.Worker.emptyBatch: the bucket before the event, which is open yet", []string{
		`	if err := w.Store.EmptyBatch(`,
		`	if $on {
		if err := w.Bodies.Drop(ctx, ev.Body); err != nil {
			return err
		}
	}
	if err := w.Store.EmptyBatch(`}},
	{"enrich.Worker.queue: the head (W21) of a part after its send", []string{
		`	for _, h := range child.Heads() {`,
		`	if ref, now := child.Reference(); $on && now {
		if err := w.Sender.Send(ctx, ref); err != nil {
			return err
		}
	}
	for _, h := range child.Heads() {`}},
}

var sweepOrders = []order{
	{"reconcile.Sweeper.send: the send before W11", []string{
		`	err := s.Events.PushSend(`,
		`	if $on {
		if err := s.Queue.Send(ctx, inbox.Reference{Event: ev.ID, Tenant: ev.Scope.Tenant}); err != nil {
			return err
		}
		r.Sent++
		return s.Events.PushSend(ctx, ev.ID, ev.DueKey, s.Now().Add(s.wait(ev.Sends)))
	}
	err := s.Events.PushSend(`}},
	{"reconcile.Sweeper.park: W12 before the notice", []string{
		`	err := s.Notices.Notify(ctx, inbox.Notice{
		Event: ev.ID, Scope: ev.Scope, Generation: ev.Generation, Reason: reason, Category: category,
	})`,
		`	n := inbox.Notice{Event: ev.ID, Scope: ev.Scope, Generation: ev.Generation, Reason: reason, Category: category}
	var err error
	if $on {
		defer s.Notices.Notify(ctx, n)
	} else {
		err = s.Notices.Notify(ctx, n)
	}`}},
}
