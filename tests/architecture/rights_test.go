package architecture_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"engang/infra/local"
	"engang/infra/local/cloudformation"
	"engang/infra/rights"
	"engang/infra/rights/rightstest"
)

// beforehand lists rights that the flow does not need, and why they are there.
var beforehand = map[string]string{
	"EnrichmentRole TakeMessages: sqs:GetQueueAttributes <WorkQueue.Arn>": "Lambda's event source looks at its queue with the function's role",
}

// byLambda tells rights that Lambda itself needs, to write the lines of a function.
func byLambda(right string) bool { return strings.Contains(right, ": logs:") }

// A gathering is what functions needed, as it was told.
type gathering struct {
	mu   sync.Mutex
	uses []local.Use
}

func (g *gathering) told(u local.Use) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses = append(g.uses, u)
}

// overstepped lists what functions did that their roles do not allow.
func overstepped(uses []local.Use) (faults []string) {
	for _, u := range uses {
		if !u.Allowed {
			faults = append(faults, u.String()+" is not allowed")
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// idle lists the rights of a role that no use needed.
func idle(role rights.Role, uses []local.Use) (all []string) {
	needed := map[string]bool{}
	for _, u := range uses {
		for _, right := range u.Needs {
			needed[right.String()] = true
		}
	}
	for _, right := range role.Rights() {
		if !needed[right.String()] {
			all = append(all, right.String())
		}
	}
	return all
}

// missed names a call that a function makes and that another role would refuse, or nothing.
func missed(role rights.Role, function string, uses []local.Use) string {
	for _, u := range uses {
		if u.Function == function && u.Allowed && !role.Allows(u.Use) {
			return u.Call
		}
	}
	return ""
}

// A run of the whole flow under the roles as they are: every call of it is refused that its role does not allow.
func TestRolesAllowWhatFunctionsDoAndNothingElse(t *testing.T) {
	g := &gathering{}
	sys, err := local.Start(t.Context(), local.Options{
		TemplatePath: root + "/template.yaml", ConfigFiles: []string{root + "/infra/local.yaml", root + "/tests/integration/testdata/batch.yaml"},
		OnUse: g.told, Manual: true, NoThrottle: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.Close(t.Context()) })
	everything(t, flow{sys})
	none(t, overstepped(g.uses))
	roles, err := sys.Roles(repositoryTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("no right is there for nothing", func(t *testing.T) { allNeeded(t, roles, g.uses) })
	t.Run("without a statement a call is refused", func(t *testing.T) { eachRefuses(t, sys, roles, g.uses) })
	t.Run("with a key of one's own", func(t *testing.T) { keyUsed(t, sys, g.uses) })
}

func allNeeded(t *testing.T, roles map[string]rights.Role, uses []local.Use) {
	t.Helper()
	later := maps.Clone(beforehand)
	for _, id := range slices.Sorted(maps.Keys(roles)) {
		for _, right := range idle(roles[id], uses) {
			if _, listed := later[right]; !listed && !byLambda(right) {
				t.Errorf("%s is allowed and nothing in the flow needs it", right)
			}
			delete(later, right)
		}
	}
	for right := range later {
		t.Errorf("%s is needed by the flow now, or is not there: take it from the list", right)
	}
}

// eachRefuses takes every statement out of a copy of the template, one after the other: a call of the flow is refused then.
func eachRefuses(t *testing.T, sys *local.System, roles map[string]rights.Role, uses []local.Use) {
	t.Helper()
	good := read(t, "template.yaml")
	for id, role := range roles {
		for _, where := range role.Statements() {
			t.Run(where, func(t *testing.T) {
				lesser, err := sys.Roles(parse(t, rightstest.Without(t, good, where)))
				if err != nil {
					t.Fatal(err)
				}
				if len(lesser[id].Statements()) != len(role.Statements())-1 {
					t.Fatalf("the copy has %v", lesser[id].Statements())
				}
				call := missed(lesser[id], functionOf(id), uses)
				if call == "" && !strings.HasSuffix(where, " OwnLogs") {
					t.Error("no call of the flow is refused")
				}
				t.Logf("%q is refused", call)
			})
		}
	}
}

// functionOf is the name of a function by its logical id.
func functionOf(id string) string { return strings.ToLower(strings.TrimSuffix(id, "Function")) }

// keyUsed holds what each call asks of the key of an account's own against the roles as they are with one: all is allowed,
// and no more.
func keyUsed(t *testing.T, sys *local.System, uses []local.Use) {
	t.Helper()
	const key = "arn:aws:kms:us-east-1:000000000000:key/k"
	tpl := repositoryTemplate(t).With(map[string]string{"KmsKeyArn": key})
	roles, err := sys.Roles(tpl)
	if err != nil {
		t.Fatal(err)
	}
	place, err := rights.In(tpl, "us-east-1", "000000000000")
	if err != nil {
		t.Fatal(err)
	}
	for id, role := range roles {
		var ofKey []local.Use
		via := map[string]bool{}
		for _, u := range uses {
			if u.Function != functionOf(id) {
				continue
			}
			for _, k := range place.OfKey(u.Use, key) {
				ofKey = append(ofKey, local.Use{Use: k, Function: u.Function, Call: u.Call, Allowed: role.Allows(k), Needs: role.Needs(k)})
				via[k.Carried[rights.ViaService][0]] = true
			}
		}
		none(t, overstepped(ofKey))
		for _, right := range idle(role, ofKey) {
			if strings.Contains(right, "kms:") {
				t.Errorf("%s is allowed and nothing in the flow needs it", right)
			}
		}
		for _, s := range statementsOf(tpl, role.ID()) {
			for _, service := range s.Values("StringEquals", rights.ViaService) {
				if service = strings.ReplaceAll(service, "<AWS::Region>", "us-east-1"); !via[service] {
					t.Errorf("%s lets use the key by way of %s, and nothing in the flow needs it", s.Where, service)
				}
			}
		}
	}
}

func TestRightsRuleFindsWhatIsMissingAndWhatIsTooMuch(t *testing.T) {
	tpl := parse(t, `
Resources:
  AFunction: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt ARole.Arn}}
  ARole:
    Type: AWS::IAM::Role
    Properties:
      Policies:
        - PolicyDocument:
            Statement:
              - Sid: Keep
                Effect: Allow
                Action: ["dynamodb:PutItem", "dynamodb:UpdateItem"]
                Resource: !GetAtt Table.Arn
                Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*", "B#*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}
              - {Sid: Find, Effect: Allow, Action: ["dynamodb:Query"], Resource: !Sub "${Table.Arn}/index/open"}
`)
	roles, err := rights.Read(tpl, cloudformation.Symbols{})
	if err != nil {
		t.Fatal(err)
	}
	role := roles["AFunction"]
	var uses []local.Use
	for _, u := range []rights.Use{
		{Action: "dynamodb:PutItem", Resource: "<Table.Arn>", Carried: map[string][]string{rights.LeadingKeys: {"E#evt_1"}}},
		{Action: "dynamodb:PutItem", Resource: "<Table.Arn>", Carried: map[string][]string{rights.LeadingKeys: {"C#t#e"}}},
		{Action: "dynamodb:UpdateItem", Resource: "<Table.Arn>"},
		{Action: "dynamodb:Query", Resource: "<Table.Arn>/index/list"},
		{Action: "dynamodb:Query", Resource: "<Table.Arn>/index/open"},
	} {
		uses = append(uses, local.Use{Use: u, Function: "a", Call: fmt.Sprintf("call %d", len(uses)), Allowed: role.Allows(u), Needs: role.Needs(u)})
	}
	found(t, overstepped(uses), "a (call 1): dynamodb:PutItem on <Table.Arn> C# is not allowed",
		"a (call 2): dynamodb:UpdateItem on <Table.Arn> is not allowed", "a (call 3): dynamodb:Query on <Table.Arn>/index/list is not allowed")
	found(t, idle(role, uses), "ARole Keep: dynamodb:PutItem <Table.Arn> B#*", "ARole Keep: dynamodb:UpdateItem <Table.Arn> E#*", "ARole Keep: dynamodb:UpdateItem <Table.Arn> B#*")
	if call := missed(rights.Role{}, "a", uses); call != "call 0" {
		t.Errorf("refused is %q", call)
	}
	if call := missed(role, "a", uses); call != "" {
		t.Errorf("refused is %q", call)
	}
}
