package settings_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"engang/shared/settings"
)

// lambda is what Lambda sets of AWS.
func lambda(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "the secret", "AWS_SESSION_TOKEN": "the token",
		"AWS_LAMBDA_FUNCTION_NAME": "receiver", "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", // there are none
	} {
		t.Setenv(name, value)
	}
}

// On Lambda it is what the SDK's own loader gives, field by field.
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
		if reflect.TypeOf(got.HTTPClient) != reflect.TypeOf(want.HTTPClient) {
			t.Errorf("HTTP client %T, want %T", got.HTTPClient, want.HTTPClient)
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
