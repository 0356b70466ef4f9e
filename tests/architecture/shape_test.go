package architecture_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"engang/infra/local/cloudformation"
)

func TestTheTemplateHoldsWhatIsListed(t *testing.T) { none(t, misshapen(repositoryTemplate(t))) }

// held is what a template holds: so many resources of each type. A type that is not here opens what no rule looks at.
var held = []string{
	"5 AWS::IAM::Role", "5 AWS::Logs::LogGroup", "1 AWS::Logs::MetricFilter", "23 AWS::CloudWatch::Alarm", "1 AWS::CloudWatch::Dashboard",
	"1 AWS::DynamoDB::Table", "1 AWS::S3::Bucket", "1 AWS::S3::BucketPolicy", "2 AWS::SQS::Queue", "2 AWS::SQS::QueuePolicy",
	"1 AWS::SNS::Topic", "1 AWS::SNS::TopicPolicy", "1 AWS::SNS::Subscription", "1 AWS::ApiGatewayV2::DomainName", "1 AWS::ApiGatewayV2::ApiMapping",
}

// Those that SAM makes of some: functions with the front, what starts them, and who may.
var (
	heldAsWritten = []string{"4 AWS::Serverless::Function", "1 AWS::Serverless::HttpApi"}
	heldAsMade    = []string{
		"4 AWS::Lambda::Function", "1 AWS::ApiGatewayV2::Api", "1 AWS::ApiGatewayV2::Stage", "2 AWS::Lambda::Permission",
		"1 AWS::Lambda::EventSourceMapping", "1 AWS::Scheduler::Schedule", "1 AWS::Lambda::EventInvokeConfig",
	}
)

// typed counts the resources of a template by their type.
func typed(tpl *cloudformation.Template) []string {
	var all []string
	for id := range section(tpl, "Resources") {
		typ := tpl.Type(id)
		all = append(all, fmt.Sprintf("%d %s", len(tpl.OfType(typ)), typ))
	}
	return all
}

// askedFor are the parameters, and what they take. Each has a default: a deploy asks nothing.
var askedFor = []string{
	"AlarmEmail: {Default: , Type: String}",
	"AlarmTopicArn: {AllowedPattern: (arn:.+)?, Default: , Type: String}",
	"Alarms: {AllowedValues: [none, basic, all], Default: basic, Type: String}",
	"Architecture: {AllowedValues: [arm64, x86_64], Default: arm64, Type: String}",
	"BodyDays: {Default: 60, MinValue: 1, Type: Number}",
	"BurstLimit: {Default: 100, MinValue: 1, Type: Number}",
	"CertificateArn: {AllowedPattern: (arn:.+)?, Default: , Type: String}",
	"DomainName: {AllowedPattern: ([a-z0-9-]+([.][a-z0-9-]+)+)?, Default: , Type: String}",
	"KmsKeyArn: {AllowedPattern: (arn:.+)?, Default: , Type: String}",
	"LogDays: {AllowedValues: [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400], Default: 30, Type: Number}", // those that CloudWatch takes
	"LogLevel: {AllowedValues: [DEBUG, INFO, WARN, ERROR], Default: INFO, Type: String}",
	"MaxBodyBytes: {Default: 1048576, MaxValue: 4194304, MinValue: 1024, Type: Number}", // Lambda takes 6 MB, and base64 adds a third
	"ModelBaseUrl: {AllowedPattern: https://.+, Default: https://api.openai.com/v1, Type: String}",
	"ModelConcurrency: {Default: 5, MaxValue: 1000, MinValue: 2, Type: Number}", // what an event source takes
	"RateLimit: {Default: 50, MinValue: 1, Type: Number}",
	"ReceiverReserved: {Default: 0, MinValue: 0, Type: Number}", // none: a small account has nothing to reserve
	"RecoveryDays: {Default: 7, MaxValue: 35, MinValue: 1, Type: Number}",
	"SecretPrefix: {AllowedPattern: [A-Za-z0-9_.-]+, Default: engang, Type: String}",
	"SpendPerHour: {Default: 1, MinValue: 0, Type: Number}",
	"Version: {AllowedPattern: [A-Za-z0-9_.+-]+, Default: dev, Type: String}",
}

// others are the parts of a template beside its parameters and resources, but for those that SAM takes out.
var others = map[string][]string{
	"Conditions": {
		"AllAlarms: !Equals [!Ref Alarms all]",
		"BasicAlarms: !Not [!Equals [!Ref Alarms none]]",
		"GivenTopic: !Not [!Equals [!Ref AlarmTopicArn ]]",
		"Mail: !And [!Condition OwnTopic !Not [!Equals [!Ref AlarmEmail ]]]",
		"OwnDomain: !Not [!Equals [!Ref CertificateArn ]]",
		"OwnKey: !Not [!Equals [!Ref KmsKeyArn ]]",
		"OwnTopic: !And [!Condition BasicAlarms !Not [!Condition GivenTopic]]",
		"ReserveReceiver: !Not [!Equals [!Ref ReceiverReserved 0]]",
	},
	"Rules": {
		"DomainAndCertificate: {Assertions: [{Assert: !Or [!And [!Equals [!Ref DomainName ] !Equals [!Ref CertificateArn ]] " +
			"!And [!Not [!Equals [!Ref DomainName ]] !Not [!Equals [!Ref CertificateArn ]]]], AssertDescription: DomainName and CertificateArn come together.}]}",
	},
	"Globals": {"Function: {Architectures: [!Ref Architecture], Handler: bootstrap, Runtime: provided.al2023}"},
	"Outputs": {
		"HooksUrl: {Value: !If [OwnDomain !Sub https://${DomainName}/hooks !Sub https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/hooks]}",
		"ApiUrl: {Value: !If [OwnDomain !Sub https://${DomainName}/api !Sub https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/api]}",
		"TableName: {Value: !Ref Table}", "BodiesBucket: {Value: !Ref Bodies}", "WorkQueueUrl: {Value: !Ref WorkQueue}", "WorkDeadLetterQueueUrl: {Value: !Ref WorkDeadLetterQueue}",
		"SecretPath: {Value: !Sub /${SecretPrefix}/${AWS::StackName}}", "Version: {Value: !Ref Version}",
		"DomainTarget: {Condition: OwnDomain, Value: !GetAtt Domain.RegionalDomainName}",
		"AlarmTopicArn: {Condition: BasicAlarms, Value: !If [GivenTopic !Ref AlarmTopicArn !Ref AlarmTopic]}",
		"DashboardUrl: {Condition: BasicAlarms, Value: !Sub https://${AWS::Region}.console.aws.amazon.com/cloudwatch/home?region=${AWS::Region}#dashboards/dashboard/${Dashboard}}",
	},
	"Transform":                {"AWS::Serverless-2016-10-31"},
	"AWSTemplateFormatVersion": {"2010-09-09"},
}

// misshapen finds parts, types of resources, parameters and conditions of a template that are not listed.
func misshapen(tpl *cloudformation.Template) []string {
	want, asWritten := slices.Concat(held, heldAsMade), len(tpl.OfType(lambdaType)) == 0
	if asWritten {
		want = slices.Concat(held, heldAsWritten)
	}
	faults := apart("the template", typed(tpl), want)
	faults = append(faults, apart("a parameter", entries(tpl, "Parameters"), askedFor)...)
	for id := range section(tpl, "Resources") {
		faults = append(faults, beside(tpl, id)...)
	}
	if !asWritten {
		return faults // a condition of a condition is written otherwise there
	}
	for _, name := range keys(tpl.Written()) {
		if _, listed := others[name]; !listed && !slices.Contains([]string{"Description", "Parameters", "Resources"}, name) {
			faults = append(faults, "the template has "+name)
		}
	}
	for name, want := range others {
		got := []string{inLine(tpl.Written()[name])}
		if section(tpl, name) != nil {
			got = entries(tpl, name)
		}
		faults = append(faults, apart(name, got, want)...)
	}
	return faults
}

// entries are those of a part of a template, without what they say to people. Parameters and outputs must say it.
func entries(tpl *cloudformation.Template, name string) []string {
	var all []string
	for k, v := range section(tpl, name) {
		if m, ok := v.(map[string]any); ok {
			m = maps.Clone(m) // what is read is shared
			if said, _ := m["Description"].(string); said == "" && (name == "Parameters" || name == "Outputs") {
				k += " (not described)"
			}
			delete(m, "Description")
			v = m
		}
		all = append(all, k+": "+inLine(v))
	}
	return all
}

// beside finds what stands on a resource beside its properties and should not: an order of creation hides that a reference
// is missing, and a policy of deletion keeps what a stack should take with it.
func beside(tpl *cloudformation.Template, id string) []string {
	may := []string{"Type", "Properties", "Condition"}
	switch tpl.Type(id) {
	case tableType, bucketType:
		may = append(may, "DeletionPolicy", "UpdateReplacePolicy")
	case functionType, lambdaType, "AWS::Lambda::EventInvokeConfig":
		may = append(may, "Metadata")
	}
	var faults []string
	for _, name := range keys(part(tpl, id)) {
		if !slices.Contains(may, name) {
			faults = append(faults, id+" has "+name+" beside its properties")
		}
	}
	const built = "{BuildMethod: go1.x, BuildProperties: {TrimGoPath: true}}"
	if m := part(tpl, id, "Metadata"); tpl.Type(id) == functionType && inLine(m) != built {
		faults = append(faults, fmt.Sprintf("%s is built by %s, want %s", id, inLine(m), built))
	}
	return faults
}
