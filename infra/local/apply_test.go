package local_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/config"
	"engang/shared/control"
)

// put applies a set over a revision, as whoever speaks to the API does.
func put(t *testing.T, s *local.System, set config.Set, revision int) (int, string) {
	t.Helper()
	return propose(t, s, map[string]any{"set": set, "revision": revision})
}

// putAllowing does what put does, with another model.
func putAllowing(t *testing.T, s *local.System, set config.Set, revision int) (int, string) {
	t.Helper()
	return propose(t, s, map[string]any{"set": set, "revision": revision, "allow_model_change": true})
}

func propose(t *testing.T, s *local.System, proposal map[string]any) (int, string) {
	t.Helper()
	raw, err := json.Marshal(proposal)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL()+"/api/config", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// ignoring is the set in which deletions, too, or not even updates are worked on.
func ignoring(set config.Set, ignore bool) config.Set {
	set.Endpoints = append([]config.Endpoint{}, set.Endpoints...)
	for i, e := range set.Endpoints {
		if e.Name == "woo-shop" {
			events := map[string]config.EventRule{}
			for name, rule := range e.Events {
				events[name] = rule
			}
			events["product.updated"] = config.EventRule{Ignore: ignore}
			e.Events = events
			set.Endpoints[i] = e
		}
	}
	return set
}

func TestWhatIsAppliedThroughTheAPIIsLiveAtOnce(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	if status, body := deliver(t, s, product); status != http.StatusOK || !strings.Contains(body, "accepted") {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := put(t, s, ignoring(s.Config(), true), 1); status != http.StatusOK || !strings.Contains(body, `"kind":"applied"`) {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := deliver(t, s, product); status != http.StatusOK || !strings.Contains(body, "ignored") {
		t.Errorf("after it was applied: %d %s", status, body)
	}
	if status, body := put(t, s, s.Config(), 1); status != http.StatusConflict {
		t.Errorf("over a revision that is gone: %d %s", status, body)
	}
	var live control.Config
	if status := look(t, s, "/api/config", &live); status != http.StatusOK || live.Revision != 2 || !live.Endpoints[1].Events["product.updated"].Ignore {
		t.Errorf("%d %+v", status, live)
	}
}

// What was accepted before goes on under the recipe version that it began with.
func TestWorkUnderWayKeepsItsVersion(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	deliver(t, s, product)
	set := s.Config()
	for i, r := range set.Recipes {
		if r.Name == "product-card" {
			r.Version, r.Instructions = 4, "You write very short, factual product texts."
			set.Recipes[i] = r
		}
	}
	if status, body := put(t, s, set, 1); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if _, err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := settled(t, s, "product:794"); len(o.Operations) != 1 || o.Operations[0].Recipe != "product-card@3" || o.Operations[0].State != "completed" {
		t.Errorf("operations %+v", o.Operations)
	}
	deliver(t, s, strings.Replace(product, "11:59:58", "12:00:58", 1))
	if _, err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := settled(t, s, "product:794"); len(o.Operations) != 2 || o.Operations[1].Recipe != "product-card@4" {
		t.Errorf("operations %+v", o.Operations)
	}
}

// A deployed function, which is not told, reads it when its cache is a few seconds old: one in which the
// caches are warm, fed by another that applies.
func TestWhatAnotherProcessAppliesIsLiveWithinTheCachesSeconds(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	deliver(t, s, product)
	var before, after control.Endpoint
	look(t, s, "/api/endpoints?name=woo-shop", &before)
	raw, err := json.Marshal(map[string]any{"set": ignoring(s.Config(), true), "revision": 1})
	if err != nil {
		t.Fatal(err)
	}
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": "/api/config", "body": string(raw),
		"requestContext": map[string]any{"http": map[string]any{"method": "PUT"}, "authorizer": map[string]any{"iam": map[string]any{"userArn": "arn:ann"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := s.Invoke(t.Context(), "console", event); err != nil || !strings.Contains(string(answer), `\"kind\":\"applied\"`) {
		t.Fatalf("%s, %v", answer, err)
	}
	applied := time.Now()
	if look(t, s, "/api/endpoints?name=woo-shop", &after); before.Version != 1 || after.Version != 2 {
		t.Errorf("who has just applied is shown version %d, was %d", after.Version, before.Version)
	}
	if _, body := deliver(t, s, product); !strings.Contains(body, "duplicate") {
		t.Errorf("at once: %s: this test shows nothing where there is no cache", body)
	}
	for {
		_, body := deliver(t, s, product)
		if strings.Contains(body, "ignored") {
			break
		}
		if took := time.Since(applied); took > 6*time.Second {
			t.Fatalf("after %v: %s", took, body)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Whatever address is applied, no call leaves the machine while the stub is the model.
func TestTheStubStandsInForEveryAddress(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	set := s.Config()
	p := set.Common.Providers["openai"]
	p.BaseURL = "https://models.example.invalid/openai/v9"
	set.Common.Providers = map[string]config.Provider{"openai": p}
	if status, body := put(t, s, set, 1); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	deliver(t, s, product)
	if _, err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := settled(t, s, "product:794"); len(o.Results) != 1 || s.Stub().Count() != 1 {
		t.Errorf("object %+v, %d calls of the stub", o, s.Stub().Count())
	}
}
