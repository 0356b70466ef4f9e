package local_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// ownFile is the local example in a file that a test may change, and how it is saved.
func ownFile(t *testing.T) (text, file string, save func(text string)) {
	t.Helper()
	raw, err := os.ReadFile("../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "local.yaml")
	save = func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(string(raw))
	return string(raw), file, save
}

// A recipe that was applied past the file in a higher version stays live, with the price of its model;
// what else changes in the file is applied.
func TestAHigherVersionStaysLive(t *testing.T) {
	t.Parallel()
	raw, file, save := ownFile(t)
	type told struct {
		kept []local.Kept
		err  error
	}
	news := make(chan told, 1)
	s := localtest.Start(t, local.Options{Manual: true, Watch: true, TemplatePath: "../../template.yaml", ConfigFiles: []string{file}, OnConfig: func(kept []local.Kept, err error) { news <- told{kept, err} }})
	if len(s.Kept()) != 0 {
		t.Errorf("kept at the start: %v", s.Kept())
	}
	set := s.Config()
	set.Recipes = slices.Clone(set.Recipes)
	i := slices.IndexFunc(set.Recipes, func(r recipe.Recipe) bool { return r.Name == "product-card" })
	set.Recipes[i].Version, set.Recipes[i].Model.Name = 4, "gpt-6-mini-2026-10-01"
	p := set.Common.Providers["openai"]
	p.Prices = map[string]operation.Price{"gpt-5.4-mini-2026-03-17": p.Prices["gpt-5.4-mini-2026-03-17"], "gpt-6-mini-2026-10-01": {Input: 500_000, Output: 2_000_000, AsOf: "2026-11-29"}}
	set.Common.Providers = map[string]config.Provider{"openai": p}
	if status, body := putAllowing(t, s, set, 1); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}

	save(strings.Replace(raw, "max_body: 512KiB", "max_body: 256KiB", 1))
	var got told
	select {
	case got = <-news:
	case <-time.After(10 * time.Second):
		t.Fatal("the file was not applied")
	}
	if got.err != nil || !slices.Equal(got.kept, []local.Kept{{Recipe: "product-card", Live: 4, File: 3}}) {
		t.Fatalf("%v, %v", got.kept, got.err)
	}
	if says := got.kept[0].String(); says != "recipe product-card stays at version 4, which is live; the file has 3" {
		t.Error(says)
	}
	var live control.Config
	look(t, s, "/api/config", &live)
	i = slices.IndexFunc(live.Recipes, func(r recipe.Recipe) bool { return r.Name == "product-card" })
	if live.Revision != 3 || live.Recipes[i].Version != 4 || live.Endpoints[1].MaxBody != 256<<10 || live.Common.Providers["openai"].Prices["gpt-6-mini-2026-10-01"].Output != 2_000_000 {
		t.Errorf("live is %+v", live)
	}
}

// A version that was changed in place is refused as apply refuses it: with its file and line, and what to do.
func TestAVersionChangedInPlaceIsRefusedByItsLine(t *testing.T) {
	t.Parallel()
	raw, file, save := ownFile(t)
	news := make(chan error, 1)
	localtest.Start(t, local.Options{Manual: true, Watch: true, TemplatePath: "../../template.yaml", ConfigFiles: []string{file}, OnConfig: func(_ []local.Kept, err error) { news <- err }})
	before, _, ok := strings.Cut(raw, "  product-card:\n    version: 3 ")
	if !ok {
		t.Fatal("infra/local.yaml has no version 3 of product-card")
	}
	save(strings.Replace(raw, "max: 4000", "max: 3000", 1))
	line := strings.Count(before, "\n") + 2
	var err error
	select {
	case err = <-news:
	case <-time.After(10 * time.Second):
		t.Fatal("the file was not looked at")
	}
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("local.yaml:%d: /recipes/product-card/version: ", line)) || !strings.Contains(err.Error(), "raise it to 4") {
		t.Error(err)
	}
}
