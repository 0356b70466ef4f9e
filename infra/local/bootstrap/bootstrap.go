// Package bootstrap runs built functions, as they are deployed, against a Lambda Runtime API of its own over HTTP:
// each execution environment is a process that asks for events, and nothing of this program is in it.
//
// The Runtime API is that of Lambda, version 2018-06-01: invocation/next, response, error, and init/error. What a
// process calls outside (AWS, models) can be carried by the caller's own handler, and a crash is a SIGKILL.
package bootstrap

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ErrForeign says that a file is no program for this machine.
var ErrForeign = errors.New("not built for this machine")

// ErrEnded says that the process of an environment ended: it takes no event any more.
var ErrEnded = errors.New("the process ended")

// startLimit is how long a process may take until it asks for its first event, as on Lambda.
const startLimit = 10 * time.Second

// machines are the processors that a Lambda function can be built for.
var machines = map[string]struct {
	machine elf.Machine
	lambda  string // as the template's parameter Architecture names it
}{
	"amd64": {elf.EM_X86_64, "x86_64"},
	"arm64": {elf.EM_AARCH64, "arm64"},
}

// Architecture is how Lambda names the processor of this machine, or "" where no function runs on it.
func Architecture() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	return machines[runtime.GOARCH].lambda
}

// Find gives the bootstrap of a function ("ReceiverFunction") below the folder that `sam build` fills. It returns
// an error that wraps [os.ErrNotExist] where there is none, and [ErrForeign] where it would not run here.
func Find(folder, resource string) (string, error) {
	path := filepath.Join(folder, resource, "bootstrap")
	file, err := elf.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("find %s: %w", resource, err)
	case err != nil:
		return "", fmt.Errorf("read %s: %w: no program for Linux", path, ErrForeign)
	}
	defer file.Close()
	switch want := Architecture(); {
	case want == "":
		return "", fmt.Errorf("run %s: %w: functions run on Linux alone, on %s or %s", path, ErrForeign, machines["amd64"].lambda, machines["arm64"].lambda)
	case file.Machine != machines[runtime.GOARCH].machine:
		return "", fmt.Errorf("run %s: %w: build it with Architecture=%s", path, ErrForeign, want)
	}
	return path, nil
}

// A Program is one built function. It does not change once it was started.
type Program struct {
	Name string // as the API calls it, in ARNs and in errors
	Path string // of its bootstrap

	// Env is the environment of the process, all of it but for the address of the Runtime API. It is told that
	// address ("127.0.0.1:9001"): what is not the Runtime API's there goes to Calls. May be nil.
	Env func(address string) []string

	Calls http.Handler // gets what the process sends to that address beside; with [Current]. May be nil.
	Log   io.Writer    // gets the lines of the process, each in one write; nil: nowhere
}

// A StartError says that a process did not ask for an event.
type StartError struct {
	Name string
	Said string // the end of what it wrote
	Err  error
}

// Error is what the process said last.
func (e *StartError) Error() string {
	text := "start " + e.Name + ": " + e.Err.Error()
	if e.Said != "" {
		text += "\n" + e.Said
	}
	return text
}

// Unwrap is why.
func (e *StartError) Unwrap() error { return e.Err }

// Start starts a process, and returns when it asks for its first event. Its error is a [*StartError] if the process
// ended before, said that it cannot begin, or took longer than Lambda allows; then no process is left.
func (p Program) Start(ctx context.Context) (*Environment, error) {
	path, err := filepath.Abs(p.Path) // the process runs in its own folder
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the runtime API: %w", err)
	}
	address := listener.Addr().String()
	e := newEnvironment(p)
	e.server = &http.Server{Handler: e.routes(), ReadHeaderTimeout: 10 * time.Second}
	go e.server.Serve(listener)
	e.cmd = exec.Command(path) // not bound to ctx: the environment outlives its start
	e.cmd.Dir = filepath.Dir(path)
	e.cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + address, "_HANDLER=bootstrap", "LAMBDA_TASK_ROOT=" + e.cmd.Dir, "AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023", "TZ=:UTC"}
	if p.Env != nil {
		e.cmd.Env = append(e.cmd.Env, p.Env(address)...)
	}
	e.cmd.Stdout, e.cmd.Stderr = e.output, e.output
	if err := e.cmd.Start(); err != nil {
		e.server.Close()
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	go e.await()
	return e, e.begin(ctx)
}

// begin waits for the first poll.
func (e *Environment) begin(ctx context.Context) error {
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	var err error
	select {
	case <-e.polled:
		return nil
	case err = <-e.refused:
	case <-e.gone:
		err = fmt.Errorf("%w with status %d before it asked for an event", ErrEnded, e.cmd.ProcessState.ExitCode())
	case <-limit.C:
		err = fmt.Errorf("it asked for no event within %s", startLimit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return &StartError{Name: e.program.Name, Said: strings.TrimSpace(e.output.last()), Err: err}
}
