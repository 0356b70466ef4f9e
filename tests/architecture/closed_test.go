package architecture_test

import (
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
)

// closedRules applies the rules that are closed lists to the template as it is written.
func closedRules(t *testing.T, tpl *cloudformation.Template, words func(string) []string) []string {
	t.Helper()
	return slices.Concat(closedInBothForms(t, tpl), misstated(tpl), unset(tpl), unlogged(tpl, words), silent(tpl, words))
}

// closedInBothForms applies those that hold for what SAM makes of the template too.
func closedInBothForms(t *testing.T, tpl *cloudformation.Template) []string {
	t.Helper()
	return slices.Concat(misshapen(tpl), apart("a role", granted(tpl), listed(t)), opened(tpl), loggedByFront(tpl), mislaid(tpl), misnamed(tpl), apart("an alarm", ringing(tpl), rings))
}

func TestClosedListsFindWhatIsNotOnThem(t *testing.T) {
	good, words := read(t, "template.yaml"), written(t)
	none(t, closedRules(t, parse(t, good), words))
	for _, f := range slices.Concat(rightsFaults, doorFaults, frontFaults, storeAndQueueFaults, functionFaults, alarmFaults, shapeFaults) {
		t.Run(f.name, func(t *testing.T) {
			got := closedRules(t, parse(t, broken(t, f, good)), words)
			if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, f.says) }) {
				t.Errorf("found %q, want %q", got, f.says)
			}
		})
	}
}

// Of what SAM makes some has other names and other types: one copy with a fault of each kind shows that the rules see them.
func TestClosedListsHoldForWhatSAMMakes(t *testing.T) {
	none(t, closedInBothForms(t, parse(t, translated(t, read(t, "template.yaml")))))
	template := read(t, "template.yaml")
	for _, f := range []fault{
		{name: "an address of a function's own", old: "      Timeout: 10\n", new: "      Timeout: 10\n      FunctionUrlConfig: {AuthType: NONE}\n"},
		{name: "a role of SAM's own", old: "      Role: !GetAtt ConsoleRole.Arn\n"},
		{name: "a schedule of the same name in each stack", old: "            OmitName: true", new: "            #"},
		{name: "an address in the log", old: `"error":"$context`, new: `"from":"$context.identity.sourceIp","error":"$context`},
		{name: "a role for everybody", old: "Principal: {Service: lambda.amazonaws.com}", new: `Principal: {AWS: "*"}`},
		{name: "a queue for everybody", old: "            Effect: Deny\n            Principal: \"*\"\n            Action: \"sqs:*\"", new: "            Effect: Allow\n            Principal: \"*\"\n            Action: \"sqs:*\""},
	} {
		template = broken(t, f, template)
	}
	got := closedInBothForms(t, parse(t, translated(t, template)))
	for _, want := range []string{
		"the template has and should not: 1 AWS::Lambda::Url", "the template has and should not: 6 AWS::IAM::Role",
		"a function has and should not: ReceiverFunctionUrlPublicPermissions: {Action: lambda:InvokeFunctionUrl, FunctionName: <ReceiverFunction>, FunctionUrlAuthType: NONE, Principal: *",
		"a role has and should not: ConsoleFunctionRole has ManagedPolicyArns", "Name of ReconcilerFunctionMinute is ReconcilerFunctionMinute in each stack",
		"a line of the gateway has and should not: from: $context.identity.sourceIp", "a role has and should not: ReceiverRole is for: Allow sts:AssumeRole to {AWS: *}",
		"a policy of a resource has and should not: WorkQueuePolicy of [<WorkQueue>]: Allow sqs:* to * on <WorkQueue.Arn>",
	} {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}
