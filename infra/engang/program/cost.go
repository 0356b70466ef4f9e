package program

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"engang/infra"
	"engang/infra/engang/cost"
)

// computes is the command of the sheet that is kept.
const computes = "go run ./infra/engang cost > infra/cost.md"

func (p *program) costCommand() *cobra.Command {
	var prices string
	cmd := &cobra.Command{
		Use: "cost", Short: "Compute what an event and a month cost, from counted calls and a price list", Args: noArguments,
		Long:    "cost multiplies what tests have counted (calls, units, tokens, bytes of the log) with a price list, and writes the sheet in Markdown. It asks nobody. The list that comes with the program is of one day and region: copy infra/cost/prices.json, change it, and give it with --prices.",
		Example: "  engang cost\n  engang cost --prices prices.json --json",
		RunE:    func(*cobra.Command, []string) error { return p.cost(prices) },
	}
	cmd.Flags().StringVar(&prices, "prices", "", "price list (default: the one that comes with the program)")
	return cmd
}

// A costDoc is the sheet for programs.
type costDoc struct {
	Kind   string       `json:"kind"` // "cost"
	Date   string       `json:"date"` // of the prices
	Region string       `json:"region"`
	Flows  []flowDoc    `json:"flows"`
	Fixed  []cost.Fixed `json:"fixed"`
	Months []cost.Month `json:"months"`
}

type flowDoc struct {
	cost.Flow
	USD float64 `json:"usd"` // of one
}

func (p *program) cost(prices string) error {
	raw := infra.Prices
	if prices != "" {
		var err error
		if raw, err = os.ReadFile(prices); err != nil {
			return usage("--prices: %w", err)
		}
	}
	list, err := cost.ReadList(raw)
	if err != nil {
		return usage("--prices: %w", err)
	}
	counts, err := cost.ReadCounts(infra.Counts)
	if err != nil {
		return err
	}
	if !p.json {
		_, err = fmt.Fprint(p.Stdout, list.Sheet(counts, computes))
		return err
	}
	doc := costDoc{Kind: "cost", Date: list.Date, Region: list.Region, Fixed: list.Fixed(counts), Months: list.Months(counts)}
	for _, f := range counts.Flows {
		doc.Flows = append(doc.Flows, flowDoc{f, list.Of(f, counts.Deployment).Sum()})
	}
	return p.writeJSON(doc)
}
