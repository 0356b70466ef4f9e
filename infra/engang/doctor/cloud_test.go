package doctor_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/engang/stack"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A reply is what a service answers to one action.
type reply struct {
	status int // zero: 200
	body   string
	hang   bool
}

// A cloud is an account of AWS with one stack in it, whose services answer as told.
type cloud struct {
	mu      sync.Mutex
	outputs map[string]string
	more    map[string]string // parameters of the stack
	home    string
	status  string
	date    time.Time
	reply   map[string]reply // by action: "DescribeTable"
	asked   []string
}

const queues = "https://sqs.eu-north-1.amazonaws.com/123456789012/"

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{
		home: "eu-north-1", status: "CREATE_COMPLETE", date: noon, more: map[string]string{"ModelConcurrency": "5", "ModelBaseUrl": "https://api.openai.com/v1", "Alarms": "basic", "AlarmEmail": "ops@example.com", "AlarmTopicArn": ""},
		outputs: map[string]string{
			"HooksUrl": "https://a1.execute-api.eu-north-1.amazonaws.com/hooks", "ApiUrl": "https://a1.execute-api.eu-north-1.amazonaws.com/api", "TableName": "my-stack-table",
			"BodiesBucket": "my-stack-bodies", "WorkQueueUrl": queues + "my-stack-work", "WorkDeadLetterQueueUrl": queues + "my-stack-work-dead-letters", "SecretPath": "/engang/my-stack", "Version": "1.2.3",
		},
		reply: map[string]reply{
			"DescribeTable":                     {body: table},
			"DescribeTimeToLive":                {body: `{"TimeToLiveDescription":{"AttributeName":"expires_at","TimeToLiveStatus":"ENABLED"}}`},
			"DescribeContinuousBackups":         {body: `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`},
			"GetQueueAttributes work":           {body: workQueue},
			"GetQueueAttributes dead":           {body: `{"Attributes":{"SqsManagedSseEnabled":"true","ApproximateNumberOfMessages":"0"}}`},
			"DescribeParameters":                {body: parameters},
			"HEAD":                              {},
			"GET /2016-08-19/account-settings/": {body: `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":990}}`},
		},
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_MAX_ATTEMPTS": "1",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return c
}

const (
	table = `{"Table":{"TableName":"my-stack-table","TableStatus":"ACTIVE","DeletionProtectionEnabled":true,"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"GlobalSecondaryIndexes":[` +
		openIndex + `,{"IndexName":"list","IndexStatus":"ACTIVE","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[{"AttributeName":"lq","KeyType":"HASH"},{"AttributeName":"ld","KeyType":"RANGE"}]}]}}`
	openIndex  = `{"IndexName":"open","IndexStatus":"ACTIVE","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[{"AttributeName":"oq","KeyType":"HASH"},{"AttributeName":"od","KeyType":"RANGE"}]}`
	workQueue  = `{"Attributes":{"VisibilityTimeout":"720","SqsManagedSseEnabled":"true","ApproximateNumberOfMessages":"1","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-north-1:123456789012:my-stack-work-dead-letters\",\"maxReceiveCount\":20}"}}`
	parameters = `{"Parameters":[{"Name":"/engang/my-stack/hooks/woo-shop/1","Type":"SecureString"},{"Name":"/engang/my-stack/models/openai","Type":"SecureString"}]}`
)

// ServeHTTP answers for every service.
func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Date", c.date.Format(http.TimeFormat))
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case strings.Contains(string(body), "Action=DescribeStacks"):
		io.WriteString(w, c.stack())
		return
	case action == "" && r.Method == http.MethodHead:
		action = "HEAD"
	case action == "":
		action = r.Method + " " + r.URL.Path
	case action == "GetQueueAttributes" && strings.Contains(string(body), "dead-letters"):
		action += " dead"
	case action == "GetQueueAttributes":
		action += " work"
	}
	c.asked = append(c.asked, action)
	answer, ok := c.reply[action]
	if !ok {
		answer = reply{status: http.StatusBadRequest, body: `{"__type":"NotHere"}`}
	}
	if answer.hang {
		c.mu.Unlock()
		<-r.Context().Done()
		c.mu.Lock()
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if answer.status != 0 {
		w.WriteHeader(answer.status)
	}
	io.WriteString(w, answer.body)
}

func (c *cloud) stack() string {
	var b strings.Builder
	b.WriteString(`<R><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:` + c.home + `:123456789012:stack/my-stack/1</StackId><StackStatus>` + c.status + `</StackStatus><Outputs>`)
	for name, value := range c.outputs {
		b.WriteString(`<member><OutputKey>` + name + `</OutputKey><OutputValue>` + value + `</OutputValue></member>`)
	}
	b.WriteString(`</Outputs><Parameters>`)
	for name, value := range c.more {
		b.WriteString(`<member><ParameterKey>` + name + `</ParameterKey><ParameterValue>` + value + `</ParameterValue></member>`)
	}
	return b.String() + `</Parameters></member></Stacks></DescribeStacksResult></R>`
}

func (c *cloud) describe(t *testing.T) *stack.Stack {
	t.Helper()
	s, err := stack.Describe(t.Context(), http.DefaultClient, "my-stack", func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refuses is an answer of AWS with a code.
func refuses(code string) reply {
	raw, _ := json.Marshal(map[string]string{"__type": "com.amazonaws#" + code, "message": "hush: a value"}) // two texts: it cannot fail
	return reply{status: http.StatusBadRequest, body: string(raw)}
}

// without is a copy of the outputs that lacks some.
func without(all map[string]string, names ...string) map[string]string {
	less := maps.Clone(all)
	for _, name := range names {
		delete(less, name)
	}
	return less
}
