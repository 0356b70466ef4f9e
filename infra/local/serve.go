package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"engang/infra/local/faults"
)

// sourceClient receives and deletes messages for the event source, through the wire: its calls are
// counted, and a test may break them; they belong to no invocation.
func (s *System) sourceClient() *sqs.Client {
	return sqs.NewFromConfig(s.awsConfig(&http.Client{Transport: s.wire}))
}

// startServer opens the front.
func (s *System) startServer(context.Context) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.o.Port))
	if err != nil {
		return fmt.Errorf("open the front: %w", err)
	}
	s.server = &http.Server{Handler: s, MaxHeaderBytes: 1 << 16, ReadHeaderTimeout: 10 * time.Second} // above the gateway's own limit, which it checks itself
	s.url = "http://" + listener.Addr().String()
	go s.server.Serve(listener)
	s.closers = append(s.closers, s.server.Shutdown)
	return nil
}

// ServeHTTP is the front: the gateway, and what only the local system has. It compares paths as they were sent: a
// multiplexer of net/http redirects those that are not clean, and the gateway redirects nothing.
func (s *System) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/hooks/") { // those come from everywhere, through tunnels too, and are signed
		if err := foreign(r); err != nil {
			forbid(w, err)
			return
		}
	}
	switch {
	case r.URL.Path == "/local/faults":
		s.serveFaults(w, r)
	case r.URL.Path == "/local/aws":
		s.serveAWS(w, r)
	case r.URL.Path == "/api/config" && r.Method == http.MethodPut:
		s.serveApply(w, r)
	default:
		s.gateway.ServeHTTP(w, r)
	}
}

// serveApply passes a call on that may make another configuration live, which then is so at once: deployed
// functions believe their caches for a few seconds.
func (s *System) serveApply(w http.ResponseWriter, r *http.Request) {
	s.gateway.ServeHTTP(w, r)
	s.Restart()
}

// startWork starts event sources and schedule.
func (s *System) startWork(ctx context.Context) error {
	if s.o.Manual {
		return nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, source := range s.sources {
		running.Go(func() { source.Run(ctx) })
	}
	running.Go(func() { s.schedule(ctx) })
	s.closers = append(s.closers, func(context.Context) error {
		stop()
		running.Wait()
		return nil
	})
	return nil
}

// drain waits for what is in work, also what was killed, and ends the processes that are left.
func (s *System) drain(ctx context.Context) error {
	defer s.Restart()
	done := make(chan struct{})
	go func() {
		for _, f := range s.functions {
			f.Wait()
		}
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for what is in work: %w", ctx.Err())
	}
}

// schedule runs the reconciler as its schedule says. What a sweep does not do, the next one does.
func (s *System) schedule(ctx context.Context) {
	if s.every <= 0 {
		return
	}
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = s.Reconcile(ctx) // its log says why, its alarm rings
		}
	}
}

// serveFaults shows the faults (GET), adds some (POST, "model:429x3" as text or {"faults":"…"}), or
// takes back those that have not struck (DELETE).
func (s *System) serveFaults(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		s.faults.Clear()
		if s.stub != nil {
			s.stub.Heal()
		}
	case http.MethodPost:
		text, err := faultsOf(r)
		if err == nil {
			err = s.faults.Add(text)
		}
		if err != nil {
			status := http.StatusBadRequest
			if !errors.Is(err, faults.ErrUnknown) {
				status = http.StatusInternalServerError
			}
			answer(w, status, map[string]string{"message": err.Error()})
			return
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		answer(w, http.StatusMethodNotAllowed, map[string]string{"message": "GET, POST or DELETE"})
		return
	}
	answer(w, http.StatusOK, map[string]any{"pending": orEmpty(s.pending()), "fired": orEmpty(s.faults.Fired())})
}

// pending lists the faults that are still to strike, with those of the model, which the stub holds.
func (s *System) pending() []faults.Fault {
	list := s.faults.Pending()
	if s.stub == nil {
		return list
	}
	for _, p := range s.stub.Planned() {
		list = append(list, faults.Fault{Part: "model", Kind: p.Kind, Times: p.Times})
	}
	return list
}

// An AWS says where a program on this machine finds the engine, as an operator finds AWS.
type AWS struct {
	Endpoint   string `json:"endpoint"`
	Region     string `json:"region"`
	SecretPath string `json:"secret_path"` // of the parameter store: what stands below it is this system's
}

// serveAWS says where the engine is (GET). After something was written there, past the functions, POST
// makes them read it again at once, where deployed ones would believe their caches for a while.
func (s *System) serveAWS(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		s.Restart()
	default:
		w.Header().Set("Allow", "GET, POST")
		answer(w, http.StatusMethodNotAllowed, map[string]string{"message": "GET or POST"})
		return
	}
	_, path, err := s.vault()
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]string{"message": err.Error()})
		return
	}
	answer(w, http.StatusOK, AWS{Endpoint: engine().URL, Region: region, SecretPath: path})
}

func faultsOf(r *http.Request) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read faults: %w", err)
	}
	text := strings.TrimSpace(string(raw))
	if !strings.HasPrefix(text, "{") {
		return text, nil
	}
	var in struct{ Faults string }
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // what is overlooked would look as if it struck
	if err := d.Decode(&in); err != nil || in.Faults == "" {
		return "", fmt.Errorf(`read faults: %w: say {"faults":"model:429x3"}, or that text alone`, faults.ErrUnknown)
	}
	return in.Faults, nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func answer(w http.ResponseWriter, status int, doc any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}
