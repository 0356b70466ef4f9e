package stack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"engang/infra/engang/stack"
)

const described = `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>
<StackId>arn:aws:cloudformation:eu-north-1:123456789012:stack/engang/1</StackId>
<StackStatus>UPDATE_COMPLETE</StackStatus><Parameters><member><ParameterKey>ModelConcurrency</ParameterKey><ParameterValue>5</ParameterValue></member></Parameters><Outputs>
<member><OutputKey>ApiUrl</OutputKey><OutputValue>https://a.example.com/api</OutputValue></member>
<member><OutputKey>HooksUrl</OutputKey><OutputValue>https://a.example.com/hooks/</OutputValue></member>
<member><OutputKey>SecretPath</OutputKey><OutputValue>/engang/engang</OutputValue></member>
</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// account is an AWS account whose CloudFormation answers as told.
func account(t *testing.T, status int, body string) (asked *http.Request, form *string) {
	asked, form = &http.Request{}, new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		*asked, *form = *r, string(raw)
		w.Header().Set("Date", noon.Format(http.TimeFormat))
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return asked, form
}

func TestAStackIsFoundByItsOutputs(t *testing.T) {
	asked, form := account(t, 200, described)
	s, err := stack.Find(t.Context(), http.DefaultClient, "engang")
	if err != nil {
		t.Fatal(err)
	}
	if s.Account != "123456789012" || s.Region != "eu-north-1" || s.APIURL != "https://a.example.com/api" || s.HooksURL != "https://a.example.com/hooks/" || s.SecretPath != "/engang/engang" {
		t.Errorf("found %+v", s)
	}
	if !strings.Contains(*form, "Action=DescribeStacks") || !strings.Contains(*form, "StackName=engang") || !strings.Contains(asked.Header.Get("Authorization"), "/eu-north-1/cloudformation/aws4_request") {
		t.Errorf("asked %s with %s", *form, asked.Header.Get("Authorization"))
	}
	call, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.APIURL+"/events?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sign(call, nil); err != nil || !strings.Contains(call.Header.Get("Authorization"), "/eu-north-1/execute-api/aws4_request") {
		t.Errorf("signed %s, %v", call.Header.Get("Authorization"), err)
	}
}

// Each partition of AWS has a domain of its own, and the template is for all of them.
func TestEndpointsAreThoseOfTheRegionsPartition(t *testing.T) {
	for region, want := range map[string]string{
		"eu-north-1": "https://cloudformation.eu-north-1.amazonaws.com/", "us-gov-west-1": "https://cloudformation.us-gov-west-1.amazonaws.com/",
		"cn-north-1": "https://cloudformation.cn-north-1.amazonaws.com.cn/", "eusc-de-east-1": "https://cloudformation.eusc-de-east-1.amazonaws.eu/",
		"us-iso-east-1": "https://cloudformation.us-iso-east-1.c2s.ic.gov/", "xx-new-1": "https://cloudformation.xx-new-1.amazonaws.com/",
	} {
		if got := (&stack.Stack{Region: region}).Endpoint("cloudformation"); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}

func TestWhatIsNoStackOfOurs(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		is     error
	}{
		{"there is none", 400, `<ErrorResponse><Error><Message>Stack with id engang does not exist</Message></Error></ErrorResponse>`, stack.ErrNotFound},
		{"it is another's", 200, strings.NewReplacer("ApiUrl", "Other", "HooksUrl", "Another").Replace(described), stack.ErrNotFound},
		{"its API is not there", 200, strings.ReplaceAll(described, "ApiUrl", "Other"), stack.ErrOutput},
		{"its addresses are not there", 200, strings.ReplaceAll(described, "HooksUrl", "Other"), stack.ErrOutput},
		{"this identity may not look", 403, "", stack.ErrNotAllowed},
		{"a fault of theirs", 500, "", stack.ErrNoAnswer},
		{"too many look", 429, "", stack.ErrNoAnswer},
		{"what they do not understand", 400, "", nil},
		{"no XML", 200, "{", stack.ErrNoAnswer},
		{"a page of a network in between", 200, "<!doctype html><html><body><p>Sign in<br></body></html>", stack.ErrNoAnswer},
		{"such a page in XML", 200, "<html><body><p>Sign in</p></body></html>", stack.ErrNoAnswer},
	} {
		account(t, c.status, c.body)
		if _, err := stack.Find(t.Context(), http.DefaultClient, "engang"); err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An output that is missing is named, and so is where it is written how it comes back.
func TestAnOutputThatIsMissingIsNamed(t *testing.T) {
	for _, name := range []string{"ApiUrl", "HooksUrl"} {
		account(t, 200, strings.ReplaceAll(described, name, "Other"))
		_, err := stack.Find(t.Context(), http.DefaultClient, "engang")
		if want := "stack engang in eu-north-1: it has no output " + name + ": deploy it anew: infra/runbooks/upgrade.md"; err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a service says is sorted by its code, its words or its status, whichever says it.
func TestRefusalsOfAService(t *testing.T) {
	coded := func(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }
	status := func(code int, err error) error {
		return fmt.Errorf("call: %w", &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}}, Err: err})
	}
	for _, c := range []struct {
		name                   string
		err                    error
		identity, clock, later bool
	}{
		{"no right", coded("AccessDeniedException", "no"), true, false, false},
		{"a wrong key", coded("InvalidSignatureException", "does not match"), true, false, false},
		{"a wrong clock", coded("InvalidSignatureException", "Signature expired: 1 is now earlier than 2"), true, true, false},
		{"a wrong clock at a bucket", coded("RequestTimeTooSkewed", "The difference"), false, true, false},
		{"too many calls", coded("ThrottlingException", "slower"), false, false, true},
		{"a fault of theirs", status(500, coded("SomethingNew", "sorry")), false, false, true},
		{"a page in place of an answer", status(503, errors.New("invalid character '<'")), false, false, true},
		{"a fault of theirs without a status", &smithy.GenericAPIError{Code: "SomethingNew", Fault: smithy.FaultServer}, false, false, true},
		{"a wrong call", status(400, coded("ValidationException", "no")), false, false, false},
		{"no answer", errors.New("connection refused"), false, false, false},
	} {
		_, identity := stack.RefusesIdentity(c.err)
		if clock, later := stack.RefusesClock(c.err), stack.CannotNow(c.err); identity != c.identity || clock != c.clock || later != c.later {
			t.Errorf("%s: identity %v, clock %v, later %v", c.name, identity, clock, later)
		}
	}
}

func TestWithoutIdentityOrRegionNothingIsAsked(t *testing.T) {
	account(t, 200, described)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := stack.Find(t.Context(), http.DefaultClient, "engang"); !errors.Is(err, stack.ErrNotAllowed) {
		t.Errorf("no identity: %v", err)
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	if _, err := stack.Find(t.Context(), http.DefaultClient, "engang"); !errors.Is(err, stack.ErrNotAllowed) || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("no region: %v", err)
	}
}

func TestAllThatAStackSaysIsRead(t *testing.T) {
	account(t, 200, strings.ReplaceAll(described, "ApiUrl", "Other"))
	s, err := stack.Describe(t.Context(), http.DefaultClient, "engang", func() time.Time { return noon.Add(90 * time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	if s.Home != "eu-north-1" || s.Status != "UPDATE_COMPLETE" || s.Ahead != 90*time.Second || s.APIURL != "" || s.Outputs["Other"] != "https://a.example.com/api" || s.Parameters["ModelConcurrency"] != "5" {
		t.Errorf("described %+v", s)
	}
	if at := s.Endpoint("lambda"); at != *s.Config.BaseEndpoint+"/" {
		t.Errorf("lambda is at %s", at)
	}
	s.Config.BaseEndpoint = nil
	if at := s.Endpoint("lambda"); at != "https://lambda.eu-north-1.amazonaws.com/" {
		t.Errorf("lambda is at %s", at)
	}
	call, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint("lambda"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SignFor("lambda", call, nil); err != nil || !strings.Contains(call.Header.Get("Authorization"), "/eu-north-1/lambda/aws4_request") || call.Header.Get("X-Amz-Date") != "20261129T120130Z" {
		t.Errorf("signed %v, %v", call.Header, err)
	}
}

// A clock that is wrong by minutes is told as such: AWS says only that it does not take the signature.
func TestAClockThatAWSRefusesIsToldByHowMuch(t *testing.T) {
	for ahead, says := range map[time.Duration]string{6 * time.Minute: "6m0s ahead", -20 * time.Minute: "20m0s behind"} {
		for _, words := range []string{"Signature expired: 20261129T114000Z is now earlier", "Signature not yet current", "RequestTimeTooSkewed"} {
			account(t, 403, "<ErrorResponse><Error><Message>"+words+"</Message></Error></ErrorResponse>")
			_, err := stack.Describe(t.Context(), http.DefaultClient, "engang", func() time.Time { return noon.Add(ahead) })
			fault, ok := errors.AsType[*stack.ClockError](err)
			if !ok || fault.Ahead != ahead || !errors.Is(err, stack.ErrNotAllowed) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", words, err)
			}
		}
	}
}

func TestAServiceThatDoesNotAnswer(t *testing.T) {
	account(t, 200, described)
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Setenv("AWS_ENDPOINT_URL", gone.URL)
	if _, err := stack.Find(t.Context(), http.DefaultClient, "engang"); !errors.Is(err, stack.ErrNoAnswer) {
		t.Errorf("gone: %v", err)
	}
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection seen
		<-r.Context().Done()
	}))
	defer slow.Close()
	t.Setenv("AWS_ENDPOINT_URL", slow.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := stack.Find(ctx, http.DefaultClient, "engang"); !errors.Is(err, stack.ErrNoAnswer) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("slow: %v", err)
	}
}
