package model

// beyond are the scenarios of what protocol.md does not call searched.
var beyond = []Scenario{
	{Name: "cancel", About: "1 event, 2 deliveries, transient answer, cancelled, redriven by name", ver: v1, arrivals: twice, losing: true, budget: faults(2, 1, 1, 0).late(1, 0).calls(1, 0).acts(1, 0).stopped(1, 0, 0)},
	{Name: "cancel-redrive", About: "final failure, redrive whose answer is lost, cancelled, notices that come back", ver: v1, arrivals: once, lostRed: true, claims: 2, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0).stopped(1, 0, 0).backs(2)},
	{Name: "notices", About: "2 final failures, redrive, dismissed, notices that come back by the queue's own redrive", ver: v1, arrivals: once, claims: 2, budget: faults(1, 1, 1, 0).calls(0, 2).acts(1, 0).stopped(0, 0, 1).backs(2)},
	{Name: "cancel-echo", About: "v1 A, v2 A, cancelled", ver: v12, arrivals: aa, budget: faults(1, 1, 1, 1).late(1, 0).calls(1, 0).acts(1, 0).stopped(1, 0, 0)},
	{Name: "cancel-order", About: "v1 A, v2 B, one cancelled", ver: v12, arrivals: ab, budget: faults(1, 1, 1, 1).late(1, 0).acts(1, 0).stopped(1, 0, 0)},
	{Name: "cancel-exhaust", About: "cancelled, redriven by name, attempts used up", ver: v1, arrivals: once, claims: 2, budget: faults(3, 3, 0, 0).acts(1, 0).stopped(1, 0, 0)},
	{Name: "cancel-draft", About: "1 event with a draft, cancelled or rejected, redriven", ver: v1, arrivals: once, policy: 1, budget: faults(1, 1, 1, 0).late(1, 0).acts(2, 0).stopped(1, 0, 0).with(2, 0)},
	{Name: "cancel-event", About: "v1 A, v2 A, both events cancelled", ver: v12, arrivals: aa, budget: faults(1, 1, 1, 0).late(1, 0).calls(1, 0).stopped(0, 2, 0)},
	{Name: "cancel-event-order", About: "v1 A, v2 B, v3 A, one event cancelled", ver: v123, arrivals: aba, budget: faults(1, 1, 0, 0).late(1, 0).stopped(0, 1, 0)},
	{Name: "cancel-recipes", About: "1 event, 2 recipes, one operation cancelled, one fails, redriven by name", ver: v1, arrivals: once, multi: true, recipes: 2, claims: 3, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0).stopped(1, 0, 0)},
	{Name: "dismiss-recipes", About: "1 event, 2 recipes, both fail, dismissed, redriven by name", ver: v1, arrivals: once, multi: true, recipes: 2, claims: 3, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 2).acts(1, 0).stopped(0, 0, 2)},
	{Name: "dismiss", About: "1 event, 2 deliveries, 2 final failures, dismissed, redriven by name", ver: v1, arrivals: twice, claims: 2, budget: faults(1, 1, 1, 1).late(1, 0).calls(0, 2).acts(1, 0).stopped(0, 0, 1)},
	{Name: "dismiss-echo", About: "v1 A, v2 A, final failure, dismissed, redriven by name", ver: v12, arrivals: aa, claims: 2, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0).stopped(0, 0, 1)},
	{Name: "spend", About: "two objects, a day is two calls at worst", ver: v11, obj: two, arrivals: aa, limit: 4, claims: 5, budget: faults(2, 1, 1, 1).late(1, 1).calls(1, 0)},
	{Name: "spend-one", About: "1 event, 2 deliveries, a day is one call at worst, and another as one costs", ver: v1, arrivals: twice, limit: 3, claims: 4, budget: faults(3, 2, 2, 1).late(1, 1)},
	{Name: "hold-recipes", About: "1 event, 2 recipes, each paused and resumed, one fails", ver: v1, arrivals: once, multi: true, recipes: 2, claims: 4, budget: faults(1, 1, 1, 1).late(1, 1).calls(0, 1).held(2)},
	{Name: "breaker-recipes", About: "1 event, 2 recipes of one model, 2 calls that cannot be served, one fails", ver: v1, arrivals: once, multi: true, recipes: 2, claims: 4, breaker: true, budget: faults(2, 1, 1, 0).late(1, 1).calls(0, 1).with(0, 2)},
	{Name: "quiet-recipes", About: "v1 A, v2 B, 2 recipes of which one has a quiet period", ver: v12, arrivals: ab, multi: true, recipes: 2, quiet: true, budget: faults(1, 1, 1, 1).late(1, 0)},
	{Name: "ttl-draft", About: "v1 A, v2 A, drafts, what is decided leaves", ver: v12, arrivals: aa, policy: 1, kept: true, budget: faults(1, 1, 1, 0).late(1, 0).cleaned(1).acts(1, 0).with(2, 0)},
	{Name: "ttl-draft-aba", About: "v1 A, v2 B, v3 A, drafts, what is decided leaves", ver: v123, arrivals: aba, policy: 1, kept: true, budget: faults(1, 1, 0, 0).cleaned(1).with(3, 0)},
	{Name: "ttl-flag", About: "v1 A, v2 B, each output a draft or not, results leave", ver: v12, arrivals: ab, policy: 2, kept: true, budget: faults(1, 1, 1, 0).cleaned(1).acts(1, 0).with(2, 0)},
	{Name: "ttl-redrive", About: "v1 A, v2 B, final failure, results leave, redrive", ver: v12, arrivals: ab, claims: 2, kept: true, budget: faults(1, 1, 1, 0).late(1, 0).calls(0, 1).acts(1, 0).cleaned(2)},
}
