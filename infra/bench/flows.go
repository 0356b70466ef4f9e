package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"engang/infra/local/wire"
)

// remembered are the reads of what functions remember for seconds, however many events there are.
var remembered = []string{"read config", "read pauses", "read breaker"}

// flows runs each way through the pipeline once, alone, and counts what it calls.
func (s *side) flows(ctx context.Context) ([]Flow, error) {
	s.Metered(true)
	defer s.Metered(false)
	id := s.maker.made + 1
	s.maker.made++
	var all []Flow
	for _, f := range []struct {
		name string
		word string // in the product's name
		late int    // minutes that it was changed after the first
		want string
		work bool
	}{
		{"new event, paid call, result", "oak", 1, "accepted", true},
		{"duplicate of a settled event", "oak", 1, "duplicate", false},
		{"echo: newer, same input, no call", "oak", 2, "accepted", true},
		{"superseded: older, no call", "ash", 0, "accepted", true},
		{"new event, not worked on yet", "elm", 3, "accepted", false},
		{"duplicate of an open event", "elm", 3, "duplicate", false},
	} {
		delivery, err := s.maker.delivery(product, version{id, f.word, f.late})
		if err != nil {
			return nil, err
		}
		s.Record().Reset()
		if err := s.one(ctx, delivery, f.want); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		var done atomic.Int64
		if f.work {
			if err := s.work(ctx, &done, 1); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		all = append(all, count(f.name, s.Record().Calls()))
	}
	var done atomic.Int64
	return all, s.work(ctx, &done, 2) // the open event was sent twice
}

// count sums up what functions have called.
func count(name string, calls []wire.Done) Flow {
	f := Flow{Name: name}
	for _, c := range calls {
		_, action, _ := strings.Cut(c.Operation, ".")
		switch {
		case c.Function == "" || slices.Contains(remembered, c.Name): // of the event source; remembered
		case c.Service == "model":
			f.ModelCalls++
		case c.Service == "sqs" && action == "SendMessage":
			f.Sends++
		case c.Service != "dynamodb":
		case action == "GetItem" || action == "Query":
			f.Reads++
			f.ReadUnits += c.ReadUnits
		default:
			f.Writes++
			f.WriteUnits += c.WriteUnits
			f.Engine += c.Capacity
		}
	}
	return f
}
