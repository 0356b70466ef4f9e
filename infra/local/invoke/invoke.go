// Package invoke runs functions as Lambda does: one event at a time in each execution environment, as
// JSON in and out, with a deadline after which the environment is gone.
package invoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"

	"engang/infra/local/wire"
)

// ErrTimeout says that an invocation was ended because its time was over. What it did until then stands.
var ErrTimeout = errors.New("task timed out")

// A FunctionError is what an invocation leaves that did not return an answer: its handler failed, or
// its process died.
type FunctionError struct{ Err error }

// Error is what the function's log says.
func (e *FunctionError) Error() string { return "function failed: " + e.Err.Error() }

// Unwrap is the handler's error, [ErrTimeout] or [wire.ErrKilled].
func (e *FunctionError) Unwrap() error { return e.Err }

// A Function runs the events of one function. It is safe for concurrent use: an event that finds every
// execution environment busy starts another one, and so does the first event after a crash.
type Function struct {
	Name    string
	Timeout time.Duration
	Start   func() (lambda.Handler, error) // starts an execution environment; a [Process] is closed when it is used no more
	Log     io.Writer                      // gets the stack of a panic, which is a bug
	Most    int                            // environments that work at once; an event waits for one. Zero: as many as there are events

	mu    sync.Mutex
	idle  []lambda.Handler
	round int
	busy  sync.WaitGroup
	room  sync.Once
	slots chan struct{}
}

// A Process is an execution environment with a life of its own: it may end by itself, and must be ended.
type Process interface {
	lambda.Handler
	Alive() bool
	Close() error // may be called more than once
}

// Invoke runs one event. The invocation goes on when the caller's context ends, as one on Lambda does;
// values of that context are kept. Every failure is a [*FunctionError].
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	defer f.enter()()
	env, round, err := f.take()
	if err != nil {
		return nil, &FunctionError{fmt.Errorf("start %s: %w", f.Name, err)}
	}
	id := uuid.NewString()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Timeout)
	defer cancel()
	ctx, invocation := wire.Begin(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: id}), f.Name, id)
	type ended struct {
		answer []byte
		err    error
	}
	done := make(chan ended, 1) // buffered: a run that is given up still ends
	f.busy.Go(func() {
		answer, err := f.run(ctx, env, event)
		done <- ended{answer, err}
	})
	defer invocation.End()
	select {
	case e := <-done:
		switch {
		case invocation.Killed():
			end(env)
			return nil, &FunctionError{wire.ErrKilled} // whatever it answers, its process is gone
		case e.err != nil:
			if _, bug := errors.AsType[*panicError](e.err); !bug {
				f.put(env, round)
			}
			return nil, &FunctionError{e.err}
		}
		f.put(env, round)
		return e.answer, nil
	case <-ctx.Done():
		killed := invocation.Killed()
		invocation.Kill()
		end(env)
		if killed {
			return nil, &FunctionError{wire.ErrKilled}
		}
		return nil, &FunctionError{ErrTimeout}
	}
}

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (f *Function) run(ctx context.Context, env lambda.Handler, event []byte) (answer []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(f.Log, "%s: panic: %v\n%s", f.Name, p, debug.Stack())
			err = &panicError{p}
		}
	}()
	answer, err = env.Invoke(ctx, event)
	return bytes.Clone(answer), err // the environment's next event is written into the same bytes
}

// enter waits for room, and returns what makes room again.
func (f *Function) enter() (leave func()) {
	if f.Most <= 0 {
		return func() {}
	}
	f.room.Do(func() { f.slots = make(chan struct{}, f.Most) })
	f.slots <- struct{}{}
	return func() { <-f.slots }
}

func (f *Function) take() (lambda.Handler, int, error) {
	f.mu.Lock()
	round := f.round
	for n := len(f.idle); n > 0; n = len(f.idle) {
		env := f.idle[n-1]
		f.idle = f.idle[:n-1]
		if p, ok := env.(Process); !ok || p.Alive() {
			f.mu.Unlock()
			return env, round, nil
		}
		end(env)
	}
	f.mu.Unlock()
	env, err := f.Start() // others need not wait for it
	return env, round, err
}

// put makes an environment ready for the next event, unless it has ended or was started before a restart.
func (f *Function) put(env lambda.Handler, round int) {
	if p, ok := env.(Process); ok && !p.Alive() {
		end(env)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if round != f.round {
		end(env)
		return
	}
	f.idle = append(f.idle, env)
}

// end ends what has a life of its own.
func end(env lambda.Handler) {
	if p, ok := env.(Process); ok {
		_ = p.Close() // it is gone either way
	}
}

// Warm starts an environment before the first event, which then meets it. What is wrong with a function's
// environment is wrong at once.
func (f *Function) Warm() error {
	env, round, err := f.take()
	if err != nil {
		return err
	}
	f.put(env, round)
	return nil
}

// Restart makes every later event meet a fresh execution environment, as after a deploy.
func (f *Function) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, env := range f.idle {
		end(env)
	}
	f.idle = nil
	f.round++
}

// Wait returns when no event is in work, also those that were killed or given up.
func (f *Function) Wait() { f.busy.Wait() }
