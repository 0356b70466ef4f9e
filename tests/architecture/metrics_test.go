package architecture_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
	"engang/shared/telemetry"
)

const (
	alarmType     = "AWS::CloudWatch::Alarm"
	dashboardType = "AWS::CloudWatch::Dashboard"
	filterType    = "AWS::Logs::MetricFilter"
)

// A number is one metric that an alarm or the dashboard reads.
type number struct {
	where, namespace, name string
	by                     map[string]string // dimensions
}

func (n number) String() string { return fmt.Sprintf("%s reads %s %s", n.where, n.namespace, n.name) }

// published says which metrics AWS makes of what the template declares, and under which dimensions. Under others
// there is no data, and an alarm without data never rings.
var published = map[string]map[string][]string{
	"AWS/Lambda":     {"FunctionName": {"Errors", "Throttles", "Duration", "Invocations", "ConcurrentExecutions"}},
	"AWS/ApiGateway": {"ApiId": {"Count", "4xx", "5xx", "Latency", "IntegrationLatency", "DataProcessed"}},
	"AWS/SQS":        {"QueueName": {"ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible", "ApproximateAgeOfOldestMessage"}},
	"AWS/DynamoDB": {
		"TableName":           {"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"},
		"Operation,TableName": {"ThrottledRequests", "SystemErrors"},
	},
}

// alarmNumbers lists the metrics of an alarm.
func alarmNumbers(r reader, id string) []number {
	list, _ := r.any(id, "Metrics").([]any)
	if list == nil {
		return []number{numberOf(id, map[string]any{"Namespace": r.any(id, "Namespace"), "MetricName": r.any(id, "MetricName"), "Dimensions": r.any(id, "Dimensions")})}
	}
	var all []number
	for _, q := range list {
		q, _ := q.(map[string]any)
		if stat, ok := q["MetricStat"].(map[string]any); ok {
			m, _ := stat["Metric"].(map[string]any)
			all = append(all, numberOf(id, m))
		}
	}
	return all
}

func numberOf(where string, m map[string]any) number {
	n := number{where, fmt.Sprint(m["Namespace"]), fmt.Sprint(m["MetricName"]), map[string]string{}}
	dimensions, _ := m["Dimensions"].([]any)
	for _, d := range dimensions {
		d, _ := d.(map[string]any)
		n.by[fmt.Sprint(d["Name"])] = fmt.Sprint(d["Value"])
	}
	return n
}

// widgets gives the rows of each widget of a dashboard: a metric, or an expression of others.
func widgets(r reader, id string) ([][][]any, error) {
	var body struct {
		Widgets []struct {
			Properties struct{ Metrics [][]any }
		}
	}
	if err := json.Unmarshal([]byte(r.text(id, "DashboardBody")), &body); err != nil {
		return nil, fmt.Errorf("%s is no JSON: %w", id, err)
	}
	var all [][][]any
	for _, w := range body.Widgets {
		all = append(all, w.Properties.Metrics)
	}
	return all, nil
}

// dashboardNumbers lists the metrics of a dashboard, but for those that it searches for: lost looks at these.
func dashboardNumbers(r reader, id string) ([]number, error) {
	shown, err := widgets(r, id)
	if err != nil {
		return nil, err
	}
	var all []number
	for _, rows := range shown {
		for _, row := range rows {
			var words []string
			for _, x := range row {
				if s, ok := x.(string); ok {
					words = append(words, s)
				}
			}
			if len(words) < 2 {
				continue // an expression
			}
			n := number{id, words[0], words[1], map[string]string{}}
			for i := 2; i+1 < len(words); i += 2 {
				n.by[words[i]] = words[i+1]
			}
			all = append(all, n)
		}
	}
	return all, nil
}

// silent finds metrics that nobody writes: misspelt ones, those of another function, and those under dimensions
// that they do not have. Words gives the texts that stand in the code of a function.
func silent(tpl *cloudformation.Template, words func(function string) []string) []string {
	r := reader{tpl}
	var all []number
	var faults []string
	for _, id := range tpl.OfType(alarmType) {
		all = append(all, alarmNumbers(r, id)...)
	}
	for _, id := range tpl.OfType(dashboardType) {
		shown, err := dashboardNumbers(r, id)
		if err != nil {
			faults = append(faults, err.Error())
		}
		all = append(all, shown...)
		faults = append(faults, lost(r, id, words)...)
	}
	for _, n := range all {
		if why := unwritten(r, n, words); why != "" {
			faults = append(faults, n.String()+": "+why)
		}
	}
	return faults
}

// unwritten says why there is no data for a metric, or "".
func unwritten(r reader, n number, words func(function string) []string) string {
	by := make([]string, 0, len(n.by))
	for d := range n.by {
		by = append(by, d)
	}
	slices.Sort(by)
	of := unquoted(n.by["FunctionName"])
	_, ours := strings.CutPrefix(n.namespace, telemetry.Namespace)
	switch {
	case ours && n.namespace != telemetry.Namespace: // made of log lines: a metric of one stack, without dimensions
		if len(by) > 0 || !filtered(r, n) {
			return "no filter makes it"
		}
	case ours && !slices.Equal(by, []string{"FunctionName"}):
		return "it is counted by FunctionName, and not by " + strings.Join(by, ",")
	case ours && !slices.Contains(lambdas(r.tpl), of):
		return of + " is no function"
	case ours && !slices.Contains(words(strings.ToLower(strings.TrimSuffix(of, "Function"))), n.name):
		return of + " does not write it"
	case !ours && !slices.Contains(published[n.namespace][strings.Join(by, ",")], n.name):
		return "AWS has none of this name by " + strings.Join(by, ",")
	}
	for name, value := range n.by {
		if id, _, _ := strings.Cut(unquoted(value), "."); name != "Operation" && r.tpl.Type(id) == "" {
			return value + " is nothing that the template declares"
		}
	}
	return ""
}

func filtered(r reader, n number) bool {
	for _, id := range r.tpl.OfType(filterType) {
		list, _ := r.any(id, "MetricTransformations").([]any)
		for _, m := range list {
			m, _ := m.(map[string]any)
			if m["MetricNamespace"] == n.namespace && m["MetricName"] == n.name && r.tpl.Type(unquoted(r.any(id, "LogGroupName"))) == logsType {
				return true
			}
		}
	}
	return false
}

// written gives the texts in the code of a function, below it and below it only: a metric's name is one of them
// in a package that measures.
func written(t *testing.T) func(function string) []string {
	files, known := sources(t), map[string][]string{}
	return func(function string) []string {
		if found, ok := known[function]; ok || !slices.Contains(functions(kept(t)), function) {
			return found
		}
		var found []string
		for _, p := range list(t, "-deps", "./functions/"+function) {
			if dir, ok := strings.CutPrefix(p.ImportPath, "engang/"); ok && slices.Contains(p.Imports, "engang/shared/telemetry") {
				found = append(found, literals(files, dir)...)
			}
		}
		known[function] = found
		return found
	}
}

// literals lists the texts that stand in the code of a package.
func literals(files []source, dir string) []string {
	var all []string
	for _, s := range files {
		if path.Dir(s.name) != dir || strings.HasSuffix(s.name, "_test.go") {
			continue
		}
		_, file, err := parsed(s)
		if err != nil {
			continue // told by other rules
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				all = append(all, text)
			}
			return true
		})
	}
	return all
}

func TestAlarmsAndDashboardReadWhatIsWritten(t *testing.T) {
	none(t, silent(repositoryTemplate(t), written(t)))
}

func TestMetricRuleFindsWhatNobodyWrites(t *testing.T) {
	words := func(function string) []string { return map[string][]string{"a": {"Heartbeat"}}[function] }
	found(t, silent(parse(t, `
Resources:
  AFunction: {Type: AWS::Serverless::Function}
  BFunction: {Type: AWS::Serverless::Function}
  Table: {Type: AWS::DynamoDB::Table}
  Logs: {Type: AWS::Logs::LogGroup}
  Filter: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref Logs, MetricTransformations: [{MetricNamespace: !Sub "engang/${AWS::StackName}", MetricName: Turned}]}}
  Good: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: engang, MetricName: Heartbeat, Dimensions: [{Name: FunctionName, Value: !Ref AFunction}]}}
  Misspelt: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: engang, MetricName: HeartBeat, Dimensions: [{Name: FunctionName, Value: !Ref AFunction}]}}
  OtherFunction: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: engang, MetricName: Heartbeat, Dimensions: [{Name: FunctionName, Value: !Ref BFunction}]}}
  NoFunction: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: engang, MetricName: Heartbeat, Dimensions: [{Name: FunctionName, Value: a}]}}
  NoDimension: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: engang, MetricName: Heartbeat}}
  Filtered: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: !Sub "engang/${AWS::StackName}", MetricName: Turned}}
  NotFiltered: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: !Sub "engang/${AWS::StackName}", MetricName: Turns}}
  Theirs: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: AWS/Lambda, MetricName: Error, Dimensions: [{Name: FunctionName, Value: !Ref AFunction}]}}
  Absent: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: AWS/SQS, MetricName: ApproximateNumberOfMessagesVisible, Dimensions: [{Name: QueueName, Value: !GetAtt Queue.QueueName}]}}
  ByTable:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Metrics:
        - {Id: all, Expression: "SUM(METRICS())"}
        - Id: m
          MetricStat: {Metric: {Namespace: AWS/DynamoDB, MetricName: SystemErrors, Dimensions: [{Name: TableName, Value: !Ref Table}]}}
  Broken: {Type: AWS::CloudWatch::Dashboard, Properties: {DashboardBody: "{"}}
  Shown: {Type: AWS::CloudWatch::Dashboard, Properties: {DashboardBody: !Sub '{"widgets": [{"properties": {"metrics": [["engang", "Heartbeats", "FunctionName", "${AFunction}"], [{"expression": "1"}]]}}]}'}}
`), words),
		"Misspelt reads engang HeartBeat: AFunction does not write it", "OtherFunction reads engang Heartbeat: BFunction does not write it",
		"NoFunction reads engang Heartbeat: a is no function", "NoDimension reads engang Heartbeat: it is counted by FunctionName, and not by ",
		"NotFiltered reads engang/<AWS::StackName> Turns: no filter makes it", "Theirs reads AWS/Lambda Error: AWS has none of this name by FunctionName",
		"Absent reads AWS/SQS ApproximateNumberOfMessagesVisible: <Queue.QueueName> is nothing that the template declares",
		"ByTable reads AWS/DynamoDB SystemErrors: AWS has none of this name by TableName",
		"Broken is no JSON: unexpected end of JSON input", "Shown reads engang Heartbeats: AFunction does not write it")
}

func TestTheTablesAlarmsKnowEveryOperation(t *testing.T) { none(t, unwatched(repositoryTemplate(t))) }

// unwatched finds operations on the table that functions may use and that no alarm looks at.
func unwatched(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	watched := map[string]map[string]bool{"ThrottledRequests": {}, "SystemErrors": {}}
	for _, id := range tpl.OfType(alarmType) {
		for _, n := range alarmNumbers(r, id) {
			if watched[n.name] != nil {
				watched[n.name][n.by["Operation"]] = true
			}
		}
	}
	var faults []string
	for _, role := range tpl.OfType(roleType) {
		for _, s := range statementsOf(tpl, role) {
			for _, a := range s.Actions {
				for _, operation := range operations(a) {
					for name, by := range watched {
						if !by[operation] {
							faults = append(faults, fmt.Sprintf("no alarm on %s of %s", name, operation))
						}
					}
				}
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// operations are those of the table that a right is for: who writes does so in transactions too, which are authorised as
// their parts.
func operations(action string) []string {
	operation, ok := strings.CutPrefix(action, "dynamodb:")
	switch {
	case !ok:
		return nil
	case operation == "ConditionCheckItem":
		return []string{"TransactWriteItems"}
	case slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem"}, operation):
		return []string{operation, "TransactWriteItems"}
	}
	return []string{operation}
}

func TestOperationRuleFindsOneThatIsNotWatched(t *testing.T) {
	found(t, unwatched(parse(t, `
Resources:
  R:
    Type: AWS::IAM::Role
    Properties: {Policies: [{PolicyDocument: {Statement: [{Effect: Allow, Action: ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem", "s3:PutObject"]}]}}]}
  A:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Metrics:
        - MetricStat: {Metric: {MetricName: SystemErrors, Dimensions: [{Name: Operation, Value: GetItem}]}}
        - MetricStat: {Metric: {MetricName: ThrottledRequests, Dimensions: [{Name: Operation, Value: TransactWriteItems}]}}
        - MetricStat: {Metric: {MetricName: ThrottledRequests, Dimensions: [{Name: Operation, Value: GetItem}]}}
        - MetricStat: {Metric: {MetricName: ThrottledRequests, Dimensions: [{Name: Operation, Value: BatchGetItem}]}}
`)), "no alarm on SystemErrors of BatchGetItem", "no alarm on SystemErrors of TransactWriteItems", "no alarm on SystemErrors of UpdateItem", "no alarm on ThrottledRequests of UpdateItem")
}
