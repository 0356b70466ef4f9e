package architecture_test

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"

	enrichment "engang/functions/enrichment/handler"
	"engang/infra/local/cloudformation"
)

// guides are the runbooks of what is no alarm.
var guides = []string{"parameters", "own-domain", "own-key", "upgrade"}

// unheard is how alarms take it that their metric is not told, where that is not "all is well". An age that could not be
// looked at is not told.
var unheard = map[string]string{"HeartbeatAlarm": "breaching", "InboxAgeAlarm": "ignore", "ReviewAgeAlarm": "ignore"}

// kebab is the name of a runbook: HeartbeatAlarm's is heartbeat.
func kebab(alarm string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(alarm, "Alarm") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// conditions gives the condition under which each resource exists.
func conditions(t *testing.T, template string) map[string]string {
	t.Helper()
	var doc struct {
		Resources map[string]struct {
			Condition string `yaml:"Condition"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(template), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for id, r := range doc.Resources {
		all[id] = r.Condition
	}
	return all
}

func TestAlarmsAreJoinedWithRunbooks(t *testing.T) {
	template := read(t, "template.yaml")
	none(t, strayAlarms(parse(t, template), conditions(t, template), kept(t)))
}

// strayAlarms finds alarms that nobody hears of or can act on, and runbooks without an alarm.
func strayAlarms(tpl *cloudformation.Template, under map[string]string, files []string) []string {
	r := reader{tpl}
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	names := slices.Clone(guides)
	for _, id := range tpl.OfType(alarmType) {
		name := kebab(id)
		names = append(names, name)
		book := "infra/runbooks/" + name + ".md"
		if !strings.HasSuffix(id, "Alarm") || r.text(id, "AlarmName") != "<AWS::StackName>-"+name {
			add("%s is named %s", id, r.text(id, "AlarmName"))
		}
		if told := regexp.MustCompile(`^[A-Z][^.]+\. (.+)$`).FindStringSubmatch(r.text(id, "AlarmDescription")); told == nil || told[1] != book {
			add("%s is not told by one sentence and %s", id, book)
		}
		if !slices.Contains(files, book) {
			add("%s has no runbook", id)
		}
		if heard := cloudformation.Texts(r.any(id, "AlarmActions")); len(heard) != 1 || !slices.Equal(heard, cloudformation.Texts(r.any(id, "OKActions"))) {
			add("%s: its end is not told where its beginning is", id)
		}
		if c := under[id]; c != "BasicAlarms" && c != "AllAlarms" {
			add("%s is there whatever the parameter Alarms says", id)
		}
		if missing := r.text(id, "TreatMissingData"); missing != cmp.Or(unheard[id], "notBreaching") {
			add("%s takes missing data as %q", id, missing)
		}
	}
	for _, f := range files {
		if path.Dir(f) == "infra/runbooks" && !slices.Contains(names, strings.TrimSuffix(path.Base(f), ".md")) {
			add("%s belongs to no alarm", f)
		}
	}
	return faults
}

func TestAlarmRuleFindsStrays(t *testing.T) {
	template := `
Resources:
  HeartbeatAlarm:
    Type: AWS::CloudWatch::Alarm
    Condition: BasicAlarms
    Properties:
      AlarmName: !Sub "${AWS::StackName}-heartbeat"
      AlarmDescription: "No sweep. infra/runbooks/heartbeat.md"
      AlarmActions: [!Ref Topic]
      OKActions: [!Ref Topic]
      TreatMissingData: notBreaching
  InboxAgeAlarm:
    Type: AWS::CloudWatch::Alarm
    Condition: Always
    Properties:
      AlarmName: age
      AlarmDescription: "Old. Older. infra/runbooks/inbox-age.md"
      AlarmActions: [!Ref Topic]
      TreatMissingData: missing
`
	files := []string{"infra/runbooks/heartbeat.md", "infra/runbooks/upgrade.md", "infra/runbooks/gone.md"}
	found(t, strayAlarms(parse(t, template), conditions(t, template), files),
		`HeartbeatAlarm takes missing data as "notBreaching"`, "InboxAgeAlarm is named age", "InboxAgeAlarm has no runbook",
		"InboxAgeAlarm is not told by one sentence and infra/runbooks/inbox-age.md", "InboxAgeAlarm: its end is not told where its beginning is",
		"InboxAgeAlarm is there whatever the parameter Alarms says", `InboxAgeAlarm takes missing data as "missing"`, "infra/runbooks/gone.md belongs to no alarm")
}

func TestFunctionsAndQueuesHaveTheirAlarms(t *testing.T) { none(t, unguarded(repositoryTemplate(t))) }

// unguarded finds functions without an alarm on their errors or their time, and dead-letter queues without one.
func unguarded(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	errors, slow, letters := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, id := range tpl.OfType(alarmType) {
		for _, n := range alarmNumbers(r, id) {
			switch n.namespace + " " + n.name {
			case "AWS/Lambda Errors":
				errors[unquoted(n.by["FunctionName"])] = r.number(id, "Threshold") == 0
			case "AWS/Lambda Duration":
				slow[unquoted(n.by["FunctionName"])] = r.number(id, "Threshold")
			case "AWS/SQS ApproximateNumberOfMessagesVisible":
				letters[strings.TrimSuffix(unquoted(n.by["QueueName"]), ".QueueName")] = r.number(id, "Threshold") == 0
			}
		}
	}
	var faults []string
	for _, f := range lambdas(tpl) {
		if !errors[f] {
			faults = append(faults, "no alarm on errors of "+f)
		}
		if want := r.number(f, "Timeout") * 800; slow[f] != want {
			faults = append(faults, fmt.Sprintf("%s rings above %d ms, want 80 %% of its timeout: %d", f, slow[f], want))
		}
	}
	for _, q := range tpl.OfType(queueType) {
		if r.any(q, "RedriveAllowPolicy") != nil && !letters[q] {
			faults = append(faults, "no alarm on letters in "+q)
		}
	}
	return faults
}

func TestGuardRuleFindsWhatHasNoAlarm(t *testing.T) {
	found(t, unguarded(parse(t, `
Resources:
  AFunction: {Type: AWS::Serverless::Function, Properties: {Timeout: 10}}
  Letters: {Type: AWS::SQS::Queue, Properties: {RedriveAllowPolicy: {redrivePermission: byQueue}}}
  A: {Type: AWS::CloudWatch::Alarm, Properties: {Namespace: AWS/Lambda, MetricName: Duration, Threshold: 9000, Dimensions: [{Name: FunctionName, Value: !Ref AFunction}]}}
`)), "no alarm on errors of AFunction", "AFunction rings above 9000 ms, want 80 % of its timeout: 8000", "no alarm on letters in Letters")
}

// Probes of a model that cannot serve are as far apart as the enrichment function says; between two of them an
// alarm that looked at one minute only would end and begin again.
func TestTheCircuitsAlarmStaysBetweenTwoProbes(t *testing.T) {
	var s enrichment.Settings
	enrichment.Times(&s, 1)
	r := reader{repositoryTemplate(t)}
	back := time.Duration(r.number("CircuitOpenAlarm", "Period")*r.number("CircuitOpenAlarm", "EvaluationPeriods")) * time.Second
	if back < s.Limits.Pause+5*time.Minute { // a probe needs an event: the sweep after it is due, and the queue
		t.Errorf("it looks back %s, and probes are %s apart", back, s.Limits.Pause)
	}
}

func TestParametersChooseAlarmsAndWhoHears(t *testing.T) {
	template := strings.Replace(read(t, "template.yaml"), "\nResources:\n", `
Resources:
  Probe:
    Type: Probe
    Properties:
      Basic: !If [BasicAlarms, yes, no]
      All: !If [AllAlarms, yes, no]
      Topic: !If [OwnTopic, yes, no]
      Mail: !If [Mail, yes, no]
      Key: !If [OwnKey, yes, no]
      Domain: !If [OwnDomain, yes, no]
`, 1)
	tpl, under := parse(t, template), conditions(t, template)
	for _, tc := range []struct {
		name  string
		given map[string]string
		want  []string
	}{
		{"nothing", nil, []string{"Basic", "Topic"}},
		{"no alarms", map[string]string{"Alarms": "none", "AlarmEmail": "ops@example.com"}, nil},
		{"every alarm, by mail", map[string]string{"Alarms": "all", "AlarmEmail": "ops@example.com"}, []string{"All", "Basic", "Mail", "Topic"}},
		{"to a topic of theirs, whatever the mail address", map[string]string{"AlarmTopicArn": "arn:x", "AlarmEmail": "ops@example.com"}, []string{"Basic"}},
		{"own key and own domain", map[string]string{"KmsKeyArn": "arn:k", "DomainName": "hooks.example.com", "CertificateArn": "arn:c"}, []string{"Basic", "Domain", "Key", "Topic"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := reader{tpl.With(tc.given)}
			var got []string
			for _, name := range []string{"All", "Basic", "Domain", "Key", "Mail", "Topic"} {
				if r.text("Probe", name) == "yes" {
					got = append(got, name)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v hold, want %v", got, tc.want)
			}
			heard := r.text("HeartbeatAlarm", "AlarmActions")
			if want := map[bool]string{true: "[arn:x]", false: "[<AlarmTopic>]"}[tc.given["AlarmTopicArn"] != ""]; heard != want {
				t.Errorf("alarms are told to %s, want %s", heard, want)
			}
		})
	}
	want := map[string]string{"AlarmTopic": "OwnTopic", "AlarmTopicPolicy": "OwnTopic", "AlarmMail": "Mail", "Dashboard": "BasicAlarms", "ApiTooManyRequests": "BasicAlarms", "Domain": "OwnDomain", "DomainMapping": "OwnDomain"}
	maps.DeleteFunc(under, func(id, c string) bool { return c == "" || strings.HasSuffix(id, "Alarm") })
	if !maps.Equal(under, want) {
		t.Errorf("resources under a condition: %v, want %v", under, want)
	}
}
