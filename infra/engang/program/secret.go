package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/references"
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

// givesSecret says how a secret gets into a command: never as an argument, which ends in the history of
// the shell and in the list of processes.
const givesSecret = "The secret is never an argument. On a terminal it is asked for, and what is typed or pasted is not shown; else it is read from standard input, " +
	"from a file (< FILE) or a pipe, without the line end behind it."

func (p *program) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Put secrets into the parameter store, replace them and take them away",
		Long: givesSecret + "\nIt is checked as its sender's secrets are, and never shown. It is written under your own rights:\n" +
			"on a stack those of your AWS identity. NAME is a reference without ssm: (hooks/woo-shop/1), or an endpoint.",
		Example: "  engang secret set hooks/woo-shop/1 --provider woocommerce < secret.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 { // it is not repeated: it may be a secret
				return usage("unknown command of secret: there are set, rotate and retire. A secret is no argument: it is asked for, or read from standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.secretSetCommand(), p.secretRotateCommand(), p.secretRetireCommand())
	return cmd
}

func (p *program) secretSetCommand() *cobra.Command {
	var s secretActs
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Put a secret where none stands yet",
		Long: givesSecret + "\n\n" +
			"The secret of an endpoint is checked by its provider: that of the live configuration, or --provider before the endpoint is applied.\n" +
			"Where another secret stands, it is left there, since what its sender has signed would be refused: rotate keeps both valid. --replace puts the new one in its place; " +
			"so it is done with the key of a model, of which one at a time is in use.",
		Example: "  engang secret set hooks/woo-shop/1 --provider woocommerce < secret.txt\n  engang secret set woo-shop --replace < secret.txt\n" +
			"  engang secret set models/openai < key.txt\n  engang secret set models/openai --replace < key.txt\n" +
			"  engang secret set targets/my-shop < rest-key.txt",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error { return p.setSecret(cmd.Context(), args[0], s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.provider, "provider", "", "whose secret it is, for an endpoint that is not applied yet")
	f.BoolVar(&s.replace, "replace", false, "in place of another secret, which is no longer taken then")
	return cmd
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

// live tells whether the endpoint as it is applied names the slot.
func (s slot) live() bool {
	return s.endpoint != nil && slices.Contains(s.endpoint.Secrets, "ssm:"+s.path)
}

func (p *program) setSecret(ctx context.Context, name string, s secretActs) error {
	d, at, err := p.openSlot(ctx, name)
	if err != nil {
		return err
	}
	scheme, err := at.scheme(s.provider)
	if err != nil {
		return err
	}
	if err := p.announce(ctx); err != nil {
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
	standing, err := d.standing(ctx, at.path)
	if err != nil {
		return err
	}
	plain, err := within(ctx, p, func(ctx context.Context) (bool, error) { return d.vault.store.Plain(ctx, at.path) })
	switch {
	case err != nil:
		return err
	case same(standing, value) && !plain:
		return p.tellSecret(doc)
	case !standing.IsEmpty() && !s.replace:
		return p.another(at, s.provider, plain)
	case plain:
		err = d.encrypt(ctx, at.path, value)
	default:
		err = d.put(ctx, at.path, value, s.replace)
	}
	if err != nil {
		return err
	}
	doc.Changed = true
	switch {
	case scheme == nil && !standing.IsEmpty() && !same(standing, value):
		doc.Next = append(doc.Next, "take the former key back where it was issued")
	case strings.HasPrefix(at.path, "models/") && d.unnamed(ctx, at.path):
		doc.Next = append(doc.Next, fmt.Sprintf("name ssm:%s as the api_key of a provider, and apply: what is live names it nowhere", at.path))
	case scheme != nil && !doc.Live:
		doc.Next = append(doc.Next, fmt.Sprintf("name ssm:%s in the secrets of the endpoint, and apply: until then it is not used", at.path))
	}
	return p.tellSecret(doc)
}

// another refuses to put a secret where another one stands, and says what puts it there.
func (p *program) another(at slot, provider string, plain bool) error {
	set := "secret set " + at.path
	if at.endpoint == nil && provider != "" {
		set += " --provider " + provider
	}
	if plain {
		return &failure{exitState, fmt.Errorf("what stands in %s is not encrypted: %s removes it, and puts the one given in its place as a SecureString", at.path, p.suggest(set+" --replace"))}
	}
	text := fmt.Sprintf("another secret stands in %s: %s puts the new one in its place, and the former one is no longer taken", at.path, p.suggest(set+" --replace"))
	if at.live() {
		text += "; " + p.suggest("secret rotate "+at.path) + " keeps both valid"
	}
	return &failure{exitState, errors.New(text)}
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
			return nil, usage("endpoint %s is of provider %s, not of the one given with --provider", s.endpoint.Name, s.endpoint.Provider)
		}
		provider = s.endpoint.Provider
	}
	if provider == "" {
		return nil, usage("no endpoint %s is applied: say with --provider whose secret it is: %s", folder(s.path), strings.Join(webhook.Names(), ", "))
	}
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		return nil, usage("the provider given (%s) is not known: there are %s", lengthOf(provider), strings.Join(webhook.Names(), ", "))
	}
	return &scheme, nil
}

// check refuses what is no secret of the provider, what everybody knows, and what another environment
// or another slot of the same endpoint has.
func (d *desk) check(ctx context.Context, at slot, scheme *webhook.Scheme, value secrets.Value) error {
	if scheme == nil && strings.HasPrefix(at.path, "targets/") {
		return targetKey(value)
	}
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
		e, err := d.ofAnybody(ctx, folder(path))
		if err != nil {
			return err
		}
		if e != nil && environment != "" && e.Environment != environment {
			return usage("this is the secret of endpoint %s, which is of %s: test and production share none", e.Name, e.Environment)
		}
	}
	return nil
}

// targetKey checks the key of a target.
func targetKey(value secrets.Value) error {
	if reason := references.NoTargetKey(value); reason != "" {
		return usage("the secret is no key of a target: %s", reason)
	}
	return nil
}

// plainSecret checks what no provider's row knows: keys of models.
func plainSecret(value secrets.Value) error {
	if reason := references.NoKey(value); reason != "" {
		return usage("the secret is no key: %s", reason)
	}
	if len(value.Reveal()) < 8 {
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

// encrypt puts a secret in place of what stands there unencrypted. The store changes no type, so that the former one is
// removed first: after a crash in between none stands there, and whoever has none refuses as for a secret that is
// missing, until the command is given again.
func (d *desk) encrypt(ctx context.Context, path string, value secrets.Value) error {
	if _, err := within(ctx, d.p, func(ctx context.Context) (bool, error) { return d.vault.store.Remove(ctx, path) }); err != nil {
		return err
	}
	if err := d.put(ctx, path, value, false); err != nil {
		return fmt.Errorf("%s, which was not encrypted, is removed, and whether another one stands there is not known; give the command again: %w", path, err)
	}
	return nil
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
	if d.Changed && (d.Live || d.Provider == "" && d.Act == "set") && p.deployed != nil {
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
