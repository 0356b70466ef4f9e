package text

import (
	"fmt"
	"io"
	"math"

	"engang/infra/bench"
)

// Bench writes what was measured, as tables.
func Bench(w io.Writer, r bench.Report) error {
	for _, part := range []func(io.Writer, bench.Report) error{benchHead, benchReceiver, benchCosts, benchPipeline, benchGrowth} {
		if err := part(w, r); err != nil {
			return err
		}
	}
	return nil
}

func benchHead(w io.Writer, r bench.Report) error {
	_, err := fmt.Fprintf(w, "%s, %s; table %s, queues %s, model %s\n", r.Go, Count(r.CPUs, "processor", "processors"), r.Table, r.Queue, r.Model)
	return err
}

func benchReceiver(w io.Writer, r bench.Report) error {
	c := r.Receiver
	fmt.Fprintf(w, "\nReceiver: %s of %d bytes, one after the other (item of %d bytes), in turns with the two calls alone\n", Count(c.Deliveries, "delivery", "deliveries"), c.BodyBytes, c.ItemBytes)
	row := func(name string, p bench.Part) []string {
		return []string{name, us(p.Whole.P50US), us(p.Whole.P99US), us(p.Own.P50US), us(p.Own.P99US), us(p.Usage.CPUUS), fmt.Sprintf("%.0f", p.Usage.Allocs), kb(p.Usage.Bytes)}
	}
	if err := Columns(w, "  ", [][]string{
		{"", "p50", "p99", "but for the wire p50", "p99", "processor", "allocations", "allocated"},
		row("handling, JSON to JSON", c.Handling),
		row("the two bare SDK calls", c.Bare),
	}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "  own time over the two calls: %s ± %s, processor %s ± %s (budget 300 µs); handling is %.2f ± %.2f times the bare calls; %d calls a delivery\n",
		us(c.OwnUS.Median), us(c.OwnUS.Noise), us(c.OwnCPUUS.Median), us(c.OwnCPUUS.Noise), c.Ratio.Median, c.Ratio.Noise, c.Calls)
	return err
}

func benchCosts(w io.Writer, r bench.Report) error {
	for _, c := range r.Costs {
		fmt.Fprintf(w, "\nCalls at %d stored events, counted\n", c.Stored)
		rows := [][]string{{"", "writes", "write units", "reads", "read units", "sends", "model calls"}}
		for _, f := range c.Flows {
			units := fmt.Sprint(f.WriteUnits)
			if f.Engine > 0 {
				units += fmt.Sprintf(" (engine: %v)", f.Engine)
			}
			rows = append(rows, []string{f.Name, fmt.Sprint(f.Writes), units, fmt.Sprint(f.Reads), fmt.Sprint(f.ReadUnits), fmt.Sprint(f.Sends), fmt.Sprint(f.ModelCalls)})
		}
		if err := Columns(w, "  ", rows); err != nil {
			return err
		}
	}
	return nil
}

func benchPipeline(w io.Writer, r bench.Report) error {
	fmt.Fprintf(w, "\nPipeline: %s of %s over each table, %d at once; medians ± half of what the middle half of the rounds spans\n", Count(r.Rounds, "round", "rounds"), Count(r.Events, "event", "events"), r.Parallel)
	rows := [][]string{{"stored at the start"}, {"events/s"}, {"processor per event"}, {"allocations per event"}, {"allocated per event"}, {"duplicates/s"}, {"processor per duplicate"}, {"one delivery alone"}, {"one message worked on alone"}}
	for _, s := range r.Pipeline.Sides {
		for i, cell := range []string{
			fmt.Sprint(s.Stored), within(s.PerSecond, ""), within(s.CPUMS, " ms"), within(s.Allocs, ""), kb(s.Bytes.Median), within(s.DupPerSecond, ""), within(s.DupCPUMS, " ms"),
			within(bench.Spread{Median: s.ReceiveUS.Median / 1000, Noise: s.ReceiveUS.Noise / 1000}, " ms"), within(bench.Spread{Median: s.WorkUS.Median / 1000, Noise: s.WorkUS.Noise / 1000}, " ms"),
		} {
			rows[i] = append(rows[i], cell)
		}
	}
	return Columns(w, "  ", rows)
}

// growthRows are what may not grow, in the order in which it is told.
var growthRows = [][2]string{
	{"time_per_event", "time per event"}, {"cpu_per_event", "processor per event"}, {"receive", "one delivery alone"}, {"work", "one message worked on alone"},
	{"bare_put", "a bare put (the engine alone)"}, {"time_per_duplicate", "time per duplicate"}, {"cpu_per_duplicate", "processor per duplicate"},
}

func benchGrowth(w io.Writer, r bench.Report) error {
	few, many := r.Costs[0], r.Costs[1]
	fmt.Fprintf(w, "\nGrowth from %d to %d stored events, round by round; ± what the median is uncertain by in this run\n", few.Stored, many.Stored)
	same := "the same"
	for i := range few.Flows {
		if few.Flows[i] != many.Flows[i] {
			same = "DIFFERENT: see above"
		}
	}
	rows := [][]string{{"calls and units", same}}
	for _, g := range growthRows {
		s := r.Pipeline.Growth[g[0]]
		rows = append(rows, []string{g[1], fmt.Sprintf("%+.1f %% ± %.1f", s.Median, s.Noise)})
	}
	return Columns(w, "  ", rows)
}

func us(v float64) string { return fmt.Sprintf("%.0f µs", v) }

func kb(bytes float64) string { return fmt.Sprintf("%.0f KB", bytes/1024) }

// within is a number with what it varies by, in three digits.
func within(s bench.Spread, unit string) string {
	digits := max(0, 2-int(math.Floor(math.Log10(max(s.Median, 1e-3)))))
	return fmt.Sprintf("%.*f ± %.*f%s", digits, s.Median, digits, s.Noise, unit)
}
