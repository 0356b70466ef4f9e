package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"

	"engang/infra/local/bootstrap"
	"engang/infra/local/wire"
	"engang/shared/config"
	"engang/shared/telemetry"
)

// ErrPastStub says that a built function would call a model past the stub, which no process of its own can be kept from.
var ErrPastStub = errors.New("would be called past the stub")

// mostProcesses is how many environments of one function work at once: each is a process here.
const mostProcesses = 8

// What a process finds at the address of its Runtime API beside that.
const (
	awsPath   = "/aws"
	modelPath = "/model"
)

// mostSent is more than any call of ours sends.
const mostSent = 16 << 20

// artifact tells how an execution environment of a built function starts: as Lambda does it, with what the template
// sets, and with the engine and the stub in the place of AWS and of the models.
//
// Its times pass faster as far as its environment says them, in whole seconds: see [System.hasten]. What the code
// itself holds has its own pace: backoff, the wait for a breaker's probe, quiet periods, what caches believe.
func (s *System) artifact(id, name string, env map[string]string) (func() (lambda.Handler, error), error) {
	if s.o.Now != nil {
		return nil, errors.New("built functions have a clock of their own")
	}
	path, err := bootstrap.Find(s.o.Artifacts, id)
	if err != nil {
		return nil, err
	}
	env = maps.Clone(env)
	if err := s.hasten(env); err != nil {
		return nil, err
	}
	calls, err := s.carry(env["MODEL_BASE_URL"])
	if err != nil {
		return nil, err
	}
	p := bootstrap.Program{Name: name, Path: path, Log: s.o.Log, Calls: calls, Env: func(address string) []string {
		return s.lambdaEnv(id, env, address)
	}}
	return func() (lambda.Handler, error) {
		e, err := p.Start(context.Background())
		if err != nil {
			return nil, err
		}
		return e, nil
	}, nil
}

// hasten divides the times of a function's environment by the speed: to whole seconds, and to one at least. The
// lease keeps its room beyond the call, which keeps its deadline with a real model.
func (s *System) hasten(env map[string]string) error {
	times := map[string]float64{}
	for name, text := range env {
		if !strings.HasSuffix(name, "_SECONDS") {
			continue
		}
		seconds, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("read %s: %q is no number of seconds", name, text)
		}
		times[name] = float64(seconds)
	}
	short := func(seconds float64) float64 { return math.Max(1, math.Ceil(seconds/s.o.Speed)) }
	room := times["LEASE_SECONDS"] - times["CALL_SECONDS"] - times["FINISH_SECONDS"]
	for name, seconds := range times {
		if name != "CALL_SECONDS" || s.stub != nil {
			times[name] = short(seconds)
		}
	}
	if _, leases := times["LEASE_SECONDS"]; leases {
		times["LEASE_SECONDS"] = times["CALL_SECONDS"] + times["FINISH_SECONDS"] + short(room)
	}
	for name, seconds := range times {
		env[name] = strconv.Itoa(int(seconds))
	}
	return nil
}

// lambdaEnv is the environment of a process: what the template sets, and what Lambda sets beside it. Nothing of this
// program's own environment is in it.
func (s *System) lambdaEnv(id string, env map[string]string, address string) []string {
	all := map[string]string{
		"AWS_REGION": region, "AWS_DEFAULT_REGION": region, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_LAMBDA_FUNCTION_NAME": s.stack.physical(id), "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "LANG": "en_US.UTF-8",
		"AWS_ENDPOINT_URL": "http://" + address + awsPath, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", // not those of whoever runs this
	}
	maps.Copy(all, env)
	if _, calls := env["MODEL_BASE_URL"]; calls {
		all["MODEL_BASE_URL"] = "http://" + address + modelPath
	}
	if !s.outward(id) {
		all["HTTPS_PROXY"], all["HTTP_PROXY"] = "http://"+address, "http://"+address // which refuses
	}
	list := make([]string, 0, len(all))
	for name, value := range all {
		list = append(list, name+"="+value)
	}
	return list
}

// outward tells functions that call beyond this machine from those that must not: the shops of a catch-up are what
// the configuration names, a real model is what was asked for, and certificates of senders would be fetched.
func (s *System) outward(id string) bool {
	return id == "ReconcilerFunction" || id == "EnrichmentFunction" && s.stub == nil
}

// carry takes what a process calls to the engine and to the model, through the wire: counted, judged, and named as
// the code would have named it.
func (s *System) carry(model string) (http.Handler, error) {
	to := map[string]*url.URL{}
	for prefix, address := range map[string]string{awsPath: engine().URL, modelPath: model} {
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("address of %s: %w", strings.Trim(prefix, "/"), err)
		}
		to[prefix] = u
	}
	proxy := &httputil.ReverseProxy{Transport: s.wire, ErrorHandler: breakOff, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(p *httputil.ProxyRequest) {
		for prefix, u := range to {
			if rest, ok := strings.CutPrefix(p.In.URL.Path, prefix); ok {
				p.Out.URL.Path, p.Out.URL.RawPath = rest, strings.TrimPrefix(p.In.URL.RawPath, prefix)
				p.SetURL(u)
			}
		}
		p.Out.Header.Del("Expect") // all of the body is here
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if _, ours := to["/"+part]; !ours || r.URL.Host != "" {
			http.Error(w, "not from here: a built function calls the engine and the stub alone", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, mostSent))
		if err != nil {
			panic(http.ErrAbortHandler) // the process died while it wrote
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		_, invocation := bootstrap.Current(r.Context())
		ctx := r.Context()
		if invocation != nil {
			ctx = wire.Join(ctx, invocation)
		}
		proxy.ServeHTTP(w, r.WithContext(telemetry.WithCall(ctx, wire.NameOf(r, body))))
	}), nil
}

// breakOff is what a process meets whose call got no answer. One that was killed is gone, or about to be, and nothing
// that it still calls is sent.
func breakOff(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }

// reachable refuses a configuration whose models built functions would call past the stub.
func (s *System) reachable(set config.Set) error {
	if s.o.Artifacts == "" || s.stub == nil {
		return nil
	}
	for name, p := range set.Common.Providers {
		if p.BaseURL != "" {
			return fmt.Errorf("provider %s has a base_url of its own and %w: take it out, or run without --artifacts", name, ErrPastStub)
		}
	}
	return nil
}
