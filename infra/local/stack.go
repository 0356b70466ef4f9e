package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"engang/infra/local/cloudformation"
	"engang/infra/local/front"
)

// A stack is what the template declares, created on the engine. It is the template's environment.
type stack struct {
	template *cloudformation.Template
	name     string
	speed    float64
	dynamodb *dynamodb.Client
	sqs      *sqs.Client
	s3       *s3.Client

	table   string
	keys    []string   // of the table
	indexes [][]string // keys of each index
	queues  map[string]string
	buckets map[string]string
}

func newStack(t *cloudformation.Template, name string, speed float64, cfg aws.Config) *stack {
	return &stack{
		template: t, name: name, speed: speed, queues: map[string]string{}, buckets: map[string]string{},
		dynamodb: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }),
		sqs:      sqs.NewFromConfig(cfg),
		s3:       s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
	}
}

const (
	tableType    = "AWS::DynamoDB::Table"
	queueType    = "AWS::SQS::Queue"
	bucketType   = "AWS::S3::Bucket"
	functionType = "AWS::Serverless::Function"
	apiType      = "AWS::Serverless::HttpApi"
)

// Ref is the name of what was created, or a pseudo parameter.
func (s *stack) Ref(id string) (string, error) {
	switch id {
	case "AWS::StackName":
		return s.name, nil
	case "AWS::Region":
		return region, nil
	case "AWS::AccountId":
		return front.Account, nil
	case "AWS::Partition":
		return "aws", nil
	case "AWS::URLSuffix":
		return "amazonaws.com", nil
	}
	switch s.template.Type(id) {
	case "":
		return "", fmt.Errorf("%s is neither a resource nor a parameter with a default", id)
	case queueType:
		return s.queue(context.Background(), id)
	case bucketType:
		return s.physical(id), nil
	}
	return s.physical(id), nil
}

// physical is the name that a resource without one of its own gets.
func (s *stack) physical(id string) string { return strings.ToLower(s.name + "-" + id) }

// Attribute is an attribute of what was created: names of other services are made up, nobody asks there.
func (s *stack) Attribute(id, name string) (string, error) {
	if s.template.Type(id) == "" {
		return "", fmt.Errorf("%s is no resource", id)
	}
	if name != "Arn" {
		return "", fmt.Errorf("attribute %s of %s is not known to the local system", name, id)
	}
	if s.template.Type(id) == queueType {
		if _, err := s.queue(context.Background(), id); err != nil {
			return "", err
		}
		return s.queueARN(id)
	}
	switch s.template.Type(id) {
	case tableType:
		return "arn:aws:dynamodb:" + region + ":" + front.Account + ":table/" + s.physical(id), nil
	case bucketType:
		return "arn:aws:s3:::" + s.physical(id), nil
	}
	return "arn:aws:local:" + region + ":" + front.Account + ":" + s.physical(id), nil
}

func (s *stack) queueName(id string) (string, error) {
	name, err := s.template.Text(s, id, "QueueName")
	if errors.Is(err, cloudformation.ErrMissing) {
		return s.physical(id), nil
	}
	return name, err
}

func (s *stack) queueARN(id string) (string, error) {
	name, err := s.queueName(id)
	return "arn:aws:sqs:" + region + ":" + front.Account + ":" + name, err
}

func (s *stack) create(ctx context.Context) error {
	tables := s.template.OfType(tableType)
	if len(tables) != 1 {
		return errNoTable
	}
	if err := s.createTable(ctx, tables[0]); err != nil {
		return err
	}
	for _, id := range s.template.OfType(queueType) {
		if _, err := s.queue(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range s.template.OfType(bucketType) {
		if err := s.createBucket(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) createBucket(ctx context.Context, id string) error {
	name := s.physical(id)
	if _, err := s.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil && !strings.Contains(err.Error(), "BucketAlreadyOwnedByYou") && !strings.Contains(err.Error(), "BucketAlreadyExists") {
		return fmt.Errorf("create bucket %s: %w", id, err)
	}
	s.buckets[id] = name
	return s.encrypt(ctx, id)
}

// encrypt gives a bucket the encryption that it is declared with.
func (s *stack) encrypt(ctx context.Context, id string) error {
	var declared struct {
		BucketEncryption struct {
			ServerSideEncryptionConfiguration []struct {
				ServerSideEncryptionByDefault s3types.ServerSideEncryptionByDefault
			}
		}
	}
	err := s.declared(id, &declared, "BucketEncryption")
	switch {
	case errors.Is(err, cloudformation.ErrMissing):
		return nil
	case err != nil:
		return err
	}
	in := &s3.PutBucketEncryptionInput{Bucket: aws.String(s.buckets[id]), ServerSideEncryptionConfiguration: &s3types.ServerSideEncryptionConfiguration{}}
	for _, rule := range declared.BucketEncryption.ServerSideEncryptionConfiguration {
		in.ServerSideEncryptionConfiguration.Rules = append(in.ServerSideEncryptionConfiguration.Rules, s3types.ServerSideEncryptionRule{ApplyServerSideEncryptionByDefault: &rule.ServerSideEncryptionByDefault})
	}
	if _, err := s.s3.PutBucketEncryption(ctx, in); err != nil {
		return fmt.Errorf("encrypt bucket %s: %w", id, err)
	}
	return nil
}

// queue creates a queue when it is first asked for: the dead-letter queue before the one that names it.
func (s *stack) queue(ctx context.Context, id string) (string, error) {
	if address, ok := s.queues[id]; ok {
		return address, nil
	}
	name, err := s.queueName(id)
	if err != nil {
		return "", err
	}
	attributes, err := s.queueAttributes(id)
	if err != nil {
		return "", err
	}
	out, err := s.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("create queue %s: %w", id, err)
	}
	if len(attributes) > 0 { // a queue of the data folder may be from an older template
		if _, err := s.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: out.QueueUrl, Attributes: attributes}); err != nil {
			return "", fmt.Errorf("configure queue %s: %w", id, err)
		}
	}
	s.queues[id] = *out.QueueUrl
	return *out.QueueUrl, nil
}

// queueAttributes are the ones that change how a queue behaves. SQS counts visibility in whole seconds.
func (s *stack) queueAttributes(id string) (map[string]string, error) {
	attributes := map[string]string{}
	visibility, err := s.template.Number(s, id, "VisibilityTimeout")
	switch {
	case err == nil:
		attributes["VisibilityTimeout"] = strconv.Itoa(int(math.Max(1, math.Ceil(float64(visibility)/s.speed))))
	case !errors.Is(err, cloudformation.ErrMissing):
		return nil, err
	}
	retention, err := s.template.Text(s, id, "MessageRetentionPeriod")
	switch {
	case err == nil:
		attributes["MessageRetentionPeriod"] = retention
	case !errors.Is(err, cloudformation.ErrMissing):
		return nil, err
	}
	redrive, err := s.template.Property(s, id, "RedrivePolicy")
	switch {
	case errors.Is(err, cloudformation.ErrMissing):
		return attributes, nil
	case err != nil:
		return nil, err
	}
	policy, err := json.Marshal(redrive)
	attributes["RedrivePolicy"] = string(policy)
	return attributes, err
}

func (s *stack) delete(ctx context.Context) error {
	var faults []error
	if s.table != "" {
		_, err := s.dynamodb.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.table})
		faults = append(faults, err)
	}
	for _, address := range s.queues {
		_, err := s.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &address})
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func (s *stack) createTable(ctx context.Context, id string) error {
	in := &dynamodb.CreateTableInput{TableName: aws.String(s.physical(id)), BillingMode: ddb.BillingModePayPerRequest}
	var declared struct {
		AttributeDefinitions   []ddb.AttributeDefinition
		KeySchema              []ddb.KeySchemaElement
		GlobalSecondaryIndexes []ddb.GlobalSecondaryIndex
	}
	if err := s.declared(id, &declared, "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes"); err != nil {
		return err
	}
	in.AttributeDefinitions, in.KeySchema, in.GlobalSecondaryIndexes = declared.AttributeDefinitions, declared.KeySchema, declared.GlobalSecondaryIndexes
	_, err := s.dynamodb.CreateTable(ctx, in)
	if _, exists := errors.AsType[*ddb.ResourceInUseException](err); err != nil && !exists {
		return fmt.Errorf("create table %s: %w", id, err)
	}
	s.table, s.keys = *in.TableName, names(in.KeySchema)
	for _, index := range in.GlobalSecondaryIndexes {
		s.indexes = append(s.indexes, names(index.KeySchema))
	}
	slices.SortFunc(s.indexes, slices.Compare)
	ttl, err := s.template.Text(s, id, "TimeToLiveSpecification", "AttributeName")
	if err != nil {
		return err
	}
	_, err = s.dynamodb.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: in.TableName, TimeToLiveSpecification: &ddb.TimeToLiveSpecification{AttributeName: &ttl, Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("set time to live of table %s: %w", id, err)
	}
	return nil
}

// declared reads properties of a resource into a struct whose fields have the template's names.
func (s *stack) declared(id string, into any, properties ...string) error {
	all := map[string]any{}
	for _, p := range properties {
		v, err := s.template.Property(s, id, p)
		if err != nil {
			return err
		}
		all[p] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("read %s: %w", id, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s: %w", id, err)
	}
	return nil
}

func names(keys []ddb.KeySchemaElement) []string {
	var list []string
	for _, k := range keys {
		list = append(list, *k.AttributeName)
	}
	return list
}
