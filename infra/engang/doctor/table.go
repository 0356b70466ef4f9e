package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/engang/stack"
	"engang/infra/engang/text"
)

// What the template makes, and the code needs.
var (
	TableKeys = []string{"pk", "sk"}
	Indexes   = map[string][]string{"open": {"oq", "od"}, "list": {"lq", "ld"}}
)

// What the template sets, and what is told by it.
const (
	Expiry        = "expires_at" // the attribute that DynamoDB deletes by
	WorkerSeconds = 120          // the worker's timeout: a message must stay hidden longer
	HiddenSeconds = 720          // the work queue's visibility timeout
	AttemptLimit  = 5            // the queue must not give up before the worker does
	ReceiveLimit  = 20           // the work queue's: waiting for a lease is a receive too
	Projection    = "KEYS_ONLY"  // of the indexes
)

// setBack is the remedy for what was changed past CloudFormation, which does not see it.
const setBack = "set it back, since a deploy of the same template changes nothing of it; a stack of another version: " + stack.DeployAnew

// needs says what cannot be done without an index.
var needs = map[string]string{"open": "nothing that was lost on the way is found again", "list": "no list of events can be shown"}

func (s *Stack) table(ctx context.Context, name string) {
	client := dynamodb.NewFromConfig(s.Config, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = s.Config.BaseEndpoint != nil })
	out, err := ask(ctx, s.Patience, func(ctx context.Context) (*dynamodb.DescribeTableOutput, error) {
		return client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	})
	if err != nil {
		c := failed("table", "dynamodb:DescribeTable", err)
		if isCode(err, "ResourceNotFoundException") {
			c = Check{Name: "table", State: Fault, Text: fmt.Sprintf("the table %s that the stack names is not in %s", name, s.Region), Remedy: stack.DeployAnew}
		}
		s.add(c)
		for _, rest := range []string{"indexes", "expiry", "recovery"} {
			s.add(Check{Name: rest, State: Unchecked, Text: "the table was not seen"})
		}
		return
	}
	s.shape(client, out.Table)
	s.indexes(out.Table)
	s.expiry(ctx, client, name)
	s.recovery(ctx, client, name)
}

// shape looks at state and keys of the table, and at its protection.
func (s *Stack) shape(client *dynamodb.Client, t *ddb.TableDescription) {
	switch keys := keysOf(t.KeySchema); {
	case t.TableStatus != ddb.TableStatusActive:
		s.fault("table", fmt.Sprintf("it is %s", t.TableStatus), "wait, and look again")
	case !slices.Equal(keys, TableKeys):
		s.fault("table", fmt.Sprintf("its keys are %s and not %s: it is not engang's", strings.Join(keys, ", "), strings.Join(TableKeys, ", ")), stack.DeployAnew)
	case !aws.ToBool(t.DeletionProtectionEnabled):
		s.fault("table", "it is not protected against deletion", "engang doctor --fix protects it")
		s.repairs = append(s.repairs, Repair{Check: "table", Text: "protected against deletion", do: func(ctx context.Context) error {
			_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: t.TableName, DeletionProtectionEnabled: aws.Bool(true)})
			return err
		}})
	default:
		s.ok("table", aws.ToString(t.TableName))
	}
}

func keysOf(schema []ddb.KeySchemaElement) []string {
	var keys []string
	for _, k := range schema {
		keys = append(keys, aws.ToString(k.AttributeName))
	}
	return keys
}

func (s *Stack) indexes(t *ddb.TableDescription) {
	there := map[string]ddb.GlobalSecondaryIndexDescription{}
	for _, i := range t.GlobalSecondaryIndexes {
		there[aws.ToString(i.IndexName)] = i
	}
	var faults, others []string
	names := slices.Sorted(maps.Keys(Indexes))
	for _, name := range names {
		i, ok := there[name]
		switch keys := keysOf(i.KeySchema); {
		case !ok:
			faults = append(faults, fmt.Sprintf("there is no index %s: %s", name, needs[name]))
		case !slices.Equal(keys, Indexes[name]):
			faults = append(faults, fmt.Sprintf("the keys of index %s are %s and not %s", name, strings.Join(keys, ", "), strings.Join(Indexes[name], ", ")))
		case i.IndexStatus != ddb.IndexStatusActive:
			faults = append(faults, fmt.Sprintf("index %s is %s: %s until it is active", name, i.IndexStatus, needs[name]))
		case i.Projection == nil || i.Projection.ProjectionType != Projection:
			others = append(others, fmt.Sprintf("index %s holds more than its keys: every write of an item is billed once more, and what the item says stands there too", name))
		}
	}
	switch {
	case len(faults) > 0:
		s.fault("indexes", strings.Join(append(faults, others...), "; "), stack.DeployAnew+" (one index is added by each deploy)")
	case len(others) > 0:
		s.fault("indexes", strings.Join(others, "; "), "it was made past CloudFormation: delete it, and make it again with the projection "+Projection+"; until it is filled its lists are short")
	default:
		s.ok("indexes", strings.Join(names, ", "))
	}
}

func (s *Stack) expiry(ctx context.Context, client *dynamodb.Client, name string) {
	out, err := ask(ctx, s.Patience, func(ctx context.Context) (*dynamodb.DescribeTimeToLiveOutput, error) {
		return client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	})
	if err != nil {
		s.add(failed("expiry", "dynamodb:DescribeTimeToLive", err))
		return
	}
	d := out.TimeToLiveDescription
	on := d != nil && (d.TimeToLiveStatus == ddb.TimeToLiveStatusEnabled || d.TimeToLiveStatus == ddb.TimeToLiveStatusEnabling)
	switch {
	case on && aws.ToString(d.AttributeName) == Expiry:
		s.ok("expiry", "by "+Expiry)
	case on:
		s.fault("expiry", "items are deleted by "+aws.ToString(d.AttributeName)+" and not by "+Expiry, stack.DeployAnew)
	default:
		s.fault("expiry", "nothing is ever deleted: expiry is off", "engang doctor --fix turns it on, as the template has it")
		s.repairs = append(s.repairs, Repair{Check: "expiry", Text: "on again, by " + Expiry, do: func(ctx context.Context) error {
			_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &name, TimeToLiveSpecification: &ddb.TimeToLiveSpecification{AttributeName: aws.String(Expiry), Enabled: aws.Bool(true)}})
			return err
		}})
	}
}

func (s *Stack) recovery(ctx context.Context, client *dynamodb.Client, name string) {
	out, err := ask(ctx, s.Patience, func(ctx context.Context) (*dynamodb.DescribeContinuousBackupsOutput, error) {
		return client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
	})
	if err != nil {
		s.add(failed("recovery", "dynamodb:DescribeContinuousBackups", err))
		return
	}
	var on bool
	if d := out.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		on = d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == ddb.PointInTimeRecoveryStatusEnabled
	}
	if on {
		s.ok("recovery", "to a point in time")
		return
	}
	s.fault("recovery", "the table cannot be restored: point-in-time recovery is off", "engang doctor --fix turns it on, as the template has it; it is billed by the table's size")
	s.repairs = append(s.repairs, Repair{Check: "recovery", Text: "on again, to a point in time", do: func(ctx context.Context) error {
		_, err := client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &name, PointInTimeRecoverySpecification: &ddb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}})
		return err
	}})
}

// attributes reads those of a queue, or tells why it cannot.
func (s *Stack) attributes(ctx context.Context, check, address string) (map[string]string, bool) {
	client := sqs.NewFromConfig(s.Config)
	out, err := ask(ctx, s.Patience, func(ctx context.Context) (*sqs.GetQueueAttributesOutput, error) {
		return client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &address, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
	})
	switch {
	case isCode(err, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"):
		s.fault(check, "the queue that the stack names is not in "+s.Region+": "+lastOf(address), stack.DeployAnew)
	case err != nil:
		s.add(failed(check, "sqs:GetQueueAttributes", err))
	}
	if err != nil {
		return nil, false
	}
	return out.Attributes, true
}

func lastOf(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }

func (s *Stack) workQueue(ctx context.Context, address string) {
	got, ok := s.attributes(ctx, "work queue", address)
	if !ok {
		return
	}
	var redrive struct {
		Target string          `json:"deadLetterTargetArn"`
		Most   json.RawMessage `json:"maxReceiveCount"` // a number, or the text of one
	}
	_ = json.Unmarshal([]byte(got["RedrivePolicy"]), &redrive) // none is none
	most, _ := strconv.Atoi(strings.Trim(string(redrive.Most), `"`))
	hidden, _ := strconv.Atoi(got["VisibilityTimeout"])
	letters := lastOf(s.Stack.Outputs["WorkDeadLetterQueueUrl"])
	switch {
	case redrive.Target == "" || !strings.HasSuffix(redrive.Target, ":"+letters):
		s.fault("work queue", "what cannot be worked on is not set aside in "+letters+": it comes again for ever", stack.DeployAnew)
	case most <= AttemptLimit:
		s.fault("work queue", fmt.Sprintf("it gives up after %s, before the worker has used its %d attempts", text.Count(most, "receive", "receives"), AttemptLimit), stack.DeployAnew)
	case hidden <= WorkerSeconds:
		s.fault("work queue", fmt.Sprintf("a message comes again after %d s, while it may be worked on for %d s", hidden, WorkerSeconds), stack.DeployAnew)
	case most != ReceiveLimit:
		s.fault("work queue", fmt.Sprintf("it gives up after %s, and the template says %d", text.Count(most, "receive", "receives"), ReceiveLimit), setBack)
	case hidden != HiddenSeconds:
		s.fault("work queue", fmt.Sprintf("a message comes again after %d s, and the template says %d", hidden, HiddenSeconds), setBack)
	case !encrypted(got):
		s.fault("work queue", "its messages are not encrypted", stack.DeployAnew)
	default:
		s.ok("work queue", fmt.Sprintf("%s; %s waiting", lastOf(address), messages(got)))
	}
}

func (s *Stack) deadLetters(ctx context.Context, address string) {
	got, ok := s.attributes(ctx, "dead letters", address)
	switch waiting := messages(got); {
	case !ok:
	case !encrypted(got):
		s.fault("dead letters", "its messages are not encrypted", stack.DeployAnew)
	case waiting != "0 messages":
		s.add(Check{Name: "dead letters", State: Note, Text: fmt.Sprintf("%s; %s waiting", lastOf(address), waiting), Remedy: "look at them: engang dlq"})
	default:
		s.ok("dead letters", fmt.Sprintf("%s; %s waiting", lastOf(address), waiting))
	}
}

func messages(attributes map[string]string) string {
	n, _ := strconv.Atoi(attributes["ApproximateNumberOfMessages"])
	return text.Count(n, "message", "messages")
}

func encrypted(attributes map[string]string) bool {
	return attributes["SqsManagedSseEnabled"] == "true" || attributes["KmsMasterKeyId"] != ""
}
