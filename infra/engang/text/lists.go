package text

import (
	"io"
	"strconv"

	"engang/shared/control"
)

// Events writes a list of events, with a head line if asked.
func (c Clock) Events(w io.Writer, list []control.Event, head bool) error {
	var rows [][]string
	if head {
		rows = append(rows, []string{"received", "event", "endpoint", "type", "object", "state", "deliveries"})
	}
	for _, e := range list {
		rows = append(rows, []string{c.Second(&e.ReceivedAt), e.ID, e.Endpoint, e.Type, orDash(e.Object), state(e), strconv.Itoa(e.Deliveries)})
	}
	return Columns(w, "", rows)
}

func state(e control.Event) string {
	switch {
	case e.Outcome != "":
		return e.State + ", " + e.Outcome
	case e.Category != "" && e.State == "parked":
		return e.State + ", " + e.Category
	}
	return e.State
}

// Operations writes a list of operations, with a head line if asked.
func (c Clock) Operations(w io.Writer, list []control.Operation, head bool) error {
	var rows [][]string
	if head {
		rows = append(rows, []string{"started", "operation", "state", "attempts", "cost", "category", "reason"})
	}
	for _, o := range list {
		rows = append(rows, []string{c.Second(started(o)), ShortOperation(o.ID), o.State, strconv.Itoa(len(o.Attempts)), cost(o), o.Category, o.Reason})
	}
	return Columns(w, "", rows)
}

// Acts writes what was done, with a head line if asked.
func (c Clock) Acts(w io.Writer, list []control.Act, head bool) error {
	var rows [][]string
	if head {
		rows = append(rows, []string{"at", "by", "act", "on", "why"})
	}
	for _, a := range list {
		rows = append(rows, []string{c.Second(&a.At), a.By, a.Act, ShortOperation(a.Target), orDash(a.Reason)})
	}
	return Columns(w, "", rows)
}

// cost is what an operation cost, as far as anybody knows.
func cost(o control.Operation) string {
	if o.CostAtLeast {
		return "at least $" + o.CostUSD.String()
	}
	return "$" + o.CostUSD.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
