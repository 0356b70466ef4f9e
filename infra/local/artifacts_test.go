package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"engang/infra/configfile"
	"engang/infra/local"
	"engang/infra/local/bootstrap"
	"engang/infra/local/invoke"
	"engang/infra/local/localtest"
)

// This test binary is a function's bootstrap where Lambda's environment says so: one that tells its environment.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(func(_ context.Context, e struct{ Get string }) (map[string]any, error) {
			told := map[string]any{"env": os.Environ()}
			if e.Get == "" {
				return told, nil
			}
			answer, err := http.Get(e.Get)
			if err != nil {
				return nil, err
			}
			defer answer.Body.Close()
			raw, err := io.ReadAll(answer.Body)
			told["got"] = string(raw)
			return told, err
		})
	}
	os.Exit(m.Run())
}

// artifacts is a folder in which this binary stands for every function.
func artifacts(t *testing.T) string {
	t.Helper()
	if bootstrap.Architecture() == "" {
		t.Skip("functions run on Linux alone, on arm64 or x86_64: nothing of them runs here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"Receiver", "Enrichment", "Reconciler", "Console"} {
		at := filepath.Join(folder, name+"Function")
		if err := errors.Join(os.Mkdir(at, 0o700), os.Symlink(self, filepath.Join(at, "bootstrap"))); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// environment is what a function of the system is told.
func environment(t *testing.T, s *local.System, function, event string) (env map[string]string, got string) {
	t.Helper()
	raw, err := s.Invoke(t.Context(), function, []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Env []string
		Got string
	}
	if err := json.Unmarshal(raw, &told); err != nil {
		t.Fatal(err)
	}
	env = map[string]string{}
	for _, v := range told.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env, told.Got
}

// The times that an environment says pass faster, in whole seconds; the lease stays longer than the work under it.
func TestABuiltFunctionIsToldWhatTheTemplateSays(t *testing.T) {
	t.Setenv("OF_THIS_PROGRAM", "yes")
	folder := artifacts(t)
	for _, c := range []struct {
		name  string
		o     local.Options
		times map[string]string
	}{
		{"as deployed", local.Options{Speed: 1}, map[string]string{"CALL_SECONDS": "75", "FINISH_SECONDS": "10", "LEASE_SECONDS": "100", "OPEN_AGE_SECONDS": "300", "SKEW_SECONDS": "5"}},
		{"faster", local.Options{}, map[string]string{"CALL_SECONDS": "2", "FINISH_SECONDS": "1", "LEASE_SECONDS": "4", "OPEN_AGE_SECONDS": "6", "SKEW_SECONDS": "1"}},
		{"the deadline of a real model stays", local.Options{Speed: 50, OpenAIKey: "sk-none"}, map[string]string{"CALL_SECONDS": "75", "FINISH_SECONDS": "1", "LEASE_SECONDS": "77"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Manual, c.o.Artifacts = true, folder
			s := localtest.Start(t, c.o)
			env, _ := environment(t, s, "enrichment", `{}`)
			for name, want := range c.times {
				if env[name] != want {
					t.Errorf("%s is %q, want %s", name, env[name], want)
				}
			}
			if env["TABLE_NAME"] != s.TableName() || env["WORK_QUEUE_URL"] != s.QueueURL("WorkQueue") || env["ATTEMPT_LIMIT"] != "5" || !strings.HasSuffix(env["AWS_LAMBDA_FUNCTION_NAME"], "-enrichmentfunction") || env["OF_THIS_PROGRAM"] != "" {
				t.Errorf("environment %v", env)
			}
			if free := env["HTTPS_PROXY"] == ""; free != (c.o.OpenAIKey != "") || !strings.HasSuffix(env["MODEL_BASE_URL"], "/model") {
				t.Errorf("models are at %q, with the proxy %q", env["MODEL_BASE_URL"], env["HTTPS_PROXY"])
			}
		})
	}
}

// Nothing leaves the machine that is not meant to: neither past the proxy's address nor through it.
func TestABuiltFunctionCallsTheEngineAlone(t *testing.T) {
	s := localtest.Start(t, local.Options{Manual: true, Artifacts: artifacts(t)})
	env, _ := environment(t, s, "receiver", `{}`)
	base := strings.TrimSuffix(env["AWS_ENDPOINT_URL"], "/aws")
	for _, address := range []string{base + "/elsewhere", base + "/awsx", "http://sender.example/aws/"} {
		_, got := environment(t, s, "receiver", `{"Get":"`+address+`"}`)
		if !strings.HasPrefix(got, "not from here") {
			t.Errorf("%s: %q", address, got)
		}
	}
	if _, err := s.Invoke(t.Context(), "receiver", []byte(`{"Get":"https://sender.example/aws/"}`)); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("over TLS: %v", err)
	}
	if env, _ := environment(t, s, "reconciler", `{}`); env["HTTPS_PROXY"] != "" {
		t.Errorf("the shops of a catch-up are behind %s", env["HTTPS_PROXY"])
	}
}

func TestWhatBuiltFunctionsCannotDo(t *testing.T) {
	folder := artifacts(t)
	for _, c := range []struct {
		name string
		o    local.Options
		is   error
		says string
	}{
		{"there are none", local.Options{Artifacts: t.TempDir()}, os.ErrNotExist, "Function"},
		{"their clock is their own", local.Options{Artifacts: folder, Now: time.Now}, nil, "clock"},
	} {
		s, err := local.Start(t.Context(), c.o)
		if err == nil {
			s.Close(t.Context())
		}
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	set, err := configfile.Read("../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range set.Common.Providers {
		p.BaseURL = "https://eu.example.com/v1"
		set.Common.Providers[name] = p
	}
	s := localtest.Start(t, local.Options{Manual: true, Artifacts: folder})
	if _, err := s.Apply(t.Context(), set); !errors.Is(err, local.ErrPastStub) {
		t.Errorf("a model beside the stub: %v", err)
	}
	if _, err := localtest.Start(t, local.Options{Manual: true}).Apply(t.Context(), set); err != nil {
		t.Errorf("with handlers in this process: %v", err)
	}
	if _, err := s.Invoke(t.Context(), "receiver", []byte(`[]`)); err == nil {
		t.Error("an event that is none was answered")
	} else if _, ours := errors.AsType[*invoke.FunctionError](err); !ours {
		t.Errorf("%T", err)
	}
}
