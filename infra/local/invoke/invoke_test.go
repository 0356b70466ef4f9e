package invoke_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"engang/infra/local/invoke"
	"engang/infra/local/wire"
)

type handler func(ctx context.Context, event []byte) ([]byte, error)

func (h handler) Invoke(ctx context.Context, event []byte) ([]byte, error) { return h(ctx, event) }

// function counts how many environments were started.
func function(h handler) (*invoke.Function, *atomic.Int32) {
	var started atomic.Int32
	return &invoke.Function{Name: "enrichment", Timeout: time.Minute, Log: io.Discard, Start: func() (lambda.Handler, error) {
		started.Add(1)
		return h, nil
	}}, &started
}

func TestAnEventRunsWithItsDeadlineAndIdentity(t *testing.T) {
	f, _ := function(func(ctx context.Context, event []byte) ([]byte, error) {
		deadline, ok := ctx.Deadline()
		lc, _ := lambdacontext.FromContext(ctx)
		i := wire.From(ctx)
		if !ok || time.Until(deadline) > time.Minute || i.Function != "enrichment" || lc.AwsRequestID != i.ID {
			t.Errorf("deadline %v, invocation %+v, request %v", deadline, i, lc)
		}
		return bytes.ToUpper(event), nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a caller that went away stops nothing
	if got, err := f.Invoke(ctx, []byte("event")); err != nil || string(got) != "EVENT" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnEnvironmentIsUsedAgainUntilItDies(t *testing.T) {
	failure := errors.New("no")
	var next func(ctx context.Context) error
	f, started := function(func(ctx context.Context, _ []byte) ([]byte, error) { return nil, next(ctx) })
	for _, c := range []struct {
		name    string
		next    func(ctx context.Context) error
		err     error
		started int32
	}{
		{"the first event starts one", func(context.Context) error { return nil }, nil, 1},
		{"the second uses it", func(context.Context) error { return nil }, nil, 1},
		{"an error of the handler keeps it", func(context.Context) error { return failure }, failure, 1},
		{"a killed one is gone, whatever it answers", func(ctx context.Context) error { wire.From(ctx).Kill(); return nil }, wire.ErrKilled, 1},
		{"so the next event starts another", func(context.Context) error { return nil }, nil, 2},
	} {
		next = c.next
		_, err := f.Invoke(t.Context(), nil)
		if !errors.Is(err, c.err) || started.Load() != c.started {
			t.Errorf("%s: error %v, %d started", c.name, err, started.Load())
		}
		if _, ours := errors.AsType[*invoke.FunctionError](err); c.err != nil && !ours {
			t.Errorf("%s: %T", c.name, err)
		}
	}
	f.Restart()
	next = func(context.Context) error { return nil }
	if _, err := f.Invoke(t.Context(), nil); err != nil || started.Load() != 3 {
		t.Errorf("after a restart: %v, %d started", err, started.Load())
	}
}

func TestAPanicIsAFunctionErrorAndEndsTheEnvironment(t *testing.T) {
	f, started := function(func(context.Context, []byte) ([]byte, error) { panic("bug") })
	for range 2 {
		if _, err := f.Invoke(t.Context(), nil); err == nil {
			t.Error("no error")
		}
	}
	if started.Load() != 2 {
		t.Errorf("%d started", started.Load())
	}
}

func TestAnInvocationEndsWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, started := function(func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			time.Sleep(time.Hour) // does not listen
			return nil, nil
		})
		begun := time.Now()
		_, err := f.Invoke(t.Context(), nil)
		if !errors.Is(err, invoke.ErrTimeout) || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		f.Wait()
		if time.Since(begun) != time.Minute+time.Hour || started.Load() != 1 {
			t.Errorf("waited %v, %d started", time.Since(begun), started.Load())
		}
	})
}

func TestAKilledInvocationIsGivenUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := function(func(ctx context.Context, _ []byte) ([]byte, error) {
			wire.From(ctx).Kill()
			time.Sleep(time.Hour)
			return []byte("answer"), nil
		})
		begun := time.Now()
		if answer, err := f.Invoke(t.Context(), nil); !errors.Is(err, wire.ErrKilled) || answer != nil || time.Since(begun) != 0 {
			t.Errorf("%q, %v after %v", answer, err, time.Since(begun))
		}
		f.Wait()
	})
}

// The handler that aws-lambda-go makes writes each answer into the same bytes.
func TestAnAnswerOutlivesTheNextEvent(t *testing.T) {
	f := &invoke.Function{Name: "console", Timeout: time.Minute, Log: io.Discard, Start: func() (lambda.Handler, error) {
		return lambda.NewHandler(func(_ context.Context, s string) (string, error) { return s, nil }), nil
	}}
	first, err := f.Invoke(t.Context(), []byte(`"first"`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Invoke(t.Context(), []byte(`"other"`)); err != nil {
		t.Fatal(err)
	}
	if string(first) != `"first"` {
		t.Errorf("the first answer became %s", first)
	}
}

// A process is an environment that notes how it ended.
type process struct {
	handler
	dead   atomic.Bool
	closed atomic.Int32
}

func (p *process) Alive() bool  { return !p.dead.Load() }
func (p *process) Close() error { p.closed.Add(1); p.dead.Store(true); return nil }

// processes makes a function whose environments are processes.
func processes(h handler) (*invoke.Function, *[]*process) {
	var all []*process
	return &invoke.Function{Name: "enrichment", Timeout: time.Minute, Log: io.Discard, Start: func() (lambda.Handler, error) {
		all = append(all, &process{handler: h})
		return all[len(all)-1], nil
	}}, &all
}

func TestAProcessIsClosedWhenItIsUsedNoMore(t *testing.T) {
	var next func(ctx context.Context) error
	f, all := processes(func(ctx context.Context, _ []byte) ([]byte, error) { return nil, next(ctx) })
	for _, c := range []struct {
		name            string
		before          func()
		next            func(ctx context.Context) error
		started, closed int
	}{
		{"an event starts one", nil, func(context.Context) error { return nil }, 1, 0},
		{"a killed one is closed", nil, func(ctx context.Context) error { wire.From(ctx).Kill(); return nil }, 1, 1},
		{"the next event starts another", nil, func(context.Context) error { return nil }, 2, 1},
		{"one that died while it waited is not used", func() { (*all)[1].dead.Store(true) }, func(context.Context) error { return nil }, 3, 2},
		{"one that died at work is not kept", nil, func(context.Context) error { (*all)[2].dead.Store(true); return errors.New("exit") }, 3, 3},
		{"one that a restart overtakes is not kept", nil, func(context.Context) error { f.Restart(); return nil }, 4, 4},
		{"a warm one takes the next event", func() { _ = f.Warm() }, func(context.Context) error { return nil }, 5, 4},
		{"a restart closes those that wait", func() { f.Restart() }, func(context.Context) error { return nil }, 6, 5},
	} {
		if c.before != nil {
			c.before()
		}
		next = c.next
		_, _ = f.Invoke(t.Context(), nil) // what becomes of the environment is what is looked at
		closed := 0
		for _, p := range *all {
			closed += int(min(p.closed.Load(), 1))
		}
		if len(*all) != c.started || closed != c.closed {
			t.Errorf("%s: %d started, %d closed", c.name, len(*all), closed)
		}
	}
}

func TestEventsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var working, most atomic.Int32
		f, started := function(func(context.Context, []byte) ([]byte, error) {
			most.Store(max(most.Load(), working.Add(1)))
			time.Sleep(time.Second)
			working.Add(-1)
			return nil, nil
		})
		f.Most = 2
		for range 5 {
			go func() {
				if _, err := f.Invoke(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(10 * time.Second)
		if most.Load() != 2 || started.Load() != 2 {
			t.Errorf("%d at once, %d started", most.Load(), started.Load())
		}
	})
}
