package architecture_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
)

func TestAlarmsRingWhenTheyShould(t *testing.T) {
	none(t, apart("an alarm", ringing(repositoryTemplate(t)), rings))
}

// rings are the alarms: of which group each is, which metric of what it looks at, statistic and period, in how many of
// how many periods, and the bound. The group basic is for events that get lost or stand still, and money; all adds what is
// slow, or waits for a person.
var rings = []string{
	"HeartbeatAlarm, BasicAlarms: engang Heartbeat of ReconcilerFunction, Sum 60 s, 5 of 5, LessThanThreshold 1",
	"ReceiverUnavailableAlarm, BasicAlarms: AWS/ApiGateway 5xx of Api, Sum 60 s, 1 of 1, GreaterThanThreshold 0",
	"ReceiverThrottledAlarm, BasicAlarms: AWS/Lambda Throttles of ReceiverFunction, Sum 60 s, 1 of 1, GreaterThanThreshold 0",
	"TooManyRequestsAlarm, BasicAlarms: engang/<AWS::StackName> TooManyRequests, Sum 60 s, 1 of 1, GreaterThanThreshold 0",
	"SignatureFailuresAlarm, BasicAlarms: engang Verified of ReceiverFunction, Maximum 300 s, 3 of 3, LessThanThreshold 1",
	"SenderSilentAlarm, BasicAlarms: engang SilentEndpoints of ReconcilerFunction, Maximum 300 s, 1 of 1, GreaterThanThreshold 0",
	"InboxAgeAlarm, BasicAlarms: engang OldestUnsettledSeconds of ReconcilerFunction, Maximum 60 s, 5 of 5, GreaterThanThreshold 900",
	"ParkedAlarm, BasicAlarms: AWS/SQS ApproximateNumberOfMessagesVisible of WorkDeadLetterQueue.QueueName, Maximum 60 s, 1 of 1, GreaterThanThreshold 0",
	"CircuitOpenAlarm, BasicAlarms: engang CircuitOpen of EnrichmentFunction, Maximum 60 s, 1 of 11, GreaterThanThreshold 0",
	"SpendAlarm, BasicAlarms: engang CostMicroUsd of EnrichmentFunction, Sum 3600 s as micro / 1000000, 1 of 1, GreaterThanThreshold <SpendPerHour>",
	"ReceiverErrorsAlarm, BasicAlarms: AWS/Lambda Errors of ReceiverFunction, Sum 300 s, 1 of 1, GreaterThanThreshold 0",
	"EnrichmentErrorsAlarm, BasicAlarms: AWS/Lambda Errors of EnrichmentFunction, Sum 300 s, 1 of 1, GreaterThanThreshold 0",
	"ReconcilerErrorsAlarm, BasicAlarms: AWS/Lambda Errors of ReconcilerFunction, Sum 300 s, 1 of 1, GreaterThanThreshold 0",
	"ConsoleErrorsAlarm, BasicAlarms: AWS/Lambda Errors of ConsoleFunction, Sum 300 s, 1 of 1, GreaterThanThreshold 0",
	"ReceiverSlowAlarm, AllAlarms: AWS/Lambda Duration of ReceiverFunction, p99 300 s, 3 of 3, GreaterThanThreshold 8000",
	"EnrichmentSlowAlarm, AllAlarms: AWS/Lambda Duration of EnrichmentFunction, p99 300 s, 3 of 3, GreaterThanThreshold 96000",
	"ReconcilerSlowAlarm, AllAlarms: AWS/Lambda Duration of ReconcilerFunction, p99 300 s, 3 of 3, GreaterThanThreshold 44000",
	"ConsoleSlowAlarm, AllAlarms: AWS/Lambda Duration of ConsoleFunction, p99 300 s, 3 of 3, GreaterThanThreshold 16000",
	"ReviewAgeAlarm, AllAlarms: engang OldestReviewSeconds of ReconcilerFunction, Maximum 300 s, 1 of 1, GreaterThanThreshold 86400",
	"OtherEnvironmentAlarm, AllAlarms: engang OtherEnvironment of ReceiverFunction, Sum 300 s, 1 of 1, GreaterThanThreshold 0",
	"CatchUpFailedAlarm, AllAlarms: engang CatchUpFailed of ReconcilerFunction, Sum 3600 s, 3 of 3, GreaterThanThreshold 0",
	"TableThrottledAlarm, AllAlarms: AWS/DynamoDB ThrottledRequests of Table, Sum 60 s as SUM(METRICS()), 1 of 1, GreaterThanThreshold 0",
	"TableErrorsAlarm, AllAlarms: AWS/DynamoDB SystemErrors of Table, Sum 60 s as SUM(METRICS()), 1 of 1, GreaterThanThreshold 0",
}

// ringing says of each alarm what it rings on.
func ringing(tpl *cloudformation.Template) []string {
	return inWays(tpl, func(r reader) (all []string) {
		for _, id := range tpl.OfType(alarmType) {
			all = append(all, fmt.Sprintf("%s, %s: %s", id, tpl.Condition(id), ring(r, id)))
		}
		return all
	})
}

// ring says what an alarm rings on.
func ring(r reader, id string) string {
	looks := r.text(id, "Statistic") + r.text(id, "ExtendedStatistic") + " " + r.text(id, "Period") + " s"
	if list, _ := r.any(id, "Metrics").([]any); list != nil {
		looks = joined(list)
	}
	of, need := r.text(id, "EvaluationPeriods"), r.text(id, "DatapointsToAlarm")
	if need == "" {
		need = of
	}
	return fmt.Sprintf("%s, %s, %s of %s, %s %s", looksAt(alarmNumbers(r, id)), looks, need, of, r.text(id, "ComparisonOperator"), r.text(id, "Threshold"))
}

// looksAt names metrics, whatever the operation on the table: which of those there are is another rule's.
func looksAt(numbers []number) string {
	var all []string
	for _, n := range numbers {
		said := n.namespace + " " + n.name
		for _, by := range slices.Sorted(maps.Keys(n.by)) {
			if by != "Operation" {
				said += " of " + unquoted(n.by[by])
			}
		}
		all = append(all, said)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " and ")
}

// joined says how an alarm looks at several metrics: it rings on what it returns, which is one expression of the others.
func joined(queries []any) string {
	var ids, stats, returned []string
	for _, q := range queries {
		q, _ := q.(map[string]any)
		ids = append(ids, fmt.Sprint(q["Id"]))
		if stat, ok := q["MetricStat"].(map[string]any); ok {
			stats = append(stats, fmt.Sprintf("%v %v s", stat["Stat"], stat["Period"]))
		}
		if q["ReturnData"] != false {
			expression, _ := q["Expression"].(string)
			returned = append(returned, cmp.Or(expression, fmt.Sprint(q["Id"])))
		}
	}
	slices.Sort(stats)
	said := strings.Join(slices.Compact(stats), " and ") + " as " + strings.Join(returned, " and ")
	if strange := strangers(strings.Join(returned, " "), ids); len(strange) > 0 {
		said += fmt.Sprintf(" of unknown %v", strange)
	}
	return said
}

var identifier = regexp.MustCompile(`\b[a-z][A-Za-z0-9_]*\b`)

// strangers are the names in an expression that nothing there has.
func strangers(expression string, ids []string) []string {
	return slices.DeleteFunc(identifier.FindAllString(expression, -1), func(name string) bool { return slices.Contains(ids, name) })
}

func TestRingRuleFindsOthers(t *testing.T) {
	got := ringing(parse(t, `
Resources:
  A: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: engang, MetricName: M, Statistic: Sum, Period: 60, EvaluationPeriods: 2, DatapointsToAlarm: 1, Threshold: 0}}
  B:
    Type: AWS::CloudWatch::Alarm
    Condition: Some
    Properties:
      Metrics:
        - {Id: all, Expression: "a + c"}
        - {Id: a, ReturnData: false, MetricStat: {Stat: Sum, Period: 60, Metric: {Namespace: n, MetricName: m, Dimensions: [{Name: TableName, Value: !Ref T}, {Name: Operation, Value: Query}]}}}
        - {Id: b, MetricStat: {Stat: Maximum, Period: 60, Metric: {Namespace: n, MetricName: m, Dimensions: [{Name: TableName, Value: !Ref T}]}}}
      EvaluationPeriods: 1
      Threshold: 5
`))
	found(t, got, "A, : engang M, Sum 60 s, 1 of 2,  0", "B, Some: n m of T, Maximum 60 s and Sum 60 s as a + c and b of unknown [c], 1 of 1,  5")
}
