package control

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// times are null where nothing happened.
func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func digest(hex string) string {
	if hex == "" {
		return ""
	}
	return "sha256:" + hex
}

func eventOf(e inbox.Event, seen inbox.Seen, conflicts []inbox.Conflict) Event {
	last := at(e.ReceivedAt)
	if seen.LastAt.After(e.ReceivedAt) {
		last = at(seen.LastAt)
	}
	out := Event{
		Kind: "event", ID: string(e.ID), State: string(e.State), Outcome: string(e.Outcome),
		Tenant: e.Scope.Tenant, Environment: e.Scope.Environment, Endpoint: e.Endpoint, Provider: e.Provider, Type: e.Type,
		Object: e.Object.String(), ObjectVersion: e.Rank.Version().String(), Rank: string(e.Rank),
		ReceivedAt: e.ReceivedAt.UTC(), Deliveries: 1 + seen.Count, LastSeenAt: last,
		EventID: e.SenderID, DeliveryID: e.DeliveryID, Digest: digest(e.Digest), BodyBytes: e.Body.Bytes,
		Recipes: refs(e.Recipes), Operations: append([]string{}, e.Operations...),
		Generation: e.Generation, Sends: e.Sends, EndedAt: at(e.EndedAt), ExpiresAt: at(e.ExpiresAt), Reason: e.Reason, Category: e.Category,
		CaughtUp: e.CaughtUp, ErasedAt: at(e.Erased), Dismissed: dismissal(e.Dismissed),
	}
	if e.CaughtUp { // the first is none that anybody delivered
		out.Deliveries--
	}
	if e.State == inbox.Received {
		out.DueAt = at(e.DueAt)
	}
	for _, c := range conflicts {
		out.Conflicts = append(out.Conflicts, Conflict{Digest: digest(c.Digest), At: c.At.UTC(), DeliveryID: c.DeliveryID, Dismissed: dismissal(c.Dismissed)})
	}
	return out
}

// operationOf makes the document of an operation without its events, which stand elsewhere.
func operationOf(o operation.Operation, losing []operation.Losing, results []operation.Result) Operation {
	out := Operation{
		Kind: "operation", ID: o.Key.String(), State: string(o.State), Tenant: o.Key.Scope.Tenant, Environment: o.Key.Scope.Environment,
		Object: o.Key.Object.String(), ObjectVersion: o.Rank.Version().String(), Recipe: o.Key.Recipe.String(), InputDigest: digest(o.Key.Digest),
		FencingToken: o.Token, Claims: o.Claims, Attempts: attempts(o, losing), Events: []string{}, Reason: o.Reason, Category: string(o.Category),
		Effects: []json.RawMessage{}, ExpiresAt: at(o.ExpiresAt),
	}
	if o.State != operation.Failed && o.State != operation.Review { // of an earlier end: a redrive leaves them
		out.Reason, out.Category = "", ""
	}
	for _, a := range out.Attempts {
		if a.CostUSD == nil {
			out.CostAtLeast = true
			continue
		}
		out.CostUSD += *a.CostUSD
	}
	switch o.State {
	case operation.Pending:
		out.DueAt = at(o.NotBefore)
	case operation.Running:
		out.LeaseUntil = at(o.LeaseEnd)
	case operation.Review, operation.Failed:
		if !o.QueuedAt.IsZero() { // else it was cancelled or dismissed
			out.Review = &Review{Digest: digest(o.Digest), Reasons: []string{o.Reason}, OpenedAt: at(o.QueuedAt)}
			if o.State == operation.Failed {
				out.Review.Seen = seenOperation(o)
			}
		}
	}
	out.Decision, out.Dismissed = decisionOf(o.Decision), decisionOf(o.Dismissed)
	for _, r := range results {
		if r.Operation == o.Key {
			out.Result = &OperationResult{Recipe: r.Recipe.String(), ObjectVersion: r.Rank.Version().String(), Digest: digest(r.Digest), OutputKept: len(r.Output) > 0}
		}
	}
	return out
}

func decisionOf(d *operation.Decision) *Decision {
	if d == nil {
		return nil
	}
	return &Decision{By: d.By, At: d.At.UTC(), Note: d.Note}
}

// dismissal says who took an event, or a conflict of it, off the review list.
func dismissal(d *inbox.Dismissed) *Decision {
	if d == nil {
		return nil
	}
	return &Decision{By: d.By, At: d.At.UTC(), Note: d.Note}
}

// attempts are all tries in the order of their tokens. What a fenced worker recorded of its call
// completes the entry that its successor made for it.
func attempts(o operation.Operation, losing []operation.Losing) []Attempt {
	all := o.History()
	for _, l := range losing {
		if l.Key != o.Key {
			continue
		}
		a := l.Attempt
		a.Outcome = operation.Lost
		i := slices.IndexFunc(all, func(b operation.Attempt) bool { return b.ID == a.ID || b.ID == "" && b.FencingToken == a.FencingToken })
		if i < 0 {
			all = append(all, a)
			continue
		}
		a.Category = cmp.Or(a.Category, all[i].Category)
		all[i] = a
	}
	slices.SortStableFunc(all, func(a, b operation.Attempt) int { return cmp.Compare(a.FencingToken, b.FencingToken) })
	out := make([]Attempt, len(all))
	for i, a := range all {
		out[i] = attemptOf(a)
	}
	return out
}

func attemptOf(a operation.Attempt) Attempt {
	out := Attempt{
		ID: string(a.ID), FencingToken: a.FencingToken, StartedAt: at(a.StartedAt), EndedAt: at(a.EndedAt), Outcome: string(a.Outcome),
		Category: string(a.Category), Reason: a.Reason, Repeats: a.Repeats, Called: called(a), CostUSD: cost(a), ModelAsked: a.ModelAsked, Model: a.Model, ResponseID: a.ResponseID,
		RequestID: a.RequestID, RequestDigest: digest(a.RequestDigest), Status: a.Status, IncompleteReason: a.IncompleteReason, ErrorCode: a.ErrorCode,
		HTTPStatus: a.HTTPStatus, Tokens: a.Tokens, ServiceTier: a.ServiceTier, PriceAsOf: a.PriceAsOf,
		DurationMS: a.Duration.Milliseconds(), RetryAfterMS: a.RetryAfter.Milliseconds(), RateLimits: a.RateLimits,
		BackoffMS: a.Backoff.Milliseconds(), BackoffMaxMS: a.BackoffMax.Milliseconds(),
	}
	return out
}

// called tells whether a model call was begun: nil for an attempt that runs, and for one whose worker died
// or lost its answer before it could say so.
func called(a operation.Attempt) *bool {
	if !a.Called && (a.Outcome == "" || a.Outcome == operation.Lost) {
		return nil
	}
	return &a.Called
}

// cost is what an attempt cost: nil where nobody knows. A call that the provider refused is not paid for;
// one without an answer, with a fault of the provider's own, or without its usage may have been.
func cost(a operation.Attempt) *operation.Money {
	var nothing operation.Money
	begun := called(a)
	switch {
	case a.Tokens != nil:
		return &a.CostUSD
	case begun == nil:
		return nil
	case !*begun, a.HTTPStatus >= http.StatusMultipleChoices && a.HTTPStatus < http.StatusInternalServerError:
		return &nothing
	}
	return nil
}

func resultOf(r operation.Result) Result {
	return Result{
		Recipe: r.Recipe.String(), Operation: r.Operation.String(), Event: string(r.Event), ObjectVersion: r.Rank.Version().String(), Rank: string(r.Rank),
		Digest: digest(r.Digest), At: r.At.UTC(), OutputKept: len(r.Output) > 0, ExpiresAt: at(r.ExpiresAt),
	}
}

func endpointOf(e config.Endpoint, p config.Pointer) Endpoint {
	out := Endpoint{
		Kind: "endpoint", Name: e.Name, Version: p.Endpoints[e.Name], Tenant: e.Scope.Tenant, Environment: e.Scope.Environment,
		Provider: e.Provider, PublicURL: e.PublicURL, Source: e.Source, Secrets: []string{}, Events: map[string]EventRule{},
		Type: e.Type, Legacy: e.Legacy, HMAC: e.HMAC, MaxBody: e.MaxBody,
		SilentAfter: e.SilentAfterSeconds, CatchUp: e.CatchUp,
	}
	if e.TypeAt != nil {
		out.TypeAt = e.TypeAt.String()
	}
	for _, ref := range e.Secrets {
		out.Secrets = append(out.Secrets, string(ref))
	}
	for name, rule := range e.Events {
		live, _ := p.Refs(rule.Recipes)
		doc := EventRule{Ignore: rule.Ignore, Recipes: refs(live)}
		if rule.Object != nil {
			doc.ObjectKind, doc.ObjectID = rule.Object.Kind, rule.Object.ID.String()
		}
		if rule.Version != nil {
			doc.Version = rule.Version.String()
		}
		out.Events[name] = doc
	}
	return out
}

func configOf(l config.Live) Config {
	out := Config{
		Kind: "config", Tenant: l.Set.Scope.Tenant, Environment: l.Set.Scope.Environment, Revision: l.Revision, AppliedAt: at(l.At), AppliedBy: l.By,
		Common: Common{Version: l.Pointer.Common, Common: l.Set.Common}, Endpoints: []Endpoint{}, Recipes: slices.Concat([]recipe.Recipe{}, l.Set.Recipes),
	}
	for _, e := range l.Set.Endpoints {
		out.Endpoints = append(out.Endpoints, endpointOf(e, l.Pointer))
	}
	return out
}
