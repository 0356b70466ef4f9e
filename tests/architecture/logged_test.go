package architecture_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
)

func TestTheGatewayLogsWhatIsListed(t *testing.T) { none(t, loggedByFront(repositoryTemplate(t))) }

// frontLog is what the gateway writes of a request: no address, no path with an endpoint or an event in it, no agent and
// no identity.
var frontLog = []string{
	"at: $context.requestTimeEpoch", "request_id: $context.requestId", "route: $context.routeKey", "status: $context.status", "answer_ms: $context.responseLatency",
	"function_ms: $context.integrationLatency", "bytes: $context.responseLength", "error: $context.error.responseType",
}

// frontLine reads the form of the gateway's lines, by the names of their fields.
func frontLine(tpl *cloudformation.Template) (map[string]any, error) {
	stages := slices.Concat(tpl.OfType("AWS::Serverless::HttpApi"), tpl.OfType("AWS::ApiGatewayV2::Stage"))
	if len(stages) != 1 {
		return nil, fmt.Errorf("there are %d fronts", len(stages))
	}
	r := reader{tpl}
	if to := r.text(stages[0], "AccessLogSettings", "DestinationArn"); to != "<ApiLogs.Arn>" {
		return nil, fmt.Errorf("the gateway logs into %s", to)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(r.text(stages[0], "AccessLogSettings", "Format")), &line); err != nil {
		return nil, fmt.Errorf("a line of the gateway is no JSON: %w", err)
	}
	return line, nil
}

// loggedByFront finds what the gateway writes into its lines and should not.
func loggedByFront(tpl *cloudformation.Template) []string {
	line, err := frontLine(tpl)
	if err != nil {
		return []string{err.Error()}
	}
	var got []string
	for name, v := range line {
		got = append(got, name+": "+inLine(v))
	}
	return apart("a line of the gateway", got, frontLog)
}

func TestFiltersFindWhatIsLogged(t *testing.T) { none(t, unlogged(repositoryTemplate(t), written(t))) }

var (
	matched = regexp.MustCompile(`^\{ .* \}$`)
	field   = regexp.MustCompile(`\$\.([A-Za-z0-9_.]+)`)
)

// unlogged finds filters of log lines by fields that those who write into their group do not write: the metric that a
// filter makes would never be told. Words gives the texts that stand in the code of a function.
func unlogged(tpl *cloudformation.Template, words func(function string) []string) []string {
	r := reader{tpl}
	var faults []string
	for _, id := range tpl.OfType(filterType) {
		pattern, group := r.text(id, "FilterPattern"), unquoted(r.any(id, "LogGroupName"))
		fields := field.FindAllStringSubmatch(pattern, -1)
		if !matched.MatchString(pattern) || len(fields) == 0 {
			faults = append(faults, fmt.Sprintf("%s does not look at fields: %s", id, pattern))
		}
		var there []string
		if group == "ApiLogs" {
			line, err := frontLine(tpl)
			if err != nil {
				faults = append(faults, err.Error())
			}
			there = keys(line)
		} else {
			there = words(strings.ToLower(strings.TrimSuffix(group, "Logs")))
		}
		for _, f := range fields {
			if !slices.Contains(there, f[1]) {
				faults = append(faults, fmt.Sprintf("%s looks for %s, which nobody writes into %s", id, f[1], group))
			}
		}
	}
	return faults
}

func TestFilterRuleFindsWhatNobodyWrites(t *testing.T) {
	words := func(function string) []string { return map[string][]string{"a": {"event_id"}}[function] }
	found(t, unlogged(parse(t, `
Resources:
  Api: {Type: AWS::Serverless::HttpApi, Properties: {AccessLogSettings: {DestinationArn: !GetAtt ApiLogs.Arn, Format: '{"status": "$context.status"}'}}}
  Good: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref ALogs, FilterPattern: '{ $.event_id = "*" }'}}
  Misspelt: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref ALogs, FilterPattern: '{ $.event = "*" }'}}
  Words: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref ALogs, FilterPattern: 'event_id'}}
  OfFront: {Type: AWS::Logs::MetricFilter, Properties: {LogGroupName: !Ref ApiLogs, FilterPattern: '{ $.status = "429" && $.code = 1 }'}}
`), words), "Misspelt looks for event, which nobody writes into ALogs", "Words does not look at fields: event_id", "OfFront looks for code, which nobody writes into ApiLogs")
}

func TestLettersFindTheirQueue(t *testing.T) { none(t, mislaid(repositoryTemplate(t))) }

// mislaid finds dead-letter queues that do not take the letters of the queue that sends them, and queues that forget a
// message before its receives are used up.
func mislaid(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	var faults []string
	for _, id := range tpl.OfType(queueType) {
		target := unquoted(r.any(id, "RedrivePolicy", "deadLetterTargetArn"))
		if tpl.Type(target) != queueType {
			continue // told by another rule
		}
		from := cloudformation.Texts(r.any(target, "RedriveAllowPolicy", "sourceQueueArns"))
		if want := "arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:" + r.text(id, "QueueName"); !slices.Equal(from, []string{want}) {
			faults = append(faults, fmt.Sprintf("%s takes letters from %v, want %s", target, from, want))
		}
		if life, work := r.number(id, "MessageRetentionPeriod"), r.number(id, "VisibilityTimeout")*r.number(id, "RedrivePolicy", "maxReceiveCount"); life <= work {
			faults = append(faults, fmt.Sprintf("%s forgets after %d s, and its receives may take %d", id, life, work))
		}
	}
	return faults
}

func TestLetterRuleFindsLostLetters(t *testing.T) {
	found(t, mislaid(parse(t, `
Resources:
  Work:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
      VisibilityTimeout: 100
      MessageRetentionPeriod: 2000
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Letters.Arn, maxReceiveCount: 20}
  Letters:
    Type: AWS::SQS::Queue
    Properties: {RedriveAllowPolicy: {redrivePermission: byQueue, sourceQueueArns: [!Sub "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:work"]}}
`)), "Letters takes letters from [arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:work], want arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:jobs",
		"Work forgets after 2000 s, and its receives may take 2000")
}
