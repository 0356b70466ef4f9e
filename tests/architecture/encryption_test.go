package architecture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
	"engang/infra/rights"
)

const bucketType, tableType = "AWS::S3::Bucket", "AWS::DynamoDB::Table"

func TestWhatIsStoredIsEncrypted(t *testing.T) {
	tpl := repositoryTemplate(t)
	none(t, unencrypted(tpl, ""))
	const key = "arn:aws:kms:eu-north-1:000000000000:key/k"
	own := tpl.With(map[string]string{"KmsKeyArn": key})
	none(t, unencrypted(own, key))
	none(t, keyless(own, key))
}

// unencrypted finds stores that are not encrypted, or where a key of the account's own is given, not with that one.
// A table without a key is encrypted with one of DynamoDB's.
func unencrypted(tpl *cloudformation.Template, key string) []string {
	r := reader{tpl}
	var faults []string
	want := func(id string, got any) {
		if key != "" && got != key {
			faults = append(faults, fmt.Sprintf("%s is encrypted with %v", id, got))
		}
	}
	for _, id := range tpl.OfType(bucketType) {
		rules, _ := r.any(id, "BucketEncryption", "ServerSideEncryptionConfiguration").([]any)
		if len(rules) != 1 {
			faults = append(faults, id+" is not encrypted")
			continue
		}
		rule, _ := rules[0].(map[string]any)
		by, _ := rule["ServerSideEncryptionByDefault"].(map[string]any)
		if a := by["SSEAlgorithm"]; a != "AES256" && a != "aws:kms" || a == "aws:kms" && rule["BucketKeyEnabled"] != true {
			faults = append(faults, fmt.Sprintf("%s is encrypted by %v", id, a))
		}
		want(id, by["KMSMasterKeyID"])
	}
	for _, id := range tpl.OfType(queueType) {
		managed := r.text(id, "SqsManagedSseEnabled") == "true"
		if managed == (r.text(id, "KmsMasterKeyId") != "") {
			faults = append(faults, id+" must have one encryption, SQS's own or a key's")
		}
		want(id, r.any(id, "KmsMasterKeyId"))
	}
	for _, id := range tpl.OfType(tableType) {
		by, _ := r.any(id, "SSESpecification").(map[string]any)
		want(id, by["KMSMasterKeyId"])
	}
	for _, id := range tpl.OfType(logsType) {
		want(id, r.any(id, "KmsKeyId"))
	}
	return faults
}

// keyless finds functions that may not use the key by way of each service that they use, or in any other way.
func keyless(tpl *cloudformation.Template, key string) []string {
	var faults []string
	for _, f := range lambdas(tpl) {
		uses, via := map[string]bool{}, []string{}
		for _, s := range statementsOf(tpl, unquoted(reader{tpl}.any(f, "Role"))) {
			for _, a := range s.Actions {
				service, _, _ := strings.Cut(a, ":")
				uses[service] = true
			}
			if !slices.Contains(s.Actions, "kms:Decrypt") {
				continue
			}
			via = s.Values("StringEquals", rights.ViaService)
			if !slices.Equal(s.Actions, []string{"kms:Decrypt", "kms:GenerateDataKey"}) || !slices.Equal(s.Resources, []string{key}) {
				faults = append(faults, f+" may do more with the key than its work needs")
			}
		}
		for _, service := range []string{"dynamodb", "sqs", "s3", "ssm"} {
			if uses[service] != slices.Contains(via, service+".<AWS::Region>.amazonaws.com") {
				faults = append(faults, fmt.Sprintf("%s uses %s: %v, and the key by way of it: %v", f, service, uses[service], !uses[service]))
			}
		}
	}
	return faults
}

func TestEncryptionRuleFindsWhatIsBare(t *testing.T) {
	tpl := parse(t, `
Resources:
  B: {Type: AWS::S3::Bucket}
  K: {Type: AWS::S3::Bucket, Properties: {BucketEncryption: {ServerSideEncryptionConfiguration: [{ServerSideEncryptionByDefault: {SSEAlgorithm: "aws:kms"}}]}}}
  Q: {Type: AWS::SQS::Queue}
  T: {Type: AWS::DynamoDB::Table}
  L: {Type: AWS::Logs::LogGroup, Properties: {KmsKeyId: other}}
  F: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt R.Arn}}
  R:
    Type: AWS::IAM::Role
    Properties:
      Policies:
        - PolicyDocument:
            Statement:
              - {Effect: Allow, Action: ["dynamodb:GetItem", "s3:GetObject"]}
              - Effect: Allow
                Action: ["kms:Decrypt", "kms:GenerateDataKey", "kms:Encrypt"]
                Resource: key
                Condition: {StringEquals: {"kms:ViaService": [!Sub "dynamodb.${AWS::Region}.amazonaws.com", !Sub "ssm.${AWS::Region}.amazonaws.com"]}}
`)
	found(t, unencrypted(tpl, "key"), "B is not encrypted", "K is encrypted by aws:kms", "K is encrypted with <nil>", "Q must have one encryption, SQS's own or a key's",
		"Q is encrypted with <nil>", "T is encrypted with <nil>", "L is encrypted with other")
	found(t, keyless(tpl, "key"), "F may do more with the key than its work needs", "F uses s3: true, and the key by way of it: false", "F uses ssm: false, and the key by way of it: true")
}
