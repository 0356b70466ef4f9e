package model_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/shared/model"
	"engang/shared/operation"
)

// breaking is a server whose connection breaks after the request was read.
func breaking(t *testing.T, also func(net.Conn)) model.Connection {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		also(conn)
		_ = conn.Close()
	})
}

func TestBrokenConnectionIsTransientAndSaysWhetherTheRequestWasSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := model.Connection{BaseURL: "http://" + closed.Addr().String() + "/v1", APIKey: "ssm:models/openai"}
	_ = closed.Close()
	tests := []struct {
		name   string
		to     model.Connection
		called bool
		reason string
	}{
		{"nobody listens", nobody, false, "nothing was sent"},
		{"closed after the request", breaking(t, func(net.Conn) {}), true, "had been sent"},
		{"reset after the request", breaking(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }), true, "had been sent"},
		{"half of the answer's headers", breaking(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConte") }), true, "had been sent"},
		{"half of the answer's body", breaking(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"id\"")
		}), true, "broke off"},
		{"not HTTP", breaking(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 smtp ready\r\n") }), true, "had been sent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := call(t, tt.to)
			if a.Outcome != operation.Transient || a.Category != operation.CategoryTransient {
				t.Errorf("outcome %q, category %q", a.Outcome, a.Category)
			}
			if a.Called != tt.called || !strings.Contains(a.Reason, tt.reason) {
				t.Errorf("called %v, reason %q; want %v and %q", a.Called, a.Reason, tt.called, tt.reason)
			}
		})
	}
}

func TestRequestCutShortCountsAsNoCall(t *testing.T) {
	// The peer closes on the first byte: the request, larger than any socket buffer, cannot be written whole.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	}()
	p := prompt()
	p.Input = []byte(strings.Repeat("x", 8<<20))
	a := model.New(&http.Client{Transport: &http.Transport{}}, goodKeys).Call(t.Context(), model.Connection{BaseURL: "http://" + l.Addr().String()}, p)
	if a.Called || a.Outcome != operation.Transient || !strings.Contains(a.Reason, "nothing was sent") {
		t.Errorf("called %v, outcome %q, reason %q", a.Called, a.Outcome, a.Reason)
	}
}

func TestTransportThatBreaksTheCallDecidesWhetherItWasMade(t *testing.T) {
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answering(good)(w, r)
	})
	lost := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			_ = res.Body.Close()
		}
		return nil, errors.New("answer lost")
	})}
	if a := model.New(lost, goodKeys).Call(t.Context(), to, prompt()); !a.Called || a.Outcome != operation.Transient {
		t.Errorf("answer lost: called %v, outcome %q", a.Called, a.Outcome)
	}
	never := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("request lost") })}
	if a := model.New(never, goodKeys).Call(t.Context(), to, prompt()); a.Called || a.Outcome != operation.Transient {
		t.Errorf("request lost: called %v, outcome %q", a.Called, a.Outcome)
	}
}

func TestDeadlineAndCancellationAreToldApart(t *testing.T) {
	entered := make(chan struct{}, 8)
	to := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		entered <- struct{}{}
		<-r.Context().Done()
	})
	c := model.New(http.DefaultClient, goodKeys)
	check := func(name string, a operation.Answer, called bool, words ...string) {
		t.Helper()
		if a.Outcome != operation.Transient || a.Called != called {
			t.Errorf("%s: outcome %q, called %v", name, a.Outcome, a.Called)
		}
		for _, w := range words {
			if !strings.Contains(a.Reason, w) {
				t.Errorf("%s: reason %q lacks %q", name, a.Reason, w)
			}
		}
	}

	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	check("deadline during the call", c.Call(late, to, prompt()), true, "deadline", "had been sent")
	<-entered
	check("deadline passed before", c.Call(late, to, prompt()), false, "deadline", "nothing was sent")

	stopped, stop := context.WithCancel(t.Context())
	go func() { <-entered; stop() }()
	check("cancelled during the call", c.Call(stopped, to, prompt()), true, "cancelled", "had been sent")
	check("cancelled before", c.Call(stopped, to, prompt()), false, "cancelled", "nothing was sent")

	hasty := model.New(&http.Client{Timeout: 50 * time.Millisecond}, goodKeys)
	check("the HTTP client's own limit", hasty.Call(t.Context(), to, prompt()), true, "timed out", "had been sent")
}

func TestDeadlineWithinTheAnswer(t *testing.T) {
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	a := model.New(http.DefaultClient, goodKeys).Call(ctx, to, prompt())
	if a.Outcome != operation.Transient || !a.Called || !strings.Contains(a.Reason, "deadline") {
		t.Errorf("outcome %q, called %v, reason %q", a.Outcome, a.Called, a.Reason)
	}
}

func TestAnswerOverTheLimitIsUnusable(t *testing.T) {
	body := response("completed", "", message("m1", "", strings.Repeat("x", model.MaxAnswerBytes)))
	a := call(t, serve(t, answering(body)))
	if a.Outcome != operation.Unusable || !strings.Contains(a.Reason, "larger") {
		t.Errorf("outcome %q, reason %q", a.Outcome, a.Reason)
	}
	// An error page without end is not read to its end either.
	a = call(t, serve(t, refusing(500, strings.Repeat("x", model.MaxAnswerBytes+1))))
	if a.Outcome != operation.Transient || a.HTTPStatus != 500 {
		t.Errorf("outcome %q, status %d", a.Outcome, a.HTTPStatus)
	}
}
