// Package front is an HTTP server that behaves like an API Gateway HTTP API in front of functions:
// stage $default, payload format 2.0, the gateway's own limits and answers.
//
// What a sender sends reaches a function exactly as the gateway passes it on: header names in lower
// case, repeated headers joined by commas, and a body in base64 unless its content type says text.
package front

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Limits of the gateway. They cannot be raised there.
const (
	MaxHeadBytes  = 10_240          // request line and headers
	MaxBodyBytes  = 10 << 20        // as sent
	MaxEventBytes = 6 * 1024 * 1024 // of the JSON event, body in base64 included: what a function takes
)

// A Route sends requests to a function.
type Route struct {
	Method  string // or "ANY"
	Path    string // "/hooks/{endpoint}", "/api/{proxy+}"
	Timeout time.Duration
	IAM     bool // the caller's identity is passed on
	Invoke  func(ctx context.Context, event []byte) ([]byte, error)
}

// A Gateway serves routes. Its fields do not change once it serves.
type Gateway struct {
	Routes   []Route
	Rate     float64 // requests a second; zero: no limit
	Burst    int
	Identity func(*http.Request) string // who calls, for a route with IAM
	Observe  func(Exchange)             // told of each request that reached a function; may be nil

	throttle bucket
}

// An Exchange is one request and its answer, for showing: no header and no body but that of the answer.
type Exchange struct {
	At     time.Time
	Route  string // "ANY /hooks/{endpoint}"
	Path   string
	Status int
	Took   time.Duration
	Answer []byte
}

// ServeHTTP answers a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if headBytes(r) > MaxHeadBytes {
		refuse(w, http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large")
		return
	}
	route, parameters := g.match(r)
	if route == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if !g.throttle.take(time.Now(), g.Rate, g.Burst) {
		refuse(w, http.StatusTooManyRequests, "Too Many Requests")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBodyBytes+1))
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "Bad Request")
		return
	case len(body) > MaxBodyBytes:
		refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	begun := time.Now()
	event, err := json.Marshal(g.event(r, route, parameters, body))
	if err != nil || len(event) > MaxEventBytes {
		refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), route.Timeout)
	defer cancel()
	a := invoke(ctx, route, event)
	if g.Observe != nil {
		g.Observe(Exchange{At: begun, Route: route.Method + " " + route.Path, Path: r.URL.Path, Status: a.status, Took: time.Since(begun), Answer: a.body})
	}
	a.write(w, r.Method == http.MethodHead)
}

// invoke runs the function, and gives up at the route's timeout: the function goes on.
func invoke(ctx context.Context, route *Route, event []byte) answer {
	type ended struct {
		raw []byte
		err error
	}
	done := make(chan ended, 1)
	go func() {
		raw, err := route.Invoke(ctx, event)
		done <- ended{raw, err}
	}()
	select {
	case e := <-done:
		if e.err != nil {
			return own(http.StatusInternalServerError, "Internal Server Error")
		}
		return read(e.raw)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return own(http.StatusServiceUnavailable, "Service Unavailable")
		}
		return own(499, "") // the caller went away: nobody reads it
	}
}

// match finds the route for a request: one with this path's segments, else a greedy one.
func (g *Gateway) match(r *http.Request) (*Route, map[string]string) {
	var best *Route
	var parameters map[string]string
	for i := range g.Routes {
		route := &g.Routes[i]
		if route.Method != "ANY" && route.Method != r.Method {
			continue
		}
		if p, ok := fits(route.Path, r.URL.Path); ok && (best == nil || len(route.Path) > len(best.Path)) {
			best, parameters = route, p
		}
	}
	return best, parameters
}

func fits(pattern, path string) (map[string]string, bool) {
	parameters := map[string]string{}
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, step := range want {
		if i >= len(have) {
			return nil, false
		}
		name, variable := strings.CutPrefix(step, "{")
		name = strings.TrimSuffix(name, "}")
		switch {
		case variable && strings.HasSuffix(name, "+"):
			rest := strings.Join(have[i:], "/")
			parameters[strings.TrimSuffix(name, "+")] = rest
			return parameters, rest != ""
		case variable && have[i] != "":
			parameters[name] = have[i]
		case step != have[i]:
			return nil, false
		}
	}
	return parameters, len(want) == len(have)
}

// headBytes is the length of request line and headers as they were sent, but for white space that the
// server has taken off.
func headBytes(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  \r\n")
	n += len("Host: \r\n") + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(": \r\n") + len(v)
		}
	}
	return n
}
