// Package creation_test has CloudFormation create what SAM makes of the template, in moto: an account of AWS on this
// machine. What moto does not know is listed here by name, and nothing else may be missing. The operator program then
// looks the stack over, as it does with a real one.
package creation_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/program"
)

// Where moto answers, and the template as SAM has translated it.
const (
	motoAt     = "ENGANG_MOTO"
	translated = "ENGANG_TRANSLATED"
	region     = "eu-north-1"
)

// Types of resources that the CloudFormation of moto 5.2.5 does not make.
var lacking = []string{
	"AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::ApiMapping", "AWS::ApiGatewayV2::DomainName", "AWS::ApiGatewayV2::Stage", "AWS::CloudWatch::Alarm",
	"AWS::Lambda::EventInvokeConfig", "AWS::Logs::MetricFilter", "AWS::S3::BucketPolicy", "AWS::SNS::Subscription", "AWS::SNS::TopicPolicy",
	"AWS::SQS::QueuePolicy", "AWS::Scheduler::Schedule",
}

// The output that asks such a resource for an attribute: moto breaks off over it, so that it is left out.
const lackingOutput = "DomainTarget"

// Checks of the doctor for properties of the table that it passes over: TimeToLiveSpecification and
// PointInTimeRecoverySpecification. The doctor finds that, and can mend it.
var passedOver = []string{"expiry", "recovery"}

// every makes all conditions of the template true that can be at once.
var every = map[string]string{
	"DomainName": "hooks.example.invalid", "CertificateArn": "arn:aws:acm:eu-north-1:123456789012:certificate/1", "KmsKeyArn": "arn:aws:kms:eu-north-1:123456789012:key/1",
	"Alarms": "all", "AlarmEmail": "ops@example.com", "ReceiverReserved": "10", "Version": "1.2.3",
}

// An account is moto, with the translated template in one of its buckets.
type account struct {
	url      string
	template []byte
}

// open finds moto. In CI its absence fails the run.
func open(t *testing.T) *account {
	t.Helper()
	at, file := os.Getenv(motoAt), os.Getenv(translated)
	switch {
	case (at == "" || file == "") && os.Getenv("CI") == "true":
		t.Fatalf("%s and %s are not set: in CI the template must be created", motoAt, translated)
	case at == "" || file == "":
		t.Skipf("%s and %s name no moto and no translated template: .ci/run has both", motoAt, translated)
	case !filepath.IsAbs(file):
		file = filepath.Join("..", "..", file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": at, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return &account{at, without(t, raw, lackingOutput)}
}

// without leaves an output out.
func without(t *testing.T, template []byte, output string) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(template, &doc); err != nil {
		t.Fatal(err)
	}
	outputs, _ := doc["Outputs"].(map[string]any)
	if outputs[output] == nil {
		t.Fatalf("the template has no output %s: nothing is to be left out", output)
	}
	delete(outputs, output)
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// upload puts what the template's functions are made of where it says, and the template itself beside it.
func (a *account) upload(t *testing.T) {
	t.Helper()
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := "bucket"
	_, err = client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region}})
	if err != nil && !strings.Contains(err.Error(), "BucketAlreadyOwnedByYou") {
		t.Fatal(err)
	}
	var function bytes.Buffer
	archive := zip.NewWriter(&function)
	if _, err := archive.Create("bootstrap"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for key, raw := range map[string][]byte{"function.zip": function.Bytes(), "template.json": a.template} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(raw)}); err != nil {
			t.Fatal(err)
		}
	}
}

// call is one call of CloudFormation. Its client would be a dependency of its own for three calls.
func (a *account) call(t *testing.T, into any, action string, more url.Values) {
	t.Helper()
	form := url.Values{"Action": {action}, "Version": {"2010-05-15"}}
	maps.Copy(form, more)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20260101/"+region+"/cloudformation/aws4_request, SignedHeaders=host, Signature=0") // moto reads the service here
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", action, answer.StatusCode, raw, err)
	}
	if err := xml.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %s: %v", action, raw, err)
	}
}

// A resource is one that was made.
type resource struct {
	ID, Type, State string
}

// create has a stack created, and lists what was made.
func (a *account) create(t *testing.T, name string, parameters map[string]string) map[string]resource {
	t.Helper()
	a.upload(t)
	form := url.Values{"StackName": {name}, "TemplateURL": {"https://s3." + region + ".amazonaws.com/bucket/template.json"}, "Capabilities.member.1": {"CAPABILITY_IAM"}}
	for i, key := range slices.Sorted(maps.Keys(parameters)) {
		form.Set(fmt.Sprintf("Parameters.member.%d.ParameterKey", i+1), key)
		form.Set(fmt.Sprintf("Parameters.member.%d.ParameterValue", i+1), parameters[key])
	}
	var none struct{}
	a.call(t, &none, "CreateStack", form)
	t.Cleanup(func() { a.remove(t, name) })
	var list struct {
		Members []struct {
			LogicalResourceId, ResourceType, ResourceStatus string
		} `xml:"ListStackResourcesResult>StackResourceSummaries>member"`
	}
	a.call(t, &list, "ListStackResources", url.Values{"StackName": {name}})
	made := map[string]resource{}
	for _, m := range list.Members {
		if m.LogicalResourceId != "" { // what moto does not know has no name there
			made[m.LogicalResourceId] = resource{m.LogicalResourceId, m.ResourceType, m.ResourceStatus}
		}
	}
	return made
}

func (a *account) remove(t *testing.T, name string) {
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, a.url, strings.NewReader(url.Values{"Action": {"DeleteStack"}, "Version": {"2010-05-15"}, "StackName": {name}}.Encode()))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20260101/"+region+"/cloudformation/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	answer.Body.Close()
}

// Every resource of the template is made, with every condition true, but for types that are listed here. Each is
// printed with its state.
func TestCloudFormationCreatesTheTemplate(t *testing.T) {
	a := open(t)
	made := a.create(t, "engang-every", every)
	var template struct {
		Resources map[string]struct{ Type string }
	}
	if err := json.Unmarshal(a.template, &template); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, id := range slices.Sorted(maps.Keys(template.Resources)) {
		typ := template.Resources[id].Type
		r, ok := made[id]
		switch {
		case ok && (r.State != "CREATE_COMPLETE" || r.Type != typ):
			t.Errorf("%s of type %s is %+v", id, typ, r)
		case !ok:
			missing = append(missing, typ)
			r.State = "not made: moto lacks the type"
		}
		t.Logf("%-32s %-36s %s", id, typ, r.State)
	}
	slices.Sort(missing)
	if diff := cmp.Diff(lacking, slices.Compact(missing)); diff != "" {
		t.Errorf("types that were not made (-known +now):\n%s", diff)
	}
	t.Logf("%d resources, %d of them made", len(template.Resources), len(made))
}

// here is an HTTP client that reaches this machine alone.
func here() *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err != nil || host != "127.0.0.1" {
			return nil, fmt.Errorf("%s is not on this machine", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// engang runs the operator program.
func engang(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	code = program.Run(t.Context(), program.Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &faults, Getenv: func(string) string { return "" },
		Now: time.Now, HTTP: here(), Command: "engang", Version: "test",
	})
	return code, out.String(), faults.String()
}

// states reads a report: the state of each check.
func states(t *testing.T, stdout string) map[string]string {
	t.Helper()
	var doc struct {
		Checks []struct{ Name, State, Text string }
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	all := map[string]string{}
	for _, c := range doc.Checks {
		all[c.Name] = c.State
	}
	return all
}

// The doctor reads outputs, table, indexes, queues and parameters of the stack that was made; finds what moto passed
// over, mends it, and passes then. Without --only it says that the API does not answer.
func TestTheDoctorLooksTheStackOver(t *testing.T) {
	a := open(t)
	a.create(t, "engang", map[string]string{"DomainName": every["DomainName"], "CertificateArn": every["CertificateArn"], "AlarmEmail": every["AlarmEmail"], "Version": "1.2.3"})
	if code, _, stderr := engang(t, "sk-0123456789abcdef0123456789abcdef", "secret", "set", "models/openai", "--target", "engang", "--yes"); code != 0 {
		t.Fatalf("secret set: exit %d %s", code, stderr)
	}
	stack := []string{"doctor", "--target", "engang", "--only", "stack"}
	code, stdout, stderr := engang(t, "", append(stack, "--json")...)
	found := states(t, stdout)
	for name, state := range found {
		if want := map[bool]string{true: "fault", false: "ok"}[slices.Contains(passedOver, name)]; state != want {
			t.Errorf("%s is %s, want %s", name, state, want)
		}
	}
	if code != 7 || len(found) != 12 {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := engang(t, "", append(stack, "--fix", "--yes")...); code != 0 {
		t.Fatalf("--fix: exit %d %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = engang(t, "", stack...)
	if code != 0 || !strings.Contains(stdout, "12 as they should be") || !strings.Contains(stdout, "/engang/engang: 0 below hooks/, 1 below models/") {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	t.Logf("\n%s", stdout)

	code, stdout, stderr = engang(t, "", "doctor", "--target", "engang", "--timeout", "20s")
	if code != 6 || !strings.Contains(stdout, "https://hooks.example.invalid/api: no answer") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if code, _, stderr := engang(t, "", "events", "--target", "engang"); code != 6 {
		t.Errorf("events: exit %d %s", code, stderr)
	}
	if code, _, stderr := engang(t, "", "doctor", "--target", "engang-elsewhere"); code != 3 || !strings.Contains(stderr, "no such stack") {
		t.Errorf("a stack that there is not: exit %d %s", code, stderr)
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	if code, _, stderr := engang(t, "", "doctor", "--target", "engang"); code != 3 || !strings.Contains(stderr, "eu-west-1") {
		t.Errorf("in another region: exit %d %s", code, stderr)
	}
}
