package architecture_test

// Ways to break the template that its closed lists find, and how what they say begins.

// anew puts a resource of its own into the template.
func anew(name, resource, says string) fault {
	return fault{name, "  ConsoleLogs:\n", "  More: " + resource + "\n\n  ConsoleLogs:\n", says}
}

const (
	readsByKey = `                Action: ["dynamodb:GetItem"]
                Resource: !GetAtt Table.Arn
                Condition:
                  "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*", "C#*"]}
                  "Null": {"dynamodb:LeadingKeys": "false"}
`
	readsAll = `                Action: ["dynamodb:GetItem"]
                Resource: !GetAtt Table.Arn
`
	forLambda = `          - {Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}` + "\n"
	bySource  = `            Condition: {StringEquals: {"aws:SourceAccount": !Ref "AWS::AccountId"}}` + "\n"
	ofBucket  = `              - !GetAtt Bodies.Arn
              - !Sub "${Bodies.Arn}/*"
`
	overTLS = `            Condition: {Bool: {"aws:SecureTransport": "false"}}` + "\n"
)

var rightsFaults = []fault{
	anew("a policy beside the roles", "{Type: AWS::IAM::Policy, Properties: {PolicyName: more, Roles: [!Ref ConsoleRole]}}", "a role has and should not: More is a AWS::IAM::Policy"),
	anew("a managed policy beside the roles", "{Type: AWS::IAM::ManagedPolicy, Properties: {Roles: [!Ref ConsoleRole]}}", "a role has and should not: More is a AWS::IAM::ManagedPolicy"),
	anew("a policy of a role as a type of its own", "{Type: AWS::IAM::RolePolicy, Properties: {RoleName: !Ref ConsoleRole}}", "a role has and should not: More is a AWS::IAM::RolePolicy"),
	anew("a user", "{Type: AWS::IAM::User}", "a role has and should not: More is a AWS::IAM::User"),
	{"a role with a managed policy", "  ConsoleRole:\n    Type: AWS::IAM::Role\n    Properties:\n", "  ConsoleRole:\n    Type: AWS::IAM::Role\n    Properties:\n      ManagedPolicyArns: [arn:x]\n", "a role has and should not: ConsoleRole has ManagedPolicyArns [arn:x]"},
	{"a read of items of every kind", readsByKey, readsAll, "a role has and should not: ReceiverRole may: Allow dynamodb:GetItem on <Table.Arn>"},
	{"a read that holds for a call without keys", readsByKey, readsAll + "                Condition: {\"ForAllValues:StringLike\": {\"dynamodb:LeadingKeys\": [\"E#*\", \"C#*\"]}}\n",
		"a role has and should not: ReceiverRole may: Allow dynamodb:GetItem on <Table.Arn> if {ForAllValues:StringLike: {dynamodb:LeadingKeys: [E#*, C#*]}}"},
	{"one key among many", `"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*", "C#*"]}`, `"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": ["E#*", "C#*"]}`,
		"a role has and should not: ReceiverRole may: Allow dynamodb:GetItem on <Table.Arn> if {ForAnyValue:StringLike:"},
	{"a whole bucket", `Resource: !Sub "${Bodies.Arn}/raw/*"`, `Resource: !Sub "${Bodies.Arn}/*"`, "a role has and should not: ReceiverRole may: Allow s3:PutObject s3:DeleteObject on <Bodies.Arn>/*"},
	{"lines of every group", "Resource: !GetAtt ReceiverLogs.Arn", `Resource: !Sub "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:/*"`, "a role has and should not: ReceiverRole may: Allow logs:CreateLogStream logs:PutLogEvents on arn:"},
	{"lines of another group", "Resource: !GetAtt ReceiverLogs.Arn", "Resource: !GetAtt ConsoleLogs.Arn", "a role has and should not: ReceiverRole may: Allow logs:CreateLogStream logs:PutLogEvents on <ConsoleLogs.Arn>"},
	{"secrets of all", "/hooks/*\"", "/*\"", "a role has and should not: ReceiverRole may: Allow ssm:GetParameters on arn:"},
	{"all but some", `Action: ["s3:ListBucket"]`, `NotAction: ["s3:ListBucket"]`, "a role has and should not: ConsoleRole may: Allow on <Bodies.Arn> and NotAction [s3:ListBucket]"},
	{"a right under a parameter", "              - Sid: FindOpenEvents\n", "              - !If [Mail, {Effect: Allow, Action: \"s3:GetObject\", Resource: !Sub \"${Bodies.Arn}/raw/*\"}, !Ref \"AWS::NoValue\"]\n              - Sid: FindOpenEvents\n",
		"a role has and should not: ReconcilerRole may: Allow s3:GetObject on <Bodies.Arn>/raw/* (at times)"},
	{"a key of everybody's", "                    Resource: !Ref KmsKeyArn\n", "                    Resource: \"*\"\n", "a role has and should not: ReceiverRole may: Allow kms:Decrypt kms:GenerateDataKey on * if"},
	{"a role for everybody", forLambda, `          - {Effect: Allow, Principal: {AWS: "*"}, Action: "sts:AssumeRole"}` + "\n", "a role has and should not: ReceiverRole is for: Allow sts:AssumeRole to {AWS: *}"},
	{"a role for another service too", forLambda, `          - {Effect: Allow, Principal: {Service: [lambda.amazonaws.com, ec2.amazonaws.com]}, Action: "sts:AssumeRole"}` + "\n", "a role has and should not: ReceiverRole is for: Allow sts:AssumeRole to {Service: [lambda"},
	{"a role with a second way in", forLambda, forLambda + `          - {Effect: Allow, Principal: {AWS: "arn:x"}, Action: "sts:AssumeRole"}` + "\n", "a role has and should not: ReceiverRole is for: Allow sts:AssumeRole to {AWS: arn:x}"},
	{"a schedule that may start more", "Resource: !GetAtt ReconcilerFunction.Arn", "Resource: [!GetAtt ReconcilerFunction.Arn, !GetAtt ConsoleFunction.Arn]", "a role has and should not: ReconcilerScheduleRole may: Allow lambda:InvokeFunction on <ReconcilerFunction.Arn> <ConsoleFunction.Arn>"},
	{"a schedule of any account", bySource, "", "a role has and should not: ReconcilerScheduleRole is for: Allow sts:AssumeRole to {Service: scheduler.amazonaws.com}"},
}

var doorFaults = []fault{
	{"an address of a function's own", "      Timeout: 10\n", "      Timeout: 10\n      FunctionUrlConfig: {AuthType: NONE}\n", "ReceiverFunction has FunctionUrlConfig, which no rule holds"},
	{"an address of every function's own", "    Handler: bootstrap\n", "    Handler: bootstrap\n    FunctionUrlConfig: {AuthType: NONE}\n", "Globals has and should not: Function:"},
	anew("a function that everybody may start", `{Type: AWS::Lambda::Permission, Properties: {Action: "lambda:InvokeFunction", FunctionName: !Ref ConsoleFunction, Principal: "*"}}`, "a function has and should not: More: {"),
	anew("an address as a resource", "{Type: AWS::Lambda::Url, Properties: {AuthType: NONE, TargetFunctionArn: !Ref ConsoleFunction}}", "the template has and should not: 1 AWS::Lambda::Url"),
	{"a bucket that is closed for its objects only", ofBucket, `              - !Sub "${Bodies.Arn}/*"` + "\n", "a policy of a resource has and should not: BodiesPolicy of [<Bodies>]: Deny s3:* to * on <Bodies.Arn>/* if"},
	{"a bucket that is closed for one account only", "            Principal: \"*\"\n            Action: \"s3:*\"", "            Principal: {AWS: !Ref \"AWS::AccountId\"}\n            Action: \"s3:*\"", "a policy of a resource has and should not: BodiesPolicy of [<Bodies>]: Deny s3:* to {AWS: <AWS::AccountId>}"},
	{"a bucket that everybody reads", overTLS, overTLS + "          - {Effect: Allow, Principal: \"*\", Action: \"s3:GetObject\", Resource: !Sub \"${Bodies.Arn}/*\"}\n", "a policy of a resource has and should not: BodiesPolicy of [<Bodies>]: Allow s3:GetObject to *"},
	{"a bucket that is closed over TLS", overTLS, `            Condition: {Bool: {"aws:SecureTransport": "true"}}` + "\n", "a policy of a resource has and should not: BodiesPolicy of [<Bodies>]: Deny s3:*"},
	{"a queue that everybody sends to", "            Action: \"sqs:*\"\n            Resource: !GetAtt WorkQueue.Arn\n" + overTLS, "            Action: \"sqs:*\"\n            Resource: !GetAtt WorkQueue.Arn\n" + overTLS + "          - {Effect: Allow, Principal: \"*\", Action: \"sqs:SendMessage\", Resource: !GetAtt WorkQueue.Arn}\n",
		"a policy of a resource has and should not: WorkQueuePolicy of [<WorkQueue>]: Allow sqs:SendMessage to *"},
	{"a policy that is another queue's", "Queues: [!Ref WorkDeadLetterQueue]", "Queues: [!Ref WorkQueue]", "a policy of a resource lacks: WorkDeadLetterQueuePolicy of [<WorkDeadLetterQueue>]"},
	{"a topic for alarms of any account", "            Resource: !Ref AlarmTopic\n" + bySource, "            Resource: !Ref AlarmTopic\n", "a policy of a resource has and should not: AlarmTopicPolicy of [<AlarmTopic>]: Allow sns:Publish to {Service: cloudwatch.amazonaws.com}"},
	{"a topic that everybody writes to", "Principal: {Service: cloudwatch.amazonaws.com}", "Principal: \"*\"", "a policy of a resource has and should not: AlarmTopicPolicy of [<AlarmTopic>]: Allow sns:Publish to *"},
	anew("a second policy of the bucket", `{Type: AWS::S3::BucketPolicy, Properties: {Bucket: !Ref Bodies, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: "*", Action: "s3:*", Resource: "*"}]}}}`, "a policy of a resource has and should not: More of [<Bodies>]: Allow s3:* to *"),
	anew("a policy of a queue as a type of its own", "{Type: AWS::SQS::QueueInlinePolicy, Properties: {Queue: !Ref WorkQueue}}", "the template has and should not: 1 AWS::SQS::QueueInlinePolicy"),
}

var frontFaults = []fault{
	{"requests of the older form", `PayloadFormatVersion: "2.0"`, `PayloadFormatVersion: "1.0"`, "Events of ReceiverFunction is {Hooks:"},
	{"a stage that is a prefix of the path", "StageName: $default", "StageName: live", "StageName of Api is live, want $default"},
	{"hooks of one method", "            Method: ANY\n            Path: /hooks", "            Method: POST\n            Path: /hooks", "Events of ReceiverFunction is {Hooks:"},
	{"an API for everybody", "            Auth: {Authorizer: AWS_IAM}\n", "", "Events of ConsoleFunction is {Api:"},
	{"an API that the front does not guard", "            Auth: {Authorizer: AWS_IAM}\n", "            Auth: {Authorizer: NONE}\n", "Events of ConsoleFunction is {Api:"},
	{"another route", "      Events:\n        Api:\n", "      Events:\n        Other: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: /other}}\n        Api:\n", "Events of ConsoleFunction is {Api:"},
	{"a front for every site", "      FailOnWarnings: true\n", "      FailOnWarnings: true\n      CorsConfiguration: {AllowOrigins: [\"*\"]}\n", "Api has CorsConfiguration, which no rule holds"},
	{"a front without a limit", "        ThrottlingRateLimit: !Ref RateLimit\n", "", "DefaultRouteSettings of Api is"},
	{"the address of a sender", `"error":"$context`, `"from":"$context.identity.sourceIp","error":"$context`, "a line of the gateway has and should not: from: $context.identity.sourceIp"},
	{"the path of a request", `"route":"$context.routeKey"`, `"route":"$context.path"`, "a line of the gateway has and should not: route: $context.path"},
	{"the caller", `"error":"$context`, `"who":"$context.identity.caller","error":"$context`, "a line of the gateway has and should not: who: $context.identity.caller"},
	{"the agent", `"error":"$context`, `"agent":"$context.identity.userAgent","error":"$context`, "a line of the gateway has and should not: agent: $context.identity.userAgent"},
	{"a field that is gone", `"status":"$context.status",`, "", "a line of the gateway lacks: status: $context.status"},
	{"lines of the gateway elsewhere", "DestinationArn: !GetAtt ApiLogs.Arn", "DestinationArn: !GetAtt ConsoleLogs.Arn", "the gateway logs into <ConsoleLogs.Arn>"},
	{"an own domain beside the gateway's", "!If [OwnDomain, true, false]", "false", "DisableExecuteApiEndpoint of Api is false"},
	{"an own domain of an old TLS", "SecurityPolicy: TLS_1_2", "SecurityPolicy: TLS_1_0", "DomainNameConfigurations of Domain is"},
	{"an own domain with a prefix", "      Stage: !Ref Api.Stage\n", "      Stage: !Ref Api.Stage\n      ApiMappingKey: v1\n", "DomainMapping has ApiMappingKey, which no rule holds"},
}
