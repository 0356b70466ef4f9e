package catchup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/problem"
	"engang/shared/webhook"
)

// A sweep is one endpoint's turn in a run. It holds the endpoint's item as it moved it last.
type sweep struct {
	*Runner
	endpoint config.Endpoint
	at       inbox.CatchUp
	report   *Report
	target   config.Target
	types    []string // of event, for which objects are fetched, one after the other
	fresh    int      // events that nobody had delivered
}

// A place is where a look goes on. It is stored as the cursor of [inbox.CatchUp].
type place struct {
	Type  string    `json:"type"`           // for which objects are fetched; empty: the look is done
	After time.Time `json:"after"`          // what changed up to this second is taken
	Skip  int       `json:"skip,omitempty"` // objects that changed later and are taken too
	Size  int       `json:"size"`
	Began time.Time `json:"began,omitzero"` // the look, by our clock or the source's, whichever is behind
}

// run goes on with the look until it is done, or until the run's pages or time are used up.
func (s *sweep) run(ctx context.Context) error {
	defer func() { s.measure(ctx, s.endpoint, "CaughtUp", s.fresh) }()
	if err := s.plan(ctx); err != nil {
		return s.fail(ctx, place{}, err)
	}
	p := s.place()
	for n := 1; ; n++ {
		next, err := s.page(ctx, p)
		if refused, ok := errors.AsType[*unasked](err); ok {
			return s.fail(ctx, p, refused.err)
		}
		if err != nil {
			return err // of our own store: the page is repeated when the hold is over
		}
		if p = next; p.Type == "" {
			return s.done(ctx, p)
		}
		if n == s.Limits.Pages || !s.room(ctx) {
			return s.goOn(ctx, p, s.Now())
		}
		if err := s.goOn(ctx, p, s.Now().Add(s.hold())); err != nil {
			return err
		}
		if err := s.rest(ctx); err != nil {
			return err
		}
	}
}

// plan finds out whom to ask for what.
func (s *sweep) plan(ctx context.Context) error {
	common, err := s.Configs.Common(ctx, s.endpoint.Scope)
	if err != nil {
		return err
	}
	var ok bool
	if s.target, ok = common.Targets[s.endpoint.CatchUp.Target]; !ok {
		return fmt.Errorf("no target is named %s: %w", s.endpoint.CatchUp.Target, config.ErrUnknown)
	}
	scheme, _ := webhook.Lookup(s.endpoint.Provider)
	for _, eventType := range scheme.Changes() {
		if rule, taken := s.endpoint.Events[eventType]; taken && !rule.Ignore {
			s.types = append(s.types, eventType)
		}
	}
	if len(s.types) == 0 {
		return fmt.Errorf("the endpoint takes no event that its sender can be asked for: %w", config.ErrUnknown)
	}
	return nil
}

// place is where the look goes on. One of types that the endpoint takes no more begins again.
func (s *sweep) place() place {
	var p place
	if err := json.Unmarshal([]byte(s.at.Cursor), &p); err == nil && slices.Contains(s.types, p.Type) && p.Size > 0 {
		return p
	}
	return place{Type: s.types[0], After: s.at.Since, Size: s.Limits.Size}
}

// unasked says that a source gave no page.
type unasked struct{ err error }

func (e *unasked) Error() string { return e.err.Error() }

// page fetches a page and takes what stands on it. It returns where the look goes on behind it.
func (s *sweep) page(ctx context.Context, p place) (place, error) {
	began := s.Now().UTC() // before the question: what is delivered from now on is newer than the answer
	kind, _, _ := strings.Cut(p.Type, ".")
	found, err := s.Source.Search(ctx, s.target, inbox.Search{Kind: kind, After: p.After, Skip: p.Skip, Size: p.Size})
	if err != nil && ctx.Err() == nil {
		return p, &unasked{err}
	}
	if err != nil {
		return p, err
	}
	if p.Began.IsZero() {
		p.Began = began
		if !found.Now.IsZero() && found.Now.Before(began) {
			p.Began = found.Now
		}
	}
	for _, o := range found.Objects {
		if err := s.take(ctx, p, inbox.Fetched{Endpoint: s.endpoint.Name, Type: p.Type, Body: o.Body, At: began}); err != nil {
			return p, err
		}
	}
	s.report.Pages++
	s.report.Objects += len(found.Objects)
	return s.behind(p, found), nil
}

// take takes one object. What cannot be taken, however often it comes, keeps nothing else waiting.
func (s *sweep) take(ctx context.Context, p place, f inbox.Fetched) error {
	fresh, err := s.Intake.Take(ctx, f)
	switch {
	case err != nil && problem.Of(err, "").Status >= 500:
		return fmt.Errorf("take a fetched object of type %s: %w", p.Type, err)
	case err != nil:
		s.Log.ErrorContext(ctx, "fetched object passed over", "endpoint", s.endpoint.Name, "event_type", p.Type, "err", err)
		s.measure(ctx, s.endpoint, "CatchUpFailed", 1)
	case fresh:
		s.fresh++
		s.report.New++
	}
	return nil
}

// behind is the place behind a page. The last second of the page is asked for once more, since objects that
// share it may stand behind the page, and an object that changes meanwhile moves to the end: counting on
// from here would pass one over. Only within one second there is nothing but counting; pages then overlap.
func (s *sweep) behind(p place, found inbox.Findings) place {
	last := p.After
	for _, o := range found.Objects {
		if o.ChangedAt.After(last) {
			last = o.ChangedAt
		}
	}
	switch {
	case !found.More:
		next := place{Began: p.Began}
		if i := slices.Index(s.types, p.Type) + 1; i < len(s.types) {
			next.Type, next.After, next.Size = s.types[i], s.at.Since, s.Limits.Size
		}
		return next
	case last.After(p.After.Add(time.Second)):
		p.After, p.Skip, p.Size = last.Add(-time.Second), 0, s.Limits.Size
	default:
		p.Skip += p.Size - p.Size/10
	}
	return p
}

// smaller is the place where a page was too much to get: fewer objects, and at last one object less.
func (s *sweep) smaller(ctx context.Context, p place) place {
	if p.Size > 1 {
		p.Size = max(1, p.Size/10)
		return p
	}
	s.Log.ErrorContext(ctx, "fetched object passed over: it is too much to get", "endpoint", s.endpoint.Name, "event_type", p.Type, "changed_after", p.After, "skipped", p.Skip)
	p.Skip++
	return p
}

// fail leaves the source alone until the next time that is due, or longer where it asks for that.
func (s *sweep) fail(ctx context.Context, p place, err error) error {
	source, blamed := errors.AsType[*inbox.SourceError](err)
	wait := s.every(s.endpoint)
	if blamed {
		wait = max(wait, source.RetryAfter)
	}
	if blamed && source.TooMuch {
		p, wait = s.smaller(ctx, p), 0
	}
	s.Log.WarnContext(ctx, "source not asked to the end", "endpoint", s.endpoint.Name, "err", err)
	s.measure(ctx, s.endpoint, "CatchUpFailed", 1)
	s.report.Failed = append(s.report.Failed, s.endpoint.Name)
	if p.Type == "" {
		next := s.at
		next.Due = s.Now().Add(wait)
		return s.move(ctx, next)
	}
	return s.goOn(ctx, p, s.Now().Add(wait))
}

// goOn keeps the place for who looks next.
func (s *sweep) goOn(ctx context.Context, p place, due time.Time) error {
	cursor, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	return s.move(ctx, inbox.CatchUp{Since: s.at.Since, Cursor: string(cursor), Due: due})
}

// done ends the look. The next one begins where this one began, and some time before.
func (s *sweep) done(ctx context.Context, p place) error {
	since := p.Began.Add(-s.Limits.Overlap)
	if since.Before(s.at.Since) {
		since = s.at.Since
	}
	if s.fresh > 0 {
		s.Log.InfoContext(ctx, "caught up", "endpoint", s.endpoint.Name, "new", s.fresh)
	}
	return s.move(ctx, inbox.CatchUp{Since: since, Due: s.Now().Add(s.every(s.endpoint))})
}

// move puts the next state in the place of the one that this sweep wrote or read last.
func (s *sweep) move(ctx context.Context, next inbox.CatchUp) error {
	next.Since, next.Due = next.Since.UTC().Truncate(time.Second), next.Due.UTC()
	err := s.Table.MoveCatchUp(ctx, inbox.CatchUpMove{Scope: s.endpoint.Scope, Endpoint: s.endpoint.Name, Seen: s.at.Revision, Next: next, WriteID: s.NewID()})
	if err != nil {
		return err
	}
	next.Revision = s.at.Revision + 1
	s.at = next
	return nil
}

// rest leaves the source alone for a moment between two pages.
func (s *sweep) rest(ctx context.Context) error {
	wait := time.NewTimer(s.Limits.Pause)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
