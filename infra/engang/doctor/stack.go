package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"engang/infra/engang/stack"
	"engang/infra/engang/text"
)

// Outputs are those that every stack of the template has, whatever its parameters.
var Outputs = []string{"HooksUrl", "ApiUrl", "TableName", "BodiesBucket", "WorkQueueUrl", "WorkDeadLetterQueueUrl", "SecretPath", "Version"}

// How far this machine's clock may be from that of AWS: from worthALook on it is told, and from wrongClock on a fault.
// Signatures of AWS and of most senders are refused from five minutes on.
const (
	worthALook = 5 * time.Second
	wrongClock = time.Minute
)

// A Stack is a stack that is looked over by the operator's own rights.
type Stack struct {
	*stack.Stack
	Patience time.Duration // longest wait for one answer

	checks  []Check
	repairs []Repair
}

// Look looks at outputs, alarms, table, indexes, queues, bucket and parameters. It returns what was found, and what can be
// mended of it. It fails in no other way than by what the checks say.
func (s *Stack) Look(ctx context.Context) ([]Check, []Repair) {
	s.checks, s.repairs = nil, nil
	s.outputs()
	s.region()
	s.clock()
	s.alarms()
	s.with("TableName", []string{"table", "indexes", "expiry", "recovery"}, func(name string) { s.table(ctx, name) })
	s.with("WorkQueueUrl", []string{"work queue"}, func(address string) { s.workQueue(ctx, address) })
	s.with("WorkDeadLetterQueueUrl", []string{"dead letters"}, func(address string) { s.deadLetters(ctx, address) })
	s.with("BodiesBucket", []string{"bucket"}, func(name string) { s.bucket(ctx, name) })
	s.with("SecretPath", []string{"parameters"}, func(path string) { s.parameters(ctx, path) })
	return s.checks, s.repairs
}

func (s *Stack) add(c Check) { s.checks = append(s.checks, c) }

func (s *Stack) ok(name, text string) { s.add(Check{Name: name, State: OK, Text: text}) }

func (s *Stack) fault(name, text, remedy string) {
	s.add(Check{Name: name, State: Fault, Text: text, Remedy: remedy})
}

// with looks at what an output names.
func (s *Stack) with(output string, checks []string, look func(string)) {
	if value := s.Outputs[output]; value != "" {
		look(value)
		return
	}
	for _, name := range checks {
		s.add(Check{Name: name, State: Unchecked, Text: "the stack has no output " + output})
	}
}

func (s *Stack) outputs() {
	var missing []string
	for _, name := range Outputs {
		if s.Stack.Outputs[name] == "" {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) > 0:
		s.fault("outputs", "the stack lacks "+strings.Join(missing, ", ")+": it was made from another version of the template, or is not engang's", stack.DeployAnew)
	case strings.HasSuffix(s.Status, "_FAILED"), strings.Contains(s.Status, "DELETE"), s.Status == "ROLLBACK_COMPLETE":
		s.fault("outputs", "the stack is "+s.Status, "look at its events in CloudFormation, then "+stack.DeployAnew)
	case strings.HasSuffix(s.Status, "_IN_PROGRESS"), strings.Contains(s.Status, "ROLLBACK"):
		s.add(Check{Name: "outputs", State: Note, Text: text.Count(len(s.Stack.Outputs), "output", "outputs") + "; the stack is " + s.Status})
	default:
		s.ok("outputs", text.Count(len(s.Stack.Outputs), "output", "outputs")+", version "+s.Stack.Outputs["Version"])
	}
}

var regionIn = regexp.MustCompile(`^https://(?:sqs|[a-z0-9]+\.execute-api)\.([a-z]{2}(?:-[a-z]+)+-\d)\.`)

// region holds every region that the stack names against the one that is asked in.
func (s *Stack) region() {
	places := map[string]string{"the stack": s.Home}
	for _, output := range []string{"ApiUrl", "WorkQueueUrl", "WorkDeadLetterQueueUrl"} {
		if m := regionIn.FindStringSubmatch(s.Stack.Outputs[output]); m != nil {
			places[output] = m[1]
		}
	}
	var others []string
	for what, region := range places {
		if region != "" && region != s.Region {
			others = append(others, what+" is in "+region)
		}
	}
	if slices.Sort(others); len(others) > 0 {
		s.fault("region", fmt.Sprintf("it is looked for in %s, and %s", s.Region, strings.Join(others, ", ")), "set AWS_REGION, or the profile, to the stack's own region, and no endpoint of another one")
		return
	}
	s.ok("region", s.Region)
}

func (s *Stack) clock() {
	ahead := s.Ahead.Abs()
	side := "ahead of"
	if s.Ahead < 0 {
		side = "behind"
	}
	differs := fmt.Sprintf("this machine's clock is %s %s that of AWS", ahead, side)
	switch {
	case ahead >= wrongClock:
		s.fault("clock", differs+": from 5 minutes on signatures are refused", "set the clock of this machine")
	case ahead >= worthALook:
		s.add(Check{Name: "clock", State: Note, Text: differs, Remedy: "set the clock of this machine"})
	default:
		s.ok("clock", "this machine's clock is that of AWS, to "+text.Duration(worthALook))
	}
}

// alarms looks whom they are told to, by what the stack was deployed with. Whoever has subscribed by hand is not seen.
func (s *Stack) alarms() {
	switch level, known := s.Parameters["Alarms"]; {
	case !known:
		s.add(Check{Name: "alarms", State: Unchecked, Text: "the stack has no parameter Alarms"})
	case level == "none":
		s.add(Check{Name: "alarms", State: Note, Text: "there are none: the stack was deployed with Alarms=none", Remedy: "deploy it with Alarms=basic, and an address in AlarmEmail"})
	case s.Parameters["AlarmEmail"] == "" && s.Parameters["AlarmTopicArn"] == "":
		s.add(Check{Name: "alarms", State: Note, Text: "nobody is named who hears of them: they reach only who has subscribed to their topic by hand", Remedy: "deploy it with an address in AlarmEmail, or a topic of yours in AlarmTopicArn"})
	case s.Parameters["AlarmTopicArn"] != "":
		s.ok("alarms", level+", told to the topic in AlarmTopicArn")
	default:
		s.ok("alarms", level+", told to the address in AlarmEmail once it is confirmed")
	}
}

func (s *Stack) bucket(ctx context.Context, name string) {
	client := s3.NewFromConfig(s.Config, func(o *s3.Options) { o.UsePathStyle = s.Config.BaseEndpoint != nil })
	_, err := ask(ctx, s.Patience, func(ctx context.Context) (*s3.HeadBucketOutput, error) {
		return client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
	})
	switch {
	case isCode(err, "NotFound", "NoSuchBucket"):
		s.fault("bucket", "the bucket "+name+" that the stack names is not there: bodies over 16 KB cannot be kept", stack.DeployAnew)
	case err != nil:
		s.add(failed("bucket", "s3:ListBucket", err))
	default:
		s.ok("bucket", name)
	}
}

// parameters looks at which secrets there are. Their values stay where they are, encrypted or not.
func (s *Stack) parameters(ctx context.Context, path string) {
	type counted struct {
		folders map[string]int
		open    []string
	}
	found, err := ask(ctx, s.Patience, func(ctx context.Context) (counted, error) {
		c := counted{folders: map[string]int{}}
		pages := ssm.NewDescribeParametersPaginator(ssm.NewFromConfig(s.Config), &ssm.DescribeParametersInput{
			ParameterFilters: []types.ParameterStringFilter{{Key: aws.String("Path"), Option: aws.String("Recursive"), Values: []string{path}}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return c, err
			}
			for _, p := range page.Parameters {
				own := strings.TrimPrefix(aws.ToString(p.Name), path+"/")
				folder, _, _ := strings.Cut(own, "/")
				c.folders[folder]++
				if p.Type != types.ParameterTypeSecureString {
					c.open = append(c.open, own)
				}
			}
		}
		return c, nil
	})
	switch {
	case err != nil:
		c := failed("parameters", "ssm:DescribeParameters", err)
		c.Text = "the parameter store: " + c.Text
		s.add(c)
	case len(found.open) > 0:
		s.fault("parameters", "not encrypted: "+strings.Join(found.open, ", "), "put each anew as a SecureString: engang secret set NAME --replace, with the same secret or another one")
	default:
		var parts []string
		for _, folder := range []string{"hooks", "models", "targets"} {
			parts = append(parts, fmt.Sprintf("%d below %s/", found.folders[folder], folder))
		}
		s.ok("parameters", path+": "+strings.Join(parts, ", "))
	}
}
