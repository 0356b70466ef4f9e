package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/configfile"
	"engang/infra/engang/client"
	"engang/infra/engang/references"
	"engang/infra/engang/text"
	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/control"
	"engang/shared/secrets"
)

// cacheSeconds is how long functions believe what they have read of the configuration.
const cacheSeconds = 5

type applying struct{ check, allowModel, noSecrets bool }

func (p *program) applyCommand() *cobra.Command {
	var a applying
	cmd := &cobra.Command{
		Use:   "apply FILE...",
		Short: "Check configuration files, show what changes, and make it live: all or nothing",
		Long: "FILE is a configuration file or a folder of them; several are one configuration of one tenant and environment, and replace what is live there. Everything is checked: the files here, then by the stack against what is live, " +
			"and the secrets they refer to under your own rights. What is refused is told by file and line, all of it at once, and nothing is applied then.\n\n" +
			"Versions are immutable: a changed recipe needs the next version, endpoints are counted for you. Work under way keeps the version it began with. If somebody else applies meanwhile, nothing is done, the exit code is 4, and the new differences are shown.\n" +
			"--check changes nothing: exit 0 when what is live is the same, 7 when it differs, 2 when the files are refused. " +
			"A recipe that asks another model than its live version is refused, since outputs and prices change with it; --allow-model-change says that this is meant.",
		Example: "  engang apply infra/local.yaml --check\n  engang apply config/ --allow-model-change\n  engang apply shop.yaml crm.yaml --target my-stack --yes\n  engang apply shop.yaml --no-secrets --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("say which files make up the configuration")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.apply(cmd.Context(), args, a) },
	}
	f := cmd.Flags()
	f.BoolVar(&a.check, "check", false, "check and show what would change, and change nothing")
	f.BoolVar(&a.allowModel, "allow-model-change", false, "let recipes ask another model than their live version")
	f.BoolVar(&a.noSecrets, "no-secrets", false, "do not read the secrets that are referred to, for who has no right to")
	return cmd
}

// A draft is a configuration on its way.
type draft struct {
	p        *program
	c        *client.Client
	file     *configfile.File
	proposal client.Proposal
	a        applying
}

// An applied document is what apply writes with --json.
type applied struct {
	control.Application
	SecretsChecked bool       `json:"secrets_checked"`
	Warnings       []faultDoc `json:"warnings"`
}

func (p *program) apply(ctx context.Context, files []string, a applying) error {
	d, err := p.draft(ctx, files, a)
	if err != nil {
		return err
	}
	if !a.check {
		p.sayWhere()
	}
	plan, warnings, err := d.plan(ctx)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(p.Stderr, "warning:", w)
	}
	doc := applied{Application: plan, SecretsChecked: !a.noSecrets, Warnings: faultDocs(warnings)}
	doc.Others = nil
	changes := text.Count(len(plan.Changes), "change", "changes")
	switch {
	case len(plan.Changes) == 0:
		return d.tell(doc, "nothing to change")
	case a.check:
		return errors.Join(d.tell(doc, "nothing is applied with --check"), &failure{exitFound, errors.New(changes)})
	}
	if !p.json {
		if err := d.tell(doc, ""); err != nil {
			return err
		}
	}
	if err := p.agree(ctx); err != nil {
		return err
	}
	d.proposal.Revision = &plan.Revision
	done, err := d.c.Apply(ctx, d.proposal)
	if err != nil {
		return d.overtaken(ctx, err)
	}
	doc.Application = done
	if p.json {
		return p.writeJSON(doc)
	}
	_, err = fmt.Fprintf(p.Stdout, "\n%s applied: revision %d, live everywhere within %d s\n", changes, done.Revision, cacheSeconds)
	return err
}

// draft reads the files, and finds where they are to be applied.
func (p *program) draft(ctx context.Context, files []string, a applying) (*draft, error) {
	file, err := configfile.Open(files...)
	if _, ok := errors.AsType[*fs.PathError](err); ok { // there is none, its name is too long, it may not be read
		return nil, usage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	scope := file.Set.Scope
	for flag, values := range map[string][2]string{"--tenant": {p.tenant, scope.Tenant}, "--environment": {p.environment, scope.Environment}} {
		if values[0] != "" && values[0] != values[1] {
			return nil, usage("%s: the files say %s", flag, values[1])
		}
	}
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.Tenant, c.Environ = scope.Tenant, scope.Environment
	return &draft{p: p, c: c, file: file, proposal: client.Proposal{Set: file.Set, AllowModelChange: a.allowModel}, a: a}, nil
}

// plan asks what would change, and looks at everything that the stack cannot: all that is wrong is told
// at once.
func (d *draft) plan(ctx context.Context) (control.Application, configfile.Faults, error) {
	plan, err := d.c.Plan(ctx, d.proposal)
	refused, ok := errors.AsType[*client.Problem](err)
	if err != nil && (!ok || len(refused.Faults) == 0) {
		return plan, nil, d.p.explain(err)
	}
	var faults config.Faults
	if ok {
		faults = refused.Faults
	}
	found, err := d.references(ctx, plan.Others)
	if err != nil {
		return plan, nil, err
	}
	found = found.And(references.Samples(d.file.Set))
	warnings := append(found.Warnings, apply.Warnings(d.file.Set, d.p.Now())...)
	if faults = append(faults, found.Faults...); len(faults) > 0 {
		return plan, nil, d.placed(faults)
	}
	return plan, d.placed(warnings), nil
}

// references holds the secrets against what they have to be, under the operator's own rights.
func (d *draft) references(ctx context.Context, others []control.Other) (references.Findings, error) {
	if d.a.noSecrets {
		fmt.Fprintln(d.p.Stderr, "the secrets are not checked (--no-secrets)")
		return references.Findings{}, nil
	}
	v, err := d.p.openVault(ctx, d.c)
	if err != nil {
		return references.Findings{}, fmt.Errorf("find the parameter store (or leave the secrets out with --no-secrets): %w", err)
	}
	store := reading{d.p, v}
	found, err := references.Check(ctx, store, d.file.Set, others)
	if err != nil {
		return found, fmt.Errorf("read the secrets (or leave them out with --no-secrets): %w", err)
	}
	if d.p.deployed != nil { // a local system has a model of its own, or the key where nobody else can read it
		found = found.And(references.Models(ctx, d.p.HTTP, d.file.Set, found.Keys))
	}
	for _, list := range []config.Faults{found.Faults, found.Warnings} {
		for i := range list {
			list[i].Remedy = strings.ReplaceAll(list[i].Remedy, "engang ", d.p.Command+" ")
		}
	}
	return found, nil
}

// reading is the parameter store with the program's own patience.
type reading struct {
	p *program
	v *vault
}

// Parameters reads what exists of the paths.
func (r reading) Parameters(ctx context.Context, paths []string) (map[string]secrets.Value, error) {
	return within(ctx, r.p, func(ctx context.Context) (map[string]secrets.Value, error) { return r.v.store.Parameters(ctx, paths) })
}

// placed says where in the files the faults stand.
func (d *draft) placed(faults config.Faults) configfile.Faults {
	placed := make(configfile.Faults, len(faults))
	for i, f := range faults {
		placed[i] = d.file.Fault(f.At, f.Reason, f.Remedy)
	}
	d.file.Sort(placed)
	return placed
}

// tell writes the differences.
func (d *draft) tell(doc applied, end string) error {
	if d.p.json {
		return d.p.writeJSON(doc)
	}
	if err := d.p.clock().Application(d.p.Stdout, doc.Application); err != nil {
		return err
	}
	if end != "" {
		fmt.Fprintf(d.p.Stdout, "\n%s\n", end)
	}
	return nil
}

// overtaken says what is different now, where somebody else has applied since the differences were shown. What was
// sound then and is refused now is so because of them: their versions may stand there a moment before they are live.
func (d *draft) overtaken(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*client.Problem](err)
	if !ok || refused.Status != http.StatusConflict && len(refused.Faults) == 0 {
		return d.p.explain(err)
	}
	again, warnings, err := d.plan(ctx)
	if err != nil {
		if !d.p.json {
			fmt.Fprintln(d.p.Stderr, "somebody else applied meanwhile:")
		}
		return &failure{exitState, err}
	}
	again.Others = nil
	if !d.p.json {
		fmt.Fprintln(d.p.Stdout)
	}
	told := d.tell(applied{again, !d.a.noSecrets, faultDocs(warnings)}, "")
	return errors.Join(told, &failure{exitState, fmt.Errorf("%s applied revision %d at %s meanwhile: nothing was done; look at the new differences and apply again", named(again.AppliedBy), again.Revision, stamp(again.AppliedAt))})
}

func named(by string) string {
	if by == "" {
		return "somebody else"
	}
	return by
}

func stamp(at *time.Time) string {
	if at == nil {
		return "an unknown time"
	}
	return at.UTC().Format(time.RFC3339)
}
