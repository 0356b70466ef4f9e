// Package catchup fetches from sources what they failed to deliver, and tells which senders are silent.
//
// A source that does not repeat loses what it could not deliver. It is asked, on the endpoint's schedule, which
// of its objects have changed; each goes through the same intake and identity as a delivery, so that what
// came by webhook as well is a duplicate or an echo: no call, and nothing is replaced.
//
// How far a source was asked stands in one item for each endpoint, which moves conditionally: of several that
// look at once, one gets it. A page is done when the item has moved behind it; a crash before that repeats
// the page.
//
//	due ── claim: due again in a while ──> page ──> page ──> done: due on schedule
//	                  │ crash                │ the source does not answer
//	                  v                      v
//	         whoever comes then repeats   the same page, on schedule
package catchup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/telemetry"
)

// Table is where it stands how far sources were asked and when senders were last heard. MoveCatchUp returns
// [inbox.ErrStale] when another one has moved it.
type Table interface {
	Scopes(ctx context.Context) ([]object.Scope, error)
	CatchUp(ctx context.Context, scope object.Scope, endpoint string) (inbox.CatchUp, error)
	MoveCatchUp(ctx context.Context, m inbox.CatchUpMove) error
	NoteDelivery(ctx context.Context, scope object.Scope, endpoint string, at time.Time) error
	LastDelivery(ctx context.Context, scope object.Scope, endpoint string) (time.Time, error)
}

// Configs is the applied configuration.
type Configs interface {
	Pointer(ctx context.Context, scope object.Scope) (config.Pointer, error)
	Endpoint(ctx context.Context, name string) (config.Endpoint, config.Pointer, error)
	Common(ctx context.Context, scope object.Scope) (config.Common, error)
}

// Source is asked what has changed. An error of the source's own making is an [*inbox.SourceError].
type Source interface {
	Search(ctx context.Context, t config.Target, q inbox.Search) (inbox.Findings, error)
}

// Intake takes an object as if it had been delivered, and tells whether nobody had delivered it. Its errors are
// those of the table in shared/problem.
type Intake interface {
	Take(ctx context.Context, f inbox.Fetched) (fresh bool, err error)
}

// Limits are what a run keeps to. A zero field means the one of [UsualLimits].
type Limits struct {
	Pages   int           // of one endpoint in one run; the next run goes on
	Size    int           // objects on a page
	Pause   time.Duration // between two pages of a source
	Room    time.Duration // that must be left of a run's time for another page
	Hold    time.Duration // for so long an endpoint is left to whoever looks; longer than a run
	Overlap time.Duration // that the next look reaches back behind the beginning of this one
	Reach   time.Duration // that a look reaches back at most, after a long time without one
	Slack   time.Duration // beyond its usual gap before a sender is called silent: deliveries are noted now and then only
	Speed   float64       // divides the hold and the times between two looks; zero: they are as long as is said
}

// UsualLimits are those of a deployed reconciler.
var UsualLimits = Limits{
	Pages:   5, // with the pause, 500 objects a minute
	Size:    100,
	Pause:   time.Second,
	Room:    20 * time.Second,
	Hold:    2 * time.Minute,
	Overlap: 5 * time.Minute, // what was changed and not yet to be seen, and clocks of one shop that differ
	Reach:   30 * 24 * time.Hour,
	Slack:   20 * time.Minute,
}

// Deps is what a [Runner] works with.
type Deps struct {
	Table   Table
	Configs Configs
	Source  Source
	Intake  Intake
	Limits  Limits
	Log     *slog.Logger
	Now     func() time.Time
	NewID   func() string // random, unique: the write id of a move
}

// A Runner looks after all endpoints. Two at once do no harm.
type Runner struct{ Deps }

// New makes a Runner.
func New(d Deps) *Runner {
	d.Limits = d.Limits.orUsual()
	return &Runner{d}
}

func (l Limits) orUsual() Limits {
	if l.Pages == 0 {
		l.Pages = UsualLimits.Pages
	}
	if l.Size == 0 {
		l.Size = UsualLimits.Size
	}
	for _, f := range []struct {
		of    *time.Duration
		usual time.Duration
	}{
		{&l.Pause, UsualLimits.Pause}, {&l.Room, UsualLimits.Room}, {&l.Hold, UsualLimits.Hold}, {&l.Overlap, UsualLimits.Overlap}, {&l.Reach, UsualLimits.Reach}, {&l.Slack, UsualLimits.Slack},
	} {
		if *f.of == 0 {
			*f.of = f.usual
		}
	}
	return l
}

// A Report counts what one run did.
type Report struct {
	Pages   int      // fetched and taken
	Objects int      // on them
	New     int      // events that nobody had delivered
	Failed  []string // endpoints whose source did not answer as it should; it is asked again on schedule
	Silent  []string // endpoints whose sender was not heard for longer than its usual gap
}

// Run looks once after every endpoint: it goes on with what is due, and measures which senders are silent. A
// source that does not answer is no error of a run. A fault with one endpoint does not keep the others
// waiting; the error tells that there were some. What time leaves undone is done by the next run.
func (r *Runner) Run(ctx context.Context) (Report, error) {
	var report Report
	scopes, err := r.Table.Scopes(ctx)
	if err != nil {
		return report, fmt.Errorf("list tenants and environments: %w", err)
	}
	watched := false
	var faults []error
	for _, scope := range scopes {
		endpoints, err := r.endpoints(ctx, scope)
		if err != nil {
			faults = append(faults, fmt.Errorf("endpoints of %s: %w", scope, err))
		}
		for _, e := range endpoints {
			watched = watched || e.SilentAfterSeconds > 0
			if err := r.turn(ctx, e, &report); err != nil {
				faults = append(faults, fmt.Errorf("endpoint %s: %w", e.Name, err))
			}
		}
	}
	if watched {
		r.tellSilent(ctx, report.Silent)
	}
	return report, errors.Join(faults...)
}

// turn is one endpoint's. A panic is a bug: the next run meets the endpoint again, and the others have theirs in this one.
func (r *Runner) turn(ctx context.Context, e config.Endpoint, report *Report) (err error) {
	defer telemetry.Recover(ctx, r.Log, &err, slog.String("endpoint", e.Name))
	return errors.Join(r.listen(ctx, e, report), r.look(ctx, e, report))
}

// endpoints are the live endpoints of a scope that there is something to do for, in the order of their names.
func (r *Runner) endpoints(ctx context.Context, scope object.Scope) ([]config.Endpoint, error) {
	p, err := r.Configs.Pointer(ctx, scope)
	if errors.Is(err, config.ErrUnknown) {
		return nil, nil // its addresses are claimed, and nothing is applied yet
	}
	if err != nil {
		return nil, err
	}
	var all []config.Endpoint
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(p.Endpoints)) {
		e, _, err := r.Configs.Endpoint(ctx, name)
		switch {
		case err != nil:
			faults = append(faults, err)
		case e.CatchUp != nil || e.SilentAfterSeconds > 0:
			all = append(all, e)
		}
	}
	return all, errors.Join(faults...)
}

// look goes on with an endpoint that is due.
func (r *Runner) look(ctx context.Context, e config.Endpoint, report *Report) error {
	if e.CatchUp == nil {
		return nil
	}
	seen, err := r.Table.CatchUp(ctx, e.Scope, e.Name)
	if err != nil {
		return err
	}
	now := r.Now()
	if seen.Due.After(now) || !r.room(ctx) {
		return nil
	}
	next := seen
	next.Due = now.Add(r.hold())
	switch oldest := now.Add(-r.Limits.Reach); {
	case seen.Revision == 0: // what changed before anybody asked to be told of it was not lost
		next.Since = now.Add(-r.every(e) - r.Limits.Overlap)
	case seen.Cursor == "" && seen.Since.Before(oldest):
		r.Log.WarnContext(ctx, "source was not asked for so long that older changes are left out", "endpoint", e.Name, "since", seen.Since, "from", oldest)
		next.Since = oldest
	}
	s := &sweep{Runner: r, endpoint: e, at: seen, report: report}
	if err := s.move(ctx, next); err != nil {
		return unlessStale(err) // another one looks
	}
	return unlessStale(s.run(ctx))
}

// unlessStale leaves an endpoint to the one that has taken over.
func unlessStale(err error) error {
	if errors.Is(err, inbox.ErrStale) {
		return nil
	}
	return err
}

// room tells whether enough of the run's time is left for a page. Without a deadline there is no end of time.
func (r *Runner) room(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() == nil && (!ok || time.Until(end) >= r.Limits.Room)
}

// every is the time between two looks.
func (r *Runner) every(e config.Endpoint) time.Duration {
	return r.scaled(time.Duration(e.CatchUp.EverySeconds) * time.Second)
}

// hold is for how long an endpoint is left to whoever looks.
func (r *Runner) hold() time.Duration { return r.scaled(r.Limits.Hold) }

func (r *Runner) scaled(d time.Duration) time.Duration {
	if r.Limits.Speed > 0 {
		d = time.Duration(float64(d) / r.Limits.Speed)
	}
	return d
}

// measure counts by endpoint.
func (r *Runner) measure(ctx context.Context, e config.Endpoint, name string, n int) {
	if n > 0 {
		telemetry.MeasureEndpoint(ctx, r.Log, e.Name, telemetry.Count(name, int64(n)))
	}
}
