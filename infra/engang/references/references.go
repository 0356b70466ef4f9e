// Package references holds what a configuration refers to against what is there: secrets in the parameter
// store, models of a provider, and what senders send. Functions that check configurations may read no secret, so that this is done where an operator's
// own rights are.
package references

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// A Store is the parameter store, as far as it is read. It leaves out what does not exist.
type Store interface {
	Parameters(ctx context.Context, paths []string) (map[string]secrets.Value, error)
}

// Findings are what is wrong with what a configuration refers to, and what is worth a look. Neither
// repeats a secret.
type Findings struct {
	Faults   config.Faults
	Warnings config.Faults
	Keys     map[string]secrets.Value // of the providers of models, those that are sound
}

// And joins two findings.
func (f Findings) And(more Findings) Findings {
	return Findings{Faults: append(f.Faults, more.Faults...), Warnings: append(f.Warnings, more.Warnings...), Keys: f.Keys}
}

// Check reads every secret that a configuration refers to, and those of other environments, which must be
// others. It returns an error when the store cannot be asked.
func Check(ctx context.Context, store Store, set config.Set, others []control.Other) (Findings, error) {
	var paths []string
	want := func(refs ...secrets.Ref) {
		for _, ref := range refs {
			if path, err := ref.Path(); err == nil { // what is no reference is refused elsewhere
				paths = append(paths, path)
			}
		}
	}
	for _, e := range set.Endpoints {
		want(e.Secrets...)
	}
	for _, p := range set.Common.Providers {
		want(p.APIKey)
	}
	for _, t := range set.Common.Targets {
		want(t.Key)
	}
	for _, o := range others {
		for _, ref := range o.Secrets {
			want(secrets.Ref(ref))
		}
	}
	found, err := store.Parameters(ctx, paths)
	if err != nil {
		return Findings{}, err
	}
	c := checker{set: set, found: found, elsewhere: map[[sha256.Size]byte]control.Other{}}
	c.Keys = map[string]secrets.Value{}
	for _, o := range others {
		for _, ref := range o.Secrets {
			if value, ok := c.value(secrets.Ref(ref)); ok {
				c.elsewhere[sha256.Sum256(value.Reveal())] = o
			}
		}
	}
	c.keys()
	c.targets()
	for _, e := range set.Endpoints {
		c.endpoint(e)
	}
	return c.Findings, nil
}

type checker struct {
	Findings
	set       config.Set
	found     map[string]secrets.Value            // by path
	elsewhere map[[sha256.Size]byte]control.Other // whose secrets are no others'
}

func (c *checker) value(ref secrets.Ref) (secrets.Value, bool) {
	path, err := ref.Path()
	if err != nil {
		return secrets.Value{}, false
	}
	v, ok := c.found[path]
	return v, ok
}

func (c *checker) fault(at, reason, remedy string) {
	c.Faults = append(c.Faults, config.Fault{At: at, Reason: reason, Remedy: remedy})
}

// keys checks the keys of models, whose form is nobody's business but the provider's.
func (c *checker) keys() {
	for _, name := range slices.Sorted(maps.Keys(c.set.Common.Providers)) {
		ref := c.set.Common.Providers[name].APIKey
		path, err := ref.Path()
		if err != nil {
			continue
		}
		at := "/providers/" + name + "/api_key"
		value, ok := c.value(ref)
		if !ok {
			c.fault(at, "the reference leads to nothing", "set it: engang secret set "+path)
			continue
		}
		if reason := NoKey(value); reason != "" {
			c.fault(at, "what the reference leads to is no key: "+reason, "set it anew: engang secret set "+path+" --replace")
			continue
		}
		c.Keys[name] = value
	}
}

// NoKey is why a secret is no key of a model or a target, whose form is the provider's business; "" if it may
// be one.
func NoKey(value secrets.Value) string {
	switch text := string(value.Reveal()); {
	case strings.TrimSpace(text) == "":
		return "it is empty"
	case strings.TrimSpace(text) != text:
		return "it has white space at an end"
	case !utf8.ValidString(text): // the parameter store keeps text, and would give back other bytes
		return "it is no text in UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "it has a line end or another control character in it"
	case strings.HasPrefix(text, "whsec_"):
		return "it is the secret of a webhook"
	case value.IsBlank():
		return "it stands for a secret that nobody has filled in"
	case strings.ContainsFunc(text, unicode.IsSpace): // torn or pasted twice: no provider issues one
		return "it has white space inside"
	}
	return ""
}

func (c *checker) endpoint(e config.Endpoint) {
	row, ok := webhook.Lookup(e.Provider)
	if !ok {
		return
	}
	seen := map[[sha256.Size]byte]bool{}
	for i, ref := range e.Secrets {
		path, err := ref.Path()
		if err != nil {
			continue
		}
		at := fmt.Sprintf("/endpoints/%s/secrets/%d", e.Name, i)
		value, ok := c.value(ref)
		if !ok {
			c.fault(at, "the reference leads to nothing", "set it: engang secret set "+path+" --provider "+e.Provider)
			continue
		}
		c.fit(at, row, value)
		sum := sha256.Sum256(value.Reveal())
		if o, shared := c.elsewhere[sum]; shared {
			c.fault(at, fmt.Sprintf("the same secret as of endpoint %s in %s: nothing is shared between environments", o.Endpoint, o.Environment), "let the sender make another one for this address, and set it")
		}
		if seen[sum] {
			c.Warnings = append(c.Warnings, config.Fault{At: at, Reason: "the same secret as another reference of this endpoint", Remedy: "leave one of them out"})
		}
		seen[sum] = true
	}
}

// fit holds a secret against what the provider issues. What everybody knows is for trying.
func (c *checker) fit(at string, row webhook.Scheme, value secrets.Value) {
	err := row.CheckSecret(value)
	if err == nil {
		return
	}
	f := config.Fault{At: at, Reason: "what the reference leads to is no secret of " + row.Name(), Remedy: "set another one"}
	if e, ok := errors.AsType[*webhook.SecretError](err); ok {
		f.Reason += ": " + e.Reason
		if e.Form != "" {
			f.Remedy += "; one that is sound looks like " + e.Form
		}
		if e.Public {
			f.Reason, f.Remedy = "everybody knows what the reference leads to: it is published", "let the sender make another one, and set that"
			if c.set.Scope.Environment != webhook.Production {
				c.Warnings = append(c.Warnings, f)
				return
			}
		}
	}
	c.Faults = append(c.Faults, f)
}
