package architecture_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"engang/infra/local/cloudformation"
)

// listed reads testdata/rights.txt. It is written by hand and not by a test: whoever changes a right changes the line
// too, and whoever reviews the change reads there who may do what.
func listed(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/rights.txt")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(raw), "\n"), func(line string) bool { return line == "" || strings.HasPrefix(line, "#") })
}

func TestRolesAllowWhatIsListed(t *testing.T) {
	none(t, apart("a role", granted(repositoryTemplate(t)), listed(t)))
}

// granted says in one line each who may take a role of a template, what the role allows, and what else gives rights. It
// leaves nothing out: what it does not know stands there as it is.
func granted(tpl *cloudformation.Template) []string {
	return inWays(tpl, func(r reader) (all []string) {
		for _, id := range keys(section(tpl, "Resources")) {
			switch typ := tpl.Type(id); {
			case typ == roleType:
				all = append(all, grantedBy(r, id)...)
			case strings.HasPrefix(typ, "AWS::IAM::"):
				all = append(all, fmt.Sprintf("%s is a %s: %s", id, typ, inLine(r.any(id))))
			}
		}
		return all
	})
}

func grantedBy(r reader, role string) []string {
	var all []string
	for _, name := range keys(r.any(role)) {
		switch name {
		case "AssumeRolePolicyDocument":
			all = append(all, lines(role+" is for", r.any(role, name))...)
		case "Policies":
			list, _ := r.any(role, name).([]any)
			for _, p := range list {
				p, _ := p.(map[string]any)
				all = append(all, lines(role+" may", p["PolicyDocument"])...)
			}
		default:
			all = append(all, fmt.Sprintf("%s has %s %s", role, name, inLine(r.any(role, name))))
		}
	}
	return all
}

// lines says each statement of a policy in one line. In another version of the language a statement means something else.
func lines(who string, document any) []string {
	doc, ok := document.(map[string]any)
	if !ok || fmt.Sprint(doc["Version"]) != "2012-10-17" || !slices.Equal(keys(doc), []string{"Statement", "Version"}) {
		return []string{who + ": " + inLine(document)}
	}
	list, ok := doc["Statement"].([]any)
	if !ok {
		list = []any{doc["Statement"]}
	}
	var all []string
	for _, s := range list {
		all = append(all, who+": "+line(s))
	}
	return all
}

// line says a statement, all of it but for its Sid, which means nothing.
func line(statement any) string {
	s, ok := statement.(map[string]any)
	if !ok {
		return inLine(statement)
	}
	said := fmt.Sprint(s["Effect"])
	for _, p := range []struct{ before, name string }{{"", "Action"}, {"to ", "Principal"}, {"on ", "Resource"}, {"if ", "Condition"}} {
		switch v := s[p.name].(type) {
		case nil:
		case map[string]any:
			said += " " + p.before + inLine(v)
		default:
			said += " " + p.before + strings.Join(cloudformation.Texts(v), " ")
		}
	}
	for _, name := range keys(s) {
		if !slices.Contains([]string{"Sid", "Effect", "Action", "Principal", "Resource", "Condition"}, name) {
			said += fmt.Sprintf(" and %s %s", name, inLine(s[name]))
		}
	}
	return said
}

func TestResourcesAnswerWhomTheyShould(t *testing.T) { none(t, opened(repositoryTemplate(t))) }

// answers says who is answered by what is stored and carried: nobody by its own policy but the alarms of the account, and
// nobody at all over a line that others can read.
var answers = []string{
	"BodiesPolicy of [<Bodies>]: " + denied("s3:*", "<Bodies.Arn>", "<Bodies.Arn>/*"),
	"WorkQueuePolicy of [<WorkQueue>]: " + denied("sqs:*", "<WorkQueue.Arn>"),
	"WorkDeadLetterQueuePolicy of [<WorkDeadLetterQueue>]: " + denied("sqs:*", "<WorkDeadLetterQueue.Arn>"),
	"AlarmTopicPolicy of [<AlarmTopic>]: " + denied("sns:Publish", "<AlarmTopic>"),
	"AlarmTopicPolicy of [<AlarmTopic>]: Allow sns:Publish to {Service: cloudwatch.amazonaws.com} on <AlarmTopic> if {StringEquals: {aws:SourceAccount: <AWS::AccountId>}}",
}

// denied is the statement that refuses everybody who comes without TLS.
func denied(action string, on ...string) string {
	return "Deny " + action + " to * on " + strings.Join(on, " ") + " if {Bool: {aws:SecureTransport: false}}"
}

// invoked says who may start functions, by what SAM makes of their routes: the gateway, and by their own path only.
var invoked = []string{
	"ReceiverFunctionHooksPermission: {Action: lambda:InvokeFunction, FunctionName: <ReceiverFunction>, Principal: apigateway.amazonaws.com, " +
		"SourceArn: arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<Api>/*/*/hooks/*}",
	"ConsoleFunctionApiPermission: {Action: lambda:InvokeFunction, FunctionName: <ConsoleFunction>, Principal: apigateway.amazonaws.com, " +
		"SourceArn: arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<Api>/*/*/api/*}",
}

// opened finds statements of policies of resources that are not those that are expected, and who may start a function
// beside the gateway. The template itself lets nobody start one.
func opened(tpl *cloudformation.Template) []string {
	policies := inWays(tpl, func(r reader) (all []string) {
		for typ, of := range map[string]string{"AWS::S3::BucketPolicy": "Bucket", queueType + "Policy": "Queues", "AWS::SNS::TopicPolicy": "Topics"} {
			for _, id := range tpl.OfType(typ) {
				all = append(all, lines(fmt.Sprintf("%s of %v", id, cloudformation.Texts(r.any(id, of))), r.any(id, "PolicyDocument"))...)
			}
		}
		return all
	})
	permissions := inWays(tpl, func(r reader) (all []string) {
		for _, id := range tpl.OfType("AWS::Lambda::Permission") {
			all = append(all, id+": "+inLine(r.any(id)))
		}
		return all
	})
	var may []string
	if len(tpl.OfType(lambdaType)) > 0 {
		may = invoked
	}
	return slices.Concat(apart("a policy of a resource", policies, answers), apart("a function", permissions, may))
}
