package text_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/operation"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// shown writes a document for people and returns the lines of its timeline, in words.
func shown(t *testing.T, doc control.Any) (head string, lines []string) {
	t.Helper()
	var b strings.Builder
	if err := (text.Clock{}).Show(&b, doc); err != nil {
		t.Fatal(err)
	}
	head, timeline, _ := strings.Cut(b.String(), "\n\n")
	for line := range strings.Lines(timeline) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return head, lines
}

func at(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

// Results are stored to the millisecond, attempts finer: a result must not stand above what made it.
func TestWhatFollowsFromSomethingStandsBelowIt(t *testing.T) {
	tries := make([]control.Attempt, 20) // sorting a few lines is stable by itself
	for i := range tries {
		tries[i] = control.Attempt{FencingToken: int64(i) + 1, Outcome: "lost"}
	}
	tries[1].StartedAt, tries[1].EndedAt = &noon, at(700*time.Microsecond)
	_, lines := shown(t, control.Any{Object: &control.Object{
		ID: "product:1", Complete: true,
		Events:     []control.Event{{ID: "evt_a", ReceivedAt: *at(900 * time.Microsecond), Deliveries: 2, LastSeenAt: at(100 * time.Microsecond), State: "settled", Conflicts: []control.Conflict{{At: noon}}}},
		Operations: []control.Operation{{Recipe: "r@1", InputDigest: "sha256:aa", Attempts: tries}},
		Results:    []control.Result{{Recipe: "r@1", At: noon}},
	}})
	var kinds []string
	for _, line := range lines {
		line = strings.TrimPrefix(line, "2026-11-29 12:00:00.000 ")
		kinds = append(kinds, strings.Join(strings.Fields(line)[:2], " "))
	}
	want := []string{"event evt_a", "repeats evt_a", "conflict evt_a"}
	for i := range tries {
		want = append(want, fmt.Sprint("attempt ", i+1))
	}
	if diff := cmp.Diff(append(want, "result r@1"), kinds); diff != "" {
		t.Error(diff)
	}
}

func TestAnAttemptSaysWhatItCostAsFarAsAnybodyKnows(t *testing.T) {
	yes, no, cost, nothing := true, false, operation.Money(200_000_000), operation.Money(0)
	for _, c := range []struct {
		attempt control.Attempt
		want    string
	}{
		{control.Attempt{}, "in work"},
		{control.Attempt{Outcome: "usable", Called: &yes, Tokens: &operation.Tokens{Input: 4, Output: 2}, CostUSD: &cost}, "usable: 4 in, 2 out tokens, $0.000200"},
		{control.Attempt{Outcome: "usable", Reason: "the draft was kept", Called: &no, CostUSD: &nothing}, "usable: the draft was kept; no call"},
		{control.Attempt{Outcome: "unusable", Category: "unusable output", Reason: "refusal", Called: &yes, Tokens: &operation.Tokens{Input: 4, Output: 2}, CostUSD: &cost}, "unusable: 4 in, 2 out tokens, $0.000200: refusal"},
		{control.Attempt{Outcome: "transient", Category: "transient", Reason: "the provider's rate limit is reached", Called: &yes, CostUSD: &nothing}, "transient: the provider's rate limit is reached; not paid for"},
		{control.Attempt{Outcome: "paused", Category: "provider paused", Reason: "r", Called: &yes, CostUSD: &nothing}, "paused: r; not paid for"},
		{control.Attempt{Outcome: "paused", Category: "configuration", Called: &no, CostUSD: &nothing}, "paused (configuration); no call"},
		{control.Attempt{Outcome: "transient", Category: "transient", Called: &yes}, "transient; what it cost is not known"},
		{control.Attempt{Outcome: "lost", Category: "transient"}, "lost (transient); whether it called is not known"},
	} {
		if got := text.Attempt(c.attempt); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestACostThatIsNotWhollyKnownIsALowerBound(t *testing.T) {
	cost := operation.Money(200_000_000)
	o := control.Operation{ID: "product:1/r@1/aa", CostUSD: cost, CostAtLeast: true, Attempts: []control.Attempt{{FencingToken: 1, Outcome: "lost"}, {FencingToken: 2, Outcome: "usable", CostUSD: &cost}}}
	if head, _ := shown(t, control.Any{Operation: &o}); !strings.Contains(head, "at least $0.000200; what 1 attempt cost is not known\n") {
		t.Error(head)
	}
	var b strings.Builder
	if err := (text.Clock{}).Operations(&b, []control.Operation{o}, false); err != nil || !strings.Contains(b.String(), "  at least $0.000200") {
		t.Errorf("%v %s", err, b.String())
	}
	o.CostAtLeast, o.Attempts = false, o.Attempts[1:]
	if head, _ := shown(t, control.Any{Operation: &o}); !strings.Contains(head, " $0.000200\n") || strings.Contains(head, "least") {
		t.Error(head)
	}
}

// Behind a try stands how long nothing was done, with the bound that doubles; after what was given up, the next one
// is a person's.
func TestAttemptsSayHowLongTheNextOneWaited(t *testing.T) {
	refused := func(began, ended time.Duration) control.Attempt {
		return control.Attempt{Outcome: "transient", StartedAt: at(began), EndedAt: at(ended), Called: new(bool), CostUSD: new(operation.Money)}
	}
	first, second, third, fourth := refused(0, time.Second), refused(3*time.Second, 4*time.Second), refused(8*time.Second, 9*time.Second), refused(9*time.Second, 10*time.Second)
	first.RetryAfterMS, first.BackoffMS, first.BackoffMaxMS = 1000, 1000, 2000
	fourth.BackoffMS, fourth.BackoffMaxMS = 3000, 4000
	_, lines := shown(t, control.Any{Operation: &control.Operation{Recipe: "r@1", InputDigest: "sha256:aa", Attempts: []control.Attempt{first, second, third, fourth}}})
	for i, want := range []string{
		"transient; no call; then a wait of 1.0 s (random below 2.0 s; the provider asked for 1.0 s)", "transient; no call; the next one 4.0 s later", "transient; no call",
		"transient; no call; then a wait of 3.0 s (random below 4.0 s)",
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("attempt %d: %s", i+1, lines[i])
		}
	}
}

// What was erased is not offered to be seen.
func TestAnErasedEventSaysWhenItWasErased(t *testing.T) {
	e := control.Event{ID: "evt_a", ReceivedAt: noon, LastSeenAt: &noon, Deliveries: 1, State: "settled"}
	for _, erased := range []*time.Time{nil, at(time.Minute)} {
		e.ErasedAt = erased
		head, _ := shown(t, control.Any{Event: &e})
		if strings.Contains(head, "--body") != (erased == nil) || strings.Contains(head, "2026-11-29 12:01:00.000; what it said is gone") != (erased != nil) {
			t.Errorf("%s", head)
		}
	}
}

// What persons decided stands where it happened, of an object and of an operation.
func TestDecisionsStandInTheTimeline(t *testing.T) {
	op := func(state string, decided, dismissed *control.Decision) control.Operation {
		return control.Operation{
			Recipe: "r@1", InputDigest: "sha256:aa", State: state, Decision: decided, Dismissed: dismissed,
			Attempts: []control.Attempt{{Outcome: "usable", StartedAt: &noon, EndedAt: at(time.Second)}},
		}
	}
	by := func(who string, after time.Duration) *control.Decision {
		return &control.Decision{By: who, At: *at(after), Note: "why not"}
	}
	for _, c := range []struct {
		op   control.Operation
		want string
	}{
		{op("completed", by("ann", time.Minute), nil), "2026-11-29 12:01:00.000 approved r@1/aa by ann why not"},
		{op("rejected", by("bob", time.Minute), nil), "2026-11-29 12:01:00.000 rejected r@1/aa by bob why not"},
		{op("failed", by("cid", time.Minute), nil), "2026-11-29 12:01:00.000 cancelled r@1/aa by cid why not"},
		{op("failed", nil, by("dan", time.Minute)), "2026-11-29 12:01:00.000 dismissed r@1/aa by dan why not"},
		{op("pending", by("eve", time.Minute), nil), "2026-11-29 12:01:00.000 decided r@1/aa by eve why not"},
	} {
		for _, doc := range []control.Any{{Operation: &c.op}, {Object: &control.Object{Complete: true, Operations: []control.Operation{c.op}}}} {
			if _, lines := shown(t, doc); len(lines) != 2 || lines[1] != c.want {
				t.Errorf("%q, want %s", lines, c.want)
			}
		}
	}
}

func TestAnEventSaysWhereItsOperationsStandNow(t *testing.T) {
	id := func(n string) string { return "product:1/card@1/" + strings.Repeat(n, 32) }
	head, _ := shown(t, control.Any{Event: &control.Event{
		Operations: []string{id("aa"), id("bb"), id("cc")},
		Now:        []control.Standing{{Operation: id("aa"), State: "review"}, {Operation: id("bb"), State: "rejected", Decision: &control.Decision{By: "ann"}}},
	}})
	var got []string
	for line := range strings.Lines(head) {
		if rest, ok := strings.CutPrefix(line, "operation"); ok {
			got = append(got, strings.Join(strings.Fields(rest), " "))
		}
	}
	if diff := cmp.Diff([]string{"product:1/card@1/aaaaaaaa review", "product:1/card@1/bbbbbbbb rejected, decided by ann", "product:1/card@1/cccccccc"}, got); diff != "" {
		t.Error(diff)
	}
}
