package program_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/control"
	"engang/shared/operation"
)

func pausedShop() control.Hold {
	return control.Hold{
		Kind: "pause", What: "endpoint", Name: "woo-shop", Tenant: "shop", Environment: "test", At: at(0), Until: at(7200), By: "ann", Reason: "supplier feed is broken",
		Held: control.Held{EventsAtLeast: 3, LookedSince: noon.AddDate(0, 0, -3), Complete: true},
	}
}

func openBreaker() control.Hold {
	return control.Hold{
		Kind: "breaker", What: "model", Name: "openai/gpt-5.4-mini-2026-03-17", Tenant: "shop", Environment: "test", At: at(60), Until: at(360), Reason: "the quota is used up",
		Held: control.Held{EventsAtLeast: 412, LookedSince: noon.AddDate(0, 0, -3)},
	}
}

func pausedInPlace(of *control.Hold) control.Hold {
	h := pausedShop()
	h.Replaced = &control.Replaced{By: "bob", At: at(-60), Until: of.Until, Reason: "night shift"}
	return h
}

func pausedAll() control.Hold {
	h := pausedShop()
	h.What, h.Name, h.Until = "everything", "", nil
	return h
}

func cancelledOperation() control.Cancellation {
	return control.Cancellation{
		Kind: "cancellation", ID: completed().ID, Tenant: "shop", Environment: "test", Was: "running", Operations: []string{completed().ID},
		Decision: &control.Decision{By: "ann", At: noon, Note: "wrong supplier feed"},
	}
}

func cancelledAlready() control.Cancellation {
	doc := cancelledOperation()
	doc.Was, doc.Already, doc.Operations = "failed", true, []string{}
	return doc
}

func cancelledEvent() control.Cancellation {
	return control.Cancellation{Kind: "cancellation", ID: "evt_aaaaaaaaaaaaaaaa", Tenant: "shop", Environment: "test", Was: "received", Operations: []string{completed().ID}}
}

func resumed(remaining ...control.Hold) control.Resumption {
	return control.Resumption{
		Kind: "resumption", What: "model", Name: "openai/gpt-5.4-mini-2026-03-17", Tenant: "shop", Environment: "test",
		Resumed: []control.Hold{openBreaker()}, Remaining: append([]control.Hold{}, remaining...), DueWithinS: 300,
	}
}

func sums() control.Stats {
	day := control.Sums{Events: 2, Deliveries: 5, Operations: 2, Attempts: 3, PaidCalls: 2, UnknownCalls: 1, Results: 1, CostUSD: 636_000_000, CostAtLeast: true, Unsettled: control.Unsettled{Drafts: 1}}
	quiet := control.Sums{Events: 1, Deliveries: 1, Unsettled: control.Unsettled{Parked: 1}, Erased: 1}
	s := control.Stats{
		Kind: "stats", Tenant: "shop", Environment: "test", Since: noon.AddDate(0, 0, -3), Until: noon,
		ByDay:      map[string]control.Sums{"2026-11-29": day, "2026-11-28": quiet},
		ByEndpoint: map[string]control.Sums{"woo-shop": day, "crm": quiet},
		ByRecipe:   map[string]control.Sums{"product-card@3": day},
		Today:      []control.Spend{{Recipe: "product-card", Day: "2026-11-29", LimitUSD: 5_000_000_000_000, SpentUSD: 636_000_000, ReservedUSD: 4_000_000_000, Reserved: 1}},
	}
	s.Total = day
	s.Add(control.Stats{Total: quiet, Next: ""})
	return s
}

func cannedActs() map[string]any {
	return map[string]any{
		"/api/cancel": cancelledOperation(), "/api/pause": pausedShop(), "/api/resume": resumed(), "/api/stats": sums(),
		"/api/pauses": control.List[control.Hold]{Items: []control.Hold{pausedShop()}},
	}
}

func TestOutputOfActsOnWork(t *testing.T) {
	nothing := resumed()
	nothing.Resumed = []control.Hold{}
	for _, c := range []struct {
		name   string
		path   string
		answer any
		args   []string
	}{
		{"cancel", "cancel", cancelledOperation(), []string{"cancel", "product:794/product-card@3/9f", "--reason", "wrong supplier feed"}},
		{"cancel-already", "cancel", cancelledAlready(), []string{"cancel", "product:794/product-card@3/9f", "--reason", "me too"}},
		{"cancel-event", "cancel", cancelledEvent(), []string{"cancel", "evt_aaaaaaaaaaaaaaaa", "--reason", "test import"}},
		{"pause", "pause", pausedShop(), []string{"pause", "endpoint", "woo-shop", "--until", "2h", "--reason", "supplier feed is broken"}},
		{"pause-everything", "pause", pausedAll(), []string{"pause", "everything", "--reason", "incident 12"}},
		{"pause-replaced", "pause", pausedInPlace(&control.Hold{Until: at(3600)}), []string{"pause", "endpoint", "woo-shop", "--until", "2h", "--reason", "supplier feed is broken"}},
		{"pause-replaced-endless", "pause", pausedInPlace(&control.Hold{}), []string{"pause", "endpoint", "woo-shop", "--reason", "supplier feed is broken"}},
		{"pauses", "pauses", control.List[control.Hold]{Items: []control.Hold{pausedAll(), pausedShop(), openBreaker()}}, []string{"pause"}},
		{"pauses-none", "pauses", control.List[control.Hold]{Items: []control.Hold{}}, []string{"pause"}},
		{"resume", "resume", resumed(pausedAll()), []string{"resume", "model", "openai/gpt-5.4-mini-2026-03-17", "--reason", "quota raised"}},
		{"resume-nothing", "resume", nothing, []string{"resume", "model", "openai/gpt-5.4-mini-2026-03-17", "--reason", "quota raised"}},
		{"stats", "stats", sums(), []string{"stats"}},
		{"stats-by-endpoint", "stats", sums(), []string{"stats", "--by", "endpoint", "--utc"}},
	} {
		outputs(t, c.name, map[string]any{"/api/" + c.path: c.answer}, c.args)
	}
}

func TestWhatIsSaidOfActsOnWork(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cancel", "product:1/r@1/ab", "--reason", "why"}, `{"id":"product:1/r@1/ab","reason":"why"}`},
		{[]string{"pause", "endpoint", "woo-shop", "--until", "2h", "--reason", "why"}, `{"kind":"endpoint","name":"woo-shop","until":"2026-11-29T14:00:00Z","reason":"why"}`},
		{[]string{"pause", "recipe", "card", "--until", "2026-12-01T01:00:00+01:00", "--reason", "why"}, `{"kind":"recipe","name":"card","until":"2026-12-01T00:00:00Z","reason":"why"}`},
		{[]string{"pause", "everything", "--reason", "why"}, `{"kind":"everything","reason":"why"}`},
		{[]string{"resume", "model", "openai/m", "--reason", "why"}, `{"kind":"model","name":"openai/m","reason":"why"}`},
	} {
		api := serveCanned(t)
		for _, path := range []string{"cancel", "pause", "resume"} {
			api.answer["/api/"+path] = struct{}{}
		}
		code, _, stderr := run(t, t.Context(), append(c.args, "--target", api.url, "--as", "ann", "--tenant", "a", "--environment", "test", "--json")...)
		if diff := cmp.Diff(c.want, api.bodies[0]); diff != "" || code != 0 || api.as[0] != "ann" || api.asked[0].Get("tenant") != "a" {
			t.Errorf("%v: exit %d %s %s", c.args, code, stderr, diff)
		}
	}
}

// The program follows the pages, so that the sums are those of the whole period.
func TestStatsAreOfEveryPage(t *testing.T) {
	api := serveCanned(t)
	n := 0
	api.answer["/api/stats"] = func() any {
		n++
		page := control.Stats{Kind: "stats", Since: noon, Until: noon, Total: control.Sums{Events: 2, CostUSD: operation.Money(1_000_000)}, ByDay: map[string]control.Sums{"2026-11-29": {Events: 2}}}
		if n == 1 {
			page.Next, page.Today = "c", []control.Spend{{Recipe: "card"}}
		}
		return page
	}
	code, stdout, stderr := run(t, t.Context(), "stats", "--since", "2h", "--json", "--target", api.url)
	var got control.Stats
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d %s %v", code, stderr, err)
	}
	if got.Total.Events != 4 || got.Total.CostUSD != 2_000_000 || got.ByDay["2026-11-29"].Events != 4 || len(got.Today) != 1 || got.Next != "" || n != 2 {
		t.Errorf("%d pages: %s", n, stdout)
	}
	if first, second := api.asked[0], api.asked[1]; first.Get("after") != "" || second.Get("after") != "c" || first.Get("since") != "2026-11-29T10:00:00Z" || second.Get("since") != first.Get("since") {
		t.Errorf("asked %v", api.asked)
	}
}

func TestActsOnWorkThatAreWronglySaid(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"a cancellation without a reason", []string{"cancel", "evt_aaaaaaaaaaaaaaaa"}, "--reason"},
		{"a cancellation of nothing", []string{"cancel", "--reason", "why"}, "takes one ID"},
		{"a pause without a reason", []string{"pause", "everything", "--reason", " "}, "--reason"},
		{"a pause of what is none", []string{"pause", "hook", "x", "--reason", "why"}, "endpoint NAME"},
		{"an endpoint without a name", []string{"pause", "endpoint", "--reason", "why"}, "endpoint NAME"},
		{"everything, with a name", []string{"resume", "everything", "x", "--reason", "why"}, "endpoint NAME"},
		{"until a time that is over", []string{"pause", "everything", "--until", "2026-11-29T12:00:00Z", "--reason", "why"}, "is over already"},
		{"until no time", []string{"pause", "everything", "--until", "tomorrow", "--reason", "why"}, "from now on"},
		{"a look with an end", []string{"pause", "--until", "2h"}, "say what is to be held"},
		{"a resumption of nothing", []string{"resume", "--reason", "why"}, "say what goes on"},
		{"a resumption without a reason", []string{"resume", "everything"}, "--reason"},
		{"sums by what is none", []string{"stats", "--by", "hour"}, "day, endpoint, recipe"},
		{"sums since no time", []string{"stats", "--since", "yesterday"}, "is no time"},
	} {
		api := serveCanned(t)
		code, stdout, stderr := run(t, t.Context(), append(c.args, "--target", api.url)...)
		if code != 2 || !strings.Contains(stderr, c.says) || stdout != "" || len(api.asked) != 0 {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
	}
}

func TestActsOnWorkThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer refusal
		code   int
	}{
		{"by its state", refusal{409, `{"type":"urn:engang:problem:refused-by-state","title":"Refused by its state","detail":"The operation is completed."}`}, 4},
		{"no such thing", refusal{404, `{"type":"urn:engang:problem:not-found","title":"Not found"}`}, 3},
		{"by nobody", refusal{403, `{"type":"urn:engang:problem:no-identity","title":"No identity"}`}, 5},
		{"the store is down", refusal{503, `{"type":"urn:engang:problem:unavailable","title":"Temporarily unavailable"}`}, 6},
	} {
		for path, args := range map[string][]string{
			"cancel": {"cancel", "product:1/r@1/ab", "--reason", "why"}, "pause": {"pause", "everything", "--reason", "why"},
			"resume": {"resume", "everything", "--reason", "why"}, "pauses": {"pause"}, "stats": {"stats"},
		} {
			api := serveCanned(t)
			api.answer["/api/"+path] = c.answer
			if code, stdout, stderr := run(t, t.Context(), append(args, "--target", api.url)...); code != c.code || stdout != "" || !strings.Contains(stderr, "engang: ") {
				t.Errorf("%s: %s: exit %d, %s%s", c.name, path, code, stdout, stderr)
			}
		}
	}
}

// What a running system says fits the published schema, and the acts do what they say.
func TestActsOnWorkOfARunningSystem(t *testing.T) {
	t.Parallel()
	schema := answers(t)
	s := localtest.Start(t, local.Options{Manual: true})
	if code, _, stderr := live(t, s, "send"); code != 0 {
		t.Fatal(stderr)
	}
	var list control.List[control.Event]
	_, stdout, _ := live(t, s, "events", "--json")
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%s %v", stdout, err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"pause", "endpoint", "woo-shop", "--until", "2h", "--reason", "feed broken"}, 0, `"events_at_least":1`},
		{[]string{"pause", "endpoint", "woo-shop", "--until", "8s", "--reason", "try", "--as", "bob"}, 4, "user/ann since"},
		{[]string{"pause", "endpoint", "woo-shop", "--reason", "for good", "--as", "bob"}, 0, `"replaced":{"by":"arn:aws:iam::000000000000:user/ann"`},
		{[]string{"pause", "endpoint", "woo-shop", "--until", "2h", "--reason", "feed broken", "--as", "ann"}, 4, "user/bob since"},
		{[]string{"pause", "recipe", "cards", "--reason", "why"}, 3, "not-configured"},
		{[]string{"pause"}, 0, `{"items":[{"kind":"pause","what":"endpoint","name":"woo-shop"`},
		{[]string{"resume", "endpoint", "woo-shop", "--reason", "feed mended"}, 0, `"resumed":[{"kind":"pause"`},
		{[]string{"resume", "endpoint", "woo-shop", "--reason", "feed mended"}, 0, `"resumed":[]`},
		{[]string{"stats"}, 0, `"unsettled":{"open":1,`},
		{[]string{"cancel", list.Items[0].ID, "--reason", "a test"}, 0, `"was":"received"`},
		{[]string{"cancel", list.Items[0].ID, "--reason", "a test"}, 0, `"already":true`},
		{[]string{"cancel", "product:1/r@1/ab", "--reason", "a test"}, 3, "not-found"},
		{[]string{"events", "--state", "cancelled"}, 0, list.Items[0].ID},
		{[]string{"audit"}, 0, `"act":"cancel","target":"` + list.Items[0].ID + `","reason":"a test"`},
		{[]string{"audit", "--target-id", "endpoint woo-shop"}, 0, `"act":"pause, refused","target":"endpoint woo-shop","reason":"try"`},
		{[]string{"audit", "--object", list.Items[0].Object}, 0, `"target":"` + list.Items[0].ID + `"`},
		{[]string{"stats"}, 0, `"unsettled":{"open":0,`},
	} {
		code, stdout, stderr := live(t, s, append([]string{"--json", "--as", "ann"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
		for stream, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
			if text != "" {
				fits(t, schema, strings.Join(c.args, " ")+" "+stream, text)
			}
		}
	}
}
