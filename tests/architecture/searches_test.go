package architecture_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engang/shared/telemetry"
)

// A search of the dashboard: among metrics of a namespace under these dimensions, those of one name and of one resource.
var search = regexp.MustCompile(`^SEARCH\('\{([^,}]+),([^}]+)\} MetricName="(\w+)" (\w+)="([^"]*)"', '\w+', [0-9]+\)$`)

// countedBy are the dimensions of our metrics: telemetry.Measure has the first, and telemetry.MeasureOutcome both. Its tests hold them.
var countedBy = []string{"FunctionName", "FunctionName,outcome"}

// lost finds expressions of a dashboard that find nothing: searches for metrics that nobody writes, and names that stand
// nowhere in their widget. Words gives the texts that stand in the code of a function.
func lost(r reader, id string, words func(function string) []string) []string {
	shown, err := widgets(r, id)
	if err != nil {
		return nil // told already
	}
	var faults []string
	for _, rows := range shown {
		var ids, expressions []string
		for _, row := range rows {
			for _, x := range row {
				options, _ := x.(map[string]any)
				ids = append(ids, fmt.Sprint(options["id"]))
				if e, ok := options["expression"].(string); ok {
					expressions = append(expressions, e)
				}
			}
		}
		for _, e := range expressions {
			if why := findsNothing(r, e, ids, words); why != "" {
				faults = append(faults, fmt.Sprintf("%s shows %s: %s", id, e, why))
			}
		}
	}
	return faults
}

// findsNothing says why there is no data for an expression, or "".
func findsNothing(r reader, expression string, ids []string, words func(function string) []string) string {
	if !strings.Contains(expression, "SEARCH") {
		if strange := strangers(expression, ids); len(strange) > 0 {
			return fmt.Sprintf("the widget has no %v", strange)
		}
		return ""
	}
	m := search.FindStringSubmatch(expression)
	if m == nil {
		return "it is none that this rule reads"
	}
	namespace, by, name, of := m[1], strings.Split(m[2], ","), m[3], unquoted(m[5])
	slices.Sort(by)
	switch function := strings.ToLower(strings.TrimSuffix(of, "Function")); {
	case !slices.Contains(by, m[4]):
		return "it does not search by " + m[4]
	case r.tpl.Type(of) == "":
		return of + " is nothing that the template declares"
	case namespace != telemetry.Namespace && !slices.Contains(published[namespace][strings.Join(by, ",")], name):
		return "AWS has none of this name by " + strings.Join(by, ",")
	case namespace != telemetry.Namespace:
		return ""
	case m[4] != "FunctionName":
		return "it is counted by FunctionName, and not by " + m[4]
	case !slices.Contains(countedBy, strings.Join(by, ",")):
		return "nothing is told by " + strings.Join(by, ",")
	case !slices.Contains(words(function), name):
		return of + " does not write it"
	}
	return ""
}

func TestSearchRuleFindsWhatFindsNothing(t *testing.T) {
	words := func(function string) []string { return map[string][]string{"a": {"Attempts"}}[function] }
	tpl := parse(t, `
Resources:
  AFunction: {Type: AWS::Serverless::Function}
  Table: {Type: AWS::DynamoDB::Table}
`)
	for _, c := range []struct{ name, expression, want string }{
		{"a metric by what the code tells", `SEARCH('{engang,FunctionName,outcome} MetricName="Attempts" FunctionName="<AFunction>"', 'Sum', 300)`, ""},
		{"one of AWS", `SEARCH('{AWS/DynamoDB,TableName,Operation} MetricName="SystemErrors" TableName="<Table>"', 'Sum', 60)`, ""},
		{"a sum of what is there", "a / 1000", ""},
		{"a misspelt metric", `SEARCH('{engang,FunctionName,outcome} MetricName="Attempt" FunctionName="<AFunction>"', 'Sum', 300)`, "AFunction does not write it"},
		{"a misspelt dimension", `SEARCH('{engang,FunctionName,outcomes} MetricName="Attempts" FunctionName="<AFunction>"', 'Sum', 300)`, "nothing is told by FunctionName,outcomes"},
		{"another function", `SEARCH('{engang,FunctionName} MetricName="Attempts" FunctionName="<BFunction>"', 'Sum', 300)`, "BFunction is nothing that the template declares"},
		{"no function", `SEARCH('{engang,outcome} MetricName="Attempts" outcome="<AFunction>"', 'Sum', 300)`, "it is counted by FunctionName, and not by outcome"},
		{"another dimension than it is searched by", `SEARCH('{engang,outcome} MetricName="Attempts" FunctionName="<AFunction>"', 'Sum', 300)`, "it does not search by FunctionName"},
		{"a dimension that AWS does not have", `SEARCH('{AWS/DynamoDB,TableName} MetricName="SystemErrors" TableName="<Table>"', 'Sum', 60)`, "AWS has none of this name by TableName"},
		{"another form", `SEARCH('Attempts', 'Sum', 300)`, "it is none that this rule reads"},
		{"a sum of what is not there", "b / 1000", "the widget has no [b]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := findsNothing(reader{tpl}, c.expression, []string{"a"}, words); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	shown := parse(t, `
Resources:
  Shown: {Type: AWS::CloudWatch::Dashboard, Properties: {DashboardBody: '{"widgets": [{"properties": {"metrics": [[{"expression": "micro / 2"}], ["engang", "M", {"id": "micro"}]]}}, {"properties": {"metrics": [[{"expression": "micro / 3"}]]}}]}'}}
`)
	found(t, lost(reader{shown}, "Shown", words), "Shown shows micro / 3: the widget has no [micro]")
}
