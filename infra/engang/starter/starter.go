// Package starter writes a first configuration for each provider: an endpoint, and a recipe whose fields
// are in what that provider sends.
package starter

import (
	"bytes"
	_ "embed" // the template below
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"engang/shared/recipe"
	"engang/shared/webhook"
)

//go:embed start.yaml
var text string

var page = template.Must(template.New("start.yaml").Parse(text))

// ErrProvider says that a provider is not known.
var ErrProvider = errors.New("no such provider")

// ErrName says that an endpoint, a tenant or a file cannot be called so.
var ErrName = errors.New("not a name")

// A Want is what a configuration is to be of.
type Want struct {
	Provider    string
	Name        string // of the endpoint
	Tenant      string
	Environment string

	// Beside are the sections that other files of the same configuration hold: what is shared stands once,
	// so that it is changed once.
	Beside []string
}

// A Start is a configuration to start from.
type Start struct {
	Text      []byte
	Recipe    string // "shop-pay-note"
	Reference string // of the endpoint's secret: "hooks/shop-pay/1"
	Case      string // a sample that it takes: "stripe/invoice.paid"
	Secret    string // where the secret is from, or where it goes
	Chosen    bool   // the receiver chooses it, and tells the sender
}

// suffix makes a recipe's name of an endpoint's.
const suffix = "-note"

// Make writes a configuration. It returns an error that wraps [ErrProvider] or [ErrName].
func Make(w Want) (Start, error) {
	r, ok := rows[w.Provider]
	scheme, known := webhook.Lookup(w.Provider)
	if !ok || !known {
		return Start{}, fmt.Errorf("%w: there are %s", ErrProvider, strings.Join(webhook.Names(), ", "))
	}
	for _, name := range []string{w.Name + suffix, w.Tenant} {
		if !recipe.IsName(name) {
			return Start{}, fmt.Errorf("%w: use letters, digits, dots, dashes and underscores, at most %d", ErrName, 64-len(suffix))
		}
	}
	recipe := w.Name + suffix
	rule := "{recipes: [" + recipe + "]}"
	if r.rule != "" {
		rule = "{recipes: [" + recipe + "], " + r.rule + "}"
	}
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Provider": w.Provider, "Name": w.Name, "Key": plain(w.Name), "Tenant": plain(w.Tenant), "Environment": w.Environment, "Recipe": recipe, "Rule": rule,
		"SignsURL": scheme.SignsURL(), "Lines": r.lines, "Source": r.source, "Events": quoted(r.events), "Ignored": quoted(r.ignored),
		"Data": !slices.Contains(w.Beside, "data"), "Providers": !slices.Contains(w.Beside, "providers"),
		"Fields": r.fields, "Required": r.required, "About": r.about,
	})
	if err != nil {
		return Start{}, fmt.Errorf("write configuration: %w", err)
	}
	return Start{
		Text: b.Bytes(), Recipe: recipe, Reference: "hooks/" + w.Name + "/1", Case: w.Provider + "/" + r.sample, Secret: r.secret, Chosen: r.chosen,
	}, nil
}

// quoted puts those types in quotation marks that YAML would read otherwise.
func quoted(types []string) []string {
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = plain(t)
	}
	return all
}

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// plain puts a text in quotation marks if a reader of YAML could take it for something else.
func plain(text string) string {
	switch strings.ToLower(text) {
	case "yes", "no", "on", "off", "true", "false", "null":
		return `"` + text + `"`
	}
	if plainText.MatchString(text) {
		return text
	}
	return `"` + text + `"`
}
