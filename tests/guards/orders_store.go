package main

var itemOrders = []order{
	{"dynamo.eventItem: W1 writes no wid", []string{
		`"wid": ev.WriteID, "dig"`, `"wid": guardText(ev.WriteID, $id, ""), "dig"`}},
	{"dynamo.eventItem: W1 writes no digest", []string{
		`"dig": ev.Digest, "rank"`, `"dig": guardText(ev.Digest, $id, ""), "rank"`}},
	{"dynamo.eventItem: W1 writes no generation", []string{
		`"gen": num(0),`, `guardText("gen", $id, "other"): num(0),`}},
}

var transactionOrders = []order{
	{"dynamo.Table.Redrive: two writes in place of one transaction (W13, W20)", []string{
		`	if err := t.commit(ctx, s.call, operationHalf, eventHalf); err != nil {`,
		`	if $on {
		if err := t.commit(ctx, s.call, operationHalf); err != nil {
			return fmt.Errorf("redrive operation %s: %w", r.Key, err)
		}
		return t.commit(ctx, s.call, eventHalf)
	}
	if err := t.commit(ctx, s.call, operationHalf, eventHalf); err != nil {`}},
}

var reviewOrders = []order{
	{"dynamo.Table.Approve: two writes in place of one transaction (W17)", []string{
		`	if err := t.commit(ctx, approve.call, operationHalf, resultHalf); err != nil {`,
		`	if $on {
		if err := t.commit(ctx, approve.call, operationHalf); err != nil {
			return fmt.Errorf("approve operation %s: %w", k, err)
		}
		return t.commit(ctx, approve.call, resultHalf)
	}
	if err := t.commit(ctx, approve.call, operationHalf, resultHalf); err != nil {`}},
}

var emptyOrders = []order{
	{"dynamo.Table.EmptyEvent: the event before its conflicts", []string{
		`	for _, it := range items { // the conflicts come first`,
		`	if $on {
		if err := t.emptyEvent(ctx, id, at); err != nil {
			return fmt.Errorf("erase event %s: %w", id, err)
		}
	}
	for _, it := range items { // the conflicts come first`}},
}

var catchUpOrders = []order{
	{"dynamo.Table.MoveCatchUp: writes no wid", []string{`"wid": str(m.WriteID)}`, `"wid": str(guardText(m.WriteID, $id, ""))}`}},
	{"dynamo.Table.MoveCatchUp: counts no rev", []string{`"rev": num(m.Seen + 1)`, `guardText("rev", $id, "other"): num(m.Seen + 1)`}},
}

var configOrders = []order{
	{"dynamo.Table.MovePointer: writes no wid", []string{`"wid": str(writeID)}`, `"wid": str(guardText(writeID, $id, ""))}`}},
	{"dynamo.Table.MovePointer: counts no rev", []string{`it := item{"rev": num(p.Revision)`, `it := item{guardText("rev", $id, "other"): num(p.Revision)`}},
	{"dynamo.Table.PutVersion: writes no dig", []string{`"dig": str(v.Digest)}`, `"dig": str(guardText(v.Digest, $id, ""))}`}},
}
