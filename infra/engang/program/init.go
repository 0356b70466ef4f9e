package program

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"engang/infra/engang/starter"
	"engang/infra/engang/text"
	"engang/shared/webhook"
)

type initial struct{ dir, name string }

func (p *program) initCommand() *cobra.Command {
	var i initial
	cmd := &cobra.Command{
		Use:   "init PROVIDER",
		Short: "Write a configuration to start from, and make a secret",
		Long: "init writes a file with an endpoint and a recipe that fit what the provider sends, makes a strong secret of safe characters, and says what to do next. Nothing is applied.\n" +
			"The tenant is --tenant, or named as the endpoint. Files of one tenant and environment are applied together: name them all, or their folder.\n\n" +
			"PROVIDER is one of " + strings.Join(webhook.Names(), ", ") + ".",
		Example: "  engang init stripe\n  engang init woocommerce --dir config --name shop --tenant agency",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("say one PROVIDER: %s", strings.Join(webhook.Names(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.init(args[0], i) },
	}
	cmd.Flags().StringVar(&i.dir, "dir", ".", "the folder that the file is written to")
	cmd.Flags().StringVar(&i.name, "name", "", "what the endpoint, its address and the file are called (default: as the provider)")
	return cmd
}

// A startDoc is what init writes with --json.
type startDoc struct {
	Kind      string   `json:"kind"` // "start"
	File      string   `json:"file"`
	Provider  string   `json:"provider"`
	Endpoint  string   `json:"endpoint"`
	Recipe    string   `json:"recipe"`
	Secret    string   `json:"secret"` // made now, and kept nowhere
	Reference string   `json:"secret_reference"`
	Next      []string `json:"next"` // commands
}

func (p *program) init(provider string, i initial) error {
	name := cmp.Or(i.name, provider)
	s, err := starter.Make(starter.Want{Provider: provider, Name: name, Tenant: cmp.Or(p.tenant, name), Environment: cmp.Or(p.environment, webhook.Test)})
	switch {
	case errors.Is(err, starter.ErrProvider), errors.Is(err, starter.ErrName):
		return usage("%w", err)
	case err != nil:
		return err
	}
	scheme, _ := webhook.Lookup(provider)
	var random [32]byte
	_, _ = rand.Read(random[:]) // it never fails
	doc := startDoc{
		Kind: "start", File: filepath.Join(i.dir, name+".yaml"), Provider: provider, Endpoint: name, Recipe: s.Recipe + "@1",
		Secret: string(scheme.NewSecret(random).Reveal()), Reference: "ssm:" + s.Reference,
	}
	doc.Next = p.nextSteps(doc, s)
	if err := writeNew(i.dir, doc.File, s.Text); err != nil {
		return err
	}
	if p.json {
		return p.writeJSON(doc)
	}
	return p.writeStart(doc, s)
}

// nextSteps are the commands that make it live and try it.
func (p *program) nextSteps(doc startDoc, s starter.Start) []string {
	target, send := "", "send "+s.Case
	if p.target != "" {
		target = " --target " + p.target
	}
	if doc.Endpoint != cmp.Or(usualEndpoints[doc.Provider], doc.Provider) {
		send += " --endpoint " + doc.Endpoint
	}
	return []string{
		fmt.Sprintf("printf %%s '%s' | %s", doc.Secret, p.suggest("secret set "+s.Reference+" --provider "+doc.Provider+target)),
		p.suggest("apply " + doc.File + target),
		p.suggest(send + " --wait" + target),
	}
}

// writeNew writes a file that is not there yet: what somebody has changed must not be lost.
func writeNew(dir, name string, content []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage("--dir: %w", err)
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usage("%s is there already: choose another --name or --dir", name)
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

func (p *program) writeStart(doc startDoc, s starter.Start) error {
	whose := "the sender makes its own: " + s.Secret + ". Set that one in its place; this one is for trying"
	if s.Chosen {
		whose = "give it to the sender: " + s.Secret
	}
	fmt.Fprintf(p.Stdout, "%s: endpoint %s of %s, recipe %s\n\n", doc.File, doc.Endpoint, doc.Provider, doc.Recipe)
	err := text.Columns(p.Stdout, "  ", [][]string{{"secret", doc.Secret}, {"", whose}, {"address", "/hooks/" + doc.Endpoint + " behind the address of the system"}})
	fmt.Fprintln(p.Stdout, "\nNext:")
	for _, line := range doc.Next {
		fmt.Fprintln(p.Stdout, "  "+line)
	}
	return err
}
