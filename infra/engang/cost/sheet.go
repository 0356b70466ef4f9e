package cost

import (
	"fmt"
	"strconv"
	"strings"
)

// Basic is the usual level of alarms.
const Basic = "basic"

// A Fixed is one thing that costs the same whatever happens.
type Fixed struct {
	Name string  `json:"name"`
	USD  float64 `json:"usd"` // a month
}

// Fixed lists what a stack costs a month in which nothing happens.
func (l List) Fixed(c Counts) []Fixed {
	d := c.Deployment
	minutes := l.Assumed.Hours * 60
	return []Fixed{
		{fmt.Sprintf("reconciler, %s runs", whole(minutes)), l.Of(c.Minute, d).Sum() * minutes},
		{fmt.Sprintf("%s empty looks into the work queue, which Lambda makes", whole(l.Assumed.IdlePolls)), l.usd(queueRequest, l.Assumed.IdlePolls)},
		{fmt.Sprintf("%d metrics, which these flows write", c.Metrics), l.usd(metricMonth, float64(c.Metrics))},
		{fmt.Sprintf("%d alarms (`Alarms=%s`)", d.Alarms[Basic], Basic), l.usd(alarmMonth, float64(d.Alarms[Basic]))},
		{fmt.Sprintf("%d dashboard", d.Dashboard), l.usd(dashMonth, float64(d.Dashboard))},
	}
}

// Month is what so many new events cost in a month, each with its model call and its share of duplicates, on top of
// what is fixed.
type Month struct {
	Events int     `json:"events"`
	AWS    float64 `json:"aws_usd"`
	Model  float64 `json:"model_usd"`
	Fixed  float64 `json:"fixed_usd"`
}

// Months computes the events that the list asks for. The first flow is a new event, the second its duplicate.
func (l List) Months(c Counts) (all []Month) {
	d := c.Deployment
	event, repeat := l.Of(c.Flows[0], d), l.Of(c.Flows[1], d)
	fixed := 0.0
	for _, f := range l.Fixed(c) {
		fixed += f.USD
	}
	for _, n := range l.Assumed.Events {
		all = append(all, Month{
			Events: n, Model: float64(n) * event.Model, Fixed: fixed,
			AWS: float64(n) * (event.Sum() - event.Model + l.Assumed.DuplicateShare*repeat.Sum()),
		})
	}
	return all
}

// Sheet is the whole sheet in Markdown. Command is what computes it.
func (l List) Sheet(c Counts, command string) string {
	d := c.Deployment
	var b strings.Builder
	fmt.Fprintf(&b, "# What it costs\n\n")
	fmt.Fprintf(&b, "Computed by `%s`; nothing in this file is typed. Prices: **%s**, %s, %s. Calls, units, tokens and log bytes: counted by `%s`.\n", command, l.Date, l.Region, l.From, c.By)
	fmt.Fprintf(&b, "Another region or day: copy `infra/cost/prices.json`, change it, and give it with `--prices`. Free tiers are not taken off.\n")
	b.WriteString("\n## One event, in US dollars a thousand\n\n")
	b.WriteString("| what happens | write calls | write units | reads | sends | model calls | tokens in, out | API | Lambda | table | queue | logs | model | sum |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, f := range c.Flows {
		p := l.Of(f, d)
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %d | %d | %d, %d | %s | %s | %s | %s | %s | %s | **%s** |\n", f.Name, f.Writes, number(f.WriteUnits), f.Reads, f.Sends, f.ModelCalls, f.InputTokens, f.OutputTokens,
			perThousand(p.API), perThousand(p.Lambda), perThousand(p.Table), perThousand(p.Queue), perThousand(p.Logs), perThousand(p.Model), perThousand(p.Sum()))
	}
	b.WriteString("\n## A month in which nothing happens\n\n| what | USD |\n|---|--:|\n")
	sum := 0.0
	for _, f := range l.Fixed(c) {
		sum += f.USD
		fmt.Fprintf(&b, "| %s | %.2f |\n", f.Name, f.USD)
	}
	fmt.Fprintf(&b, "| **sum** | **%.2f** |\n", sum)
	fmt.Fprintf(&b, "\nWith `Alarms=all` there are %d alarms, with `none` %d, and no dashboard.\n", d.Alarms["all"], d.Alarms["none"])
	fmt.Fprintf(&b, "\n## A month with events\n\nEach event is a new one (%s), and %s of them are delivered once more.\n\n| events | AWS, by events | AWS, fixed | model | sum | USD an event |\n|--:|--:|--:|--:|--:|--:|\n", c.Flows[0].Name, percent(l.Assumed.DuplicateShare))
	for _, m := range l.Months(c) {
		all := m.AWS + m.Fixed + m.Model
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | **%.2f** | %.5f |\n", whole(float64(m.Events)), m.AWS, m.Fixed, m.Model, all, all/float64(m.Events))
	}
	l.limits(&b, d)
	return b.String()
}

// limits says what the numbers rest on.
func (l List) limits(b *strings.Builder, d Deployment) {
	a := l.Assumed
	b.WriteString("\n## What is assumed, and what is left out\n\n")
	fmt.Fprintf(b, "- No test can count how long a deployed function runs. Assumed: receiver %s s, worker %s s and a model call %s s on top (Lambda bills the wait for it), reconciler %s s; with %d, %d and %d MB, on arm64.\n",
		number(a.ReceiverSeconds), number(a.WorkerSeconds), number(a.ModelSeconds), number(a.ReconcilerSeconds), d.Memory["receiver"], d.Memory["enrichment"], d.Memory["reconciler"])
	b.WriteString("- Each message is taken to be a batch of its own, and each read to be a whole unit: both are upper bounds.\n")
	b.WriteString("- Tokens are those of the sample, as the built-in stub counts them. A real model counts its own, and `engang stats` has what was really paid.\n")
	b.WriteString("- Left out, since it depends on what is kept: storage and recovery of the table, bodies in S3 (over 16 KB), storage of logs; the gateway's access log; calls of operators; keys of your own in KMS; data that leaves AWS; taxes.\n")
	b.WriteString("- Left out, since no test sees them: the lines that Lambda itself writes into the functions' logs for each invocation, its start and its report.\n")
	b.WriteString("- Left out, since it is the same however many events there are: what the functions read once in seconds or minutes (configuration, pauses, breakers, secrets).\n")
}

func perThousand(usd float64) string {
	if usd == 0 {
		return "0"
	}
	return strconv.FormatFloat(usd*1000, 'f', 4, 64)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func percent(v float64) string { return number(v*100) + " %" }

// whole writes a number with commas.
func whole(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
