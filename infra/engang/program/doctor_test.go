package program_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/config"
	"engang/shared/control"
)

// account is what the services of AWS answer about my-stack, by action.
var account = map[string]string{
	"DescribeTable": `{"Table":{"TableName":"my-stack-table","TableStatus":"ACTIVE","DeletionProtectionEnabled":true,"KeySchema":[{"AttributeName":"pk"},{"AttributeName":"sk"}],"GlobalSecondaryIndexes":[` +
		`{"IndexName":"open","IndexStatus":"ACTIVE","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[{"AttributeName":"oq"},{"AttributeName":"od"}]},{"IndexName":"list","IndexStatus":"ACTIVE","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[{"AttributeName":"lq"},{"AttributeName":"ld"}]}]}}`,
	"DescribeTimeToLive":                `{"TimeToLiveDescription":{"AttributeName":"expires_at","TimeToLiveStatus":"ENABLED"}}`,
	"DescribeContinuousBackups":         `{"ContinuousBackupsDescription":{"PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`,
	"GetQueueAttributes":                `{"Attributes":{"VisibilityTimeout":"720","SqsManagedSseEnabled":"true","ApproximateNumberOfMessages":"0","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-north-1:123456789012:my-stack-letters\",\"maxReceiveCount\":20}"}}`,
	"DescribeParameters":                `{"Parameters":[{"Name":"/engang/my-stack/hooks/woo-shop/1","Type":"SecureString"}]}`,
	"GetParameters":                     `{"Parameters":[{"Name":"/engang/my-stack/hooks/woo-shop/1","Type":"SecureString","Value":"local-woo-secret"}]}`,
	"UpdateTimeToLive":                  `{}`,
	"GET /2016-08-19/account-settings/": `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":1000}}`,
	"HEAD /my-stack-bodies":             ``,
}

// inAWS makes an account in which my-stack was deployed, with an API at an address. What is spoilt has another answer; an
// answer that is empty never comes, and one that begins with ! is a refusal's code.
func inAWS(t *testing.T, api string, spoilt map[string]string) (asked *[]string) {
	t.Helper()
	answers := maps.Clone(account)
	maps.Copy(answers, spoilt)
	outputs := map[string]string{
		"ApiUrl": api + "/api", "HooksUrl": api + "/hooks", "TableName": "my-stack-table", "BodiesBucket": "my-stack-bodies", "WorkQueueUrl": "https://sqs.eu-north-1.amazonaws.com/1/my-stack-work",
		"WorkDeadLetterQueueUrl": "https://sqs.eu-north-1.amazonaws.com/1/my-stack-letters", "SecretPath": "/engang/my-stack", "Version": "1.2.3",
	}
	if name, ok := spoilt["output"]; ok {
		delete(outputs, name)
	}
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Date", noon.Format(http.TimeFormat))
		if strings.Contains(string(body), "Action=DescribeStacks") {
			formation(w, outputs, answers["DescribeStacks"])
			return
		}
		_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if action == "" {
			action = r.Method + " " + r.URL.Path
		}
		*asked = append(*asked, action)
		answer, known := answers[action]
		switch code, refused := strings.CutPrefix(answer, "!"); {
		case refused || !known:
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"`+code+`"}`)
		case answer == "" && r.Method != http.MethodHead:
			<-r.Context().Done()
		default:
			io.WriteString(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_MAX_ATTEMPTS": "1",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return asked
}

// formation answers for CloudFormation: the stack, or a refusal in these words.
func formation(w http.ResponseWriter, outputs map[string]string, refusal string) {
	if refusal != "" {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "<ErrorResponse><Error><Message>"+refusal+"</Message></Error></ErrorResponse>")
		return
	}
	io.WriteString(w, `<R><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:eu-north-1:123456789012:stack/my-stack/1</StackId><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>`)
	for name, value := range outputs {
		io.WriteString(w, `<member><OutputKey>`+name+`</OutputKey><OutputValue>`+value+`</OutputValue></member>`)
	}
	io.WriteString(w, `</Outputs><Parameters><member><ParameterKey>ModelConcurrency</ParameterKey><ParameterValue>5</ParameterValue></member>`+
		`<member><ParameterKey>Alarms</ParameterKey><ParameterValue>basic</ParameterValue></member><member><ParameterKey>AlarmEmail</ParameterKey><ParameterValue>ops@example.com</ParameterValue></member></Parameters></member></Stacks></DescribeStacksResult></R>`)
}

// liveAPI is an API that has one endpoint applied.
func liveAPI(t *testing.T) *canned {
	t.Helper()
	api := serveCanned(t)
	api.answer["/api/version"] = map[string]string{"version": "1.2.3", "you": "arn:aws:iam::123456789012:user/ann"}
	api.answer["/api/config"] = control.Config{
		Kind: "config", Tenant: "shop", Environment: "test", Revision: 1, Common: control.Common{Common: config.Common{Providers: map[string]config.Provider{}}},
		Endpoints: []control.Endpoint{{Name: "woo-shop", Provider: "woocommerce", Secrets: []string{"ssm:hooks/woo-shop/1"}, Events: map[string]control.EventRule{"product.updated": {}}}},
	}
	return api
}

const (
	noIndex  = `{"Table":{"TableName":"my-stack-table","TableStatus":"ACTIVE","DeletionProtectionEnabled":true,"KeySchema":[{"AttributeName":"pk"},{"AttributeName":"sk"}]}}`
	noExpiry = `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`
)

func TestTheDoctorsReport(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		spoilt map[string]string
		code   int
	}{
		{"doctor", nil, nil, 0},
		{"doctor-stack", []string{"--only", "stack"}, nil, 0},
		{"doctor-faults", nil, map[string]string{"DescribeTable": noIndex, "output": "SecretPath", "DescribeTimeToLive": noExpiry}, 7},
		{"doctor-fixed", []string{"--only", "stack", "--fix", "--yes"}, map[string]string{"DescribeTimeToLive": noExpiry}, 0},
	} {
		for suffix, flags := range map[string][]string{"": nil, "-json": {"--json"}} {
			api := liveAPI(t)
			inAWS(t, api.url, c.spoilt)
			code, stdout, stderr := run(t, t.Context(), append(append([]string{"doctor", "--target", "my-stack"}, c.args...), flags...)...)
			if code != c.code {
				t.Errorf("%s: exit %d %s", c.name, code, stderr)
			}
			golden(t, c.name+suffix, strings.ReplaceAll(stdout, api.url, "http://API"))
		}
	}
}

// Each bad input ends with its own exit code, and says in words what is wrong.
func TestWhatTheDoctorMeets(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		spoilt map[string]string
		code   int
		says   string
	}{
		{"an output is missing", nil, map[string]string{"output": "TableName"}, 7, "the stack lacks TableName"},
		{"the table has no index", nil, map[string]string{"DescribeTable": noIndex}, 7, "there is no index open"},
		{"the parameter store is slow", []string{"--timeout", "100ms"}, map[string]string{"DescribeParameters": ""}, 6, "the parameter store: no answer within 100ms"},
		{"the parameter store refuses", nil, map[string]string{"DescribeParameters": "!AccessDeniedException"}, 5, "it needs ssm:DescribeParameters"},
		{"a fault counts for more than a refusal", nil, map[string]string{"DescribeParameters": "!AccessDeniedException", "DescribeTable": noIndex}, 7, "there is no index open"},
		{"the stack is in another region, or none", nil, map[string]string{"DescribeStacks": "Stack with id my-stack does not exist"}, 3, "no such stack: my-stack in eu-north-1; AWS_REGION or a profile says"},
		{"the clock is wrong", nil, map[string]string{"DescribeStacks": "Signature expired: 20261129T120000Z is now earlier than"}, 7, "the clock of this machine is 0s ahead of that of AWS, which refuses its signatures"},
		{"a part that there is not", []string{"--only", "api"}, nil, 2, "--only"},
		{"to mend is to write, and is asked for", []string{"--fix"}, map[string]string{"DescribeTimeToLive": noExpiry}, 2, "say --yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := inAWS(t, liveAPI(t).url, c.spoilt)
			code, stdout, stderr := run(t, t.Context(), append([]string{"doctor", "--target", "my-stack"}, c.args...)...)
			if code != c.code || !strings.Contains(stdout+stderr, c.says) {
				t.Errorf("exit %d %s%s", code, stdout, stderr)
			}
			for _, action := range *asked {
				if strings.HasPrefix(action, "Update") {
					t.Errorf("it did %s", action)
				}
			}
		})
	}
}

// A stack whose API is not there is looked over all the same, and said to be unanswered.
func TestTheDoctorWithoutTheAPI(t *testing.T) {
	inAWS(t, "http://127.0.0.1:1", nil)
	code, stdout, stderr := run(t, t.Context(), "doctor", "--target", "my-stack")
	if code != 6 || !strings.Contains(stdout, "no answer    api") || !strings.Contains(stdout, "http://127.0.0.1:1/api: no answer") || !strings.Contains(stdout, "ok           indexes") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, t.Context(), "doctor", "--target", "my-stack", "--only", "stack"); code != 0 {
		t.Errorf("--only stack: exit %d %s%s", code, stdout, stderr)
	}
}

func TestTheDoctorOnThisMachine(t *testing.T) {
	s := localtest.Start(t, local.Options{Manual: true})
	code, stdout, stderr := live(t, s, "doctor")
	for _, want := range []string{"ok           api       version dev; you are arn:aws:iam::000000000000:user/", "ok           config    shop/test, revision 1: 2 endpoints, 2 recipes", "ok           secrets", "not checked  models", "note         webhooks"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
	if code != 0 || stderr != "" {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, _, stderr := live(t, s, "doctor", "--only", "stack"); code != 2 || !strings.Contains(stderr, "no stack on this machine") {
		t.Errorf("exit %d %s", code, stderr)
	}
	code, stdout, _ = runIn(t.Context(), func(e *program.Env) {
		e.Args, e.Now = []string{"doctor", "--target", "http://127.0.0.1:1", "--timeout", "1s"}, time.Now
	})
	if code != 6 || !strings.Contains(stdout, "start it: engang local") {
		t.Errorf("nobody there: exit %d %s", code, stdout)
	}
}
