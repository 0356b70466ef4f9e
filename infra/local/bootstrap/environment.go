package bootstrap

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"
)

// An Environment is one process. It works on one event at a time; Close and Alive may be called at any time and from
// anywhere.
type Environment struct {
	program Program
	server  *http.Server
	cmd     *exec.Cmd
	output  *output

	one     sync.Mutex // held during an invocation
	polled  chan struct{}
	refused chan error
	events  chan invocation
	answers chan answer
	current atomic.Pointer[invocation] // that the process has, or had last
	gone    chan struct{}              // closed when the process has ended
}

// An invocation is one event on its way through a process.
type invocation struct {
	ctx      context.Context
	id       string
	deadline time.Time
	event    []byte
}

type answer struct {
	body []byte
	err  error
}

// A FunctionError is what a process says of an event that it could not handle.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error is the function's own text.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

func newEnvironment(p Program) *Environment {
	return &Environment{
		program: p, output: &output{to: p.Log},
		polled: make(chan struct{}, 1), refused: make(chan error, 1), events: make(chan invocation), answers: make(chan answer, 1), gone: make(chan struct{}),
	}
}

// await notices the end of the process, whoever ended it.
func (e *Environment) await() {
	_ = e.cmd.Wait() // the state says it, and more
	close(e.gone)
	e.server.Close()
}

// Alive tells whether the process runs.
func (e *Environment) Alive() bool {
	select {
	case <-e.gone:
		return false
	default:
		return true
	}
}

// PID is the process.
func (e *Environment) PID() int { return e.cmd.Process.Pid }

// Used is the processor time that the process took, the system's for it included, once it is gone; zero before.
func (e *Environment) Used() time.Duration {
	if e.Alive() {
		return 0
	}
	return e.cmd.ProcessState.UserTime() + e.cmd.ProcessState.SystemTime()
}

// Close kills the process and returns when it is gone: nothing that it does reaches anybody then.
func (e *Environment) Close() error {
	_ = e.cmd.Process.Kill() // gone already is what is wanted
	<-e.gone
	return nil
}

// Invoke gives the process an event and returns its answer. When ctx ends before that, the process is killed, as
// Lambda does when a function's time is over. An error of the function is a [*FunctionError]; one that wraps
// [ErrEnded] says that the process is gone.
func (e *Environment) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	e.one.Lock()
	defer e.one.Unlock()
	i := invocation{ctx: ctx, id: uuid.NewString(), event: event}
	if lc, ok := lambdacontext.FromContext(ctx); ok && lc.AwsRequestID != "" {
		i.id = lc.AwsRequestID
	}
	var bounded bool
	if i.deadline, bounded = ctx.Deadline(); !bounded {
		i.deadline = time.Now().Add(15 * time.Minute) // Lambda's longest
	}
	e.current.Store(&i)
	select {
	case e.events <- i:
	case <-e.gone:
		return nil, fmt.Errorf("%w with status %d before it took the event", ErrEnded, e.cmd.ProcessState.ExitCode())
	case <-ctx.Done():
		e.Close()
		return nil, ctx.Err()
	}
	select {
	case <-e.polled: // the poll that was just answered; the next one says that the process goes on
	default:
	}
	select {
	case a := <-e.answers:
		return a.body, e.settle(ctx, a.err)
	case <-e.gone:
		select {
		case a := <-e.answers: // it answered and ended
			return a.body, e.settle(ctx, a.err)
		default:
		}
		return nil, fmt.Errorf("%w with status %d before it answered", ErrEnded, e.cmd.ProcessState.ExitCode())
	case <-ctx.Done():
		e.Close()
		return nil, ctx.Err()
	}
}

// settle finds out whether a process that could not handle an event goes on: after a panic it ends.
func (e *Environment) settle(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-e.polled:
		return err
	case <-e.gone:
	case <-ctx.Done():
		e.Close()
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}
