package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/live"
	"engang/infra/engang/text"
	"engang/infra/local"
	"engang/infra/local/bootstrap"
	"engang/infra/local/faults"
	"engang/shared/config"
	"engang/shared/inbox"
)

const maxPort = 65_535

type running struct {
	config         []string
	data, fail     string
	log, artifacts string
	port           int
	speed          float64
	noSample, once bool
	anyPort        bool
}

func (p *program) localCommand() *cobra.Command {
	var r running
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run the whole system in one process",
		Long: "local runs front, functions, queues, table and a model stub in one process, shows three deliveries of one event, and keeps running.\n" +
			"Table, queues, timeouts and names come from template.yaml, which is looked for in this folder and above. With OPENAI_API_KEY set, models are really called and cost money.\n\n" +
			"Faults for --fail: " + strings.Join(faults.Known(), ", ") + "; each with xN. While it runs: POST them to /local/faults.",
		Example: "  engang local\n  engang local --once\n  engang local --no-sample --port 9000 --log -\n  engang local --data ./data --config infra/local.yaml\n  engang local --fail \"model:429x3,worker:kill@after-claim,queue:redeliver\" --speed 20\n  engang local --artifacts .aws-sam/build",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.checkRunning(r, cmd.Flags().Changed("speed")); err != nil {
				return err
			}
			r.anyPort = r.once && !cmd.Flags().Changed("port")
			return p.local(cmd.Context(), r)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&r.config, "config", nil, "configuration file or folder (default infra/local.yaml); may be repeated")
	f.StringVar(&r.data, "data", "", "keep the data in this folder (default: in memory)")
	f.IntVar(&r.port, "port", usualPort, "port on 127.0.0.1; 0 for a free one")
	f.Float64Var(&r.speed, "speed", 0, fmt.Sprintf("divides leases, backoff, visibility, due ages and the schedule: from %d to %d (default %d with the stub, 1 with a real model)", local.MinSpeed, local.MaxSpeed, local.UsualSpeed))
	f.StringVar(&r.fail, "fail", "", "what goes wrong, see above")
	f.StringVar(&r.artifacts, "artifacts", "", "run the built functions of this folder (of sam build) as processes, in place of those in this program; they pass their times in whole seconds, and backoff, quiet periods and a breaker's wait at their own pace")
	f.StringVar(&r.log, "log", "", "write the functions' log lines to this file (- for stderr)")
	f.BoolVar(&r.noSample, "no-sample", false, "do not deliver the sample")
	f.BoolVar(&r.once, "once", false, "stop after the sample; exit 1 if a number differs from the promise")
	return cmd
}

// checkRunning refuses flags that make no sense. A speed that was not said is zero.
func (p *program) checkRunning(r running, speedSaid bool) error {
	switch {
	case p.json:
		return usage("local tells what happens as text: not with --json; what is stored is JSON in show, events and operations")
	case r.port < 0 || r.port > maxPort:
		return usage("--port %d: a number from 0 to %d", r.port, maxPort)
	case speedSaid && !(r.speed >= local.MinSpeed && r.speed <= local.MaxSpeed): // also what is no number
		return usage("--speed %v: a number from %d to %d", r.speed, local.MinSpeed, local.MaxSpeed)
	case r.once && r.noSample:
		return usage("--once stops after the sample: not with --no-sample")
	}
	return nil
}

func (p *program) local(ctx context.Context, r running) error {
	if r.data != "" && !local.KeepsDataIn(r.data) {
		return p.startAgain(r.data)
	}
	log, closeLog, err := p.logTo(r.log)
	if err != nil {
		return err
	}
	defer closeLog()
	port := r.port
	if r.anyPort {
		port = 0 // for trying and for CI: nobody comes to its door
	}
	screen := live.Screen{Out: p.Stdout, Local: !p.utc, Suggest: p.suggest}
	feed := live.NewFeed(screen)
	s, err := local.Start(ctx, local.Options{
		ConfigFiles: r.config, Watch: !r.once, DataDir: r.data, Artifacts: r.artifacts, Port: port, Speed: r.speed, Faults: r.fail, OpenAIKey: p.Getenv("OPENAI_API_KEY"),
		Log: log, OnExchange: feed.Exchange, OnBatch: feed.Batch, OnConfig: feed.Config,
	})
	if err != nil {
		return p.explainStart(err, r, port)
	}
	p.greet(s, r)
	c := p.onThisMachine(&client.Client{HTTP: p.HTTP, Timeout: p.timeout}, s.URL())
	c.Tenant, c.Environ = s.Config().Scope.Tenant, s.Config().Scope.Environment
	if !r.noSample {
		story := live.Story{Screen: screen, System: s, Client: c, Once: r.once, Feed: feed}
		err = story.Tell(ctx)
	}
	if err == nil && !r.once && ctx.Err() == nil {
		feed.Follow(ctx, c)
	}
	return errors.Join(err, p.stop(s, r))
}

func (p *program) startAgain(data string) error {
	at, err := filepath.Abs(data)
	if err != nil {
		return usage("--data: %w", err)
	}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return usage("--data: %w", err)
	}
	if p.Again == nil {
		return fmt.Errorf("keep data in %s: %w", data, local.ErrDataDir)
	}
	return p.Again(local.EngineEnv(at))
}

func (p *program) logTo(name string) (io.Writer, func(), error) {
	switch name {
	case "":
		return io.Discard, func() {}, nil
	case "-":
		return guard{p.errors, func() bool { return true }}, func() {}, nil // a line is a JSON document
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, usage("--log: %w", err)
	}
	return file, func() { file.Close() }, nil
}

func (p *program) explainStart(err error, r running, port int) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return usage("port %d is in use, perhaps by another engang local: name another one with --port", port)
	case errors.Is(err, os.ErrNotExist) && r.artifacts != "":
		return usage("%w; build them first: sam build --parameter-overrides Architecture=%s", err, bootstrap.Architecture())
	case errors.Is(err, os.ErrNotExist), errors.Is(err, bootstrap.ErrForeign), errors.Is(err, local.ErrPastStub):
		return usage("%w", err)
	}
	return err
}

// greet says where everything is.
func (p *program) greet(s *local.System, r running) {
	data := "data in memory; keep it with --data DIR"
	if r.data != "" {
		data = fmt.Sprintf("data in %s; a kill loses the writes of the last %s and messages in flight, a stop loses nothing", r.data, text.Duration(local.Flush()))
	}
	fmt.Fprintf(p.Stdout, "engang local: ready in %s (%s)\n\n", text.Duration(s.Ready()), data)
	set := s.Config()
	endpoints := slices.Clone(set.Endpoints)
	slices.SortStableFunc(endpoints, func(a, b config.Endpoint) int { // that of the sample first
		return strings.Compare(strings.TrimPrefix(a.Name, live.Endpoint), strings.TrimPrefix(b.Name, live.Endpoint))
	})
	var rows [][]string
	for i, e := range endpoints {
		label := ""
		if i == 0 {
			label = "hooks   " // as wide as the page that promises it
		}
		secret := ""
		if len(e.Secrets) > 0 {
			secret = "secret: " + local.Secret(e.Provider, e.Secrets[0])
		}
		rows = append(rows, []string{label, s.URL() + "/hooks/" + e.Name, secret})
	}
	model := []string{"model", "built-in stub, costs nothing", "OPENAI_API_KEY set = real calls, real money"}
	if s.Stub() == nil {
		model = []string{"model", "real calls, real money", "OPENAI_API_KEY is set"}
	}
	c := p.onThisMachine(&client.Client{}, s.URL())
	rows = append(rows, []string{"api", c.API, "you are: " + c.As}, model)
	if r.artifacts != "" {
		rows = append(rows, []string{"functions", r.artifacts, "built ones, each a process; no wait of theirs is below 1 s"})
	}
	rows = append(rows,
		[]string{"config", fmt.Sprintf("%s: %s, %s", configName(r.config), text.Count(len(set.Endpoints), "endpoint", "endpoints"), text.Count(len(set.Recipes), "recipe", "recipes")), "edit it; changes apply on save"},
	)
	for _, k := range s.Kept() {
		rows = append(rows, []string{"", k.String()})
	}
	_ = text.Columns(p.Stdout, "  ", rows)
	if list := s.Faults().Pending(); len(list) > 0 || r.fail != "" {
		fmt.Fprintf(p.Stdout, "\n  faults    %s\n", r.fail)
	}
	fmt.Fprintln(p.Stdout)
}

func configName(files []string) string {
	if len(files) == 0 {
		return "infra/local.yaml"
	}
	return strings.Join(files, ", ")
}

// stop drains the system and says what is not finished.
func (p *program) stop(s *local.System, r running) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if r.once {
		return s.Close(ctx)
	}
	if err := s.Drain(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain: %w", err), s.Close(ctx))
	}
	open, err := s.Open(ctx)
	switch {
	case err != nil:
		return errors.Join(fmt.Errorf("look for unfinished events: %w", err), s.Close(ctx))
	case len(open) == 0:
		fmt.Fprintln(p.Stdout, "\nstopped; nothing is unfinished")
	default:
		fmt.Fprintf(p.Stdout, "\nstopped; unfinished: %s %s\n", text.Count(len(open), "event", "events"), unfinished(open, r.data))
	}
	return s.Close(ctx)
}

func unfinished(open []inbox.EventID, data string) string {
	const most = 5
	var names []string
	for _, id := range open[:min(len(open), most)] {
		names = append(names, string(id))
	}
	if len(open) > most {
		names = append(names, "…")
	}
	fate := "gone with the memory"
	if data != "" {
		fate = "the next start goes on with it"
		if len(open) > 1 {
			fate = "the next start goes on with them"
		}
	}
	return "(" + strings.Join(names, ", ") + "), " + fate
}
