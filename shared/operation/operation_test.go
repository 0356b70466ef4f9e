package operation_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

func TestParseNameTakesBeginningsAndObjectsWithSlashes(t *testing.T) {
	tests := []struct {
		name, text             string
		object, recipe, digest string
		bad                    bool
	}{
		{name: "whole", text: "product:794/product-card@3/9f2c41d0", object: "product:794", recipe: "product-card@3", digest: "9f2c41d0"},
		{name: "object alone", text: "product:794", object: "product:794"},
		{name: "without a digest", text: "product:794/product-card@3", object: "product:794", recipe: "product-card@3"},
		{name: "with the slash before a digest", text: "product:794/product-card@3/", object: "product:794", recipe: "product-card@3"},
		{name: "a slash in the object", text: "page:a/b", object: "page:a/b"},
		{name: "a slash in the object of a whole name", text: "page:a/b/c/r@1/d0", object: "page:a/b/c", recipe: "r@1", digest: "d0"},
		{name: "an at sign in the object", text: "person:x@y.example", object: "person:x@y.example"},
		{name: "at sign and slashes in the object", text: "page:a@b/c/d", object: "page:a@b/c/d"},
		{name: "a colon in the object", text: "page:a:b/r@1/d0", object: "page:a:b", recipe: "r@1", digest: "d0"},
		{name: "nothing", text: "", bad: true},
		{name: "no kind", text: "794/product-card@3/9f", bad: true},
		{name: "no object before the recipe", text: "/product-card@3/9f", bad: true},
		{name: "an empty object id", text: "product:/product-card@3/9f", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, recipe, digest, err := operation.ParseName(tt.text)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v", err)
			}
			if id.String() != tt.object || recipe != tt.recipe || digest != tt.digest {
				t.Errorf("%q, %q, %q; want %q, %q, %q", id, recipe, digest, tt.object, tt.recipe, tt.digest)
			}
		})
	}
}

func TestParseKeyTakesWholeNamesOnly(t *testing.T) {
	scope := object.Scope{Tenant: "shop", Environment: "test"}
	want := operation.Key{Scope: scope, Object: object.ID{Kind: "page", Value: "a/b"}, Recipe: inbox.RecipeRef{Name: "r", Version: 12}, Digest: strings.Repeat("0f", 32)}
	got, err := operation.ParseKey(scope, want.String())
	if err != nil || got != want {
		t.Errorf("ParseKey(%q) = %+v, %v", want, got, err)
	}
	for _, text := range []string{"", "product:794", "product:794/r@1", "product:794/r@1/", "product:794/r@0/9f", "product:794/r/9f"} {
		if key, err := operation.ParseKey(scope, text); err == nil {
			t.Errorf("ParseKey(%q) = %+v, want it refused", text, key)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, seed := range []string{"product:794/product-card@3/9f2c41d0", "page:a/b", "a:b@c/d@1/e/", "/", "::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, recipe, digest, err := operation.ParseName(text)
		if err != nil {
			return
		}
		forms := []string{id.String(), id.String() + "/" + recipe, id.String() + "/" + recipe + "/" + digest}
		if !slices.Contains(forms, text) || recipe == "" && digest != "" {
			t.Errorf("%q was read as %q, %q, %q", text, id, recipe, digest)
		}
	})
}

func attempts(all ...operation.Attempt) []operation.Attempt { return all }

// unrecorded is an attempt of which nobody recorded the end.
func unrecorded(a operation.Attempt) operation.Attempt {
	a.Outcome, a.Category, a.Reason = operation.Lost, operation.CategoryTransient, "no outcome was recorded"
	return a
}

func TestLogKeepsWhatWasThereTheLostOneAndThisOne(t *testing.T) {
	begun := now.Add(-time.Minute)
	earlier := operation.Attempt{ID: "att_1", FencingToken: 1, Outcome: operation.Transient}
	this := operation.Attempt{Outcome: operation.Usable, Called: true}
	stamped := operation.Attempt{ID: mine, FencingToken: 3, StartedAt: now, Outcome: operation.Usable, Called: true}
	lost := unrecorded(operation.Attempt{ID: him, FencingToken: 2, StartedAt: begun})
	tests := []struct {
		name   string
		before operation.Operation
		want   []operation.Attempt
	}{
		{"the first claim", operation.Operation{}, attempts(stamped)},
		{"after a retry", operation.Operation{State: operation.Pending, Attempts: attempts(earlier)}, attempts(earlier, stamped)},
		{"after an ended lease", operation.Operation{State: operation.Running, Owner: him, Token: 2, BegunAt: begun, Attempts: attempts(earlier)}, attempts(earlier, lost, stamped)},
		{"after our own claim, whose answer was lost", operation.Operation{State: operation.Running, Owner: mine, Token: 3, Attempts: attempts(earlier)}, attempts(earlier, unrecorded(operation.Attempt{FencingToken: 2}), stamped)},
		{"after two workers that died", operation.Operation{State: operation.Running, Owner: him, Token: 2, BegunAt: begun}, attempts(unrecorded(operation.Attempt{FencingToken: 1}), lost, stamped)},
		{"after workers that died and a redrive", operation.Operation{State: operation.Pending, Token: 2, BegunAt: begun, Attempts: attempts(earlier)}, attempts(earlier, unrecorded(operation.Attempt{FencingToken: 2, StartedAt: begun}), stamped)},
		{"after a cancellation and a redrive", operation.Operation{State: operation.Pending, Token: 2, Fences: []int64{2}, BegunAt: begun, Attempts: attempts(earlier)}, attempts(earlier, stamped)},
		{"after a cancellation in the middle of the work, and a redrive", operation.Operation{State: operation.Pending, Token: 2, Fences: []int64{2}, BegunAt: begun}, attempts(unrecorded(operation.Attempt{FencingToken: 1, StartedAt: begun}), stamped)},
		{"after a claim that was given back, as the lease says whose own answer was lost", operation.Operation{State: operation.Pending, Token: 2, Fences: []int64{2}, Attempts: attempts(earlier)}, attempts(earlier, stamped)},
		{"after a claim that was given back, with its fence", operation.Operation{State: operation.Superseded, Token: 2, Fences: []int64{2}, BegunAt: begun, Attempts: attempts(earlier)}, attempts(earlier, stamped)},
		{"after a claim that was given back", operation.Operation{State: operation.Superseded, Token: 2, BegunAt: begun, Attempts: attempts(earlier)}, attempts(earlier, stamped)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kept := append(tt.before.Attempts, operation.Attempt{ID: "sentinel"})[:len(tt.before.Attempts)]
			tt.before.Attempts = kept
			l := operation.Lease{Attempt: mine, Token: 3, Begun: now, Before: tt.before}
			if diff := cmp.Diff(tt.want, l.Log(this)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if cap(kept) > len(kept) && kept[:len(kept)+1][len(kept)].ID != "sentinel" {
				t.Error("the log was written into the slice of the operation before")
			}
		})
	}
}

func TestHistoryShowsAttemptsThatNoWriteRecorded(t *testing.T) {
	first := operation.Attempt{ID: "att_1", FencingToken: 1, Outcome: operation.Transient}
	tests := []struct {
		name string
		o    operation.Operation
		want []operation.Attempt
	}{
		{"nothing yet", operation.Operation{State: operation.Pending}, nil},
		{"recorded ones", operation.Operation{State: operation.Completed, Token: 1, Attempts: attempts(first)}, attempts(first)},
		{"one runs", operation.Operation{State: operation.Running, Token: 2, Owner: mine, BegunAt: now, Attempts: attempts(first)}, attempts(first, operation.Attempt{ID: mine, FencingToken: 2, StartedAt: now})},
		{"failed by its last attempt", operation.Operation{State: operation.Failed, Token: 1, Attempts: attempts(first)}, attempts(first)},
		{"cancelled between two attempts", operation.Operation{State: operation.Failed, Token: 2, Fences: []int64{2}, Attempts: attempts(first)}, attempts(first)},
		{"cancelled in the middle of one", operation.Operation{State: operation.Failed, Token: 3, Fences: []int64{3}, BegunAt: now, Attempts: attempts(first)}, attempts(first, unrecorded(operation.Attempt{FencingToken: 2, StartedAt: now}))},
		{"cancelled, redriven, and cancelled before anybody began", operation.Operation{State: operation.Failed, Token: 4, Fences: []int64{3, 4}, BegunAt: now, Attempts: attempts(first)}, attempts(first, unrecorded(operation.Attempt{FencingToken: 2, StartedAt: now}))},
		{"one runs after a cancellation", operation.Operation{State: operation.Running, Token: 3, Fences: []int64{2}, Owner: mine, BegunAt: now, Attempts: attempts(first)}, attempts(first, operation.Attempt{ID: mine, FencingToken: 3, StartedAt: now})},
		{"cancelled before cancellations took a token", operation.Operation{State: operation.Failed, Token: 2, BegunAt: now, Attempts: attempts(first)}, attempts(first, unrecorded(operation.Attempt{FencingToken: 2, StartedAt: now}))},
		{"failed because its workers kept dying", operation.Operation{State: operation.Failed, Token: 2, BegunAt: now, Attempts: attempts(first)}, attempts(first, unrecorded(operation.Attempt{FencingToken: 2, StartedAt: now}))},
		{"failed, and none was ever recorded", operation.Operation{State: operation.Failed, Token: 2, BegunAt: now}, attempts(unrecorded(operation.Attempt{FencingToken: 1}), unrecorded(operation.Attempt{FencingToken: 2, StartedAt: now}))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.o.History()); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMoneyIsShownInDollarsAndNeverAsLessThanItIs(t *testing.T) {
	for m, want := range map[operation.Money]string{
		0: "0.000000", 1: "0.000001", 999_999: "0.000001", 1_000_000: "0.000001", 1_000_001: "0.000002",
		318_000_000: "0.000318", 1_000_000_000_000: "1.000000", 12_345_678_900_001: "12.345679",
		-1: "-0.000001", -1_500_000: "-0.000002", -2_000_000_000_000: "-2.000000",
		math.MaxInt64: "9223372.036855", math.MinInt64: "-9223372.036855",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is shown as %s, want %s", int64(m), got, want)
		}
	}
}

func TestMoneyReadsWhatItWroteAndNothingElse(t *testing.T) {
	for _, m := range []operation.Money{0, 1_000_000, 318_000_000, 1_000_000_000_000, -2_000_000, 9_000_000_000_000_000_000} {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got operation.Money
		if err := json.Unmarshal(raw, &got); err != nil || got != m {
			t.Errorf("%s came back as %d, %v", raw, got, err)
		}
	}
	for _, text := range []string{"", "1", "0.5", "0.0000001", "0.000318x", " 0.000318", "0.000318 ", "+0.000318", "1,000000", "0.-00318", "--0.000318", "0x0.000318", "9999999.000000", "99999999999.000000", "1e2.000000"} {
		m := operation.Money(7)
		if err := m.UnmarshalText([]byte(text)); err == nil || m != 7 {
			t.Errorf("%q was read as %d, %v", text, m, err)
		}
	}
}

func TestCostIsExact(t *testing.T) {
	price := operation.Price{Input: 400_000, Cached: 40_000, CacheWrite: 500_000, Output: 1_600_000} // $0.40, 0.04, 0.50, 1.60 a million
	tests := []struct {
		name   string
		tokens operation.Tokens
		want   string
	}{
		{"of the first run", operation.Tokens{Input: 412, Output: 96, Reasoning: 32}, "0.000319"}, // 164.8 + 153.6 microdollars, rounded up
		{"a million of each", operation.Tokens{Input: 1_000_000, Output: 1_000_000}, "2.000000"},
		{"cached and written ones are part of the input", operation.Tokens{Input: 1_000_000, Cached: 500_000, CacheWrite: 500_000}, "0.270000"},
		{"reasoning is part of the output", operation.Tokens{Output: 1_000_000, Reasoning: 1_000_000}, "1.600000"},
		{"more cached than input, as no provider should say", operation.Tokens{Input: 10, Cached: 1_000_000}, "0.040000"},
		{"one token", operation.Tokens{Cached: 1, Input: 1}, "0.000001"},
		{"none", operation.Tokens{}, "0.000000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := price.Cost(tt.tokens).String(); got != tt.want {
				t.Errorf("cost %s, want %s", got, tt.want)
			}
		})
	}
	// A sum of costs has no rounding in it.
	var sum operation.Money
	for range 1_000_000 {
		sum += price.Cost(operation.Tokens{Input: 1, Cached: 1})
	}
	if sum.String() != "0.040000" {
		t.Errorf("a million calls of one cached token cost %s, want 0.040000", sum)
	}
}

func TestAttemptIsStableJSON(t *testing.T) {
	a := operation.Attempt{
		ID: "att_1", FencingToken: 2, StartedAt: now, EndedAt: now.Add(time.Second), Outcome: operation.Usable, Called: true,
		Tokens: &operation.Tokens{Input: 412, Output: 96}, CostUSD: 318_400_000, Duration: time.Second,
	}
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"att_1","fencing_token":2,"started_at":"2026-11-29T12:00:00Z","ended_at":"2026-11-29T12:00:01Z","outcome":"usable","called":true,` +
		`"tokens":{"input":412,"cached":0,"cache_write":0,"output":96,"reasoning":0},"cost_usd":"0.000319","duration_ns":1000000000}`
	if string(raw) != want {
		t.Errorf("JSON %s, want %s", raw, want)
	}
	lost, err := json.Marshal(operation.Attempt{ID: "att_2", FencingToken: 3, Outcome: operation.Lost})
	if want := `{"id":"att_2","fencing_token":3,"outcome":"lost","called":false}`; err != nil || string(lost) != want {
		t.Errorf("JSON %s, %v, want %s", lost, err, want)
	}
}

func ExampleParseName() {
	id, recipe, digest, err := operation.ParseName("product:794/product-card@3/9f2c41d0")
	fmt.Println(id, recipe, digest, err)
	// Output: product:794 product-card@3 9f2c41d0 <nil>
}

func ExamplePrice_Cost() {
	price := operation.Price{Input: 400_000, Output: 1_600_000} // $0.40 and $1.60 per million tokens
	fmt.Println(price.Cost(operation.Tokens{Input: 412, Output: 96}))
	// Output: 0.000319
}

// A model that cannot serve for days is probed thousands of times: the log says how often, and stays small.
func TestAttemptsGivenBackForOneReasonAreListedOnce(t *testing.T) {
	paused := operation.Attempt{Outcome: operation.Paused, Category: operation.CategoryProviderPaused, Reason: "quota", Called: true, HTTPStatus: 429}
	other := paused
	other.Reason = "invalid key"
	failed := operation.Attempt{Outcome: operation.Transient, Category: operation.CategoryTransient, Reason: "quota", HTTPStatus: 429}
	tests := []struct {
		name  string
		ends  []operation.Attempt
		list  int
		folds []int
	}{
		{"one", []operation.Attempt{paused}, 1, []int{0}},
		{"five alike", []operation.Attempt{paused, paused, paused, paused, paused}, 1, []int{4}},
		{"another reason", []operation.Attempt{paused, paused, other, paused}, 3, []int{1, 0, 0}},
		{"counted attempts are each listed", []operation.Attempt{failed, failed, failed}, 3, []int{0, 0, 0}},
		{"a counted one between", []operation.Attempt{paused, failed, paused}, 3, []int{0, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before operation.Operation
			for i, end := range tt.ends {
				token := int64(i + 1)
				id := operation.AttemptID(fmt.Sprint("att_", i))
				log := operation.Lease{Attempt: id, Token: token, Before: before}.Log(end)
				before = operation.Operation{State: operation.Pending, Token: token, Attempts: log}
				if last := log[len(log)-1]; last.ID != id || last.FencingToken != token {
					t.Errorf("the last of the log is %+v", last)
				}
			}
			var folds []int
			for _, a := range before.History() {
				folds = append(folds, a.Repeats)
			}
			if diff := cmp.Diff(tt.folds, folds); diff != "" || len(before.Attempts) != tt.list {
				t.Errorf("%d listed; repeats (-want +got):\n%s", len(before.Attempts), diff)
			}
		})
	}
}
