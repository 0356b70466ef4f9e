package parameters_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"
	"github.com/sivchari/kumo"

	"engang/shared/parameters"
	"engang/shared/secrets"
)

func engine(t *testing.T) aws.Config {
	t.Helper()
	srv := kumo.NewServer()
	t.Cleanup(srv.Close)
	return aws.Config{
		Region:       "eu-north-1",
		BaseEndpoint: &srv.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

func TestParametersOfTheOwnStackOnly(t *testing.T) {
	cfg := engine(t)
	mine, other := parameters.Open(cfg, "/engang/"+t.Name()), parameters.Open(cfg, "/engang/"+t.Name()+"-other/")
	put := func(s *parameters.Store, path, value string) {
		t.Helper()
		if err := s.Put(t.Context(), path, secrets.NewValue(value)); err != nil {
			t.Fatal(err)
		}
	}
	put(mine, "hooks/woo-shop/1", "replaced")
	put(mine, "hooks/woo-shop/1", "  kept as it is ")
	put(other, "hooks/woo-shop/2", "of another stack")

	got, err := mine.Parameters(t.Context(), []string{"hooks/woo-shop/1", "hooks/woo-shop/2", "hooks/woo-shop/1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || string(got["hooks/woo-shop/1"].Reveal()) != "  kept as it is " {
		t.Errorf("found %d parameters, want the one that exists, unchanged", len(got))
	}
}

// The store takes ten names a call.
func TestMoreParametersThanOneCallTakes(t *testing.T) {
	s := parameters.Open(engine(t), "/engang/"+t.Name())
	var paths []string
	for i := range 23 {
		paths = append(paths, fmt.Sprintf("hooks/many/%d", i))
		if err := s.Put(t.Context(), paths[i], secrets.NewValue(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Parameters(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		if string(got[path].Reveal()) != fmt.Sprint(i) {
			t.Errorf("%s was not found as it was put", path)
		}
	}
}

func TestNoPathsNoCall(t *testing.T) {
	s := parameters.Open(aws.Config{Region: "eu-north-1"}, "/engang/none") // no address, no credentials: any call fails
	if got, err := s.Parameters(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("Parameters = %v, %v", got, err)
	}
}

func TestStoreThatDoesNotAnswer(t *testing.T) {
	s := parameters.Open(aws.Config{Region: "eu-north-1", BaseEndpoint: aws.String("http://127.0.0.1:1"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} }}, "/engang/none")
	if _, err := s.Parameters(t.Context(), []string{"hooks/a/1"}); err == nil || !strings.HasPrefix(err.Error(), "get parameters") {
		t.Errorf("Parameters = %v", err)
	}
	if err := s.Put(t.Context(), "hooks/a/1", secrets.NewValue("hush")); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("Put = %v", err)
	}
	if _, err := s.Plain(t.Context(), "hooks/a/1"); err == nil {
		t.Error("Plain: encrypted is not the same as not knowing")
	}
	if _, err := s.Below(t.Context(), "hooks"); err == nil {
		t.Error("Below: none is not the same as not knowing")
	}
	if was, err := s.Remove(t.Context(), "hooks/a/1"); err == nil || was {
		t.Errorf("Remove = %v, %v", was, err)
	}
}

func TestOfTwoAtOnceOneIsRefused(t *testing.T) {
	s := parameters.Open(engine(t), "/engang/"+t.Name())
	if err := s.PutNew(t.Context(), "hooks/a/1", secrets.NewValue("first")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutNew(t.Context(), "hooks/a/1", secrets.NewValue("hush")); !errors.Is(err, parameters.ErrExists) || strings.Contains(err.Error(), "hush") {
		t.Errorf("PutNew = %v", err)
	}
	if got, err := s.Parameters(t.Context(), []string{"hooks/a/1"}); err != nil || string(got["hooks/a/1"].Reveal()) != "first" {
		t.Errorf("the first is gone: %v", err)
	}
}

// The store repeats a value that it does not like, in what it says about it.
func TestARefusalDoesNotRepeatTheSecret(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"ValidationException","message":"Value 'hush' at 'value' failed to satisfy constraint"}`)
	}))
	defer server.Close()
	s := parameters.Open(aws.Config{Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}, "/engang/none")
	err := s.Put(t.Context(), "hooks/a/1", secrets.NewValue("hush"))
	if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "ValidationException") {
		t.Errorf("Put = %v", err)
	}
	if _, ok := errors.AsType[smithy.APIError](err); !ok {
		t.Errorf("the caller cannot tell why: %v", err)
	}
}

// A fault of the store's own is told from a refusal, by its status where its code is new.
func TestAFaultOfTheStoreIsItsOwn(t *testing.T) {
	for status, want := range map[int]smithy.ErrorFault{http.StatusInternalServerError: smithy.FaultServer, http.StatusBadRequest: smithy.FaultUnknown} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"__type":"SomethingNew"}`)
		}))
		s := parameters.Open(aws.Config{Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			Retryer: func() aws.Retryer { return aws.NopRetryer{} }}, "/engang/none")
		e, ok := errors.AsType[smithy.APIError](s.Put(t.Context(), "hooks/a/1", secrets.NewValue("hush")))
		if !ok || e.ErrorFault() != want {
			t.Errorf("%d: %v", status, e)
		}
		server.Close()
	}
}

func TestWhatIsNotEncryptedIsKnown(t *testing.T) {
	cfg := engine(t)
	s, client := parameters.Open(cfg, "/engang/"+t.Name()), ssm.NewFromConfig(cfg)
	if err := s.Put(t.Context(), "hooks/a/1", secrets.NewValue("secret")); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]types.ParameterType{"hooks/a/2": types.ParameterTypeString, "hooks/a/3": types.ParameterTypeStringList} {
		if _, err := client.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("/engang/" + t.Name() + "/" + name), Value: aws.String("open"), Type: kind}); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{"hooks/a/1": false, "hooks/a/2": true, "hooks/a/3": true, "hooks/a/4": false} { // the last one is not there
		if got, err := s.Plain(t.Context(), path); err != nil || got != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}

func TestTheOperatorListsAndRemoves(t *testing.T) {
	cfg := engine(t)
	mine, other := parameters.Open(cfg, "/engang/"+t.Name()), parameters.Open(cfg, "/engang/"+t.Name()+"-other")
	for i := range 23 { // more than a page
		if err := mine.Put(t.Context(), fmt.Sprintf("hooks/many/%d", i), secrets.NewValue(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	for s, path := range map[*parameters.Store]string{mine: "models/openai", other: "hooks/many/1"} {
		if err := s.Put(t.Context(), path, secrets.NewValue("not asked for")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := mine.Below(t.Context(), "hooks")
	if err != nil || len(got) != 23 || string(got["hooks/many/22"].Reveal()) != "22" || string(got["hooks/many/1"].Reveal()) != "1" {
		t.Fatalf("found %d, %v", len(got), err)
	}
	if got, err := mine.Below(t.Context(), "targets"); err != nil || len(got) != 0 {
		t.Errorf("an empty folder: %d, %v", len(got), err)
	}
	for _, want := range []bool{true, false} { // the second time it is gone
		if was, err := mine.Remove(t.Context(), "hooks/many/1"); err != nil || was != want {
			t.Errorf("Remove = %v, %v", was, err)
		}
	}
	if got, err := mine.Parameters(t.Context(), []string{"hooks/many/1", "hooks/many/2"}); err != nil || len(got) != 1 {
		t.Errorf("left %d, %v", len(got), err)
	}
	if got, err := other.Parameters(t.Context(), []string{"hooks/many/1"}); err != nil || len(got) != 1 {
		t.Errorf("that of another stack is gone: %v", err)
	}
}
