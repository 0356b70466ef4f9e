package stack_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"engang/infra/engang/stack"
)

const described = `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>
<StackId>arn:aws:cloudformation:eu-north-1:123456789012:stack/engang/1</StackId>
<Outputs>
<member><OutputKey>ApiUrl</OutputKey><OutputValue>https://a.example.com/api</OutputValue></member>
<member><OutputKey>HooksUrl</OutputKey><OutputValue>https://a.example.com/hooks/</OutputValue></member>
<member><OutputKey>SecretPath</OutputKey><OutputValue>/engang/engang</OutputValue></member>
</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

// account is an AWS account whose CloudFormation answers as told.
func account(t *testing.T, status int, body string) (asked *http.Request, form *string) {
	asked, form = &http.Request{}, new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		*asked, *form = *r, string(raw)
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

func TestWhatIsNoStackOfOurs(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		is     error
	}{
		{"there is none", 400, `<ErrorResponse><Error><Message>Stack with id engang does not exist</Message></Error></ErrorResponse>`, stack.ErrNotFound},
		{"it is another's", 200, strings.ReplaceAll(described, "ApiUrl", "Other"), stack.ErrNotFound},
		{"this identity may not look", 403, "", stack.ErrNotAllowed},
		{"a fault of theirs", 500, "", nil},
		{"no XML", 200, "{", nil},
	} {
		account(t, c.status, c.body)
		if _, err := stack.Find(t.Context(), http.DefaultClient, "engang"); err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
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
