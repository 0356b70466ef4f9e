package architecture_test

import (
	"slices"
	"strings"
	"testing"
)

// A fault is a way to break the template, and what the check that finds it says.
type fault struct{ name, old, new, says string }

// Which check finds which fault. The checks of AWS's own tools come first, since they know more; ours are for what
// those let pass.
var (
	// Found in the template as it is written: `sam validate --lint`.
	lintFaults = []fault{
		{"a reserved name in the environment", "          SEND_LIMIT: \"10\"\n", "          SEND_LIMIT: \"10\"\n          AWS_REGION: here\n", "'AWS_REGION' is a reserved variable name"},
		{"a runtime that is gone", "Runtime: provided.al2023", "Runtime: go1.x", "'go1.x' was deprecated"},
		{"an attribute that is no key", "        - {AttributeName: pk, AttributeType: S}\n", "        - {AttributeName: pk, AttributeType: S}\n        - {AttributeName: zz, AttributeType: S}\n", "'zz'"},
		{"a value that does not exist", "BillingMode: PAY_PER_REQUEST", "BillingMode: PAY_PER_MONTH", "'PAY_PER_MONTH' is not one of"},
		{"messages hidden for more than half a day", "VisibilityTimeout: 720", "VisibilityTimeout: 43201", "43201 is greater than the maximum of 43200"},
		{"recovery further back than there is", "RecoveryPeriodInDays: !Ref RecoveryDays", "RecoveryPeriodInDays: 36", "36 is greater than the maximum of 35"},
	}
	// Found in what SAM makes of the template: cfn-lint.
	madeFaults = []fault{
		{"a name inside an event that nothing has", "            BatchSize: 5\n", "            BatchSize: !Ref Sizes\n", "'Sizes' is not one of"},
		{"less concurrency than Lambda takes", "MaximumConcurrency: !Ref ModelConcurrency", "MaximumConcurrency: 1", "1 is less than the minimum of 2"},
		{"a misspelt action", `["sqs:GetQueueAttributes", "sqs:SendMessage"]`, `["sqs:GetQueueAttributes", "sqs:SendMesage"]`, "'sendmesage' is not one of"},
		{"snapshots of a runtime that has none", "      MemorySize: 256\n", "      MemorySize: 256\n      SnapStart: {ApplyOn: PublishedVersions}\n", "'provided.al2023' is not supported for 'SnapStart' enabled functions"},
		{"messages hidden for less than their function runs", "VisibilityTimeout: 720", "VisibilityTimeout: 100", "Queue visibility timeout (100) is less than Function timeout (120) seconds"},
	}
	// Refused by SAM's translator.
	refusedFaults = []fault{
		{"an unknown property of a function", "      MemorySize: 256\n", "      MemorySise: 256\n", "property MemorySise not defined for resource of type AWS::Serverless::Function"},
		{"an unknown property of an event", "            BatchSize: 5\n", "            BatchSise: 5\n", "BatchSise"},
	}
	// Found by the rules of this package alone, in the template and in what SAM makes of it.
	ownFaults = []fault{
		{"messages hidden for less than their function runs", "VisibilityTimeout: 720", "VisibilityTimeout: 100", "timeout (120) is not below visibility (100)"},
		{"messages hidden for less than six runs", "VisibilityTimeout: 720", "VisibilityTimeout: 719", "WorkQueue hides messages for 719 s, less than 6 times the 120 s of EnrichmentFunction and 0 s to gather a batch"},
		{"a wildcard in an action", `Action: ["sqs:GetQueueAttributes", "sqs:SendMessage"]`, `Action: ["sqs:*"]`, "ReconcilerRole SendAgain allows sqs:*"},
		{"a wildcard in a resource", "Resource: !Sub \"${Bodies.Arn}/raw/*\"\n              - Sid: ReadTargetKeys", "Resource: \"*\"\n              - Sid: ReadTargetKeys", "ReconcilerRole KeepFetchedBigBodies reaches *"},
		{"a write to items of every kind", `{"dynamodb:LeadingKeys": ["A#*"]}`, `{"dynamodb:LeadingKeys": ["*"]}`, "ConsoleRole KeepAudit writes to items of every kind"},
		{"a batch that fails as a whole", "            FunctionResponseTypes: [ReportBatchItemFailures]\n", "", "EnrichmentFunction does not report partial failures: one bad record would re-run its neighbours"},
		{"no way out of a queue", "      RedrivePolicy:\n        deadLetterTargetArn: !GetAtt WorkDeadLetterQueue.Arn\n        maxReceiveCount: 20 #", "      #", "WorkQueue has no redrive policy"},
		{"receives that the attempts of an operation use up", "maxReceiveCount: 20", "maxReceiveCount: 9", "attempt limit and 4 (9) is not below receive limit (9)"},
		{"a batch above ten without a window", "            BatchSize: 5\n", "            BatchSize: 11\n", "EnrichmentFunction takes batches of 11 without a window"},
		{"a gateway that waits longer than it may", "TimeoutInMillis: 25000", "TimeoutInMillis: 30001", "the gateway's wait for ConsoleFunction (30001) is not below 30 s and a millisecond (30001)"},
		{"a gateway that gives up before its function", "TimeoutInMillis: 25000", "TimeoutInMillis: 19999", "ConsoleFunction's timeout (20000) is not below the gateway's and a millisecond (20000)"},
		{"lines that are kept for ever", "      LogGroupName: !Sub \"/engang/${AWS::StackName}/console\"\n      RetentionInDays: !Ref LogDays\n", "      LogGroupName: !Sub \"/engang/${AWS::StackName}/console\"\n", "ConsoleLogs keeps its lines for ever"},
		{"lines in a group that SAM makes", "LogGroup: !Ref ConsoleLogs", "LogGroup: elsewhere", "ConsoleFunction logs into a group that is not declared"},
		{"a misspelt metric", "MetricName: Heartbeat", "MetricName: HeartBeat", "HeartbeatAlarm reads engang HeartBeat: ReconcilerFunction does not write it"},
		{"a misspelt metric of AWS", "MetricName: Throttles", "MetricName: Throttled", "ReceiverThrottledAlarm reads AWS/Lambda Throttled: AWS has none of this name by FunctionName"},
		{"a metric on the dashboard that nobody writes", `"OldestReviewSeconds"`, `"OldestReview"`, "Dashboard reads engang OldestReview: ReconcilerFunction does not write it"},
		{"an alarm whose end is told to nobody", "      OKActions: [!If [GivenTopic, !Ref AlarmTopicArn, !Ref AlarmTopic]]\n", "", "HeartbeatAlarm: its end is not told where its beginning is"},
		{"a function that outgrows its alarm", "      Timeout: 55\n", "      Timeout: 58\n", "ReconcilerFunction rings above 44000 ms, want 80 % of its timeout: 46400"},
		{"a queue that is not encrypted", "      SqsManagedSseEnabled: !If [OwnKey, !Ref \"AWS::NoValue\", true]\n", "", "WorkQueue must have one encryption, SQS's own or a key's"},
		{"a bucket that answers without TLS", `"s3:*"`, `"s3:GetObject"`, "Bodies answers without TLS"},
		{"a table that goes with its stack", "    DeletionPolicy: Retain\n", "", "Table goes with its stack"},
		{"a call as long as its lease", `CALL_SECONDS: "75"`, `CALL_SECONDS: "90"`, "call and finish (100) is not below lease (100)"},
		{"a setting that nobody reads", "          SEND_LIMIT: \"10\"\n", "          SEND_LIMIT: \"10\"\n          SEND_LIMITS: \"10\"\n", "SEND_LIMITS is set and not read"},
		{"a setting that is not set", "          SEND_LIMIT: \"10\"\n", "", "SEND_LIMIT is read and not set"},
	}
)

// broken is the template with a fault in it.
func broken(t *testing.T, f fault, template string) string {
	t.Helper()
	if !strings.Contains(template, f.old) {
		t.Fatalf("%s: the template has no %q", f.name, f.old)
	}
	return strings.Replace(template, f.old, f.new, 1)
}

func TestOwnRulesFindTheirFaults(t *testing.T) {
	good, words := read(t, "template.yaml"), written(t)
	for _, f := range ownFaults {
		t.Run(f.name, func(t *testing.T) {
			if got := judged(t, broken(t, f, good), words); !slices.Contains(got, f.says) {
				t.Errorf("found %q, want %q", got, f.says)
			}
		})
	}
}

// judged applies every rule of this package that a fault of the template can break.
func judged(t *testing.T, template string, words func(string) []string) []string {
	t.Helper()
	tpl := parse(t, template)
	all := slices.Concat(allRules(t, template), silent(tpl, words), strayAlarms(tpl, conditions(t, template), kept(t)))
	files := sources(t)
	for _, function := range functions(kept(t)) {
		set, _ := reader{tpl}.any(resource(function), "Environment", "Variables").(map[string]any)
		asked, faults := settingsRead(files, "functions/"+function)
		all = slices.Concat(all, faults, unlikeSettings(asked, set))
	}
	return all
}

// The translator changes what it passes on, and names it otherwise: a rule that saw nothing there would hold too.
func TestOwnRulesFindTheirFaultsInWhatSAMMakes(t *testing.T) {
	good, words := read(t, "template.yaml"), written(t)
	for _, f := range ownFaults {
		t.Run(f.name, func(t *testing.T) {
			if got := judged(t, translated(t, broken(t, f, good)), words); !slices.Contains(got, f.says) {
				t.Errorf("found %q, want %q", got, f.says)
			}
		})
	}
}

func TestLintFindsItsFaults(t *testing.T) {
	_, said, err := tool(t, `sam validate --lint --template "$1"`, saved(t, brokenBy(t, lintFaults), "template.yaml"))
	if err == nil {
		t.Error("sam validate --lint passes")
	}
	said = strings.Join(strings.Fields(said), " ")
	for _, f := range lintFaults {
		if !strings.Contains(said, f.says) {
			t.Errorf("%s is not found: want %q in\n%s", f.name, f.says, said)
		}
	}
}

func TestLintOfTheTranslationFindsItsFaults(t *testing.T) {
	if said := linted(t, translated(t, read(t, "template.yaml")), "good.json"); strings.TrimSpace(said) != "" {
		t.Errorf("the template itself is not clean:\n%s", said)
	}
	said := linted(t, translated(t, brokenBy(t, madeFaults)), "broken.json")
	for _, f := range madeFaults {
		if !strings.Contains(said, f.says) {
			t.Errorf("%s is not found: want %q in\n%s", f.name, f.says, said)
		}
	}
}

// brokenBy is the template with several faults in it.
func brokenBy(t *testing.T, faults []fault) string {
	t.Helper()
	template := read(t, "template.yaml")
	for _, f := range faults {
		template = broken(t, f, template)
	}
	return template
}

func TestTheTranslatorRefusesItsFaults(t *testing.T) {
	good := read(t, "template.yaml")
	for _, f := range refusedFaults {
		t.Run(f.name, func(t *testing.T) {
			_, said, err := tool(t, `translate "$1"`, saved(t, broken(t, f, good), "template.yaml"))
			if err == nil || !strings.Contains(said, f.says) {
				t.Errorf("%v, want %q in\n%s", err, f.says, said)
			}
		})
	}
}
