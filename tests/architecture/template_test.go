package architecture_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"engang/infra/local/cloudformation"
)

const (
	functionType = "AWS::Serverless::Function"
	queueType    = "AWS::SQS::Queue"
	logsType     = "AWS::Logs::LogGroup"
	roleType     = "AWS::IAM::Role"
)

func repositoryTemplate(t *testing.T) *cloudformation.Template {
	t.Helper()
	tpl, err := cloudformation.Read(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func parse(t *testing.T, text string) *cloudformation.Template {
	t.Helper()
	tpl, err := cloudformation.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func text(t *testing.T, tpl *cloudformation.Template, id string, path ...string) string {
	t.Helper()
	s, err := tpl.Text(cloudformation.Symbols{}, id, path...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A reader reads properties of a template. What is not there is empty or zero, which no rule accepts.
type reader struct{ tpl *cloudformation.Template }

func (r reader) any(id string, path ...string) any {
	v, err := r.tpl.Property(cloudformation.Symbols{}, id, path...)
	if err != nil && !errors.Is(err, cloudformation.ErrMissing) {
		return err
	}
	return v
}

func (r reader) text(id string, path ...string) string {
	if v := r.any(id, path...); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

func (r reader) number(id string, path ...string) int {
	n, _ := strconv.Atoi(r.text(id, path...))
	return n
}

// events gives a function's events of one type, by name.
func (r reader) events(id, typ string) map[string]map[string]any {
	found := map[string]map[string]any{}
	all, _ := r.any(id, "Events").(map[string]any)
	for name, e := range all {
		if e, _ := e.(map[string]any); e["Type"] == typ {
			found[name], _ = e["Properties"].(map[string]any)
		}
	}
	return found
}

func TestQueuesKeepWhatTheyCarry(t *testing.T) { none(t, queueFaults(repositoryTemplate(t))) }

// queueFaults holds queues and their event sources against each other.
func queueFaults(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	letters := map[string]string{} // dead-letter queue: its source
	for _, id := range tpl.OfType(queueType) {
		if r.text(id, "SqsManagedSseEnabled") != "true" && r.text(id, "KmsMasterKeyId") == "" {
			add("%s is not encrypted", id)
		}
		if target := r.text(id, "RedrivePolicy", "deadLetterTargetArn"); target != "" {
			letters[unquoted(target)] = id
		}
	}
	for _, id := range tpl.OfType(queueType) {
		source, isLetters := letters[id]
		switch {
		case isLetters && r.text(id, "RedriveAllowPolicy", "redrivePermission") != "byQueue":
			add("%s takes letters from any queue", id)
		case isLetters && r.number(id, "MessageRetentionPeriod") <= r.number(source, "MessageRetentionPeriod"):
			add("%s forgets no later than %s: a letter keeps the age of its message", id, source)
		case !isLetters && r.text(id, "RedrivePolicy", "deadLetterTargetArn") == "":
			add("%s has no redrive policy", id)
		}
	}
	for _, f := range feeds(tpl) {
		if v, timeout := r.number(f.queue, "VisibilityTimeout"), r.number(f.function, "Timeout"); v < 6*timeout+f.window {
			add("%s hides messages for %d s, less than 6 times the %d s of %s and %d s to gather a batch", f.queue, v, timeout, f.function, f.window)
		}
		if n := r.number(f.queue, "RedrivePolicy", "maxReceiveCount"); n < 10 {
			add("%s sets messages aside after %d receives, which waits for leases and a busy function use up", f.queue, n)
		}
		if f.concurrency < 2 {
			add("%s takes more messages than it can run", f.function)
		}
		if !f.partial {
			add("%s does not report partial failures: one bad record would re-run its neighbours", f.function)
		}
		if f.size < 1 || f.size > 10 && f.window < 1 {
			add("%s takes batches of %d without a window", f.function, f.size)
		}
	}
	return faults
}

const badQueues = `
Resources:
  Bare: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 30}}
  Work:
    Type: AWS::SQS::Queue
    Properties:
      SqsManagedSseEnabled: true
      VisibilityTimeout: 599
      MessageRetentionPeriod: 100
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Letters.Arn, maxReceiveCount: 3}
  Letters: {Type: AWS::SQS::Queue, Properties: {SqsManagedSseEnabled: true, MessageRetentionPeriod: 100}}
  Named:
    Type: AWS::SQS::Queue
    Properties:
      SqsManagedSseEnabled: true
      MessageRetentionPeriod: 100
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Young.Arn, maxReceiveCount: 3}
  Young:
    Type: AWS::SQS::Queue
    Properties: {SqsManagedSseEnabled: true, MessageRetentionPeriod: 100, RedriveAllowPolicy: {redrivePermission: byQueue}}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 100
      Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Work.Arn, BatchSize: 11}}}
  Wide:
    Type: AWS::SQS::Queue
    Properties:
      SqsManagedSseEnabled: true
      VisibilityTimeout: 600
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Letters.Arn, maxReceiveCount: 20}
  G:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 100
      Events:
        E:
          Type: SQS
          Properties:
            Queue: !GetAtt Wide.Arn
            BatchSize: 10
            MaximumBatchingWindowInSeconds: 5
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: 2}
`

func TestQueueRuleFindsFaults(t *testing.T) {
	found(t, queueFaults(parse(t, badQueues)),
		"Bare is not encrypted", "Bare has no redrive policy", "Letters takes letters from any queue",
		"Young forgets no later than Named: a letter keeps the age of its message",
		"Work hides messages for 599 s, less than 6 times the 100 s of F and 0 s to gather a batch",
		"Work sets messages aside after 3 receives, which waits for leases and a busy function use up",
		"F takes more messages than it can run",
		"Wide hides messages for 600 s, less than 6 times the 100 s of G and 5 s to gather a batch",
		"F does not report partial failures: one bad record would re-run its neighbours",
		"F takes batches of 11 without a window")
}

func TestDeadlinesAreAChain(t *testing.T) { none(t, deadlineFaults(repositoryTemplate(t))) }

// deadlineFaults holds the times against each other that together keep a call from being paid twice:
// call + finish < lease < timeout < visibility, and a first look at an open event only after all of them.
func deadlineFaults(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	var faults []string
	env := func(function, name string) int { return r.number(function, "Environment", "Variables", name) }
	const worker, receiver, reconciler = "EnrichmentFunction", "ReceiverFunction", "ReconcilerFunction"
	below := func(what string, a int, whatElse string, b int) {
		if a <= 0 || a >= b {
			faults = append(faults, fmt.Sprintf("%s (%d) is not below %s (%d)", what, a, whatElse, b))
		}
	}
	for _, name := range []string{"CALL_SECONDS", "FINISH_SECONDS", "LEASE_SECONDS", "SKEW_SECONDS", "ATTEMPT_LIMIT"} {
		if env(worker, name) < 1 {
			faults = append(faults, name+" is not set")
		}
	}
	lease, timeout := env(worker, "LEASE_SECONDS"), r.number(worker, "Timeout")
	below("call and finish", env(worker, "CALL_SECONDS")+env(worker, "FINISH_SECONDS"), "lease", lease)
	below("lease", lease, "timeout", timeout)
	below("timeout", timeout, "visibility", r.number("WorkQueue", "VisibilityTimeout"))
	for _, f := range []string{receiver, reconciler} {
		below("timeout, lease and skew", timeout+lease+env(worker, "SKEW_SECONDS"), f+"'s open age", env(f, "OPEN_AGE_SECONDS"))
	}
	below("attempt limit and 4", env(worker, "ATTEMPT_LIMIT")+4, "receive limit", r.number("WorkQueue", "RedrivePolicy", "maxReceiveCount"))
	for _, to := range routes(tpl) {
		below(to.function+"'s timeout", r.number(to.function, "Timeout")*1000, "the gateway's and a millisecond", to.wait+1)
		below("the gateway's wait for "+to.function, to.wait, "30 s and a millisecond", 30_001)
	}
	return faults
}

func TestDeadlineRuleFindsABrokenChain(t *testing.T) {
	good := read(t, "template.yaml")
	for _, c := range []struct{ name, old, new, want string }{
		{"a call as long as its lease", `CALL_SECONDS: "75"`, `CALL_SECONDS: "90"`, "call and finish (100) is not below lease (100)"},
		{"a lease longer than the function lives", `LEASE_SECONDS: "100"`, `LEASE_SECONDS: "120"`, "lease (120) is not below timeout (120)"},
		{"an open age below what a worker may take", `OPEN_AGE_SECONDS: "300" #`, `OPEN_AGE_SECONDS: "225" #`, "timeout, lease and skew (225) is not below ReceiverFunction's open age (225)"},
		{"receives that backoff uses up", `maxReceiveCount: 20`, `maxReceiveCount: 9`, "attempt limit and 4 (9) is not below receive limit (9)"},
		{"a missing setting", `CALL_SECONDS: "75"`, `CALL_SECS: "75"`, "CALL_SECONDS is not set"},
		{"a gateway that gives up first", `TimeoutInMillis: 10000`, `TimeoutInMillis: 9000`, "ReceiverFunction's timeout (10000) is not below the gateway's and a millisecond (9001)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found(t, deadlineFaults(parse(t, strings.Replace(good, c.old, c.new, 1))), c.want)
		})
	}
}

// Resources as they stand, with the attributes beside the properties.
type attributes struct {
	Resources map[string]struct {
		DeletionPolicy      string `yaml:"DeletionPolicy"`
		UpdateReplacePolicy string `yaml:"UpdateReplacePolicy"`
	} `yaml:"Resources"`
}

func TestStoresOutliveTheirStack(t *testing.T) {
	none(t, storeFaults(t, read(t, "template.yaml")))
}

// storeFaults finds stores that a mistake would empty, and what would keep erased data.
func storeFaults(t *testing.T, template string) []string {
	t.Helper()
	tpl := parse(t, template)
	var a attributes
	if err := yaml.Unmarshal([]byte(template), &a); err != nil {
		t.Fatal(err)
	}
	r := reader{tpl}
	var faults []string
	add := func(id, what string) { faults = append(faults, id+" "+what) }
	for _, id := range slices.Concat(tpl.OfType("AWS::DynamoDB::Table"), tpl.OfType("AWS::S3::Bucket")) {
		if x := a.Resources[id]; x.DeletionPolicy != "Retain" || x.UpdateReplacePolicy != "Retain" {
			add(id, "goes with its stack")
		}
	}
	for _, id := range tpl.OfType("AWS::DynamoDB::Table") {
		if r.text(id, "DeletionProtectionEnabled") != "true" {
			add(id, "can be deleted")
		}
		if r.text(id, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled") != "true" {
			add(id, "cannot be recovered")
		}
	}
	for _, id := range tpl.OfType("AWS::S3::Bucket") {
		for _, p := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
			if r.text(id, "PublicAccessBlockConfiguration", p) != "true" {
				add(id, "lacks "+p)
			}
		}
		if r.any(id, "VersioningConfiguration") != nil {
			add(id, "keeps versions: an erasure must erase")
		}
	}
	for _, id := range tpl.OfType(logsType) {
		if r.number(id, "RetentionInDays") < 1 {
			add(id, "keeps its lines for ever")
		}
	}
	for _, id := range lambdas(tpl) {
		if group := strings.Trim(r.text(id, "LoggingConfig", "LogGroup"), "<>"); tpl.Type(group) != logsType {
			add(id, "logs into a group that is not declared")
		}
	}
	return faults
}

func TestStoreRuleFindsFaults(t *testing.T) {
	found(t, storeFaults(t, `
Resources:
  T: {Type: AWS::DynamoDB::Table, DeletionPolicy: Retain}
  B:
    Type: AWS::S3::Bucket
    DeletionPolicy: Retain
    UpdateReplacePolicy: Retain
    Properties:
      VersioningConfiguration: {Status: Enabled}
      PublicAccessBlockConfiguration: {BlockPublicAcls: true, BlockPublicPolicy: true, IgnorePublicAcls: true, RestrictPublicBuckets: false}
  L: {Type: AWS::Logs::LogGroup}
  F: {Type: AWS::Serverless::Function, Properties: {LoggingConfig: {LogGroup: !Ref Elsewhere}}}
`), "T goes with its stack", "T can be deleted", "T cannot be recovered", "B lacks RestrictPublicBuckets",
		"B keeps versions: an erasure must erase", "L keeps its lines for ever", "F logs into a group that is not declared")
}
