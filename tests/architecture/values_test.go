package architecture_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
)

func TestEveryPropertyIsHeldByARule(t *testing.T) { none(t, misstated(repositoryTemplate(t))) }

// elsewhere are the properties that other rules hold, by type. A property that is neither here nor among the values below
// is one that nobody looks at, and the rule says so: the address of a function's own, a trace, a layer.
var elsewhere = map[string][]string{
	tableType:                  {"AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "DeletionProtectionEnabled"}, // schema_test.go, storeFaults
	bucketType:                 {"PublicAccessBlockConfiguration"},
	roleType:                   {"AssumeRolePolicyDocument", "Policies"}, // testdata/rights.txt
	"AWS::S3::BucketPolicy":    {"Bucket", "PolicyDocument"},             // opened
	"AWS::SQS::QueuePolicy":    {"Queues", "PolicyDocument"},
	"AWS::SNS::TopicPolicy":    {"Topics", "PolicyDocument"},
	functionType:               {"Environment"}, // unlikeSettings, unset
	"AWS::Serverless::HttpApi": {"AccessLogSettings"},
	dashboardType:              {"DashboardBody"}, // silent
	alarmType: {"AlarmName", "AlarmDescription", "TreatMissingData", // strayAlarms
		"Namespace", "MetricName", "Dimensions", "Statistic", "ExtendedStatistic", "Period", "EvaluationPeriods", "DatapointsToAlarm", "ComparisonOperator", "Threshold", "Metrics"}, // rings
}

// values are the properties that nothing else holds, as they are written.
var values = map[string]string{
	"Table BillingMode":                      "PAY_PER_REQUEST",
	"Table TimeToLiveSpecification":          "{AttributeName: expires_at, Enabled: true}", // what shared/dynamo writes
	"Table PointInTimeRecoverySpecification": "{PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: !Ref RecoveryDays}",
	"Table SSESpecification":                 "!If [OwnKey map[KMSMasterKeyId:!Ref KmsKeyArn SSEEnabled:true SSEType:KMS] !Ref AWS::NoValue]", // else DynamoDB's own

	"Bodies BucketEncryption": "{ServerSideEncryptionConfiguration: [{BucketKeyEnabled: !If [OwnKey true !Ref AWS::NoValue], " +
		"ServerSideEncryptionByDefault: !If [OwnKey map[KMSMasterKeyID:!Ref KmsKeyArn SSEAlgorithm:aws:kms] map[SSEAlgorithm:AES256]]}]}",
	"Bodies OwnershipControls":      "{Rules: [{ObjectOwnership: BucketOwnerEnforced}]}",
	"Bodies LifecycleConfiguration": "{Rules: [{AbortIncompleteMultipartUpload: {DaysAfterInitiation: 1}, ExpirationInDays: !Ref BodyDays, Id: bodies, Status: Enabled}]}",

	"WorkQueue QueueName":                        "!Sub ${AWS::StackName}-work",
	"WorkQueue VisibilityTimeout":                "720",
	"WorkQueue MessageRetentionPeriod":           "345600", // 4 days
	"WorkQueue RedrivePolicy":                    "{deadLetterTargetArn: !GetAtt WorkDeadLetterQueue.Arn, maxReceiveCount: 20}",
	"WorkDeadLetterQueue QueueName":              "!Sub ${AWS::StackName}-work-dead-letters",
	"WorkDeadLetterQueue MessageRetentionPeriod": "1209600", // 14 days, from the first send
	"WorkDeadLetterQueue RedriveAllowPolicy":     "{redrivePermission: byQueue, sourceQueueArns: [!Sub arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-work]}",

	"Api StageName":                   "$default", // any other is a prefix of the path, which a sender signs
	"Api FailOnWarnings":              "true",
	"Api Auth":                        "{EnableIamAuthorizer: true}",
	"Api DefaultRouteSettings":        "{DetailedMetricsEnabled: true, ThrottlingBurstLimit: !Ref BurstLimit, ThrottlingRateLimit: !Ref RateLimit}",
	"Api DisableExecuteApiEndpoint":   "!If [OwnDomain true false]",
	"Domain DomainName":               "!Ref DomainName",
	"Domain DomainNameConfigurations": "[{CertificateArn: !Ref CertificateArn, EndpointType: REGIONAL, SecurityPolicy: TLS_1_2}]",
	"DomainMapping ApiId":             "!Ref Api",
	"DomainMapping DomainName":        "!Ref Domain",
	"DomainMapping Stage":             "!Ref Api.Stage",
	"AlarmMail TopicArn":              "!Ref AlarmTopic",
	"AlarmMail Protocol":              "email",
	"AlarmMail Endpoint":              "!Ref AlarmEmail",

	"Dashboard DashboardName": "!Sub ${AWS::StackName}-${AWS::Region}",

	"ApiTooManyRequests LogGroupName":          "!Ref ApiLogs",
	"ApiTooManyRequests FilterPattern":         `{ $.status = "429" }`,
	"ApiTooManyRequests MetricTransformations": "[{DefaultValue: 0, MetricName: TooManyRequests, MetricNamespace: !Sub engang/${AWS::StackName}, MetricValue: 1, Unit: Count}]",

	// The routes: hooks of any method, so that it is the function that refuses one, and the API for callers that IAM knows.
	"ReceiverFunction Events": "{Hooks: {Properties: {ApiId: !Ref Api, Method: ANY, Path: /hooks/{endpoint}, PayloadFormatVersion: 2.0, TimeoutInMillis: 10000}, Type: HttpApi}}",
	"ConsoleFunction Events":  "{Api: {Properties: {ApiId: !Ref Api, Auth: {Authorizer: AWS_IAM}, Method: ANY, Path: /api/{proxy+}, PayloadFormatVersion: 2.0, TimeoutInMillis: 25000}, Type: HttpApi}}",
	"EnrichmentFunction Events": "{Work: {Properties: {BatchSize: 5, FunctionResponseTypes: [ReportBatchItemFailures], MaximumBatchingWindowInSeconds: 0, " +
		"Queue: !GetAtt WorkQueue.Arn, ScalingConfig: {MaximumConcurrency: !Ref ModelConcurrency}}, Type: SQS}}",
	// The next minute does what this one did not: neither the schedule nor Lambda repeats a run.
	"ReconcilerFunction Events":            "{Minute: {Properties: {OmitName: true, RetryPolicy: {MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0}, RoleArn: !GetAtt ReconcilerScheduleRole.Arn, ScheduleExpression: rate(1 minute)}, Type: ScheduleV2}}",
	"ReconcilerFunction EventInvokeConfig": "{MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0}",

	"ReceiverFunction MemorySize":                   "512",
	"ReceiverFunction Timeout":                      "10",
	"ReceiverFunction ReservedConcurrentExecutions": "!If [ReserveReceiver !Ref ReceiverReserved !Ref AWS::NoValue]",
	"EnrichmentFunction MemorySize":                 "512",
	"EnrichmentFunction Timeout":                    "120",
	"ReconcilerFunction MemorySize":                 "256",
	"ReconcilerFunction Timeout":                    "55",
	"ConsoleFunction MemorySize":                    "512",
	"ConsoleFunction Timeout":                       "20",
}

// expected are the values with those that follow from a name or a type: a function has its own code, its own role and its
// own lines.
func expected(tpl *cloudformation.Template) map[string]string {
	all := maps.Clone(values)
	for _, id := range tpl.OfType(alarmType) {
		all[id+" AlarmActions"] = "[!If [GivenTopic !Ref AlarmTopicArn !Ref AlarmTopic]]"
		all[id+" OKActions"] = all[id+" AlarmActions"]
	}
	for _, id := range tpl.OfType(queueType) {
		all[id+" SqsManagedSseEnabled"] = "!If [OwnKey !Ref AWS::NoValue true]"
		all[id+" KmsMasterKeyId"] = "!If [OwnKey !Ref KmsKeyArn !Ref AWS::NoValue]"
	}
	for _, name := range []string{"Api", "Receiver", "Enrichment", "Reconciler", "Console"} {
		folder := strings.ToLower(name)
		all[name+"Logs LogGroupName"] = "!Sub /engang/${AWS::StackName}/" + folder
		all[name+"Logs RetentionInDays"] = "!Ref LogDays"
		all[name+"Logs KmsKeyId"] = "!If [OwnKey !Ref KmsKeyArn !Ref AWS::NoValue]"
		if name != "Api" {
			all[name+"Function CodeUri"] = "functions/" + folder + "/"
			all[name+"Function Role"] = "!GetAtt " + name + "Role.Arn"
			all[name+"Function LoggingConfig"] = "{LogFormat: JSON, LogGroup: !Ref " + name + "Logs}"
		}
	}
	return all
}

// misstated finds properties of the template as it is written that no rule holds, and values other than the expected ones.
func misstated(tpl *cloudformation.Template) []string {
	var faults []string
	missing := expected(tpl)
	for _, id := range keys(section(tpl, "Resources")) {
		for _, name := range keys(part(tpl, id, "Properties")) {
			got := inLine(part(tpl, id, "Properties", name))
			want, here := missing[id+" "+name]
			switch {
			case !here && !slices.Contains(elsewhere[tpl.Type(id)], name):
				faults = append(faults, fmt.Sprintf("%s has %s, which no rule holds: %s", id, name, got))
			case here && got != want:
				faults = append(faults, fmt.Sprintf("%s of %s is %s, want %s", name, id, got, want))
			}
			delete(missing, id+" "+name)
		}
	}
	for what, want := range missing {
		faults = append(faults, fmt.Sprintf("%s is missing, want %s", what, want))
	}
	return faults
}

func TestFunctionsAreToldTheSame(t *testing.T) { none(t, unset(repositoryTemplate(t))) }

// settings are the variables of the functions that other parts of the template or its parameters give. Those that are
// numbers are held by the chain of deadlines.
var settings = map[string]string{
	"TABLE_NAME": "!Ref Table", "WORK_QUEUE_URL": "!Ref WorkQueue", "WORK_DEAD_LETTER_QUEUE_URL": "!Ref WorkDeadLetterQueue", "BODIES_BUCKET": "!Ref Bodies",
	"SECRET_PATH": "!Sub /${SecretPrefix}/${AWS::StackName}", "MODEL_BASE_URL": "!Ref ModelBaseUrl", "MAX_BODY_BYTES": "!Ref MaxBodyBytes",
	"LOG_LEVEL": "!Ref LogLevel", "VERSION": "!Ref Version",
}

var plain = regexp.MustCompile(`^[0-9]+$`)

// unset finds variables of functions that are not what they are named after, and numbers that two functions are told
// otherwise.
func unset(tpl *cloudformation.Template) []string {
	var faults []string
	numbers := map[string]string{}
	for _, id := range tpl.OfType(functionType) {
		for _, name := range keys(part(tpl, id, "Properties", "Environment", "Variables")) {
			got := inLine(part(tpl, id, "Properties", "Environment", "Variables", name))
			want, listed := settings[name]
			if !listed && plain.MatchString(got) {
				if _, told := numbers[name]; !told {
					numbers[name] = got
				}
				want = numbers[name]
			}
			if got != want {
				faults = append(faults, fmt.Sprintf("%s tells %s %s, want %s", id, name, got, want))
			}
		}
		if parts := keys(part(tpl, id, "Properties", "Environment")); !slices.Equal(parts, []string{"Variables"}) {
			faults = append(faults, fmt.Sprintf("the environment of %s has %v", id, parts))
		}
	}
	return faults
}

func TestNamesAreThoseOfTheStack(t *testing.T) { none(t, misnamed(repositoryTemplate(t))) }

// misnamed finds names that two stacks of one account would both want: the second could not be made.
func misnamed(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	var faults []string
	for _, id := range keys(section(tpl, "Resources")) {
		for _, name := range []string{"AlarmName", "BucketName", "DashboardName", "FunctionName", "LogGroupName", "Name", "QueueName", "RoleName", "TableName", "TopicName"} {
			given := r.text(id, name)
			refers := strings.HasPrefix(given, "<") && tpl.Type(unquoted(given)) != "" // to what has the name
			if given != "" && !refers && !strings.Contains(given, "<AWS::StackName>") {
				faults = append(faults, fmt.Sprintf("%s of %s is %s in each stack", name, id, given))
			}
		}
		for event, e := range r.events(id, "ScheduleV2") {
			if given := fmt.Sprint(e["Name"]); e["OmitName"] != true && !strings.Contains(given, "<AWS::StackName>") {
				faults = append(faults, fmt.Sprintf("the schedule of %s is named %s in each stack", id, id+event))
			}
		}
	}
	return faults
}
