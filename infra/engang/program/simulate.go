package program

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"engang/infra/engang/text"
	"engang/infra/simulation"
)

// shortenTries bounds how long the history of a broken promise is made shorter.
const shortenTries = 300

// A simulating is what the command is asked for.
type simulating struct {
	seeds int
	seed  uint64
	one   bool // the seed was named: its history is shown
}

func (p *program) simulateCommand() *cobra.Command {
	var s simulating
	cmd := &cobra.Command{
		Use: "simulate", Short: "Hold the system's own code against its promises in virtual time, with faults that a seed decides", Args: noArguments,
		Long: "simulate runs senders, receivers, workers, reconcilers and people at once over the real code and the embedded engine. Every call to the store, a queue or the model is a step: the seed says whose turn it is, " +
			"and what the step meets (a crash before or after, a lost request or answer, a refusal, a stall that outlasts a lease). At the end every promise is judged over the whole table. Nothing leaves this machine.\n\n" +
			"A seed that breaks a promise is shown with a shortened history, and the command that makes it again. With --seed one history is made twice, and shown.\n\n" +
			"The exit code is 0 where no promise was broken, and 7 where one was.",
		Example: "  engang simulate\n  engang simulate --seeds 10000\n  engang simulate --seeds 500 --seed 2000 --json\n  engang simulate --seed 14",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.one = cmd.Flags().Changed("seed") && !cmd.Flags().Changed("seeds")
			if s.seeds < 1 {
				return usage("--seeds %d: a number above 0", s.seeds)
			}
			if s.one {
				return p.replaySeed(cmd.Context(), s.seed)
			}
			return p.simulate(cmd.Context(), s)
		},
	}
	cmd.Flags().IntVar(&s.seeds, "seeds", 300, "how many histories")
	cmd.Flags().Uint64Var(&s.seed, "seed", 1, "the first of them; alone: the one whose history is shown")
	return cmd
}

// A simulationDoc says what histories came to.
type simulationDoc struct {
	Kind    string               `json:"kind"` // "simulation"
	Seeds   int                  `json:"seeds"`
	First   uint64               `json:"first"`
	Digest  string               `json:"digest,omitempty"` // of one history, the same both times
	Counts  simulation.Counts    `json:"counts"`
	PerS    float64              `json:"seeds_per_second"`
	Per     float64              `json:"paid_calls_per_operation"`
	Others  float64              `json:"others_per_operation"` // without the calls that are known to have brought nothing: at most 1
	Broken  []simulation.Finding `json:"broken"`
	History []string             `json:"history,omitempty"`
}

// mostBroken is how many broken seeds are looked into; the others are only counted.
const mostBroken = 3

func (p *program) simulate(ctx context.Context, s simulating) error {
	doc := simulationDoc{Kind: "simulation", Seeds: s.seeds, First: s.seed, Broken: []simulation.Finding{}}
	began, b := p.Now(), bar{p.Progress}
	var broken []simulation.Outcome
	err := simulation.Many(ctx, simulation.Options{Seed: s.seed}, s.seeds, runtime.GOMAXPROCS(0), func(o simulation.Outcome) bool {
		doc.Counts.Add(o.Counts)
		if len(o.Violations) > 0 {
			broken = append(broken, o)
		}
		b.show(float64(doc.Counts.Histories)/float64(s.seeds), fmt.Sprintf("%d seeds, %d broken", doc.Counts.Histories, len(broken)))
		return len(broken) < 100 // nobody reads more
	})
	b.end()
	if err != nil {
		return err
	}
	doc.PerS = float64(doc.Counts.Histories) / max(p.Now().Sub(began).Seconds(), 0.001)
	for i, o := range broken {
		tries := shortenTries
		if i >= mostBroken {
			tries = 0
		}
		if err := p.found(ctx, &doc, o, tries); err != nil {
			return err
		}
	}
	return p.tellSimulation(doc)
}

// found adds a seed that breaks a promise to the document.
func (p *program) found(ctx context.Context, doc *simulationDoc, o simulation.Outcome, tries int) error {
	f, err := simulation.Explain(ctx, simulation.Options{}, o, tries)
	f.Command = fmt.Sprintf("%s simulate --seed %d", p.Command, o.Seed)
	doc.Broken = append(doc.Broken, f)
	return err
}

// replaySeed makes one history twice, and shows it.
func (p *program) replaySeed(ctx context.Context, seed uint64) error {
	began := p.Now()
	o := simulation.Options{Seed: seed, History: true}
	first, err := simulation.Run(ctx, o)
	if err != nil {
		return err
	}
	second, err := simulation.Run(ctx, o)
	if err != nil {
		return err
	}
	if first.Digest != second.Digest {
		return fmt.Errorf("seed %d made two histories: %s and %s: what is simulated depends on more than its seed", seed, first.Digest, second.Digest)
	}
	doc := simulationDoc{Kind: "simulation", Seeds: 1, First: seed, Digest: first.Digest, Counts: first.Counts, Broken: []simulation.Finding{}, History: first.History}
	doc.PerS = 2 / max(p.Now().Sub(began).Seconds(), 0.001)
	if len(first.Violations) > 0 {
		if err := p.found(ctx, &doc, first, shortenTries); err != nil {
			return err
		}
	}
	return p.tellSimulation(doc)
}

func (p *program) tellSimulation(doc simulationDoc) error {
	c := doc.Counts
	if c.Operations > 0 {
		doc.Per = float64(c.PaidCalls) / float64(c.Operations)
		doc.Others = float64(c.PaidCalls-c.Unusable-c.Unrecorded-c.Renewed) / float64(c.Operations)
	}
	var err error
	if p.json {
		err = p.writeJSON(doc)
	} else {
		_, err = fmt.Fprint(p.Stdout, doc.text())
	}
	if err == nil && len(doc.Broken) > 0 {
		err = &failure{exitFound, fmt.Errorf("%s of %d broke a promise", text.Count(len(doc.Broken), "history", "histories"), doc.Counts.Histories)}
	}
	return err
}

// text is the document for people.
func (d simulationDoc) text() string {
	var b strings.Builder
	for _, line := range d.History {
		fmt.Fprintln(&b, line)
	}
	violations := 0
	for _, f := range d.Broken {
		violations += len(f.Violations)
		b.WriteString("\n")
		_ = f.Write(&b) // a builder takes everything
	}
	c := d.Counts
	fmt.Fprintf(&b, "\n%d violations in %s from seed %d (%.1f a second), %d steps\n", violations, text.Count(c.Histories, "history", "histories"), d.First, d.PerS, c.Steps)
	fmt.Fprintf(&b, "deliveries          %8d   events stored %d, deliveries of many taken apart %d, bodies put into the bucket %d, messages given twice %d, sweeps %d\n",
		c.Deliveries, c.Events, c.Batches, c.Bodies, c.Repeats, c.Sweeps)
	fmt.Fprintf(&b, "acts of people      %8d   decisions on drafts that took effect %d, events erased %d in %d calls, items that TTL removed %d\n", c.Acts, c.Decisions, c.Erased, c.Erasures, c.Expired)
	fmt.Fprintf(&b, "crashes             %8d   runs stopped at the end of their time %d\n", c.Crashes, c.TimesOver)
	fmt.Fprintf(&b, "lost answers        %8d   lost requests %d, refused as too many %d, stalls %d, faults of the model %d\n", c.LostAnswers, c.LostRequests, c.Throttled, c.Stalls, c.ModelFaults)
	fmt.Fprintf(&b, "takeovers           %8d\n", c.Takeovers)
	fmt.Fprintf(&b, "paid calls          %8d   for %d operations; %d outputs, %d results stand at the end\n", c.PaidCalls, c.Operations, c.Outputs, c.Results)
	fmt.Fprintf(&b, "  for each output      %.3f   allowed: 1, and one more for each call that a crash, a lost answer or the end of a lease cut off (%d), that brought no output (%d), or that a person asked for again (%d)\n",
		float64(c.PaidCalls)/float64(max(c.Outputs, 1)), c.Unrecorded, c.Unusable, c.Renewed)
	fmt.Fprintf(&b, "  without those        %.3f   for each operation; above 1 for any of them is a violation\n", d.Others)
	if d.Digest != "" {
		fmt.Fprintf(&b, "the same history twice: %s\n", d.Digest)
	}
	return b.String()
}
