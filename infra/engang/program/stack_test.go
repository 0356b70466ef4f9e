package program_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
)

// deployed is a stack whose API is canned, in an account of its own.
func deployed(t *testing.T) (*canned, *[]string) {
	api := serveCanned(t)
	var signed []string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.URL.Path+" "+r.Header.Get("Authorization"))
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	secrets := api.answer["/local/aws"].(client.Engine)
	store, err := url.Parse(secrets.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	toStore := httputil.NewSingleHostReverseProxy(store)
	formation := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AmazonSSM.") {
			toStore.ServeHTTP(w, r)
			return
		}
		io.WriteString(w, `<R><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:eu-north-1:123456789012:stack/my-stack/1</StackId><Outputs>`+
			`<member><OutputKey>ApiUrl</OutputKey><OutputValue>`+front.URL+`/api</OutputValue></member>`+
			`<member><OutputKey>SecretPath</OutputKey><OutputValue>`+secrets.SecretPath+`</OutputValue></member>`+
			`<member><OutputKey>HooksUrl</OutputKey><OutputValue>`+front.URL+`/hooks/</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></R>`)
	}))
	t.Cleanup(formation.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": formation.URL, "AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return api, &signed
}

func TestAStackIsSpokenToWithASignature(t *testing.T) {
	api, signed := deployed(t)
	code, stdout, stderr := run(t, t.Context(), "events", "--target", "my-stack", "--as", "ann")
	if code != 0 || !strings.Contains(stdout, "evt_aaaaaaaaaaaaaaaa") {
		t.Fatalf("exit %d %s%s", code, stdout, stderr)
	}
	if len(*signed) != 1 || !strings.Contains((*signed)[0], "/eu-north-1/execute-api/aws4_request") || api.as[0] != "" {
		t.Errorf("signed %v, as %v", *signed, api.as)
	}
}

func TestWritingToAStackIsAnnouncedAndConfirmed(t *testing.T) {
	api, _ := deployed(t)
	delivered := func() (n int) {
		for _, b := range api.bodies {
			if strings.Contains(b, "Mug") {
				n++
			}
		}
		return n
	}
	secret := []string{"send", "--target", "my-stack", "--secret-file", writeSecret(t)}
	const first = "stack my-stack, account 123456789012, region eu-north-1\n"
	for _, c := range []struct {
		name      string
		args      []string
		confirm   func(context.Context, string) bool
		code      int
		delivered int
	}{
		{"in a script without --yes", secret, nil, 2, 0},
		{"a person says no", secret, func(context.Context, string) bool { return false }, 2, 0},
		{"a person says yes", secret, func(context.Context, string) bool { return true }, 0, 1},
		{"with --yes", append(secret, "--yes"), nil, 0, 2},
	} {
		code, _, stderr := runIn(t.Context(), func(e *program.Env) { e.Args, e.Now, e.Confirm = c.args, time.Now, c.confirm })
		if code != c.code || !strings.HasPrefix(stderr, first) || delivered() != c.delivered {
			t.Errorf("%s: exit %d, %d delivered, %s", c.name, code, delivered(), stderr)
		}
	}
}
