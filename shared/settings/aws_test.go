package settings_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"engang/shared/intake"
	"engang/shared/settings"
)

// lambda is what Lambda sets of AWS.
func lambda(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "the secret", "AWS_SESSION_TOKEN": "the token",
		"AWS_LAMBDA_FUNCTION_NAME": "receiver", "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_CA_BUNDLE": "", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", // there are none
	} {
		t.Setenv(name, value)
	}
}

// transport is a copy of what a configuration's clients send through.
func transport(t *testing.T, cfg aws.Config) *http.Transport {
	t.Helper()
	c, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	switch {
	case cfg.HTTPClient == nil: // then each client makes this one
		c = awshttp.NewBuildableClient()
	case !ok: // the clients would take it as it is
		t.Fatalf("HTTP client %T", cfg.HTTPClient)
	}
	if c.GetTimeout() != 0 {
		t.Errorf("whole calls may take %v", c.GetTimeout())
	}
	return c.GetTransport().Clone() // a clone has settled which protocols it speaks
}

// setOrNot takes any two functions for equal: what they do cannot be compared.
var setOrNot = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func },
	cmp.Comparer(func(a, b any) bool { return reflect.ValueOf(a).IsNil() == reflect.ValueOf(b).IsNil() }))

// On Lambda it is what the SDK's own loader gives, field by field, but for how long a connection is believed in.
func TestAWSIsWhatTheSDKLoads(t *testing.T) {
	for _, endpoint := range []string{"", "http://127.0.0.1:1"} {
		lambda(t)
		t.Setenv("AWS_ENDPOINT_URL", endpoint)
		r := settings.FromEnv()
		got := r.AWS()
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		want, err := config.LoadDefaultConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gotRole, err1 := got.Credentials.Retrieve(t.Context())
		wantRole, err2 := want.Credentials.Retrieve(t.Context())
		wantRole.Source = gotRole.Source
		if diff := cmp.Diff(wantRole, gotRole); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("credentials (-want +got):\n%s%v, %v", diff, err1, err2)
		}
		usual := transport(t, want)
		usual.IdleConnTimeout, usual.ResponseHeaderTimeout = 30*time.Second, 800*time.Millisecond // these two are our own
		if diff := cmp.Diff(usual, transport(t, got), cmpopts.IgnoreUnexported(http.Transport{}, tls.Config{}), setOrNot); diff != "" {
			t.Errorf("transport (-want +got):\n%s", diff)
		}
		// Where values come from, and what the SDK says by itself: nothing of a call goes to the log.
		got.Credentials, got.HTTPClient = nil, nil
		want.Credentials, want.HTTPClient, want.ConfigSources, want.Logger = nil, nil, nil, nil
		want.RestrictFilePermissions = "" // of downloads, which nobody makes
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("endpoint %q (-want +got):\n%s", endpoint, diff)
		}
	}
}

// A frozen environment wakes up to a dead connection, and whoever delivers waits: the call is made again while there
// is time to store.
func TestACallThatGetsNoAnswerIsMadeAgain(t *testing.T) {
	lambda(t)
	calls := make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls <- struct{}{}
		if len(calls) == 1 {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done() // until the caller hangs up
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		io.WriteString(w, `{"Attributes":{}}`)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	cfg := settings.FromEnv().AWS()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := sqs.NewFromConfig(cfg).GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(server.URL + "/0/work")}); err != nil || len(calls) != 2 {
		t.Errorf("%d calls, %v", len(calls), err)
	}
	const pause, answer = time.Second, 100 * time.Millisecond // the longest that the SDK waits before the second try, and what that takes
	if whole := transport(t, cfg).ResponseHeaderTimeout + pause + answer; whole > intake.UsualLimits.Stored {
		t.Errorf("two tries take %v, and a receiver stores within %v", whole, intake.UsualLimits.Stored)
	}
}

func TestAWSSaysAllThatIsMissing(t *testing.T) {
	r := settings.New(func(name string) (string, bool) {
		return map[string]string{"AWS_ENDPOINT_URL": "not an address"}[name], true
	})
	cfg := r.AWS()
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"} {
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "setting "+name+" is not") || strings.Contains(err.Error(), "not an address") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if aws.ToString(cfg.BaseEndpoint) != "not an address" {
		t.Errorf("endpoint %q", aws.ToString(cfg.BaseEndpoint))
	}
}
