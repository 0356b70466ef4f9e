package rights_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local/cloudformation"
	"engang/infra/rights"
)

const table, bucket = "arn:aws:dynamodb:here:1:table/t", "arn:aws:s3:::b"

// deployed names what a deploy would create.
type deployed struct{}

func (deployed) Ref(id string) (string, error) { return strings.ToLower(id), nil }
func (deployed) Attribute(id, _ string) (string, error) {
	if id == "Table" {
		return table, nil
	}
	return bucket, nil
}

const template = `
Resources:
  AFunction: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt ARole.Arn}}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      GlobalSecondaryIndexes:
        - {IndexName: open, KeySchema: [{AttributeName: oq, KeyType: HASH}, {AttributeName: od, KeyType: RANGE}]}
  ARole:
    Type: AWS::IAM::Role
    Properties:
      Policies:
        - PolicyDocument:
            Statement:
              - Sid: Keep
                Effect: Allow
                Action: ["dynamodb:PutItem", "dynamodb:BatchGetItem"]
                Resource: !GetAtt Table.Arn
                Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*", "B#*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}
              - {Sid: Find, Effect: Allow, Action: ["dynamodb:Query"], Resource: [!Sub "${Table.Arn}/index/open", !Sub "${Table.Arn}/index/list"]}
              - {Sid: Open, Effect: Allow, Action: ["dynamodb:GetItem"], Resource: !GetAtt Table.Arn, Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["C#*"]}}}
              - {Sid: Read, Effect: Allow, Action: ["s3:GetObject"], Resource: !Sub "${Bodies.Arn}/raw/*"}
              - {Sid: List, Effect: Allow, Action: ["s3:ListBucket"], Resource: !GetAtt Bodies.Arn, Condition: {StringLike: {"s3:prefix": "raw/*"}}}
              - {Sid: Key, Effect: Allow, Action: ["kms:Decrypt"], Resource: key, Condition: {StringEquals: {"kms:ViaService": [s3.here.amazonaws.com, sqs.here.amazonaws.com]}}}
              - {Sid: Twice, Effect: Allow, Action: ["S3:getobject"], Resource: !Sub "${Bodies.Arn}/raw/twi?e"}
              - {Sid: Never, Effect: Deny, Action: ["s3:*"], Resource: !Sub "${Bodies.Arn}/raw/secret"}
`

func role(t *testing.T, text string) (rights.Role, error) {
	t.Helper()
	tpl, err := cloudformation.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	roles, err := rights.Read(tpl, deployed{})
	return roles["AFunction"], err
}

func leading(keys ...string) map[string][]string {
	return map[string][]string{rights.LeadingKeys: keys}
}

func TestARoleAllowsWhatItsStatementsSay(t *testing.T) {
	r, err := role(t, template)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID() != "ARole" || len(r.Statements()) != 7 {
		t.Fatalf("read %s with %v", r.ID(), r.Statements())
	}
	via := func(service string) map[string][]string {
		return map[string][]string{rights.ViaService: {service + ".here.amazonaws.com"}}
	}
	for _, c := range []struct {
		name    string
		use     rights.Use
		allowed bool
		needs   []string
	}{
		{"an item of a kind", rights.Use{"dynamodb:PutItem", table, leading("E#1")}, true, []string{"ARole Keep: dynamodb:PutItem <Table.Arn> E#*"}},
		{"an item of another kind", rights.Use{"dynamodb:PutItem", table, leading("C#1")}, false, nil},
		{"another table", rights.Use{"dynamodb:PutItem", table + "2", leading("E#1")}, false, nil},
		{"another action", rights.Use{"dynamodb:UpdateItem", table, leading("E#1")}, false, nil},
		{"items of two kinds", rights.Use{"dynamodb:BatchGetItem", table, leading("E#1", "B#1")}, true, []string{"ARole Keep: dynamodb:BatchGetItem <Table.Arn> E#*", "ARole Keep: dynamodb:BatchGetItem <Table.Arn> B#*"}},
		{"items of which one is of another kind", rights.Use{"dynamodb:BatchGetItem", table, leading("E#1", "C#1")}, false, nil},
		{"no key, where one is demanded", rights.Use{"dynamodb:BatchGetItem", table, nil}, false, nil},
		{"no key, where none is demanded: all of no values fit", rights.Use{"dynamodb:GetItem", table, nil}, true, []string{"ARole Open: dynamodb:GetItem <Table.Arn> C#*"}},
		{"one of two indexes", rights.Use{"dynamodb:Query", table + "/index/open", leading("open#1")}, true, []string{"ARole Find: dynamodb:Query <Table.Arn>/index/open"}},
		{"the table in place of its indexes", rights.Use{"dynamodb:Query", table, leading("E#1")}, false, nil},
		{"an object", rights.Use{"s3:GetObject", bucket + "/raw/evt/1", nil}, true, []string{"ARole Read: s3:GetObject <Bodies.Arn>/raw/*"}},
		{"an object elsewhere", rights.Use{"s3:GetObject", bucket + "/other/1", nil}, false, nil},
		{"an object that two statements allow, which are indifferent to case", rights.Use{"s3:GetObject", bucket + "/raw/twice", nil}, true, nil},
		{"an object that is refused by a statement", rights.Use{"s3:GetObject", bucket + "/raw/secret", nil}, false, nil},
		{"a list below a prefix", rights.Use{"s3:ListBucket", bucket, map[string][]string{rights.Prefix: {"raw/evt"}}}, true, []string{"ARole List: s3:ListBucket <Bodies.Arn>"}},
		{"a list without one", rights.Use{"s3:ListBucket", bucket, nil}, false, nil},
		{"the key by way of a service", rights.Use{"kms:Decrypt", "key", via("s3")}, true, []string{"ARole Key: kms:Decrypt key"}},
		{"the key by way of another", rights.Use{"kms:Decrypt", "key", via("ssm")}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var needs []string
			for _, n := range r.Needs(c.use) {
				needs = append(needs, n.String())
			}
			if diff := cmp.Diff(c.needs, needs); r.Allows(c.use) != c.allowed || diff != "" {
				t.Errorf("allowed: %v, want %v; needs (-want +got):\n%s", r.Allows(c.use), c.allowed, diff)
			}
		})
	}
}

func TestARoleIsMadeOfRights(t *testing.T) {
	r, err := role(t, template)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, right := range r.Rights() {
		got = append(got, right.String())
	}
	if diff := cmp.Diff([]string{
		"ARole Keep: dynamodb:PutItem <Table.Arn> E#*", "ARole Keep: dynamodb:PutItem <Table.Arn> B#*",
		"ARole Keep: dynamodb:BatchGetItem <Table.Arn> E#*", "ARole Keep: dynamodb:BatchGetItem <Table.Arn> B#*",
		"ARole Find: dynamodb:Query <Table.Arn>/index/open", "ARole Find: dynamodb:Query <Table.Arn>/index/list",
		"ARole Open: dynamodb:GetItem <Table.Arn> C#*", "ARole Read: s3:GetObject <Bodies.Arn>/raw/*", "ARole List: s3:ListBucket <Bodies.Arn>",
		"ARole Key: kms:Decrypt key", "ARole Twice: S3:getobject <Bodies.Arn>/raw/twi?e",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What cannot be decided is never held for allowed, nor passed over.
func TestATemplateThatIsNotUnderstoodIsRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, says string }{
		{"a key of another service", "s3:prefix", "aws:SourceIp", "condition of ARole List: the key aws:SourceIp is not understood here"},
		{"another operator", "{StringLike:", "{StringNotLike:", "condition of ARole List: the operator StringNotLike is not understood here"},
		{"a Null that is neither", `"Null": {"dynamodb:LeadingKeys": "false"}`, `"Null": {"dynamodb:LeadingKeys": "no"}`, "condition of ARole Keep: Null of dynamodb:LeadingKeys is neither true nor false"},
		{"everything but some actions", `Action: ["kms:Decrypt"]`, `NotAction: ["kms:Encrypt"]`, "ARole Key is not understood here: it needs an effect, actions and resources"},
		{"no resource", "Resource: key, ", "", "ARole Key is not understood here: it needs an effect, actions and resources"},
		{"a role of SAM's own", "Properties: {Role: !GetAtt ARole.Arn}", "Properties: {Timeout: 1}", "read role of AFunction: AFunction.Role: not in the template"},
		{"a role of another stack", "Role: !GetAtt ARole.Arn", "Role: arn:aws:iam::1:role/other", "read role of AFunction: arn:aws:iam::1:role/other is not declared in the template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(template, c.old) {
				t.Fatalf("the template has no %q", c.old)
			}
			if _, err := role(t, strings.Replace(template, c.old, c.new, 1)); err == nil || err.Error() != c.says {
				t.Errorf("%v, want %s", err, c.says)
			}
		})
	}
}

func TestARoleWithoutPoliciesAllowsNothing(t *testing.T) {
	r, err := role(t, `
Resources:
  AFunction: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt ARole.Arn}}
  ARole: {Type: AWS::IAM::Role}
`)
	if err != nil || r.Allows(rights.Use{"s3:GetObject", bucket, nil}) || len(r.Rights()) != 0 {
		t.Errorf("%v, %v", r.Rights(), err)
	}
}
