package doctor_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/doctor"
	"engang/infra/local/cloudformation"
)

// look looks the stack of an account over.
func look(t *testing.T, c *cloud) ([]doctor.Check, []doctor.Repair) {
	t.Helper()
	s := doctor.Stack{Stack: c.describe(t), Patience: 300 * time.Millisecond}
	return s.Look(t.Context())
}

func TestASoundStack(t *testing.T) {
	checks, repairs := look(t, newCloud(t))
	var got []string
	for _, c := range checks {
		if c.State != doctor.OK || c.Remedy != "" {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Name+": "+c.Text)
	}
	want := []string{
		"outputs: 8 outputs, version 1.2.3", "region: eu-north-1", "clock: this machine's clock is that of AWS, to 5.0 s", "alarms: basic, told to the address in AlarmEmail once it is confirmed", "table: my-stack-table", "indexes: list, open", "expiry: by expires_at",
		"recovery: to a point in time", "work queue: my-stack-work; 1 message waiting", "dead letters: my-stack-work-dead-letters; 0 messages waiting", "bucket: my-stack-bodies",
		"parameters: /engang/my-stack: 1 below hooks/, 1 below models/, 0 below targets/",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(repairs) != 0 {
		t.Errorf("%d repairs (-want +got):\n%s", len(repairs), diff)
	}
}

// A wrong is one thing that is wrong with a stack.
type wrong struct {
	name  string
	spoil func(*cloud)
	check string
	state doctor.State
	says  string
}

var wrongs = []wrong{
	{"an output is missing", func(c *cloud) { c.outputs = without(c.outputs, "Version") }, "outputs", doctor.Fault, "lacks Version: it was made from another version of the template"},
	{"its creation was undone", func(c *cloud) { c.status = "ROLLBACK_COMPLETE" }, "outputs", doctor.Fault, "ROLLBACK_COMPLETE"},
	{"its last change was undone", func(c *cloud) { c.status = "UPDATE_ROLLBACK_COMPLETE" }, "outputs", doctor.Note, "UPDATE_ROLLBACK_COMPLETE"},
	{"it is in another region", func(c *cloud) { c.home = "eu-west-1" }, "region", doctor.Fault, "looked for in eu-north-1, and the stack is in eu-west-1"},
	{"its queue is in another region", func(c *cloud) {
		c.outputs["WorkQueueUrl"] = strings.Replace(queues, "eu-north-1", "us-east-1", 1) + "my-stack-work"
	}, "region", doctor.Fault, "WorkQueueUrl is in us-east-1"},
	{"the clock is a little off", func(c *cloud) { c.date = noon.Add(-20 * time.Second) }, "clock", doctor.Note, "20s ahead of"},
	{"the clock is wrong", func(c *cloud) { c.date = noon.Add(3 * time.Minute) }, "clock", doctor.Fault, "3m0s behind that of AWS: from 5 minutes on signatures are refused"},
	{"nobody hears of alarms", func(c *cloud) { c.more["AlarmEmail"] = "" }, "alarms", doctor.Note, "nobody is named who hears of them"},
	{"there are no alarms", func(c *cloud) { c.more["Alarms"] = "none" }, "alarms", doctor.Note, "there are none"},
	{"alarms are told to another topic", func(c *cloud) { c.more["AlarmEmail"], c.more["AlarmTopicArn"] = "", "arn:aws:sns:eu-north-1:1:x" }, "alarms", doctor.OK, "the topic in AlarmTopicArn"},
	{"it is of a version without alarms", func(c *cloud) { delete(c.more, "Alarms") }, "alarms", doctor.Unchecked, "no parameter Alarms"},
	{"the table is gone", func(c *cloud) { c.reply["DescribeTable"] = refuses("ResourceNotFoundException") }, "table", doctor.Fault, "the table my-stack-table that the stack names is not in eu-north-1"},
	{"the table may not be seen", func(c *cloud) { c.reply["DescribeTable"] = refuses("AccessDeniedException") }, "table", doctor.NotAllowed, "AccessDeniedException"},
	{"the table is in the making", func(c *cloud) { c.change("DescribeTable", `"TableStatus":"ACTIVE"`, `"TableStatus":"UPDATING"`) }, "table", doctor.Fault, "UPDATING"},
	{"the table is another's", func(c *cloud) { c.change("DescribeTable", `"AttributeName":"pk"`, `"AttributeName":"id"`) }, "table", doctor.Fault, "its keys are id, sk and not pk, sk"},
	{"the table may be deleted", func(c *cloud) {
		c.change("DescribeTable", `"DeletionProtectionEnabled":true`, `"DeletionProtectionEnabled":false`)
	}, "table", doctor.Fault, "not protected against deletion"},
	{"an index is missing", func(c *cloud) { c.change("DescribeTable", openIndex+",", "") }, "indexes", doctor.Fault, "there is no index open: nothing that was lost on the way is found again"},
	{"an index has other keys", func(c *cloud) { c.change("DescribeTable", `"AttributeName":"ld"`, `"AttributeName":"day"`) }, "indexes", doctor.Fault, "the keys of index list are lq, day and not lq, ld"},
	{"an index is being filled", func(c *cloud) {
		c.change("DescribeTable", `"IndexName":"list","IndexStatus":"ACTIVE"`, `"IndexName":"list","IndexStatus":"CREATING"`)
	}, "indexes", doctor.Fault, "index list is CREATING: no list of events can be shown until it is active"},
	{"an index holds more", func(c *cloud) {
		c.change("DescribeTable", `"IndexName":"list","IndexStatus":"ACTIVE","Projection":{"ProjectionType":"KEYS_ONLY"}`, `"IndexName":"list","IndexStatus":"ACTIVE","Projection":{"ProjectionType":"ALL"}`)
	}, "indexes", doctor.Fault, "index list holds more than its keys"},
	{"nothing expires", func(c *cloud) { c.change("DescribeTimeToLive", "ENABLED", "DISABLED") }, "expiry", doctor.Fault, "expiry is off"},
	{"something else expires", func(c *cloud) { c.change("DescribeTimeToLive", "expires_at", "ttl") }, "expiry", doctor.Fault, "by ttl and not by expires_at"},
	{"it cannot be restored", func(c *cloud) {
		c.change("DescribeContinuousBackups", `"PointInTimeRecoveryStatus":"ENABLED"`, `"PointInTimeRecoveryStatus":"DISABLED"`)
	}, "recovery", doctor.Fault, "point-in-time recovery is off"},
	{"a queue is gone", func(c *cloud) { c.reply["GetQueueAttributes work"] = refuses("QueueDoesNotExist") }, "work queue", doctor.Fault, "not in eu-north-1: my-stack-work"},
	{"nothing is set aside", func(c *cloud) { c.change("GetQueueAttributes work", "RedrivePolicy", "Other") }, "work queue", doctor.Fault, "comes again for ever"},
	{"it is set aside elsewhere", func(c *cloud) { c.change("GetQueueAttributes work", "my-stack-work-dead-letters", "other") }, "work queue", doctor.Fault, "not set aside in my-stack-work-dead-letters"},
	{"the queue gives up first", func(c *cloud) {
		c.change("GetQueueAttributes work", `\"maxReceiveCount\":20`, `\"maxReceiveCount\":\"5\"`)
	}, "work queue", doctor.Fault, "gives up after 5 receives"},
	{"a message comes too soon", func(c *cloud) { c.change("GetQueueAttributes work", "720", "60") }, "work queue", doctor.Fault, "comes again after 60 s, while it may be worked on for 120 s"},
	{"the queue gives up sooner than it should", func(c *cloud) {
		c.change("GetQueueAttributes work", `\"maxReceiveCount\":20`, `\"maxReceiveCount\":6`)
	}, "work queue", doctor.Fault, "gives up after 6 receives, and the template says 20"},
	{"a message comes sooner than it should", func(c *cloud) { c.change("GetQueueAttributes work", "720", "130") }, "work queue", doctor.Fault, "comes again after 130 s, and the template says 720"},
	{"messages lie open", func(c *cloud) {
		c.change("GetQueueAttributes work", `"SqsManagedSseEnabled":"true"`, `"SqsManagedSseEnabled":"false"`)
	}, "work queue", doctor.Fault, "not encrypted"},
	{"letters wait", func(c *cloud) { c.change("GetQueueAttributes dead", `"0"`, `"3"`) }, "dead letters", doctor.Note, "3 messages waiting"},
	{"letters lie open", func(c *cloud) { c.change("GetQueueAttributes dead", `"true"`, `"false"`) }, "dead letters", doctor.Fault, "not encrypted"},
	{"the bucket is gone", func(c *cloud) { c.reply["HEAD"] = reply{status: 404} }, "bucket", doctor.Fault, "my-stack-bodies that the stack names is not there"},
	{"the bucket may not be seen", func(c *cloud) { c.reply["HEAD"] = reply{status: 403} }, "bucket", doctor.NotAllowed, "Forbidden"},
	{"the parameter store is slow", func(c *cloud) { c.reply["DescribeParameters"] = reply{hang: true} }, "parameters", doctor.NoAnswer, "the parameter store: no answer within 300ms"},
	{"the parameter store cannot now", func(c *cloud) { c.reply["DescribeParameters"] = refuses("ThrottlingException") }, "parameters", doctor.NoAnswer, "cannot answer now"},
	{"the parameter store refuses", func(c *cloud) { c.reply["DescribeParameters"] = refuses("AccessDeniedException") }, "parameters", doctor.NotAllowed, "the parameter store: this identity may not look"},
	{"the parameter store refuses the clock", func(c *cloud) {
		c.reply["DescribeParameters"] = reply{status: 400, body: `{"__type":"InvalidSignatureException","message":"Signature expired: 20261129T120000Z is now earlier than 20261129T120500Z"}`}
	}, "parameters", doctor.Fault, "the parameter store: the clock of this machine is refused"},
	{"a page stands in place of the parameter store", func(c *cloud) { c.reply["DescribeParameters"] = reply{status: 502, body: "<html>"} }, "parameters", doctor.NoAnswer, "the parameter store: AWS says that it cannot answer now"},
	{"it is not understood", func(c *cloud) { c.reply["DescribeParameters"] = refuses("ValidationException") }, "parameters", doctor.Fault, "AWS refuses: ValidationException"},
	{"a secret lies open", func(c *cloud) {
		c.change("DescribeParameters", `models/openai","Type":"SecureString"`, `models/openai","Type":"String"`)
	}, "parameters", doctor.Fault, "not encrypted: models/openai"},
}

// Each fault is told by the check that it belongs to, by what it means, and all others stay sound.
func TestWhatIsWrongWithAStack(t *testing.T) {
	for _, c := range wrongs {
		t.Run(c.name, func(t *testing.T) {
			account := newCloud(t)
			c.spoil(account)
			checks, _ := look(t, account)
			i := slices.IndexFunc(checks, func(k doctor.Check) bool { return k.Name == c.check })
			if got := checks[i]; got.State != c.state || !strings.Contains(got.Text, c.says) || strings.Contains(got.Text, "hush") {
				t.Errorf("%+v", got)
			}
			for _, k := range checks {
				rests := c.check == "table" && k.State == doctor.Unchecked && k.Text == "the table was not seen"
				if k.Name != c.check && k.State != doctor.OK && !rests {
					t.Errorf("beside it: %+v", k)
				}
			}
		})
	}
}

func (c *cloud) change(action, from, to string) {
	r := c.reply[action]
	changed := strings.Replace(r.body, from, to, 1)
	if changed == r.body {
		panic("nothing is spoilt: " + from)
	}
	r.body = changed
	c.reply[action] = r
}

// What an output does not name cannot be looked at, and is not passed over in silence.
func TestChecksThatRestOnAMissingOutput(t *testing.T) {
	account := newCloud(t)
	account.outputs = without(account.outputs, "TableName", "WorkQueueUrl", "WorkDeadLetterQueueUrl", "BodiesBucket", "SecretPath")
	checks, _ := look(t, account)
	var unchecked []string
	for _, c := range checks {
		if c.State == doctor.Unchecked {
			unchecked = append(unchecked, c.Name)
		}
	}
	if diff := cmp.Diff([]string{"table", "indexes", "expiry", "recovery", "work queue", "dead letters", "bucket", "parameters"}, unchecked); diff != "" || checks[0].State != doctor.Fault {
		t.Errorf("%+v %s", checks[0], diff)
	}
	if len(account.asked) != 0 {
		t.Errorf("asked %v", account.asked)
	}
}

func TestWhatIsHarmlessIsMended(t *testing.T) {
	account := newCloud(t)
	account.change("DescribeTable", `"DeletionProtectionEnabled":true`, `"DeletionProtectionEnabled":false`)
	account.change("DescribeTimeToLive", "ENABLED", "DISABLED")
	account.change("DescribeContinuousBackups", `"PointInTimeRecoveryStatus":"ENABLED"`, `"PointInTimeRecoveryStatus":"DISABLED"`)
	account.reply["UpdateTable"], account.reply["UpdateTimeToLive"], account.reply["UpdateContinuousBackups"] = reply{body: "{}"}, reply{body: "{}"}, refuses("AccessDeniedException")
	checks, repairs := look(t, account)
	if slices.ContainsFunc(account.asked, func(a string) bool { return strings.HasPrefix(a, "Update") }) {
		t.Fatalf("a look changed something: %v", account.asked)
	}
	report := doctor.Report{Checks: checks}
	report.Mend(t.Context(), time.Second, repairs)
	states := map[string]doctor.State{}
	for _, c := range report.Checks {
		states[c.Name] = c.State
		if c.Name == "recovery" && !strings.Contains(c.Remedy, "could not be mended: this identity may not") {
			t.Errorf("%+v", c)
		}
	}
	want := map[string]doctor.State{"table": doctor.Fixed, "expiry": doctor.Fixed, "recovery": doctor.Fault}
	maps.DeleteFunc(states, func(name string, _ doctor.State) bool { return want[name] == "" })
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
}

// What is looked for is what the template makes.
func TestTheTemplateMakesWhatIsLookedFor(t *testing.T) {
	tpl, err := cloudformation.Read("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	property := func(id string, path ...string) any {
		t.Helper()
		v, err := tpl.Property(plain{}, id, path...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	keys := func(v any) (names []string) {
		for _, k := range v.([]any) {
			names = append(names, k.(map[string]any)["AttributeName"].(string))
		}
		return names
	}
	indexes := map[string][]string{}
	for _, i := range property("Table", "GlobalSecondaryIndexes").([]any) {
		i := i.(map[string]any)
		indexes[i["IndexName"].(string)] = keys(i["KeySchema"])
		if got := i["Projection"].(map[string]any)["ProjectionType"]; got != doctor.Projection {
			t.Errorf("%v holds %v", i["IndexName"], got)
		}
	}
	if diff := cmp.Diff(doctor.Indexes, indexes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(doctor.TableKeys, keys(property("Table", "KeySchema"))); diff != "" {
		t.Error(diff)
	}
	if got := property("Table", "TimeToLiveSpecification", "AttributeName"); got != doctor.Expiry {
		t.Errorf("expires by %v", got)
	}
	for path, want := range map[string]int{
		"EnrichmentFunction/Timeout": doctor.WorkerSeconds, "EnrichmentFunction/Environment/Variables/ATTEMPT_LIMIT": doctor.AttemptLimit,
		"WorkQueue/VisibilityTimeout": doctor.HiddenSeconds, "WorkQueue/RedrivePolicy/maxReceiveCount": doctor.ReceiveLimit,
	} {
		id, path, _ := strings.Cut(path, "/")
		if got, err := tpl.Number(plain{}, id, strings.Split(path, "/")...); err != nil || got != want {
			t.Errorf("%s is %d, %v", path, got, err)
		}
	}
}

// plain names what a template refers to as it does.
type plain struct{}

func (plain) Ref(id string) (string, error)             { return id, nil }
func (plain) Attribute(id, name string) (string, error) { return id + "." + name, nil }

var output = regexp.MustCompile(`(?m)^  (\w+):\n    (Condition:)?`)

func TestTheOutputsAreThoseOfTheTemplate(t *testing.T) {
	raw, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, outputs, _ := strings.Cut(string(raw), "\nOutputs:\n")
	var always []string
	for _, m := range output.FindAllStringSubmatch(outputs, -1) {
		if m[2] == "" {
			always = append(always, m[1])
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(doctor.Outputs)), slices.Sorted(slices.Values(always))); diff != "" {
		t.Errorf("(-looked for +made):\n%s", diff)
	}
}
