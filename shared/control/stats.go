package control

import (
	"context"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/spend"
)

// Spending is what a day's calls of a recipe cost, where it has a limit.
type Spending interface {
	Spent(ctx context.Context, scope object.Scope, recipe, day string) (spend.Day, error)
}

// statsPage is how many events one page of sums is made of.
const statsPage = 250

// Stats are the sums of one page of events: what the events of a period came to, each number on its own.
// Pages add up ([Stats.Add]).
//
// An operation counts where the newest event counts that it works for, with all its attempts, on the day on
// which that event was received. An event of several recipes counts for each of them, and once in all. Money is
// rounded up in each sum of each page.
type Stats struct {
	Kind        string          `json:"kind"` // "stats"
	Tenant      string          `json:"tenant"`
	Environment string          `json:"environment"`
	Since       time.Time       `json:"since"`
	Until       time.Time       `json:"until"`
	Total       Sums            `json:"total"`
	ByDay       map[string]Sums `json:"by_day"` // of UTC
	ByEndpoint  map[string]Sums `json:"by_endpoint"`
	ByRecipe    map[string]Sums `json:"by_recipe"` // with its version
	Today       []Spend         `json:"today"`     // of recipes with a limit, live; on the first page
	Next        string          `json:"next"`      // asks for the page behind this one; empty at the end
}

// Sums are counts and cost.
type Sums struct {
	Events       int             `json:"events"`
	Deliveries   int             `json:"deliveries"`
	Operations   int             `json:"operations"`
	Attempts     int             `json:"attempts"`
	PaidCalls    int             `json:"paid_calls"`            // that the provider reported tokens for
	UnknownCalls int             `json:"calls_of_unknown_cost"` // attempts that may have been paid for: no answer, no usage, lost, or in work
	Results      int             `json:"results"`               // operations with an accepted output
	Unsettled    Unsettled       `json:"unsettled"`
	CostUSD      operation.Money `json:"cost_usd"`
	CostAtLeast  bool            `json:"cost_is_lower_bound"` // what some attempt cost is not known, or was erased, and is not in CostUSD
	Erased       int             `json:"erased_events"`       // what was done for them, and what it cost, is in no number but that of the events
}

// Unsettled counts what is not over: what goes on by itself, and what waits for a person. Each case counts once.
type Unsettled struct {
	Open      int `json:"open"`      // events that are neither settled nor parked
	Parked    int `json:"parked"`    // events without an operation
	Drafts    int `json:"drafts"`    // operations in review
	Failed    int `json:"failed"`    // operations
	Conflicts int `json:"conflicts"` // another fact under the key of an event
}

// All is the number of cases.
func (u Unsettled) All() int { return u.Open + u.Parked + u.Drafts + u.Failed + u.Conflicts }

// A Spend is what a day's calls of a recipe cost so far, against its limit.
type Spend struct {
	Recipe      string          `json:"recipe"` // all versions share a day
	Day         string          `json:"day"`    // of UTC
	LimitUSD    operation.Money `json:"limit_usd"`
	SpentUSD    operation.Money `json:"spent_usd"`    // without what is reserved
	ReservedUSD operation.Money `json:"reserved_usd"` // for calls that have not reported: the worst that they may cost
	Reserved    int             `json:"reserved"`     // calls
}

// Add adds a later page.
func (s *Stats) Add(page Stats) {
	s.Total.add(page.Total)
	for to, from := range map[*map[string]Sums]map[string]Sums{&s.ByDay: page.ByDay, &s.ByEndpoint: page.ByEndpoint, &s.ByRecipe: page.ByRecipe} {
		for name, sums := range from {
			addTo(to, name, sums)
		}
	}
	s.Today, s.Next = append(s.Today, page.Today...), page.Next
}

func addTo(all *map[string]Sums, name string, more Sums) {
	if *all == nil {
		*all = map[string]Sums{}
	}
	sum := (*all)[name]
	sum.add(more)
	(*all)[name] = sum
}

func (s *Sums) add(o Sums) {
	s.Events += o.Events
	s.Deliveries += o.Deliveries
	s.Operations += o.Operations
	s.Attempts += o.Attempts
	s.PaidCalls += o.PaidCalls
	s.UnknownCalls += o.UnknownCalls
	s.Results += o.Results
	s.Unsettled.Open += o.Unsettled.Open
	s.Unsettled.Parked += o.Unsettled.Parked
	s.Unsettled.Drafts += o.Unsettled.Drafts
	s.Unsettled.Failed += o.Unsettled.Failed
	s.Unsettled.Conflicts += o.Unsettled.Conflicts
	s.CostUSD += o.CostUSD
	s.CostAtLeast = s.CostAtLeast || o.CostAtLeast
	s.Erased += o.Erased
}

// Stats sums up one page of the events of a span. The span's limit is not looked at: a page is as much as one
// look may read. The first page, of a span without a place in it, also says what today's calls cost so far.
func (c *Control) Stats(ctx context.Context, scope object.Scope, span Span) (Stats, error) {
	now := c.d.Now()
	doc := Stats{Kind: "stats", Tenant: scope.Tenant, Environment: scope.Environment, ByDay: map[string]Sums{}, ByEndpoint: map[string]Sums{}, ByRecipe: map[string]Sums{}, Today: []Spend{}}
	if span.After == "" {
		var err error
		if doc.Today, err = c.today(ctx, scope, now); err != nil {
			return doc, err
		}
	}
	span.Limit = MaxLimit
	span = span.complete(now)
	doc.Since, doc.Until = span.Since.UTC(), span.Until.UTC()
	if doc.Until.After(now) {
		doc.Until = now.UTC()
	}
	w, err := c.walk(scope, span)
	if err != nil {
		return doc, err
	}
	known := map[string]collection{}
	for range statsPage {
		e, ok, err := w.next(ctx)
		if err != nil {
			return doc, err
		}
		if !ok {
			break
		}
		ops, err := c.askedBy(ctx, scope, e, known)
		if err != nil {
			return doc, err
		}
		doc.count(e, ops)
	}
	doc.Next = w.cursor()
	return doc, nil
}

// count adds one event and the operations that work for it.
func (s *Stats) count(e Event, ops []Operation) {
	own := Sums{Events: 1, Deliveries: e.Deliveries}
	switch {
	case e.State == string(inbox.Received):
		own.Unsettled.Open = 1
	case e.State == string(inbox.Parked) && len(e.Operations) == 0 && e.Dismissed == nil:
		own.Unsettled.Parked = 1
	}
	if e.ErasedAt != nil {
		own.Erased, own.CostAtLeast = 1, len(e.Recipes) > 0
	}
	for _, c := range e.Conflicts {
		if c.Dismissed == nil {
			own.Unsettled.Conflicts++
		}
	}
	for _, recipe := range e.Recipes {
		addTo(&s.ByRecipe, recipe, own)
	}
	all := own
	for _, o := range ops {
		work := sumsOf(o)
		addTo(&s.ByRecipe, o.Recipe, work)
		all.add(work)
	}
	s.Total.add(all)
	addTo(&s.ByDay, spend.DayOf(e.ReceivedAt), all)
	addTo(&s.ByEndpoint, e.Endpoint, all)
}

func sumsOf(o Operation) Sums {
	s := Sums{Operations: 1, CostUSD: o.CostUSD, CostAtLeast: o.CostAtLeast}
	for _, a := range o.Attempts {
		s.Attempts += 1 + a.Repeats
		switch {
		case a.CostUSD == nil:
			s.UnknownCalls++
		case a.Tokens != nil:
			s.PaidCalls++
		}
	}
	waits := o.Review != nil && o.Review.OpenedAt != nil // not one that was dismissed or cancelled
	switch operation.State(o.State) {
	case operation.Completed:
		s.Results = 1
	case operation.Review:
		s.Unsettled.Drafts = 1
	case operation.Failed:
		if waits {
			s.Unsettled.Failed = 1
		}
	}
	return s
}

// today says what the calls of live recipes with a daily limit cost so far.
func (c *Control) today(ctx context.Context, scope object.Scope, now time.Time) ([]Spend, error) {
	live, err := config.ReadLive(ctx, c.d.Configs, scope)
	if err != nil {
		return nil, err
	}
	all := []Spend{}
	for _, r := range live.Set.Recipes {
		if r.Limits.USDPerDay == 0 {
			continue
		}
		day, err := c.d.Store.Spent(ctx, scope, r.Name, spend.DayOf(now))
		if err != nil {
			return nil, err
		}
		one := Spend{Recipe: r.Name, Day: spend.DayOf(now), LimitUSD: r.Limits.USDPerDay, SpentUSD: day.Sum, Reserved: len(day.Reserved)}
		for _, worst := range day.Reserved {
			one.ReservedUSD += worst
		}
		one.SpentUSD -= one.ReservedUSD
		all = append(all, one)
	}
	return all, nil
}
