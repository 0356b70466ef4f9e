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
	"engang/shared/webhook"
)

type initial struct{ dir, name string }

func (p *program) initCommand() *cobra.Command {
	var i initial
	cmd := &cobra.Command{
		Use:   "init PROVIDER",
		Short: "Write a configuration to start from, and make a secret",
		Long: "init writes a file with an endpoint and a recipe that fit what the provider sends, makes a strong secret of safe characters, and says what to do next. Nothing is applied.\n" +
			"The secret is shown once and kept nowhere: copy it to the sender, and to the prompt of secret set; it is part of no command.\n" +
			"Tenant and environment are --tenant and --environment, else those of the configuration files in the folder, else a tenant that is named as the endpoint, and test. " +
			"Files of one tenant and environment are applied together: name them all, or their folder.\n\n" +
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
	Kind        string   `json:"kind"` // "start"
	File        string   `json:"file"`
	Tenant      string   `json:"tenant"`
	Environment string   `json:"environment"`
	Provider    string   `json:"provider"`
	Endpoint    string   `json:"endpoint"`
	Recipe      string   `json:"recipe"`
	Secret      string   `json:"secret"` // made now, and kept nowhere
	Reference   string   `json:"secret_reference"`
	Next        []string `json:"next"` // commands, none of which holds the secret: the first one reads it
}

func (p *program) init(provider string, i initial) error {
	name := cmp.Or(i.name, provider)
	at, err := p.settingOf(i.dir)
	if err != nil {
		return err
	}
	at.tenant, at.environment = cmp.Or(at.tenant, name), cmp.Or(at.environment, webhook.Test)
	s, err := starter.Make(starter.Want{Provider: provider, Name: name, Tenant: at.tenant, Environment: at.environment, Beside: at.sections})
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
		Kind: "start", File: filepath.Join(i.dir, name+".yaml"), Tenant: at.tenant, Environment: at.environment, Provider: provider, Endpoint: name,
		Recipe: s.Recipe + "@1", Secret: string(scheme.NewSecret(random).Reveal()), Reference: "ssm:" + s.Reference,
	}
	doc.Next = p.nextSteps(doc, s, at)
	if err := writeNew(i.dir, doc.File, s.Text); err != nil {
		return err
	}
	if p.json {
		return p.writeJSON(doc)
	}
	return p.writeStart(doc, s)
}

// nextSteps are the commands that make it live and try it.
func (p *program) nextSteps(doc startDoc, s starter.Start, at setting) []string {
	send := "send " + s.Case
	if doc.Endpoint != cmp.Or(usualEndpoints[doc.Provider], doc.Provider) {
		send += " --endpoint " + doc.Endpoint
	}
	return []string{
		p.suggest("secret set " + s.Reference + " --provider " + doc.Provider),
		p.suggest("apply " + at.applied(doc.File)),
		p.suggest(send + " --wait"),
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
	whose := "The sender makes its own secret (" + s.Secret + "): give that one to the first command below.\nFor trying there is this one, made now and kept nowhere:"
	if s.Chosen {
		whose = "The secret, made now and kept nowhere; copy it to the sender (" + s.Secret + ")\nand to the prompt of the first command below:"
	}
	_, err := fmt.Fprintf(p.Stdout, "%s: endpoint %s of %s, recipe %s; tenant %s, %s\n\n%s\n\n  %s\n\nThe address is /hooks/%s behind the address of the system.\n\n"+
		"Next; the first command asks for the secret and does not show it, or reads it from standard input (< FILE):\n  %s\n",
		doc.File, doc.Endpoint, doc.Provider, doc.Recipe, doc.Tenant, doc.Environment, whose, doc.Secret, doc.Endpoint, strings.Join(doc.Next, "\n  "))
	return err
}
