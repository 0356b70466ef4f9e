package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// mostAnswer is the largest answer that Lambda takes: 6 MB and the room for its envelope.
const mostAnswer = 6<<20 + 100<<10

const api = "/2018-06-01/runtime/"

// routes is what the process finds at its address.
func (e *Environment) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api+"invocation/next", e.next)
	mux.HandleFunc("POST "+api+"invocation/{id}/response", e.response)
	mux.HandleFunc("POST "+api+"invocation/{id}/error", e.failure)
	mux.HandleFunc("POST "+api+"init/error", e.initError)
	if e.program.Calls == nil {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		e.program.Calls.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), environmentKey{}, e)))
	})
}

type environmentKey struct{}

// Current is the environment whose process made a request to [Program].Calls, and the context of the event that it
// works on: its values, not its end. Both are nil for any other request.
func Current(ctx context.Context) (*Environment, context.Context) {
	e, ok := ctx.Value(environmentKey{}).(*Environment)
	if !ok {
		return nil, nil
	}
	if i := e.current.Load(); i != nil {
		return e, i.ctx
	}
	return e, nil
}

// next waits for an event, as long as the process does.
func (e *Environment) next(w http.ResponseWriter, r *http.Request) {
	select {
	case e.polled <- struct{}{}:
	default:
	}
	select {
	case i := <-e.events:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", i.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:"+e.program.Name)
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(i.event) // the process's end is seen elsewhere
	case <-r.Context().Done():
	}
}

// response takes the answer to the event that the process has.
func (e *Environment) response(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostAnswer+1))
	if err != nil {
		return // the process died while it wrote
	}
	if len(body) > mostAnswer {
		e.answer(w, r, answer{err: &FunctionError{"Function.ResponseSizeTooLarge", fmt.Sprintf("the answer has more than %d bytes", mostAnswer)}}, http.StatusRequestEntityTooLarge)
		return
	}
	a := answer{body: body}
	if kind := r.Trailer.Get("Lambda-Runtime-Function-Error-Type"); kind != "" { // it failed while it answered
		a = answer{err: &FunctionError{kind, "the answer broke off"}}
	}
	e.answer(w, r, a, http.StatusAccepted)
}

// failure takes what the process says of an event that it could not handle.
func (e *Environment) failure(w http.ResponseWriter, r *http.Request) {
	e.answer(w, r, answer{err: said(r)}, http.StatusAccepted)
}

func (e *Environment) answer(w http.ResponseWriter, r *http.Request, a answer, status int) {
	i := e.current.Load()
	if i == nil || r.PathValue("id") != i.id {
		tell(w, http.StatusBadRequest, "InvalidRequestID")
		return
	}
	select {
	case e.answers <- a:
		tell(w, status, "")
	default:
		tell(w, http.StatusBadRequest, "InvalidStateTransition") // answered already
	}
}

// initError takes why the process cannot begin.
func (e *Environment) initError(w http.ResponseWriter, r *http.Request) {
	select {
	case e.refused <- said(r):
	default:
	}
	tell(w, http.StatusAccepted, "")
}

func said(r *http.Request) error {
	fault := &FunctionError{Type: r.Header.Get("Lambda-Runtime-Function-Error-Type")}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err = errors.Join(err, json.Unmarshal(raw, fault)); err != nil && fault.Message == "" {
		fault.Message = "it does not say what is wrong"
	}
	return fault
}

// tell answers the process as Lambda does.
func tell(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	doc := map[string]string{"status": "OK"}
	if kind != "" {
		doc = map[string]string{"errorType": kind, "errorMessage": kind}
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// kept is how much of the end of a process's output is remembered.
const kept = 8 << 10

// output takes what a process writes, hands it on line by line, and remembers the end.
type output struct {
	to io.Writer

	mu   sync.Mutex
	rest []byte // of a line that is not whole
	end  []byte
}

// Write never fails: a process does not stop since nobody reads what it says.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end = append(o.end, p...)
	if len(o.end) > kept {
		o.end = bytes.Clone(o.end[len(o.end)-kept:])
	}
	o.rest = append(o.rest, p...)
	for {
		line, rest, whole := bytes.Cut(o.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if o.to != nil {
			_, _ = o.to.Write(append(bytes.Clone(line), '\n'))
		}
		o.rest = rest
	}
}

func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.end)
}
