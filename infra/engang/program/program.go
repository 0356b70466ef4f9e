// Package program is engang, the operator program: commands, flags, texts and exit codes.
package program

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"engang/infra/engang/stack"
	"engang/infra/engang/text"
	"engang/shared/config"
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

	// Confirm asks on a terminal, until ctx ends: that is no; nil where there is none.
	Confirm func(ctx context.Context, question string) bool

	// Progress shows how far a long act is, drawn over again and again; nil where standard error is no terminal.
	Progress io.Writer

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
		Command: started(os.Args[0]), Version: built(), Confirm: confirm(), Hide: hide(), Again: again, Progress: progress(),
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
	p := &program{Env: env, bytes: env.Stdout, errors: env.Stderr}
	p.Stdout, p.Stderr = guard{env.Stdout, p.asJSON}, guard{env.Stderr, p.asJSON}
	root := p.root()
	root.SetArgs(env.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	helpers(root) // they keep where they write to
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	p.command = strings.TrimPrefix(cmd.CommandPath(), root.Name())
	return p.tell(err)
}

// A guard is the one way out for everything that is written: what a terminal would obey is made visible
// on it, wherever it came from. Each write holds whole characters.
type guard struct {
	to     io.Writer
	asJSON func() bool
}

// Write writes b, made visible.
func (g guard) Write(b []byte) (int, error) {
	visible := text.Plain
	if g.asJSON() {
		visible = text.JSON
	}
	if _, err := io.WriteString(g.to, visible(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

type program struct {
	Env
	bytes       io.Writer    // standard output past the guard, for the exact bytes that were asked for
	errors      io.Writer    // standard error past the guard
	command     string       // " events", once it has failed
	deployed    *stack.Stack // nil: the target is on this machine
	target      string
	json        bool
	utc         bool
	tenant      string
	environment string
	as          string
	yes         bool
	acts        bool // the command writes: without an answer nobody knows whether it was done
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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cmp.Or(p.check(), given(cmd)) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%s", parsing.ReplaceAllString(err.Error(), "")) })
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
		p.secretCommand(), p.verifyCommand(), p.initCommand(), p.applyCommand(), p.configCommand(), p.eraseCommand(), p.exportCommand())
	root.AddCommand(p.dlqCommand(), p.redriveCommand(), p.replayCommand())
	root.AddCommand(p.cancelCommand(), p.pauseCommand(), p.resumeCommand(), p.statsCommand(), p.auditCommand(), p.doctorCommand(), p.costCommand(), p.simulateCommand(), p.benchCommand())
	root.AddCommand(p.reviewCommand(), p.decisionCommand(approval), p.decisionCommand(rejection), p.dismissCommand())
	return root
}

// parsing is what the Go library says of its own functions.
var parsing = regexp.MustCompile(`strconv\.Parse[A-Za-z]+: parsing "[^"]*": |time: `)

// helpers are the commands that come with the library, which answer a misspelt word with help and the exit code 0.
func helpers(root *cobra.Command) {
	help := &cobra.Command{Use: "help [command]", Short: "Help about a command", Example: "  engang help send", RunE: func(_ *cobra.Command, args []string) error {
		about, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return usage("unknown command %q", strings.Join(args, " "))
		}
		return about.Help()
	}}
	root.SetHelpCommand(help)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// maxReason is how long a reason may be: it stands in lists.
const maxReason = 2_000

// given refuses values that would be overlooked or could not be shown again.
func given(cmd *cobra.Command) error {
	for _, name := range []string{"target", "tenant", "environment", "as", "name"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usage("--%s: it is empty; leave it out if none is meant", name)
		}
	}
	f := cmd.Flags().Lookup("reason")
	switch {
	case f == nil:
		return nil
	case len(f.Value.String()) > maxReason:
		return usage("--reason: at most %d bytes", maxReason)
	case !utf8.ValidString(f.Value.String()):
		return usage("--reason: it is no text in UTF-8")
	}
	return nil
}

// asJSON tells whether JSON is written: also where a wrong flag stopped the reading of those behind it.
func (p *program) asJSON() bool { return p.json || slices.Contains(p.Args, "--json") }

// maxName is how long a name may be that is said with --as: what has room in an identity.
const maxName = 128

// check looks at the flags that every command has.
func (p *program) check() error {
	switch {
	case p.as != text.Line(p.as) || p.as != strings.TrimSpace(p.as):
		return usage("--as %q: a name in one line, without control characters and without spaces around it", p.as)
	case len(p.as) > maxName:
		return usage("--as: a name of at most %d bytes", maxName)
	case p.timeout <= 0:
		return usage("--timeout %s: a time above 0", p.timeout)
	}
	return oneOf("environment", p.environment, config.Environments)
}

// oneOf refuses a word that nothing can have.
func oneOf(flag, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return usage("--%s %q: one of %s", flag, word, strings.Join(words, ", "))
}

func (p *program) clock() text.Clock { return text.Clock{Local: !p.utc} }

// suggest is a command to type next, spoken to the same target about the same tenant, and by the same person.
func (p *program) suggest(args string) string {
	command := p.Command + " " + args
	for _, f := range []struct{ name, value string }{{"target", p.target}, {"tenant", p.tenant}, {"environment", p.environment}, {"as", p.as}} {
		if f.value != "" {
			command += " --" + f.name + " " + word(f.value)
		}
	}
	return command
}

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
