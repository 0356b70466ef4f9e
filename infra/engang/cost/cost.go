// Package cost computes what engang costs: calls and units as tests have counted them, times a price list. No number
// of the sheet is typed in; a new price list, or a change of the code that calls more, gives another sheet.
package cost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Flow is what one thing that happens calls.
type Flow struct {
	Name         string  `json:"name"`
	Requests     int     `json:"requests"` // over HTTP, of senders
	Receiver     int     `json:"receiver"` // invocations
	Worker       int     `json:"worker"`   // invocations, of one message each
	Reconciler   int     `json:"reconciler"`
	Writes       int     `json:"writes"` // calls to the table, beside what is read once in seconds
	WriteUnits   float64 `json:"write_units"`
	Reads        int     `json:"reads"` // of one unit at most each
	Sends        int     `json:"sends"` // to the queue, with a tenant each
	Polls        int     `json:"polls"` // of the queue: receives and deletes
	ModelCalls   int     `json:"model_calls"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	LogBytes     int     `json:"log_bytes"`
}

// Invoked counts an invocation of a function ("receiver").
func (f *Flow) Invoked(function string) {
	switch function {
	case "receiver":
		f.Requests, f.Receiver = f.Requests+1, f.Receiver+1
	case "enrichment":
		f.Worker++
	case "reconciler":
		f.Reconciler++
	}
}

// Counts are those of all flows.
type Counts struct {
	By      string `json:"by"`      // the command that counts
	Minute  Flow   `json:"minute"`  // in which nothing happens
	Metrics int    `json:"metrics"` // names with their dimensions
	Flows   []Flow `json:"flows"`

	Deployment Deployment `json:"deployment"`
}

// ErrCounts says that a file does not hold counts.
var ErrCounts = errors.New("no counts")

// ReadCounts reads counts.
func ReadCounts(raw []byte) (c Counts, err error) {
	if err := strictly(raw, &c); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCounts, err)
	}
	if len(c.Flows) == 0 {
		return c, fmt.Errorf("%w: no flow is in it", ErrCounts)
	}
	return c, nil
}

// A Price is what so many of something cost.
type Price struct {
	USD float64 `json:"usd"`
	Per float64 `json:"per"`
}

// A List is a price list.
type List struct {
	Date    string           `json:"date"` // of the prices: 2026-11-29
	Region  string           `json:"region"`
	From    string           `json:"from"` // where they were read
	Prices  map[string]Price `json:"prices"`
	Assumed Assumed          `json:"assumed"`
}

// Assumed is what no test can count. It stands beside the prices, to be changed with them.
type Assumed struct {
	ReceiverSeconds   float64 `json:"receiver_seconds"`   // of one delivery
	WorkerSeconds     float64 `json:"worker_seconds"`     // of one message, without the model
	ModelSeconds      float64 `json:"model_seconds"`      // of one call
	ReconcilerSeconds float64 `json:"reconciler_seconds"` // of one sweep in which nothing is due
	DuplicateShare    float64 `json:"duplicate_share"`    // deliveries that repeat, of all events
	IdlePolls         float64 `json:"idle_polls"`         // of the queue in a month in which nothing comes
	Hours             float64 `json:"hours"`              // of a month
	Events            []int   `json:"events"`             // a month, for which the sheet is computed
}

// What is priced. A list has all of it and nothing else.
const (
	httpRequest  = "http_api_request"
	invocation   = "lambda_request"
	gbSecond     = "lambda_gb_second_arm64"
	writeUnit    = "dynamodb_write_unit"
	readUnit     = "dynamodb_read_unit"
	queueRequest = "sqs_request"
	fairRequest  = "sqs_fair_request" // on top, for a message with a group
	logByte      = "logs_byte"
	schedule     = "scheduler_invocation"
	metricMonth  = "metric_month"
	alarmMonth   = "alarm_month"
	dashMonth    = "dashboard_month"
	modelInput   = "model_input_token"
	modelOutput  = "model_output_token"
)

var priced = []string{httpRequest, invocation, gbSecond, writeUnit, readUnit, queueRequest, fairRequest, logByte, schedule, metricMonth, alarmMonth, dashMonth, modelInput, modelOutput}

// ErrList says that a file is no price list.
var ErrList = errors.New("no price list")

// ReadList reads a price list, and tells all that is wrong with it at once.
func ReadList(raw []byte) (l List, err error) {
	if err := strictly(raw, &l); err != nil {
		return l, fmt.Errorf("%w: %w", ErrList, err)
	}
	var faults []string
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
		faults = append(faults, "date is no day (2026-11-29)")
	}
	if l.Region == "" || l.From == "" {
		faults = append(faults, "region and from say for where the prices are, and from where")
	}
	for _, name := range priced {
		if p, ok := l.Prices[name]; !ok || p.USD < 0 || p.Per <= 0 {
			faults = append(faults, "prices lacks "+name+", or it is not usd for per")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Prices)) {
		if !slices.Contains(priced, name) {
			faults = append(faults, name+" is nothing that is priced")
		}
	}
	a := l.Assumed
	if min(a.ReceiverSeconds, a.WorkerSeconds, a.ModelSeconds, a.ReconcilerSeconds, a.Hours) <= 0 || a.DuplicateShare < 0 || a.IdlePolls < 0 || len(a.Events) == 0 {
		faults = append(faults, "assumed lacks a time, hours or events")
	}
	if len(faults) > 0 {
		return l, fmt.Errorf("%w: %s", ErrList, strings.Join(faults, "; "))
	}
	return l, nil
}

func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// A Deployment is what the template says that costs something.
type Deployment struct {
	Memory    map[string]int `json:"memory"` // MB, by function
	Alarms    map[string]int `json:"alarms"` // by the parameter Alarms
	Dashboard int            `json:"dashboard"`
}

// Parts are what something costs, in US dollars, by who bills it.
type Parts struct {
	API, Lambda, Table, Queue, Logs, Model float64
}

// Sum is all of it.
func (p Parts) Sum() float64 { return p.API + p.Lambda + p.Table + p.Queue + p.Logs + p.Model }

func (l List) usd(name string, n float64) float64 { return n * l.Prices[name].USD / l.Prices[name].Per }

// Of is what one run of a flow costs.
func (l List) Of(f Flow, d Deployment) Parts {
	a := l.Assumed
	gb := func(function string, seconds float64) float64 { return float64(d.Memory[function]) / 1024 * seconds }
	seconds := gb("receiver", float64(f.Receiver)*a.ReceiverSeconds) + gb("enrichment", float64(f.Worker)*a.WorkerSeconds+float64(f.ModelCalls)*a.ModelSeconds) + gb("reconciler", float64(f.Reconciler)*a.ReconcilerSeconds)
	return Parts{
		API:    l.usd(httpRequest, float64(f.Requests)),
		Lambda: l.usd(invocation, float64(f.Receiver+f.Worker+f.Reconciler)) + l.usd(gbSecond, seconds) + l.usd(schedule, float64(f.Reconciler)),
		Table:  l.usd(writeUnit, f.WriteUnits) + l.usd(readUnit, float64(f.Reads)),
		Queue:  l.usd(queueRequest, float64(f.Sends+f.Polls)) + l.usd(fairRequest, float64(f.Sends)),
		Logs:   l.usd(logByte, float64(f.LogBytes)),
		Model:  l.usd(modelInput, float64(f.InputTokens)) + l.usd(modelOutput, float64(f.OutputTokens)),
	}
}
