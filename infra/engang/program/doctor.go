package program

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/doctor"
	"engang/infra/engang/stack"
)

// onlyStack is the one part that can be asked for alone.
const onlyStack = "stack"

type doctoring struct {
	only string
	fix  bool
}

func (p *program) doctorCommand() *cobra.Command {
	var d doctoring
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look the target over: stack, API, configuration, secrets, models, webhooks, quotas", Args: noArguments,
		Long: "doctor looks at a stack's outputs, region, whom alarms are told to, table, indexes, expiry, recovery, queues, bucket and parameters under your own AWS identity; then at its API, at what is applied, whether every secret that it names is there " +
			"and of its provider's form, whether each provider of models takes its key and knows its models (a look-up, which is free), whether a shop's webhooks are active where its key is configured, " +
			"and at the account's quota of functions. On this machine there is no stack, and the models are not asked.\n\n" +
			"It changes nothing. --fix turns on again what the template has on and can do no harm: protection of the table, expiry, recovery.\n\n" +
			"The exit code is 7 where it found faults; without faults, 5 where you may not look, and 6 where somebody did not answer.",
		Example: "  engang doctor\n  engang doctor --target my-stack\n  engang doctor --target my-stack --only stack --json\n  engang doctor --target my-stack --only stack --fix --yes",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), d) },
	}
	f := cmd.Flags()
	f.StringVar(&d.only, "only", "", "stack: look at the stack alone, and not at what its API says")
	f.BoolVar(&d.fix, "fix", false, "mend what can be mended without harm")
	return cmd
}

func (p *program) doctor(ctx context.Context, d doctoring) error {
	if err := oneOf("only", d.only, []string{onlyStack}); err != nil {
		return err
	}
	name := p.targetName()
	if isHere(name) {
		return p.doctorHere(ctx, d)
	}
	return p.doctorStack(ctx, name, d)
}

// doctorHere looks at a system on this machine.
func (p *program) doctorHere(ctx context.Context, d doctoring) error {
	if d.only == onlyStack || d.fix {
		return usage("there is no stack on this machine: name one with --target")
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	report := doctor.Report{Kind: "doctor", Target: c.API}
	s := doctor.System{API: c, HTTP: p.HTTP, Patience: p.timeout}
	if v, err := p.openVault(ctx, c); err == nil { // else the API does not answer either, and its check says so
		s.Store = v.store
	}
	report.Checks = s.Look(ctx)
	return p.tellReport(report)
}

// doctorStack looks at a deployed one.
func (p *program) doctorStack(ctx context.Context, name string, d doctoring) error {
	found, err := p.describe(ctx, name)
	if wrong, ok := errors.AsType[*stack.ClockError](err); ok {
		return p.tellReport(doctor.Report{Kind: "doctor", Target: name, Checks: []doctor.Check{{Name: "clock", State: doctor.Fault, Text: wrong.Error(), Remedy: "nothing else can be looked at until then"}}})
	}
	if err != nil {
		return lookedUp(err)
	}
	if len(found.Outputs) == 0 {
		return &failure{exitNotFound, fmt.Errorf("%w: %s in %s is %s and has no outputs: it is not engang's, or was not created to the end", stack.ErrNotFound, name, found.Region, found.Status)}
	}
	p.deployed = found
	report := doctor.Report{Kind: "doctor", Target: name, Account: found.Account, Region: found.Region}
	looked := doctor.Stack{Stack: found, Patience: p.timeout}
	var repairs []doctor.Repair
	report.Checks, repairs = looked.Look(ctx)
	if d.only != onlyStack {
		s := doctor.System{API: p.toStack(found), HTTP: p.HTTP, Stack: found, Patience: p.timeout}
		if v, err := p.openVault(ctx, s.API); err == nil { // without the output SecretPath there is none, and its check says so
			s.Store = v.store
		}
		report.Checks = append(report.Checks, s.Look(ctx)...)
	}
	if d.fix && len(repairs) > 0 {
		if err := p.announce(ctx); err != nil {
			return err
		}
		report.Mend(ctx, p.timeout, repairs)
	}
	return p.tellReport(report)
}

func (p *program) describe(ctx context.Context, name string) (*stack.Stack, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return stack.Describe(ctx, p.HTTP, name, p.Now)
}

// toStack is a client of a stack's API.
func (p *program) toStack(s *stack.Stack) *client.Client {
	return &client.Client{
		HTTP: p.HTTP, Tenant: p.tenant, Environ: p.environment, Timeout: p.timeout,
		API: strings.TrimSuffix(s.APIURL, "/"), Hooks: strings.TrimSuffix(s.HooksURL, "/"), Sign: s.Sign,
	}
}

// tellReport writes a report, and gives it its exit code.
func (p *program) tellReport(r doctor.Report) error {
	for i, c := range r.Checks {
		r.Checks[i].Remedy = strings.ReplaceAll(c.Remedy, "engang ", p.Command+" ")
	}
	write := func() error { return r.Write(p.Stdout) }
	if p.json {
		write = func() error { return p.writeJSON(r) }
	}
	if err := write(); err != nil {
		return err
	}
	for _, s := range []struct {
		state doctor.State
		code  int
	}{{doctor.Fault, exitFound}, {doctor.NotAllowed, exitNotAllowed}, {doctor.NoAnswer, exitNoAnswer}} {
		if r.Count(s.state) > 0 {
			return &failure{s.code, errors.New(r.Summary())}
		}
	}
	return nil
}
