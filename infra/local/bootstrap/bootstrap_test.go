package bootstrap_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"engang/infra/local/bootstrap"
)

// asFunction is set where this test binary is to be a function's bootstrap: what it does is its value.
const asFunction = "ENGANG_TEST_AS_FUNCTION"

func TestMain(m *testing.M) {
	switch os.Getenv(asFunction) {
	case "":
		os.Exit(m.Run())
	case "exit":
		fmt.Fprintln(os.Stderr, "setting A is not set\nsetting B is not set")
		os.Exit(3)
	case "init error":
		refuseToBegin()
	case "sleep":
		time.Sleep(time.Minute)
	default:
		lambda.Start(function)
	}
}

// refuseToBegin says by the Runtime API that it cannot begin, as some runtimes do.
func refuseToBegin() {
	body := strings.NewReader(`{"errorType":"Runtime.NoSecret","errorMessage":"no secret"}`)
	answer, err := http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/init/error", "application/json", body)
	if err == nil {
		answer.Body.Close()
	}
	time.Sleep(time.Minute)
}

type order struct {
	Do    string `json:"do"`
	Bytes int    `json:"bytes"`
}

// function does as an event says.
func function(ctx context.Context, o order) (map[string]any, error) {
	switch o.Do {
	case "fail":
		return nil, errors.New("no luck")
	case "panic":
		panic("a bug")
	case "exit":
		os.Exit(4)
	case "wait":
		<-ctx.Done()
		time.Sleep(time.Minute) // it does not care for its deadline
	case "call":
		answer, err := http.Get(os.Getenv("CALLS"))
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		return map[string]any{"answer": string(raw), "status": answer.StatusCode}, err
	}
	fmt.Println("a line of the log")
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	return map[string]any{"request": lc.AwsRequestID, "arn": lc.InvokedFunctionArn, "left": time.Until(deadline).Seconds(), "env": os.Environ(), "blob": strings.Repeat("x", o.Bytes), "pid": os.Getpid()}, nil
}

// program is this test binary as a function.
func program(t *testing.T, does string) bootstrap.Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bootstrap.Program{Name: "sample", Path: self, Env: func(address string) []string {
		return []string{asFunction + "=" + does, "CALLS=http://" + address + "/calls/x"}
	}}
}

func start(t *testing.T, p bootstrap.Program) *bootstrap.Environment {
	t.Helper()
	e, err := p.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

type report struct {
	Request, ARN, Blob, Answer string
	Left                       float64
	Env                        []string
	PID, Status                int
}

func invoke(t *testing.T, e *bootstrap.Environment, o order) (r report, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	event, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := e.Invoke(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "req-1"}), event)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// locked is a log that several goroutines write.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestAProcessAnswersEvents(t *testing.T) {
	t.Setenv("OF_THIS_PROGRAM", "yes")
	var log locked
	p := program(t, "serve")
	p.Log = &log
	e := start(t, p)
	for range 2 {
		r, err := invoke(t, e, order{})
		if err != nil || r.Request != "req-1" || !strings.HasSuffix(r.ARN, ":function:sample") || r.Left < 10 || r.Left > 20 || r.PID != e.PID() {
			t.Fatalf("%+v, %v", r, err)
		}
		if slices.ContainsFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, "OF_THIS_PROGRAM=") }) {
			t.Error("it has this program's environment")
		}
		if !slices.Contains(r.Env, "_HANDLER=bootstrap") {
			t.Errorf("environment %q", r.Env)
		}
	}
	for log.String() != "a line of the log\na line of the log\n" {
		time.Sleep(time.Millisecond)
	}
}

func TestWhatBecomesOfAProcess(t *testing.T) {
	for _, c := range []struct {
		name  string
		do    order
		says  string
		ended bool
	}{
		{"an error of the handler keeps it", order{Do: "fail"}, "no luck", false},
		{"a panic ends it", order{Do: "panic"}, "a bug", true},
		{"it exits", order{Do: "exit"}, "status 4", true},
		{"an answer that is too large is refused", order{Bytes: 7 << 20}, "more than", true}, // the runtime gives up
	} {
		t.Run(c.name, func(t *testing.T) {
			e := start(t, program(t, "serve"))
			if _, err := invoke(t, e, order{}); err != nil { // what became of the second event is not told by the first one's poll
				t.Fatal(err)
			}
			_, err := invoke(t, e, c.do)
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, bootstrap.ErrEnded) != c.ended || e.Alive() == c.ended {
				t.Errorf("%v, alive %v", err, e.Alive())
			}
			if c.ended {
				return
			}
			if _, err := invoke(t, e, order{}); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// When the time is over, or its owner says so, the process is gone, whatever it does.
func TestAProcessIsKilled(t *testing.T) {
	e := start(t, program(t, "serve"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Invoke(ctx, []byte(`{"do":"wait"}`)); !errors.Is(err, context.DeadlineExceeded) || e.Alive() {
		t.Errorf("%v, alive %v", err, e.Alive())
	}
	if p, err := os.FindProcess(e.PID()); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Error("the process is still there")
	}
	if _, err := e.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, bootstrap.ErrEnded) {
		t.Errorf("a dead one took an event: %v", err)
	}
	e = start(t, program(t, "serve"))
	if used := e.Used(); used != 0 {
		t.Errorf("a process that goes on used %s in all", used)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil || e.Alive() || e.Used() <= 0 {
		t.Errorf("%v, alive %v, used %s", err, e.Alive(), e.Used())
	}
}

// As `sam build` and the README name the folder: from where one stands.
func TestAProcessIsStartedFromARelativeFolder(t *testing.T) {
	p := program(t, "echo")
	folder, name := filepath.Split(p.Path)
	t.Chdir(filepath.Dir(filepath.Clean(folder)))
	p.Path = filepath.Join(filepath.Base(folder), name)
	if e := start(t, p); !e.Alive() {
		t.Error("it is gone")
	}
}

func TestWhyAProcessDoesNotBegin(t *testing.T) {
	for _, c := range []struct {
		does string
		says []string
	}{
		{"exit", []string{"status 3", "setting A is not set\nsetting B is not set"}},
		{"init error", []string{"Runtime.NoSecret: no secret"}},
		{"sleep", []string{"canceled"}},
	} {
		t.Run(c.does, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if c.does == "sleep" {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			defer cancel()
			e, err := program(t, c.does).Start(ctx)
			fault, ok := errors.AsType[*bootstrap.StartError](err)
			if !ok || fault.Name != "sample" || e.Alive() {
				t.Fatalf("%v", err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in %v", text, err)
				}
			}
		})
	}
	p := program(t, "serve")
	p.Path = filepath.Join(t.TempDir(), "bootstrap")
	if _, err := p.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// What a process calls comes to its owner, who knows which event it works on.
func TestCallsOfAProcess(t *testing.T) {
	p := program(t, "serve")
	p.Calls = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, ctx := bootstrap.Current(r.Context())
		lc, _ := lambdacontext.FromContext(ctx)
		fmt.Fprintf(w, "%s for %s by %d", r.URL.Path, lc.AwsRequestID, e.PID())
	})
	e := start(t, p)
	if r, err := invoke(t, e, order{Do: "call"}); err != nil || r.Answer != fmt.Sprintf("/calls/x for req-1 by %d", e.PID()) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := invoke(t, start(t, program(t, "serve")), order{Do: "call"}); err != nil || r.Status != http.StatusNotFound {
		t.Errorf("without an owner: %+v, %v", r, err)
	}
	if e, ctx := bootstrap.Current(t.Context()); e != nil || ctx != nil {
		t.Errorf("no request of a process: %v, %v", e, ctx)
	}
}

// The Runtime API takes an answer once, and for the event that it gave out.
func TestTheRuntimeAPIRefusesWhatNobodyWaitsFor(t *testing.T) {
	p := program(t, "serve")
	var address string
	own := p.Env
	p.Env = func(at string) []string { address = at; return own(at) }
	e := start(t, p)
	if _, err := invoke(t, e, order{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"invocation/other/response": http.StatusBadRequest, "invocation/other/error": http.StatusBadRequest,
	} {
		answer, err := http.Post("http://"+address+"/2018-06-01/runtime/"+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}

func TestOnlyWhatRunsHereIsFound(t *testing.T) {
	if bootstrap.Architecture() == "" {
		t.Skip("no function runs on this machine: there is none to be found")
	}
	self, err := os.ReadFile(must(os.Executable()))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	put := func(resource string, raw []byte) {
		t.Helper()
		at := filepath.Join(folder, resource)
		if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, "bootstrap"), raw, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	put("Own", self)
	foreign := bytes.Clone(self)
	binary.LittleEndian.PutUint16(foreign[18:], 0xF3) // RISC-V: no function runs on it
	put("Foreign", foreign)
	put("Script", []byte("#!/bin/sh\n"))
	if path, err := bootstrap.Find(folder, "Own"); err != nil || path != filepath.Join(folder, "Own", "bootstrap") {
		t.Errorf("own: %q, %v", path, err)
	}
	if _, err := bootstrap.Find(folder, "Foreign"); !errors.Is(err, bootstrap.ErrForeign) || !strings.Contains(err.Error(), "Architecture="+bootstrap.Architecture()) {
		t.Errorf("another processor's: %v", err)
	}
	if _, err := bootstrap.Find(folder, "Script"); !errors.Is(err, bootstrap.ErrForeign) {
		t.Errorf("no program: %v", err)
	}
	if _, err := bootstrap.Find(folder, "Gone"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

func must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}
