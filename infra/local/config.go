package local

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engang/infra/configfile"
	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/dynamo"
	"engang/shared/operation"
	"engang/shared/parameters"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// look is how often the files are looked at.
const look = 300 * time.Millisecond

// startConfig applies the configuration files, and goes on applying them when they change.
func (s *System) startConfig(ctx context.Context) error {
	if len(s.o.ConfigFiles) == 0 {
		s.o.ConfigFiles = []string{filepath.Join(filepath.Dir(s.o.TemplatePath), "infra", "local.yaml")}
	}
	seen := stamps(s.o.ConfigFiles)
	var err error
	if s.kept, err = s.applyFiles(ctx); err != nil {
		return err
	}
	if !s.o.Watch {
		return nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(ctx, seen)
	}()
	s.closers = append(s.closers, func(context.Context) error {
		stop()
		<-done
		return nil
	})
	return nil
}

// watch applies the files when one was saved. What cannot be applied is told, and changes nothing.
func (s *System) watch(ctx context.Context, seen string) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stamps(s.o.ConfigFiles)
		if now == seen {
			continue
		}
		seen = now
		kept, err := s.applyFiles(ctx)
		if s.o.OnConfig != nil && ctx.Err() == nil {
			s.o.OnConfig(kept, err)
		}
	}
}

// A Kept is a recipe of the files that is live in a higher version, which was applied past them. It stays
// live; all else of the files is applied.
type Kept struct {
	Recipe string
	Live   int // version
	File   int
}

// String says it in one line.
func (k Kept) String() string {
	return fmt.Sprintf("recipe %s stays at version %d, which is live; the file has %d", k.Recipe, k.Live, k.File)
}

// applyFiles makes what stands in the files live, but for recipes that are live in a higher version.
func (s *System) applyFiles(ctx context.Context) ([]Kept, error) {
	file, err := configfile.Open(s.o.ConfigFiles...)
	if err != nil {
		return nil, err
	}
	set, kept, err := s.keepHigher(ctx, file.Set)
	if err == nil {
		_, err = s.Apply(ctx, set)
	}
	if errors.Is(err, config.ErrChanged) {
		err = s.placed(ctx, file, set, err)
	}
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// placed says where in the files stands what is refused for what is live, if that can be told.
func (s *System) placed(ctx context.Context, file *configfile.File, set config.Set, refused error) error {
	table := dynamo.Open(s.direct(), s.stack.table)
	live, err := config.ReadLive(ctx, table, set.Scope)
	if err != nil {
		return refused
	}
	found, err := apply.Replacement{Live: live, Set: set, AllowModelChange: true}.Compare(ctx, table)
	if err != nil || len(found.Faults) == 0 {
		return refused
	}
	var faults configfile.Faults
	for _, f := range found.Faults {
		faults = append(faults, file.Fault(f.At, f.Reason, f.Remedy))
	}
	file.Sort(faults)
	return faults
}

// keepHigher puts live recipes in the place of those of the set that have a lower version: published, such
// a set would be refused.
func (s *System) keepHigher(ctx context.Context, set config.Set) (config.Set, []Kept, error) {
	table := dynamo.Open(s.direct(), s.stack.table)
	pointer, err := table.Pointer(ctx, set.Scope)
	if errors.Is(err, config.ErrUnknown) {
		return set, nil, nil
	}
	if err != nil {
		return set, nil, fmt.Errorf("read what is live: %w", err)
	}
	lower := func(r recipe.Recipe) bool { return r.Version < pointer.Recipes[r.Name] }
	if !slices.ContainsFunc(set.Recipes, lower) {
		return set, nil, nil
	}
	live, err := config.ReadLive(ctx, table, set.Scope)
	if err != nil {
		return set, nil, fmt.Errorf("read what is live: %w", err)
	}
	var kept []Kept
	for i, r := range set.Recipes {
		for _, higher := range live.Set.Recipes {
			if higher.Name == r.Name && lower(r) {
				kept = append(kept, Kept{r.Name, higher.Version, r.Version})
				set.Recipes[i] = higher // the set was read from the files for this
				priced(&set, live.Set, higher.Model)
			}
		}
	}
	return set, kept, nil
}

// priced gives a set the price of a model that the files know no more, with its provider if that is gone too.
func priced(set *config.Set, live config.Set, m recipe.Model) {
	known := live.Common.Providers[m.Provider]
	p, there := set.Common.Providers[m.Provider]
	if _, has := p.Prices[m.Name]; has {
		return
	}
	if !there {
		p = config.Provider{APIKey: known.APIKey, BaseURL: known.BaseURL}
	}
	prices := map[string]operation.Price{m.Name: known.Prices[m.Name]}
	maps.Copy(prices, p.Prices)
	p.Prices = prices
	providers := map[string]config.Provider{}
	maps.Copy(providers, set.Common.Providers)
	providers[m.Provider] = p
	set.Common.Providers = providers
}

// stamps tells one state of the files from another.
func stamps(files []string) string {
	var b strings.Builder
	for _, f := range files {
		all := []string{f}
		if inside, err := filepath.Glob(filepath.Join(f, "*")); err == nil {
			all = append(all, inside...) // of a folder
		}
		for _, name := range all {
			if info, err := os.Stat(name); err == nil {
				fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

// Apply makes a configuration live, as `engang apply` does, and at once: the functions start afresh.
// References of secrets that lead nowhere get a local secret ([Secret]).
func (s *System) Apply(ctx context.Context, set config.Set) (config.Pointer, error) {
	if err := s.reachable(set); err != nil {
		return config.Pointer{}, err
	}
	if err := s.seed(ctx, set); err != nil {
		return config.Pointer{}, err
	}
	p, err := apply.Publish(ctx, dynamo.Open(s.direct(), s.stack.table), set, rand.Text)
	if err != nil {
		return config.Pointer{}, fmt.Errorf("apply configuration: %w", err)
	}
	s.applied.Store(&set)
	s.Restart()
	return p, nil
}

// PutSecret stores a secret under its reference, in place of what was there, and makes it live at once.
func (s *System) PutSecret(ctx context.Context, ref secrets.Ref, value string) error {
	path, err := ref.Path()
	if err != nil {
		return err
	}
	vault, _, err := s.vault()
	if err != nil {
		return err
	}
	if err := vault.Put(ctx, path, secrets.NewValue(value)); err != nil {
		return err
	}
	s.Restart()
	return nil
}

// seed gives every reference a secret that has none yet.
func (s *System) seed(ctx context.Context, set config.Set) error {
	want := map[string]string{} // by path
	for _, e := range set.Endpoints {
		for _, ref := range e.Secrets {
			path, err := ref.Path()
			if err != nil {
				return err
			}
			want[path] = Secret(e.Provider, ref)
		}
	}
	for _, p := range set.Common.Providers {
		path, err := p.APIKey.Path()
		if err != nil {
			return err
		}
		want[path] = "local"
	}
	vault, below, err := s.vault()
	if err != nil {
		return err
	}
	var paths []string
	for path := range want {
		paths = append(paths, path)
	}
	stored, err := vault.Parameters(ctx, paths)
	if err != nil {
		return err
	}
	for path, value := range want {
		if s.o.OpenAIKey != "" && strings.HasPrefix(path, "models/") {
			s.held.put(below+"/"+path, s.o.OpenAIKey)
			value = "held by the local system" // what stands in the engine: there is a key, and not for others
		}
		if _, there := stored[path]; there {
			continue
		}
		if err := vault.Put(ctx, path, secrets.NewValue(value)); err != nil {
			return err
		}
	}
	return nil
}

// vault is the part of the parameter store that the functions read, and its path.
func (s *System) vault() (*parameters.Store, string, error) {
	for _, id := range s.stack.template.OfType(functionType) {
		if path, err := s.stack.template.Text(s.stack, id, "Environment", "Variables", "SECRET_PATH"); err == nil {
			return parameters.Open(s.direct(), path), path, nil
		}
	}
	return nil, "", fmt.Errorf("the template gives no function a SECRET_PATH")
}

// Secret is the secret that the local system seeds for a reference: the same on every machine, so that
// it can be printed, and signed with from another terminal. It protects nothing.
//
// The first secret of woo-shop is "local-woo-secret"; senders whose secrets have a form of their own get
// one of that form, made from the reference.
func Secret(provider string, ref secrets.Ref) string {
	path := strings.TrimPrefix(string(ref), "ssm:")
	parts := strings.Split(path, "/")
	name := strings.TrimSuffix(parts[1], "-shop")
	if len(parts) > 2 && parts[2] != "1" {
		name += "-" + parts[2]
	}
	readable := "local-" + name + "-secret"
	row, known := webhook.Lookup(provider)
	if !known || provider == "woocommerce" && row.CheckSecret(secrets.NewValue(readable)) == nil {
		return readable
	}
	return string(row.NewSecret(sha256.Sum256([]byte("engang local " + path))).Reveal())
}
