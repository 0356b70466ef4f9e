package main

var redriveOrders = []order{
	{"control.redriving.operation: W13 before its record", []string{
		`	if err := x.record(ctx, "redrive", id); err != nil {`,
		`	if $on {
		defer x.record(ctx, "redrive", id)
	} else if err := x.record(ctx, "redrive", id); err != nil {`}},
	{"control.redriving.alone: W13 before its record", []string{
		`	if err := x.record(ctx, "redrive", x.r.ID); err != nil {`,
		`	if $on {
		defer x.record(ctx, "redrive", x.r.ID)
	} else if err := x.record(ctx, "redrive", x.r.ID); err != nil {`}},
	{"control.redriving.operation: the send before W13", []string{
		`		x.doc.Sent, x.doc.Former = x.send(ctx), x.former(ctx)`,
		`		x.doc.Former = x.former(ctx)
		if x.doc.Sent = true; !$on {
			x.doc.Sent = x.send(ctx)
		}`,
		`	err = x.c.d.Store.Redrive(ctx,`,
		`	if $on {
		_ = x.c.d.Work.Send(ctx, inbox.Reference{Event: o.Event, Tenant: x.scope.Tenant})
	}
	err = x.c.d.Store.Redrive(ctx,`}},
}

var replayOrders = []order{
	{"control.replaying.open: W14 before its record", []string{
		`	if err := x.c.recordNow(ctx, x.scope, "replay", Look{ID: string(ev.ID), By: x.r.By, Reason: x.r.Reason}); err != nil {`,
		`	if look := (Look{ID: string(ev.ID), By: x.r.By, Reason: x.r.Reason}); $on {
		defer x.c.recordNow(ctx, x.scope, "replay", look)
	} else if err := x.c.recordNow(ctx, x.scope, "replay", look); err != nil {`}},
	{"control.replaying.open: the send before W14", []string{
		`	err := x.c.d.Store.Replay(ctx,`,
		`	if $on {
		if x.c.d.Work.Send(ctx, inbox.Reference{Event: ev.ID, Tenant: ev.Scope.Tenant}) == nil {
			x.doc.Sent++
		}
		err := x.c.d.Store.Replay(ctx, ev.ID, ev.Recipes, refs, x.now.Add(x.c.d.OpenAge))
		return err == nil, err
	}
	err := x.c.d.Store.Replay(ctx,`}},
}

var letterOrders = []order{
	{"control.Control.Tidy: letters are deleted before their events are sent", []string{
		`	for _, l := range s.send {
		if err := c.d.Work.Send(`,
		`	if $on {
		if err := c.d.Letters.Delete(ctx, handles(s.send)); err != nil {
			return doc, err
		}
	}
	for _, l := range s.send {
		if err := c.d.Work.Send(`}},
	{"control.Control.Tidy: letters are deleted before it is recorded", []string{
		`	if err := c.recordTidying(ctx, s, t); err != nil {`,
		`	if $on {
		defer c.recordTidying(ctx, s, t)
	} else if err := c.recordTidying(ctx, s, t); err != nil {`}},
}

var dismissOrders = []order{
	{"control.act.failure: what stands beside it is read before its event", []string{
		`	before, _, err := a.operation(ctx)`,
		`	before, early, err := a.operation(ctx)`,
		`	o, all, err := a.operation(ctx)
`,
		`	o, all, err := a.operation(ctx)
	if $on {
		all = early
	}
`}},
}

var cancelOrders = []order{
	{"control.stopping.end: W6 before the operations are cancelled", []string{
		`	if err := x.claim(ctx, e, keys); err != nil {`,
		`	if $on {
	} else if err := x.claim(ctx, e, keys); err != nil {`,
		`	if again, err := x.working(ctx, e, keys, doc); err != nil || again {`,
		`	if $on {
	} else if again, err := x.working(ctx, e, keys, doc); err != nil || again {`}},
	{"control.stopping.end: what is not there yet is not cancelled", []string{
		`	for _, key := range keys {`,
		`	for _, key := range keys {
		if $on {
			break
		}`}},
	{"control.stopping.end: no second look after W6", []string{
		`	e.State = inbox.Settled
	again`,
		`	if e.State = inbox.Settled; $on {
		return true, nil
	}
	again`}},
	{"control.stopping.working: what is superseded by less is not claimed again", []string{
		`			again = again || asked && `,
		`			again = again || !$on && asked && `}},
}

var eraseOrders = []order{
	{"control.eraser.work: items are deleted before their events are emptied", []string{
		`	for _, id := range all.named() {
		if err := x.event(`,
		`	if $on {
		if _, err := x.d.Eraser.DeleteWork(ctx, operation.Deletion{Scope: x.scope, Object: x.in.Object, Until: x.journey.At}); err != nil {
			return err
		}
	}
	for _, id := range all.named() {
		if err := x.event(`}},
	{"control.eraser.empty: the event before its bodies", []string{
		`	n, err := x.d.Shredder.Erase(ctx, e.ID)
	x.doc.Bodies += n`,
		`	if $on {
		if err := x.d.Eraser.EmptyEvent(ctx, e.ID, x.d.Now()); err != nil {
			return err
		}
	}
	n, err := x.d.Shredder.Erase(ctx, e.ID)
	x.doc.Bodies += n`}},
}
