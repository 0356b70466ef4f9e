package architecture_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
	"engang/infra/rights"
)

// statementsOf reads the inline policies of a role; what cannot be read is a statement that no rule accepts.
func statementsOf(tpl *cloudformation.Template, role string) []rights.Statement {
	all, err := rights.Of(tpl, cloudformation.Symbols{}, role)
	if err != nil {
		return []rights.Statement{{Where: role, Effect: err.Error(), Actions: []string{"*"}, Resources: []string{"*"}}}
	}
	return all
}

func TestRolesAreNarrow(t *testing.T) { none(t, wideRoles(repositoryTemplate(t))) }

var lastPart = regexp.MustCompile(`^[^*]+[/]\*$`)

// wideRoles finds rights wider than a function's work: a wildcard in an action, one in a resource that is
// not the last part of a named path, a write to the table that may hit any kind of item, and rights that
// SAM or another function would add.
func wideRoles(tpl *cloudformation.Template) []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	r := reader{tpl}
	for _, role := range tpl.OfType(roleType) {
		if r.any(role, "ManagedPolicyArns") != nil {
			add("%s has managed policies", role)
		}
		for _, s := range statementsOf(tpl, role) {
			for _, a := range s.Actions {
				if s.Effect == "Allow" && strings.Contains(a, "*") {
					add("%s allows %s", s.Where, a)
				}
			}
			for _, to := range s.Resources {
				if s.Effect == "Allow" && strings.Contains(to, "*") && !lastPart.MatchString(to) {
					add("%s reaches %s", s.Where, to)
				}
			}
			if writes(s) && !keyed(s) {
				add("%s writes to items of every kind", s.Where)
			}
		}
	}
	users := map[string]string{}
	for _, f := range lambdas(tpl) {
		role := unquoted(r.text(f, "Role"))
		switch {
		case tpl.Type(role) != roleType:
			add("%s has no role of its own here", f)
		case users[role] != "":
			add("%s shares its role with %s", f, users[role])
		}
		users[role] = f
		if r.any(f, "Policies") != nil {
			add("%s has policies that SAM adds to", f)
		}
	}
	return faults
}

func writes(s rights.Statement) bool {
	return slices.ContainsFunc(s.Actions, func(a string) bool {
		return slices.Contains([]string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"}, a)
	})
}

// keyed tells whether a statement names the partition keys that it is for. ForAllValues holds for a call
// without any key too, hence the second condition.
func keyed(s rights.Statement) bool {
	keys := s.Values("ForAllValues:StringLike", rights.LeadingKeys)
	return len(keys) > 0 && !slices.ContainsFunc(keys, func(k string) bool { return !strings.Contains(k, "#") }) &&
		slices.Equal(s.Values("Null", rights.LeadingKeys), []string{"false"})
}

func TestRoleRuleFindsWideRoles(t *testing.T) {
	found(t, wideRoles(parse(t, `
Resources:
  Wide:
    Type: AWS::IAM::Role
    Properties:
      ManagedPolicyArns: [any]
      Policies:
        - PolicyDocument:
            Statement:
              - {Sid: A, Effect: Allow, Action: "sqs:*", Resource: !GetAtt Q.Arn}
              - {Sid: B, Effect: Allow, Action: ["s3:GetObject"], Resource: ["*", "arn:aws:s3:::b/raw/*", "arn:aws:s3:::b*"]}
              - {Sid: C, Effect: Allow, Action: ["dynamodb:GetItem", "dynamodb:PutItem"], Resource: !GetAtt T.Arn}
              - Sid: D
                Effect: Allow
                Action: ["dynamodb:UpdateItem"]
                Resource: !GetAtt T.Arn
                Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*"]}}
              - Sid: E
                Effect: Allow
                Action: ["dynamodb:UpdateItem"]
                Resource: !GetAtt T.Arn
                Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}
              - Sid: F
                Effect: Allow
                Action: ["dynamodb:UpdateItem"]
                Resource: !GetAtt T.Arn
                Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}
              - {Sid: G, Effect: Deny, Action: "s3:*", Resource: "*"}
  One: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt Wide.Arn}}
  Two: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt Wide.Arn, Policies: [x]}}
  Three: {Type: AWS::Serverless::Function, Properties: {Role: "arn:elsewhere"}}
`)), "Wide has managed policies", "Wide A allows sqs:*", "Wide B reaches *", "Wide B reaches arn:aws:s3:::b*",
		"Wide C writes to items of every kind", "Wide D writes to items of every kind", "Wide E writes to items of every kind",
		"Two shares its role with One", "Two has policies that SAM adds to", "Three has no role of its own here")
}

func TestStoresAndQueuesRefuseOpenLines(t *testing.T) { none(t, openLines(repositoryTemplate(t))) }

// openLines finds buckets and queues that answer without TLS.
func openLines(tpl *cloudformation.Template) []string {
	r := reader{tpl}
	closed := map[string]bool{}
	for _, kind := range []string{"AWS::S3::BucketPolicy", queueType + "Policy"} {
		for _, id := range tpl.OfType(kind) {
			if !slices.ContainsFunc(rights.Statements(id, r.any(id, "PolicyDocument")), refusesOpenLines) {
				continue
			}
			for _, to := range append(cloudformation.Texts(r.any(id, "Queues")), cloudformation.Texts(r.any(id, "Bucket"))...) {
				closed[strings.Trim(to, "<>")] = true
			}
		}
	}
	var faults []string
	for _, id := range slices.Concat(tpl.OfType("AWS::S3::Bucket"), tpl.OfType(queueType)) {
		if !closed[id] {
			faults = append(faults, id+" answers without TLS")
		}
	}
	return faults
}

func refusesOpenLines(s rights.Statement) bool {
	return s.Effect == "Deny" && slices.Equal(s.Values("Bool", "aws:SecureTransport"), []string{"false"}) && slices.ContainsFunc(s.Actions, func(a string) bool { return strings.HasSuffix(a, ":*") })
}

func TestLineRuleFindsOpenLines(t *testing.T) {
	found(t, openLines(parse(t, `
Resources:
  Open: {Type: AWS::SQS::Queue}
  Closed: {Type: AWS::SQS::Queue}
  Half: {Type: AWS::S3::Bucket}
  P:
    Type: AWS::SQS::QueuePolicy
    Properties:
      Queues: [!Ref Closed]
      PolicyDocument: {Statement: [{Effect: Deny, Action: "sqs:*", Condition: {Bool: {"aws:SecureTransport": "false"}}}]}
  H:
    Type: AWS::S3::BucketPolicy
    Properties:
      Bucket: !Ref Half
      PolicyDocument: {Statement: [{Effect: Deny, Action: "s3:GetObject", Condition: {Bool: {"aws:SecureTransport": "false"}}}]}
`)), "Open answers without TLS", "Half answers without TLS")
}

func TestOnlyWhoNeedsSecretsMayReadThem(t *testing.T) {
	tpl := repositoryTemplate(t)
	got := map[string]string{}
	for _, role := range tpl.OfType(roleType) {
		for _, s := range statementsOf(tpl, role) {
			if slices.ContainsFunc(s.Actions, func(a string) bool { return strings.HasPrefix(a, "ssm:") || strings.HasPrefix(a, "secretsmanager:") }) {
				_, path, _ := strings.Cut(strings.Join(s.Resources, " "), "<AWS::StackName>")
				got[role] += path
			}
		}
	}
	want := map[string]string{"ReceiverRole": "/hooks/*", "EnrichmentRole": "/models/*", "ReconcilerRole": "/targets/*"}
	if !maps.Equal(got, want) {
		t.Errorf("secrets are read by %v, want %v", got, want)
	}
}
