package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"

	console "engang/functions/console/handler"
	enrichment "engang/functions/enrichment/handler"
	receiver "engang/functions/receiver/handler"
	reconciler "engang/functions/reconciler/handler"
	"engang/infra/local/cloudformation"
	"engang/infra/local/front"
	"engang/infra/local/invoke"
	"engang/infra/local/poller"
	"engang/shared/certificates"
	"engang/shared/intake"
	"engang/shared/telemetry"
)

// startFunctions makes every function of the template runnable, and reads what starts each.
func (s *System) startFunctions(ctx context.Context) error {
	s.gateway = &front.Gateway{Identity: identity, Observe: s.o.OnExchange}
	s.lasting = len(s.closers)
	s.closers = append(s.closers, s.drain)
	for _, id := range s.stack.template.OfType(functionType) {
		if err := s.startFunction(ctx, id); err != nil {
			return fmt.Errorf("start %s: %w", id, err)
		}
	}
	for _, id := range s.stack.template.OfType(apiType) {
		rate, err := s.stack.template.Number(s.stack, id, "DefaultRouteSettings", "ThrottlingRateLimit")
		if err != nil {
			return err
		}
		burst, err := s.stack.template.Number(s.stack, id, "DefaultRouteSettings", "ThrottlingBurstLimit")
		if err != nil {
			return err
		}
		if !s.o.NoThrottle {
			s.gateway.Rate, s.gateway.Burst = float64(rate), burst
		}
	}
	return nil
}

func (s *System) startFunction(ctx context.Context, id string) error {
	name := functionName(id)
	timeout, err := s.stack.template.Number(s.stack, id, "Timeout")
	if err != nil {
		return err
	}
	variables, err := s.stack.template.Property(s.stack, id, "Environment", "Variables")
	if err != nil {
		return err
	}
	env := map[string]string{}
	for k, v := range variables.(map[string]any) {
		env[k] = fmt.Sprint(v)
	}
	f := &invoke.Function{Name: name, Timeout: time.Duration(timeout) * time.Second, Log: s.o.Log}
	if s.o.Artifacts != "" {
		f.Most = mostProcesses
		f.Start, err = s.artifact(id, name, env)
	} else {
		f.Start, err = s.program(name, env)
	}
	if err != nil {
		return err
	}
	s.functions[name] = f
	if err := f.Warm(); err != nil { // what is wrong with its environment is wrong now, not at the first event
		return err
	}
	events, err := s.stack.template.Property(s.stack, id, "Events")
	if err != nil {
		return err
	}
	declared, _ := events.(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(declared)) {
		if err := s.trigger(ctx, f, id, event); err != nil {
			return err
		}
	}
	return nil
}

// trigger connects one event of a function's declaration.
func (s *System) trigger(_ context.Context, f *invoke.Function, id, event string) error {
	e := declaration{s.stack, id, event}
	typ, err := e.text("Type")
	if err != nil {
		return err
	}
	switch typ {
	case "HttpApi":
		return s.addRoute(e, f)
	case "SQS":
		return s.addSource(e, f)
	case "ScheduleV2":
		expression, err := e.text("Properties", "ScheduleExpression")
		if err != nil {
			return err
		}
		every, err := parseRate(expression)
		s.every = s.scaled(every)
		return err
	}
	return fmt.Errorf("event %s of type %s is not known to the local system", event, typ)
}

// A declaration is one event of a function in the template.
type declaration struct {
	stack     *stack
	id, event string
}

func (d declaration) text(path ...string) (string, error) {
	return d.stack.template.Text(d.stack, d.id, append([]string{"Events", d.event}, path...)...)
}

func (d declaration) number(path ...string) (int, error) {
	return d.stack.template.Number(d.stack, d.id, append([]string{"Events", d.event}, path...)...)
}

// list is a property that may be missing.
func (d declaration) list(path ...string) ([]any, error) {
	v, err := d.stack.template.Property(d.stack, d.id, append([]string{"Events", d.event}, path...)...)
	if errors.Is(err, cloudformation.ErrMissing) {
		return nil, nil
	}
	all, _ := v.([]any)
	return all, err
}

func (s *System) addRoute(e declaration, f *invoke.Function) error {
	path, err := e.text("Properties", "Path")
	if err != nil {
		return err
	}
	method, err := e.text("Properties", "Method")
	if err != nil {
		return err
	}
	timeout, err := e.number("Properties", "TimeoutInMillis")
	if err != nil {
		return err
	}
	authorizer, _ := e.text("Properties", "Auth", "Authorizer")
	s.gateway.Routes = append(s.gateway.Routes, front.Route{
		Method: strings.ToUpper(method), Path: path, Timeout: time.Duration(timeout) * time.Millisecond, IAM: authorizer == "AWS_IAM", Invoke: f.Invoke,
	})
	return nil
}

func (s *System) addSource(e declaration, f *invoke.Function) error {
	arn, err := e.text("Properties", "Queue")
	if err != nil {
		return err
	}
	batch, err := e.number("Properties", "BatchSize")
	if err != nil {
		return err
	}
	concurrency, err := e.number("Properties", "ScalingConfig", "MaximumConcurrency")
	if err != nil {
		return err
	}
	answers, err := e.list("Properties", "FunctionResponseTypes")
	if err != nil {
		return err
	}
	for id, address := range s.stack.queues {
		if own, err := s.stack.queueARN(id); err != nil || own != arn {
			continue
		}
		s.sources = append(s.sources, &poller.Source{
			Client: s.sourceClient(), URL: address, ARN: arn, Region: region, BatchSize: batch, Concurrency: concurrency, Whole: !slices.Contains(answers, any("ReportBatchItemFailures")),
			Invoke: f.Invoke, Redeliver: s.faults.Redeliver, Observe: s.o.OnBatch,
		})
		s.rights.feed(arn, f.Name)
		return nil
	}
	return fmt.Errorf("event %s reads a queue that the template does not declare: %s", e.event, arn)
}

var rateShape = regexp.MustCompile(`^rate\((\d+) (minute|hour|day)s?\)$`)

func parseRate(expression string) (time.Duration, error) {
	m := rateShape.FindStringSubmatch(expression)
	if m == nil {
		return 0, fmt.Errorf("schedule %q is not understood by the local system", expression)
	}
	n, _ := strconv.Atoi(m[1])
	return time.Duration(n) * map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[m[2]], nil
}

// program tells how an execution environment of a function starts: as its main does, but for the pace
// of its times and the clients that it gets.
func (s *System) program(name string, env map[string]string) (func() (lambda.Handler, error), error) {
	cfg := s.awsConfig(&http.Client{Transport: s.wire})
	switch name {
	case "receiver":
		set, err := under(env, receiver.SettingsFromEnv)
		set.Limits = roomy(set.Limits)
		set.Limits.OpenAge = s.scaled(set.Limits.OpenAge)
		set.Now = s.o.Now
		set.Signers = certificates.Trial{} // nothing leaves the machine, and `send` can sign as every sender
		set.Limits.Speed = s.o.Speed
		return s.starter(name, cfg, func(cfg aws.Config, log telemetry.Process) any {
			log.Level = set.Level
			return receiver.New(set, cfg, telemetry.NewLogger(s.o.Log, log))
		}), err
	case "enrichment":
		set, err := under(env, enrichment.SettingsFromEnv)
		s.hurry(&set)
		return s.starter(name, cfg, func(cfg aws.Config, log telemetry.Process) any {
			log.Level = set.Level
			return enrichment.New(set, cfg, telemetry.NewLogger(s.o.Log, log)).Handle
		}), err
	case "reconciler":
		set, err := under(env, reconciler.SettingsFromEnv)
		set.Limits.Age, set.Limits.MaxWait = s.scaled(set.Limits.Age), s.scaled(set.Limits.MaxWait)
		set.Taking = roomy(set.Taking)
		set.Taking.OpenAge, set.Taking.Speed, set.Asking.Speed = s.scaled(set.Taking.OpenAge), s.o.Speed, s.o.Speed
		return s.starter(name, cfg, func(cfg aws.Config, log telemetry.Process) any {
			log.Level = set.Level
			return reconciler.New(set, cfg, telemetry.NewLogger(s.o.Log, log)).Handle
		}), err
	case "console":
		set, err := under(env, console.SettingsFromEnv)
		set.OpenAge = s.scaled(set.OpenAge)
		return s.starter(name, cfg, func(cfg aws.Config, log telemetry.Process) any {
			log.Level = set.Level
			return console.New(set, cfg, telemetry.NewLogger(s.o.Log, log)).Handle
		}), err
	}
	return nil, fmt.Errorf("the template declares a function %q that this program does not hold", name)
}

// roomy gives an intake more time: one process is all environments here, on a machine that does other things
// too, and the deadlines of a deployed receiver, which answers one request at a time, would refuse what only
// waits for its turn.
func roomy(l intake.Limits) intake.Limits {
	l.Stored, l.Send, l.Head, l.Count = 8*time.Second, 4*time.Second, 2*time.Second, 2*time.Second
	return l
}

func (s *System) starter(name string, cfg aws.Config, build func(aws.Config, telemetry.Process) any) func() (lambda.Handler, error) {
	return func() (lambda.Handler, error) {
		return lambda.NewHandler(build(cfg, telemetry.Process{Function: name})), nil
	}
}

// hurry makes the worker's times pass faster. The deadline of a real model's call stays, and the lease
// with it: what is left of the lease beside call and finish is what shrinks.
func (s *System) hurry(set *enrichment.Settings) {
	l := &set.Limits
	room := s.scaled(l.Lease - l.Call - l.Finish)
	if s.o.OpenAIKey == "" { // the stub, or something that stands in for it
		l.Call = s.scaled(l.Call)
	}
	l.Finish, l.Skew = s.scaled(l.Finish), s.scaled(l.Skew)
	l.Lease = l.Call + l.Finish + room
	enrichment.Times(set, s.o.Speed)
}

var environment sync.Mutex

// under reads a function's settings from an environment that is set for this one reading: the functions
// share the process here, and each reads its own environment when it is deployed.
func under[S any](env map[string]string, read func() (S, error)) (S, error) {
	environment.Lock()
	defer environment.Unlock()
	for name, value := range env {
		before, was := os.LookupEnv(name)
		os.Setenv(name, value)
		defer func() {
			if was {
				os.Setenv(name, before)
			} else {
				os.Unsetenv(name)
			}
		}()
	}
	return read()
}

// identity is who calls the API here: whoever the caller says, since the front is for this machine only.
func identity(r *http.Request) string {
	if name := r.Header.Get("X-Engang-As"); name != "" {
		return name
	}
	return "local"
}
