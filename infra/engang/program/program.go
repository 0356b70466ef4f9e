// Package program is engang, the operator program: commands, flags, texts and exit codes.
package program

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/stack"
	"engang/infra/engang/text"
)

// An Env is what the program runs in.
type Env struct {
	Args    []string // without the program's own name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Now     func() time.Time
	HTTP    *http.Client
	Command string // how the program was started, for the commands that it suggests
	Version string
	Confirm func(question string) bool // asks on a terminal; nil where there is none

	// Hide keeps what is typed from being shown, until show is called; nil where nothing is typed, since
	// standard input is no terminal.
	Hide func() (show func(), err error)

	// Again starts this program once more in its place, with more environment; it returns only to say
	// why it could not.
	Again func(environment []string) error
}

// process is the environment of this process.
func process() Env {
	return Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
		HTTP:    &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: transport()},
		Command: started(os.Args[0]), Version: built(), Confirm: confirm(), Hide: hide(), Again: again,
	}
}

// transport keeps enough connections for --parallel.
func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 100
	return t
}

// started says how a person starts the program again: `go run` leaves its binary in a folder of its own.
func started(arg0 string) string {
	if strings.Contains(filepath.ToSlash(arg0), "/go-build") {
		return "go run ./infra/engang"
	}
	return arg0
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, env Env) int {
	p := &program{Env: env}
	root := p.root()
	root.SetArgs(env.Args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	return p.tell(err)
}

type program struct {
	Env
	deployed    *stack.Stack // nil: the target is on this machine
	target      string
	json        bool
	utc         bool
	tenant      string
	environment string
	as          string
	yes         bool
	timeout     time.Duration
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "engang",
		Short:         "Webhooks in, AI enrichment out, one intended effect per business event",
		Long:          "engang runs and operates a system that takes webhooks, enriches what they are about with one paid model call each, and keeps the result.\n\nStart with: " + p.Command + " local",
		Example:       "  engang local\n  engang events --target http://127.0.0.1:9000 --utc=false --timeout 5s\n  engang operations --tenant shop --environment test --json\n  engang send --target my-stack --yes\n  engang show product:794 --as ann",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	f := root.PersistentFlags()
	f.StringVar(&p.target, "target", "", "local, http://127.0.0.1:PORT, or the name of a stack (default $ENGANG_TARGET, else local)")
	f.BoolVar(&p.json, "json", false, "write JSON for programs; errors as RFC 9457 documents on stderr")
	f.BoolVar(&p.utc, "utc", true, "write times in UTC, not in the zone of this machine")
	f.StringVar(&p.tenant, "tenant", "", "tenant, where the target has more than one")
	f.StringVar(&p.environment, "environment", "", "test or production, where the target has both")
	f.StringVar(&p.as, "as", "", "who you are, on a local target (default: the user of this machine)")
	f.BoolVar(&p.yes, "yes", false, "do not ask before writing to a stack")
	f.DurationVar(&p.timeout, "timeout", 30*time.Second, "longest wait for one answer")
	root.AddCommand(p.localCommand(), p.sendCommand(), p.eventsCommand(), p.operationsCommand(), p.showCommand(), p.versionCommand(),
		p.secretCommand(), p.verifyCommand(), p.initCommand(), p.applyCommand(), p.configCommand())
	return root
}

func (p *program) clock() text.Clock { return text.Clock{Local: !p.utc} }

// suggest is a command to type next.
func (p *program) suggest(args string) string { return p.Command + " " + args }

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", Args: noArguments,
		Example: "  engang version",
		RunE: func(*cobra.Command, []string) error {
			if p.json {
				return p.writeJSON(map[string]string{"version": p.Version})
			}
			_, err := fmt.Fprintln(p.Stdout, "engang", p.Version)
			return err
		},
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument: %q", cmd.Name(), args[0])
	}
	return nil
}
