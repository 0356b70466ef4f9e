package linear_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/object"
	"engang/shared/operation"
)

var (
	noon   = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	shop   = object.Scope{Tenant: "shop", Environment: "test"}
	chair  = object.ID{Kind: "product", Value: "794"}
	card   = inbox.RecipeRef{Name: "product-card", Version: 3}
	work   = operation.Key{Scope: shop, Object: chair, Recipe: card, Digest: "9f2c41d0"}
	first  = inbox.NewEventID(shop, "woo-shop", "1")
	former = []inbox.RecipeRef{card}
)

const (
	lease = 20 * time.Second
	skew  = 2 * time.Second
)

// ranked is the rank of the nth version.
func ranked(n int64) object.Rank { return object.Rank(fmt.Sprintf("%020d#%013d#abcd", n, n)) }

func arrival() inbox.Event {
	return inbox.Event{
		ID: first, Scope: shop, Endpoint: "woo-shop", Provider: "woocommerce", Type: "product.updated", Object: chair, ReceivedAt: noon, Digest: "d",
		Rank: ranked(1), Recipes: former, Body: inbox.Body{Packed: []byte{1}, Bytes: 1}, WriteID: "put", DueAt: noon.Add(time.Hour),
	}
}

func claimOf(who string, ms int64) claiming {
	at := noon.Add(time.Duration(ms) * time.Millisecond)
	return claiming{operation.Claim{Key: work, Attempt: operation.AttemptID(who), WriteID: who, Event: first, Rank: ranked(1), Now: at, Until: at.Add(lease), Skew: skew, Limit: 9}}
}

// refusal is what stood in the way of a write to the operation.
func refusal(err error) (operation.Operation, bool) {
	refused, ok := errors.AsType[*operation.RefusedError](err)
	if !ok {
		return operation.Operation{}, false
	}
	return refused.Stored, true
}

// A world is what all share: the table, a clock that goes on with every claim, and versions that get newer.
type world struct {
	race
	table   *dynamo.Table
	rec     *recorder
	clock   atomic.Int64 // milliseconds since noon
	version atomic.Int64
}

// somebody is one of many, with what was seen last.
type somebody struct {
	*world
	number int
	random *rand.Rand
	made   int

	lease *operation.Lease
	seen  operation.Operation
	event inbox.Event
}

// choose chooses an act by its weight. Who has a lease mostly comes to its end next.
func (s *somebody) choose() string {
	names := slices.Sorted(maps.Keys(s.race.acts))
	if s.lease != nil && s.random.IntN(3) > 0 {
		ends := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return finishes[name].write == nil })
		if len(ends) > 0 {
			names = ends
		}
	}
	sum := 0
	for _, name := range names {
		sum += s.race.acts[name]
	}
	at := s.random.IntN(sum)
	for _, name := range names {
		if at -= s.race.acts[name]; at < 0 {
			return name
		}
	}
	return names[0]
}

func (s *somebody) id(kind string) string {
	s.made++
	return fmt.Sprintf("%s-%d-%d", kind, s.number, s.made)
}

// now is the clock's time, a little later each time.
func (s *somebody) now() time.Time {
	return noon.Add(time.Duration(s.clock.Add(s.random.Int64N(1500))) * time.Millisecond)
}

// rank is that of a version that is new, or of one that is not any more.
func (s *somebody) rank() object.Rank {
	if s.random.IntN(3) == 0 {
		return ranked(s.version.Add(1))
	}
	return ranked(1 + s.random.Int64N(s.version.Load()+1))
}

// finishes are the ends of a lease.
var finishes = map[string]struct {
	how   lifecycle.Transition[operation.State]
	write func(*dynamo.Table, context.Context, operation.Finish) error
}{
	"complete": {operation.Complete, (*dynamo.Table).Complete}, "draft": {operation.Hold, (*dynamo.Table).Hold}, "retry": {operation.Retry, (*dynamo.Table).Retry},
	"fail": {operation.Fail, (*dynamo.Table).Fail}, "pause": {operation.Pause, (*dynamo.Table).Pause}, "supersede": {operation.Overtake, (*dynamo.Table).Supersede},
}

// do does one act. One that needs what is not at hand looks instead.
func (s *somebody) do(ctx context.Context, name string) error {
	if finishes[name].write != nil {
		return s.finish(ctx, name)
	}
	switch name {
	case "claim":
		return s.claim(ctx)
	case "stall": // who has a lease keeps it, and everybody's time goes on
		s.clock.Add(int64(lease/time.Millisecond) / 4)
		return nil
	case "settle", "park", "reopen", "replay", "look at the event":
		return s.ofTheEvent(ctx, name)
	case "approve", "reject", "set aside", "cancel", "redrive":
		return s.ofAPerson(ctx, name)
	}
	return s.other(ctx, name)
}

func (s *somebody) claim(ctx context.Context) error {
	at := s.now()
	c := operation.Claim{Key: work, Attempt: operation.AttemptID(s.id("att")), WriteID: s.id("w"), Event: first, Rank: s.rank(), Now: at, Until: at.Add(lease), Skew: skew, Limit: s.limit}
	_, err := s.rec.keep(ctx, s.number, claiming{c}, func(ctx context.Context) (outcome, error) {
		l, err := s.table.Claim(ctx, c)
		if err == nil {
			s.lease = &l
			return outcome{Token: l.Token}, nil
		}
		return s.refused(explained(err, nil))
	})
	return err
}

// refused remembers what stood in the way.
func (s *somebody) refused(o outcome, err error) (outcome, error) {
	if i, ok := o.Saw.(item); ok && err == nil {
		s.seen = operation.Operation{Key: work, State: i.State, Token: i.Token, Event: i.Event, Rank: i.Rank, Digest: i.Digest, Output: []byte(i.Digest)}
	}
	return o, err
}

func (s *somebody) finish(ctx context.Context, name string) error {
	if s.lease == nil {
		return s.claim(ctx)
	}
	l, f := *s.lease, finishes[name]
	if s.random.IntN(3) > 0 { // else it does not know that it is over, and comes again
		s.lease = nil
	}
	at := s.now()
	fin := operation.Finish{
		Lease: l, WriteID: s.id("w"), Now: at, NotBefore: at.Add(time.Duration(s.random.IntN(2000)) * time.Millisecond), Digest: s.id("dig"), Reason: "because",
		Attempts: l.Log(operation.Attempt{Outcome: operation.Usable, Called: true}), ExpiresAt: at.Add(time.Hour),
	}
	fin.Output = []byte(fin.Digest)
	_, err := s.rec.keep(ctx, s.number, finishing{f.how, fin}, func(ctx context.Context) (outcome, error) {
		return s.refused(explained(f.write(s.table, ctx, fin), nil))
	})
	return err
}

func (s *somebody) ofTheEvent(ctx context.Context, name string) error {
	stale := map[error]reason{inbox.ErrStale: byEvent}
	at := s.now()
	var did act
	var do func(ctx context.Context) error
	switch name {
	case "settle", "park":
		e := inbox.Ending{Event: first, Scope: shop, Generation: s.event.Generation, At: at, Outcome: inbox.Completed, Operations: []string{work.String()}, ExpiresAt: at.Add(time.Hour)}
		if name == "park" {
			e.Parked, e.Outcome, e.Reason, e.Category, e.ExpiresAt = true, "", "because", "bug", time.Time{}
			if s.random.IntN(2) == 0 {
				e.Operations = nil
			}
		}
		did, do = ending{e}, func(ctx context.Context) error { return s.table.End(ctx, e) }
	case "reopen":
		did, do = reopening{how: inbox.Reopen}, func(ctx context.Context) error { return s.table.Reopen(ctx, first, at) }
	case "replay":
		before := s.event.Recipes
		if before == nil {
			before = former
		}
		raised := []inbox.RecipeRef{{Name: card.Name, Version: before[0].Version + 1}}
		did, do = reopening{inbox.Replay, before, raised}, func(ctx context.Context) error { return s.table.Replay(ctx, first, before, raised, at) }
	default:
		return s.look(ctx, func(ctx context.Context) (any, error) {
			e, err := s.table.Event(ctx, first)
			s.event = e
			return eventOf(e), err
		})
	}
	told, err := s.rec.keep(ctx, s.number, did, func(ctx context.Context) (outcome, error) { return explained(do(ctx), stale) })
	if err == nil && told.Why == byEvent { // look before the next one
		return s.ofTheEvent(ctx, "look at the event")
	}
	return err
}

// ofAPerson decides about what was seen last, whether it still stands so or not.
func (s *somebody) ofAPerson(ctx context.Context, name string) error {
	id, at, o := s.id("w"), s.now(), s.seen
	var did act
	var do func(ctx context.Context) error
	switch {
	case o.State == "":
		return s.other(ctx, "look")
	case name == "redrive":
		r := operation.Redrive{Key: work, Seen: operation.Failed, Token: o.Token, Event: o.Event, WriteID: id, Now: at, Due: at}
		if o.State == operation.Rejected {
			r.Seen = operation.Rejected
		}
		did, do = redriving{r}, func(ctx context.Context) error { return s.table.Redrive(ctx, r) }
	case name == "cancel":
		did, do = deciding{operation.Cancel, itemOf(o), id}, func(ctx context.Context) error {
			return s.table.Cancel(ctx, operation.Cancellation{Key: work, Token: o.Token, By: "ann", WriteID: id, Now: at})
		}
	case o.Digest == "":
		return s.other(ctx, "look")
	case name == "approve":
		a := operation.Approval{Seen: o, By: "ann", WriteID: id, Now: at}
		did, do = approving{a}, func(ctx context.Context) error { return s.table.Approve(ctx, a) }
	case name == "reject":
		did, do = deciding{operation.Reject, itemOf(o), id}, func(ctx context.Context) error {
			return s.table.Reject(ctx, operation.Rejection{Key: work, Digest: o.Digest, By: "ann", WriteID: id, Now: at})
		}
	default:
		did, do = deciding{operation.SetAside, itemOf(o), id}, func(ctx context.Context) error {
			return s.table.SetAside(ctx, operation.SettingAside{Key: work, Rank: o.Rank, WriteID: id})
		}
	}
	_, err := s.rec.keep(ctx, s.number, did, func(ctx context.Context) (outcome, error) {
		return s.refused(explained(do(ctx), map[error]reason{operation.ErrNewerResult: byResult}))
	})
	return err
}

func (s *somebody) other(ctx context.Context, name string) error {
	switch name {
	case "exhaust":
		e := operation.Exhaustion{Key: work, WriteID: s.id("w"), Now: s.now(), Skew: skew, Limit: s.limit, Reason: "used up"}
		_, err := s.rec.keep(ctx, s.number, exhausting{e}, func(ctx context.Context) (outcome, error) {
			return s.refused(explained(s.table.Exhaust(ctx, e), nil))
		})
		return err
	case "raise":
		r := operation.Raise{Key: work, Seen: s.seen.State, Rank: s.rank(), Event: first}
		if r.Seen == "" {
			return s.other(ctx, "look")
		}
		if r.Seen == operation.Failed {
			r.Listed, r.Before = !s.seen.QueuedAt.IsZero(), s.seen.Event
		}
		_, err := s.rec.keep(ctx, s.number, raising{r}, func(ctx context.Context) (outcome, error) {
			return s.refused(explained(s.table.Raise(ctx, r), nil))
		})
		return err
	case "publish":
		return s.publish(ctx)
	case "look at the result":
		return s.look(ctx, func(ctx context.Context) (any, error) {
			r, _, err := s.table.Result(ctx, shop, chair, card)
			return result{r.Rank, r.Digest}, err
		})
	}
	return s.look(ctx, func(ctx context.Context) (any, error) {
		o, err := s.table.Operation(ctx, work)
		if errors.Is(err, operation.ErrNotFound) {
			o, err = operation.Operation{}, nil
		}
		s.seen = o
		return itemOf(o), err
	})
}

func (s *somebody) publish(ctx context.Context) error {
	p := publishing{s.rank(), s.id("dig")}
	_, err := s.rec.keep(ctx, s.number, p, func(ctx context.Context) (outcome, error) {
		stored, written, err := s.table.PutResult(ctx, operation.Result{Scope: shop, Object: chair, Recipe: card, Rank: p.rank, Operation: work, Event: first, Output: []byte(p.digest), Digest: p.digest, At: noon})
		switch {
		case err != nil:
			return outcome{Why: outsideOfModel}, err
		case !written:
			return outcome{Why: byResult, Saw: result{stored.Rank, stored.Digest}}, nil
		}
		return outcome{}, nil
	})
	return err
}

// look reads something.
func (s *somebody) look(ctx context.Context, read func(context.Context) (any, error)) error {
	_, err := s.rec.keep(ctx, s.number, looking{}, func(ctx context.Context) (outcome, error) {
		saw, err := read(ctx)
		if err != nil {
			return outcome{Why: outsideOfModel}, err
		}
		return outcome{Why: onlyLookedAt, Saw: saw}, nil
	})
	return err
}
