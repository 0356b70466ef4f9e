package cost_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra"
	"engang/infra/engang/cost"
	"engang/infra/engang/cost/costtest"
	"engang/infra/local/cloudformation"
)

// list is a price list on which a sum can be seen: each thing costs a power of ten.
func list(t *testing.T) cost.List {
	t.Helper()
	l, err := cost.ReadList([]byte(`{"date":"2026-11-29","region":"r","from":"f","prices":{
		"http_api_request":{"usd":1,"per":10},"lambda_request":{"usd":1,"per":100},"lambda_gb_second_arm64":{"usd":2,"per":1},"dynamodb_write_unit":{"usd":1,"per":1000},"dynamodb_read_unit":{"usd":1,"per":10000},
		"sqs_request":{"usd":1,"per":100000},"sqs_fair_request":{"usd":1,"per":1000000},"logs_byte":{"usd":1,"per":10000000},"scheduler_invocation":{"usd":1,"per":100000000},"metric_month":{"usd":3,"per":1},
		"alarm_month":{"usd":5,"per":1},"dashboard_month":{"usd":7,"per":1},"model_input_token":{"usd":1,"per":4},"model_output_token":{"usd":1,"per":2}},
		"assumed":{"receiver_seconds":1,"worker_seconds":2,"model_seconds":10,"reconciler_seconds":3,"duplicate_share":0.5,"idle_polls":200000,"hours":1,"events":[2]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var deployment = cost.Deployment{Memory: map[string]int{"receiver": 1024, "enrichment": 512, "reconciler": 256}, Alarms: map[string]int{"basic": 2, "all": 4}, Dashboard: 1}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestAFlowIsCountsTimesPrices(t *testing.T) {
	got := list(t).Of(cost.Flow{Requests: 1, Receiver: 1, Worker: 1, WriteUnits: 10, Reads: 2, Sends: 1, Polls: 2, ModelCalls: 1, InputTokens: 40, OutputTokens: 20, LogBytes: 1000}, deployment)
	want := cost.Parts{
		API: 0.1, Lambda: 2*0.01 + 2*(1*1+0.5*(2+10)), Table: 10*0.001 + 2*0.0001, Queue: 3*0.00001 + 0.000001, Logs: 0.0001, Model: 10 + 10,
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(near)); diff != "" || !near(got.Sum(), want.API+want.Lambda+want.Table+want.Queue+want.Logs+want.Model) {
		t.Errorf("sum %v: %s", got.Sum(), diff)
	}
}

func TestAMonthIsWhatIsFixedAndEachEvent(t *testing.T) {
	c := cost.Counts{Deployment: deployment, Minute: cost.Flow{Reconciler: 1, Reads: 10}, Metrics: 2, Flows: []cost.Flow{{Requests: 1, InputTokens: 4}, {Requests: 1}}}
	sweep := 0.01 + 2*0.25*3 + 0.00000001 + 0.001
	var names []string
	sum := 0.0
	for _, f := range list(t).Fixed(c) {
		sum += f.USD
		names = append(names, f.Name)
	}
	want := 60*sweep + 2 + 2*3 + 2*5 + 7
	if !near(sum, want) || len(names) != 5 || names[0] != "reconciler, 60 runs" {
		t.Errorf("%v for %q, want %v", sum, names, want)
	}
	got := list(t).Months(c)
	if diff := cmp.Diff([]cost.Month{{Events: 2, AWS: 2 * (0.1 + 0.5*0.1), Model: 2, Fixed: want}}, got, cmp.Comparer(near)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoListAndNoCounts(t *testing.T) {
	if _, err := cost.ReadList([]byte(`{"date":"x","prices":{"x":{"usd":1,"per":0}}}`)); !errors.Is(err, cost.ErrList) || strings.Count(err.Error(), ";") < 14 {
		t.Errorf("not all faults: %v", err)
	}
	for _, text := range []string{`{`, `{"flows":[]}`, `{"flows":[{"writing":1}]}`} {
		if _, err := cost.ReadCounts([]byte(text)); !errors.Is(err, cost.ErrCounts) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What the program comes with can be read, and what the template says is read from it.
// What is billed and cannot be counted here is named.
func TestTheSheetNamesWhatIsLeftOut(t *testing.T) {
	l, err := cost.ReadList(infra.Prices)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost.ReadCounts(infra.Counts)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(l.Sheet(c, "this"), "what is left out")
	for _, text := range []string{"storage and recovery of the table", "bodies in S3", "storage of logs", "lines that Lambda itself writes", "access log", "calls of operators", "keys of your own", "configuration, pauses, breakers, secrets"} {
		if !strings.Contains(rest, text) {
			t.Errorf("%q is not in %s", text, rest)
		}
	}
}

func TestWhatComesWithTheProgram(t *testing.T) {
	if _, err := cost.ReadList(infra.Prices); err != nil {
		t.Error(err)
	}
	if c, err := cost.ReadCounts(infra.Counts); err != nil || c.Flows[0].ModelCalls != 1 || c.Flows[1].ModelCalls != 0 || c.Minute.Reconciler != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	tpl, err := cloudformation.Parse([]byte(`
Resources:
  ReceiverFunction: {Type: "AWS::Serverless::Function", Properties: {MemorySize: 512}}
  Dashboard: {Type: "AWS::CloudWatch::Dashboard"}
  A: {Type: "AWS::CloudWatch::Alarm", Condition: BasicAlarms}
  B: {Type: "AWS::CloudWatch::Alarm", Condition: AllAlarms}
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := costtest.Deployed(tpl)
	want := cost.Deployment{Memory: map[string]int{"receiver": 512}, Alarms: map[string]int{"all": 2, "basic": 1, "none": 0}, Dashboard: 1}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
