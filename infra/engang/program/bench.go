package program

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"engang/infra/bench"
	"engang/infra/engang/text"
)

func (p *program) benchCommand() *cobra.Command {
	var o bench.Options
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure speed, and calls and units per event", Args: noArguments,
		Long: "bench runs the functions in this process, and measures in turns in one run: the receiver beside the two calls that it makes, and the whole pipeline over a table that holds 10 events and over one that holds --stored.\n\n" +
			"Engines are best in other processes, so that only the functions' own work is counted: those whose address is not given are started beside this one. They must be on this machine. What bench makes in them is removed at its end.",
		Example: "  engang bench\n  engang bench --dynamodb http://127.0.0.1:8000 --stored 1000000 --json\n  engang bench --events 200 --parallel 16 --duplicates 3 --rounds 15\n" +
			"  engang bench engines\n  engang bench --dynamodb http://127.0.0.1:8000 --sqs http://127.0.0.1:8001 --model http://127.0.0.1:8002/v1",
		RunE: func(cmd *cobra.Command, _ []string) error { return p.bench(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.DynamoDBURL, "dynamodb", "", "address of an engine for the table (default: the embedded one, in a process of its own)")
	f.StringVar(&o.SQSURL, "sqs", "", "address of an engine for the queues (default: likewise)")
	f.StringVar(&o.ModelURL, "model", "", "address of a model stub, with /v1 (default: likewise)")
	f.IntVar(&o.Events, "events", bench.Usual.Events, "events in each round, over each of the two tables")
	f.IntVar(&o.Parallel, "parallel", bench.Usual.Parallel, "deliveries at once, and workers")
	f.IntVar(&o.Duplicates, "duplicates", bench.Usual.Duplicates, "repeats of each event")
	f.IntVar(&o.Rounds, "rounds", bench.Usual.Rounds, "rounds over each table, in turns")
	f.IntVar(&o.Stored, "stored", bench.Usual.Stored, "events that the larger table holds before anything is measured")
	cmd.AddCommand(&cobra.Command{
		Use: "engines", Short: "Serve table, queues and a model stub for a bench in another process", Args: noArguments,
		Long:    "engines serves the embedded engine and the model stub, says in JSON where they are, and ends when its standard input does or with Ctrl-C.",
		Example: "  engang bench engines",
		RunE:    func(cmd *cobra.Command, _ []string) error { return bench.Serve(cmd.Context(), p.Stdin, p.Stdout) },
	})
	return cmd
}

// What a bench can be asked for: of fewer rounds nobody could say how much they vary.
const (
	mostBenched = 100_000_000
	leastRounds = 3
)

func (p *program) bench(ctx context.Context, o bench.Options) (err error) {
	for name, n := range map[string]int{"events": o.Events, "parallel": o.Parallel, "duplicates": o.Duplicates, "rounds": o.Rounds, "stored": o.Stored} {
		least := 1
		switch name {
		case "stored":
			least = bench.Few
		case "rounds":
			least = leastRounds
		}
		if n < least || n > mostBenched {
			return usage("--%s %d: a number from %d to %d", name, n, least, mostBenched)
		}
	}
	if err := o.Check(ctx); errors.Is(err, bench.ErrOutside) {
		return usage("%w", err)
	} else if err != nil {
		return err
	}
	if o.DynamoDBURL == "" || o.SQSURL == "" || o.ModelURL == "" {
		engines, end, err := bench.Beside(ctx, "bench", "engines")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		for _, f := range []struct {
			of     *string
			beside string
		}{{&o.DynamoDBURL, engines.AWS}, {&o.SQSURL, engines.AWS}, {&o.ModelURL, engines.Model}} {
			if *f.of == "" {
				*f.of = f.beside
			}
		}
	}
	b := bar{p.Progress}
	o.Progress = b.show
	r, err := bench.Run(ctx, o)
	b.end()
	if err != nil {
		return err
	}
	if p.json {
		return p.writeJSON(r)
	}
	return text.Bench(p.Stdout, r)
}
