package intake

import (
	"context"
	"fmt"
	"time"

	"engang/shared/inbox"
	"engang/shared/problem"
)

// Take stores the event that an object would have been delivered as, through the same checks of size, shape
// and type, and with the same key: what was delivered too is a duplicate. There is no signature: who
// answered is who was asked.
//
// At is the time before the question, and counts as the time of receipt: what was delivered since is newer,
// within the same second of the source too. A repeat is not counted among the deliveries. Errors are those
// of [Intake.Deliver].
func (in *Intake) Take(ctx context.Context, f inbox.Fetched) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, in.Limits.Stored)
	defer cancel()
	s, err := lookUp(ctx, in.Endpoints, f.Endpoint)
	if err != nil {
		return Reply{}, err
	}
	if n := in.maxBody(s.endpoint); len(f.Body) > n {
		return Reply{}, fmt.Errorf("fetched object of %d bytes, at most %d: %w", len(f.Body), n, problem.ErrTooLarge)
	}
	rule, named := s.endpoint.Events[f.Type]
	if !named || rule.Ignore {
		return Reply{Status: Ignored}, nil
	}
	req, err := s.scheme.Fetched(f.Type, f.Body)
	if err != nil {
		return Reply{}, err
	}
	doc, content, err := s.scheme.Document(req)
	if err != nil {
		return Reply{}, err
	}
	received := f.At.UTC().Truncate(time.Millisecond)
	ev, _, err := in.made().event(ctx, s, delivered{request: req, doc: doc, content: content, rule: rule, received: received})
	if err != nil {
		return Reply{}, err
	}
	ev.CaughtUp = true
	ev.DueAt = ev.DueAfter(in.Now().UTC().Truncate(time.Millisecond), in.Limits.OpenAge)
	return in.keep(ctx, ev, content)
}
