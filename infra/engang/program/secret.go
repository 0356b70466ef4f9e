package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/parameters"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

type secretActs struct {
	provider string
	replace  bool
	overlap  time.Duration
	early    bool
}

func (p *program) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Put secrets into the parameter store, replace them and take them away",
		Long: "A secret is read from standard input, checked as its sender's secrets are, and never shown. It is written under your own rights:\n" +
			"on a stack those of your AWS identity. NAME is a reference without ssm: (hooks/woo-shop/1), or an endpoint.",
		Example: "  engang secret set hooks/woo-shop/1 --provider woocommerce < secret.txt",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.secretSetCommand(), p.secretRotateCommand(), p.secretRetireCommand())
	return cmd
}

func (p *program) secretSetCommand() *cobra.Command {
	var s secretActs
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Put a secret where none stands yet",
		Long: "The secret of an endpoint is checked by its provider: that of the live configuration, or --provider before the endpoint is applied.\n" +
			"Where another secret stands, it is left there, since what its sender has signed would be refused: rotate keeps both valid. --replace puts the new one in its place.",
		Example: "  engang secret set hooks/woo-shop/1 --provider woocommerce < secret.txt\n  engang secret set woo-shop --replace < secret.txt\n  engang secret set models/openai < key.txt",
		Args:    oneName,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.setSecret(cmd.Context(), args[0], s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.provider, "provider", "", "whose secret it is, for an endpoint that is not applied yet")
	f.BoolVar(&s.replace, "replace", false, "in place of another secret, which is no longer taken then")
	return cmd
}

func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("say one NAME: a reference without ssm: (hooks/woo-shop/1), or an endpoint")
	}
	return nil
}

// A desk is what the acts on secrets work with.
type desk struct {
	p     *program
	c     *client.Client
	vault *vault
	held  map[string]secrets.Value // what stands below hooks/
}

// A slot is one place for a secret.
type slot struct {
	path     string            // "hooks/woo-shop/1"
	endpoint *control.Endpoint // whose it is; nil: of no endpoint that is applied
}

// openDesk connects to the target and its parameter store.
func (p *program) openDesk(ctx context.Context) (*desk, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	v, err := p.openVault(ctx, c)
	if err != nil {
		return nil, err
	}
	held, err := within(ctx, p, func(ctx context.Context) (map[string]secrets.Value, error) { return v.store.Below(ctx, "hooks") })
	return &desk{p, c, v, held}, err
}

// endpoint looks an endpoint up; nil where none of that name is applied.
func (d *desk) endpoint(ctx context.Context, name string) (*control.Endpoint, error) {
	doc, err := d.c.Endpoint(ctx, name)
	if refused, ok := errors.AsType[*client.Problem](err); ok && refused.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, d.p.explain(fmt.Errorf("endpoint %s: %w", name, err))
	}
	return &doc, nil
}

var endpointShape = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// find reads a NAME. For an endpoint the path is that of its first secret. What is neither is not
// repeated: it may be a secret in the wrong place.
func (d *desk) find(ctx context.Context, name string) (slot, error) {
	name = strings.TrimPrefix(name, "ssm:")
	if path, err := secrets.Ref("ssm:" + name).Path(); err == nil {
		if !strings.HasPrefix(path, "hooks/") {
			return slot{path: path}, nil
		}
		e, err := d.endpoint(ctx, folder(path))
		return slot{path, e}, err
	}
	if !endpointShape.MatchString(name) {
		return slot{}, usage("NAME is neither a reference without ssm: (hooks/woo-shop/1, models/openai) nor an endpoint")
	}
	e, err := d.endpoint(ctx, name)
	switch {
	case err != nil:
		return slot{}, err
	case e == nil:
		return slot{}, &failure{exitNotFound, fmt.Errorf("no endpoint %s is applied; before it is, name the secret: hooks/%s/1", name, name)}
	case len(e.Secrets) == 0:
		return slot{}, &failure{exitState, fmt.Errorf("endpoint %s names no secret", name)}
	}
	path, err := secrets.Ref(e.Secrets[0]).Path()
	return slot{path, e}, err
}

// live tells whether the endpoint as it is applied names the slot.
func (s slot) live() bool {
	return s.endpoint != nil && slices.Contains(s.endpoint.Secrets, "ssm:"+s.path)
}

func (p *program) setSecret(ctx context.Context, name string, s secretActs) error {
	d, err := p.openDesk(ctx)
	if err != nil {
		return err
	}
	at, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	scheme, err := at.scheme(s.provider)
	if err != nil {
		return err
	}
	if err := p.announce(); err != nil {
		return err
	}
	value, err := p.readSecret(ctx)
	if err != nil {
		return err
	}
	if err := d.check(ctx, at, scheme, value); err != nil {
		return err
	}
	doc := secretDoc{Kind: "secret", Act: "set", Name: at.path, Live: at.live(), Next: []string{}}
	doc.describe(at, scheme)
	switch standing, err := d.standing(ctx, at.path); {
	case err != nil:
		return err
	case same(standing, value):
		return p.tellSecret(doc)
	case !standing.IsEmpty() && !s.replace:
		return &failure{exitState, fmt.Errorf("another secret stands in %s: %s keeps both valid, --replace puts the new one in its place", at.path, p.suggest("secret rotate"))}
	}
	if err := d.put(ctx, at.path, value, s.replace); err != nil {
		return err
	}
	doc.Changed = true
	if strings.HasPrefix(at.path, "hooks/") && !doc.Live {
		doc.Next = append(doc.Next, fmt.Sprintf("name ssm:%s in the secrets of the endpoint, and apply: until then it is not used", at.path))
	}
	return p.tellSecret(doc)
}

// scheme is the provider that a secret of the slot is checked by; nil for what is no secret of an endpoint.
func (s slot) scheme(provider string) (*webhook.Scheme, error) {
	if !strings.HasPrefix(s.path, "hooks/") {
		if provider != "" {
			return nil, usage("--provider is for secrets of endpoints")
		}
		return nil, nil
	}
	if s.endpoint != nil {
		if provider != "" && provider != s.endpoint.Provider {
			return nil, usage("endpoint %s is of provider %s, not %s", s.endpoint.Name, s.endpoint.Provider, provider)
		}
		provider = s.endpoint.Provider
	}
	if provider == "" {
		return nil, usage("no endpoint %s is applied: say with --provider whose secret it is: %s", folder(s.path), strings.Join(webhook.Names(), ", "))
	}
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		return nil, usage("provider %s is not known: there are %s", provider, strings.Join(webhook.Names(), ", "))
	}
	return &scheme, nil
}

// check refuses what is no secret of the provider, what everybody knows, and what another environment
// or another slot of the same endpoint has.
func (d *desk) check(ctx context.Context, at slot, scheme *webhook.Scheme, value secrets.Value) error {
	if scheme == nil {
		return plainSecret(value)
	}
	environment := d.p.environment
	if at.endpoint != nil {
		environment = at.endpoint.Environment
	}
	if err := scheme.CheckSecret(value); errors.Is(err, webhook.ErrPublicSecret) && environment == webhook.Test {
		fmt.Fprintln(d.p.Stderr, "everybody knows this secret: it is for trying, and taken by a test endpoint only")
	} else if err != nil {
		return usage("%w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(d.held)) {
		if path == at.path || !same(d.held[path], value) {
			continue
		}
		if folder(path) == folder(at.path) {
			return &failure{exitState, fmt.Errorf("this secret stands in %s already", path)}
		}
		e, err := d.endpoint(ctx, folder(path))
		if err != nil {
			return err
		}
		if e != nil && environment != "" && e.Environment != environment {
			return usage("this is the secret of endpoint %s, which is of %s: test and production share none", e.Name, e.Environment)
		}
	}
	return nil
}

// plainSecret checks what no provider's row knows: keys of models and targets.
func plainSecret(value secrets.Value) error {
	text := string(value.Reveal())
	switch {
	case strings.TrimSpace(text) == "":
		return usage("the secret is empty")
	case strings.TrimSpace(text) != text:
		return usage("the secret has white space at an end")
	case strings.ContainsFunc(text, unicode.IsControl):
		return usage("the secret has a line end or another control character in it")
	case len(text) < 8:
		return usage("the secret has fewer than 8 characters")
	}
	return nil
}

// standing is what stands in a slot now.
func (d *desk) standing(ctx context.Context, path string) (secrets.Value, error) {
	found, err := within(ctx, d.p, func(ctx context.Context) (map[string]secrets.Value, error) {
		return d.vault.store.Parameters(ctx, []string{path})
	})
	return found[path], err
}

// put writes a secret. Where none may stand before, another one that somebody has put there meanwhile
// stays, and the very same is ours: the answer to our own write may have been lost.
func (d *desk) put(ctx context.Context, path string, value secrets.Value, replace bool) error {
	write := d.vault.store.PutNew
	if replace {
		write = d.vault.store.Put
	}
	_, err := within(ctx, d.p, func(ctx context.Context) (any, error) { return nil, write(ctx, path, value) })
	if errors.Is(err, parameters.ErrExists) {
		standing, readErr := d.standing(ctx, path)
		switch {
		case readErr != nil:
			return readErr
		case !same(standing, value):
			return &failure{exitState, fmt.Errorf("somebody else has just put a secret into %s: look, and give the command again", path)}
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return d.vault.read(ctx)
}

// folder is the step of a path that says whose secrets stand there.
func folder(path string) string { return strings.Split(path, "/")[1] }

func same(a, b secrets.Value) bool { return !a.IsEmpty() && bytes.Equal(a.Reveal(), b.Reveal()) }

// A secretDoc says what became of a secret, and never what it is.
type secretDoc struct {
	Kind      string     `json:"kind"` // "secret"
	Act       string     `json:"act"`  // "set", "rotate", "retire"
	Name      string     `json:"name"` // of the slot: "hooks/woo-shop/1"
	Changed   bool       `json:"changed"`
	Live      bool       `json:"live"` // the endpoint names it as it is applied
	Endpoint  string     `json:"endpoint,omitempty"`
	Provider  string     `json:"provider,omitempty"`
	Former    string     `json:"former,omitempty"` // the slot that is replaced
	KeepUntil *time.Time `json:"keep_until,omitempty"`
	Next      []string   `json:"next"` // what is left to do, in order
}

func (d *secretDoc) describe(at slot, scheme *webhook.Scheme) {
	if at.endpoint != nil {
		d.Endpoint = at.endpoint.Name
	}
	if scheme != nil {
		d.Provider = scheme.Name()
	}
}

// headline is what became of it.
func (d secretDoc) headline() string {
	switch {
	case d.Act == "retire" && d.Changed:
		return "removed"
	case d.Act == "retire":
		return "nothing stands there"
	case !d.Changed:
		return "this secret stands there already"
	case d.Act == "rotate":
		return "set, beside " + d.Former
	}
	return "set"
}

func (p *program) tellSecret(d secretDoc) error {
	if d.Changed && d.Live && p.deployed != nil {
		d.Next = append([]string{"within five minutes every function knows; until then some go by what they knew"}, d.Next...)
	}
	if p.json {
		return p.writeJSON(d)
	}
	fmt.Fprintf(p.Stdout, "%s: %s\n", d.Name, d.headline())
	var rows [][]string
	if d.Endpoint != "" {
		use := "its configuration does not name the slot"
		if d.Live {
			use = "its configuration names the slot"
		}
		rows = append(rows, []string{"endpoint", d.Endpoint + ", " + d.Provider + ": " + use})
	}
	if d.KeepUntil != nil {
		rows = append(rows, []string{"both valid", "until " + d.Former + " is retired, not before " + p.clock().Second(d.KeepUntil)})
	}
	for i, next := range d.Next {
		label := ""
		if i == 0 {
			label = "next"
		}
		rows = append(rows, []string{label, next})
	}
	return text.Columns(p.Stdout, "  ", rows)
}
