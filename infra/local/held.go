package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// held are parameters that never reach the engine, which would write them into its data folder in the
// clear: a real key of a model. Asked for, they stand in the engine's answer as if it had them.
type held struct {
	mu     sync.Mutex
	values map[string]string // by full name
}

func (h *held) put(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = map[string]string{}
	}
	h.values[name] = value
}

// wanted are the values that a request asks for. The request stays as it was.
func (h *held) wanted(r *http.Request) (map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.values) == 0 || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetParameters") {
		return nil, nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var in struct{ Names []string }
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	found := map[string]string{}
	for _, name := range in.Names {
		if v, ok := h.values[name]; ok {
			found[name] = v
		}
	}
	return found, nil
}

// complete adds values to the engine's answer.
func complete(answer *http.Response, values map[string]string) error {
	raw, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	type parameter struct{ Name, Type, Value string }
	var out struct {
		Parameters        []parameter
		InvalidParameters []string
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	for name, value := range values {
		out.Parameters = append(slices.DeleteFunc(out.Parameters, func(p parameter) bool { return p.Name == name }), parameter{name, "SecureString", value})
		out.InvalidParameters = slices.DeleteFunc(out.InvalidParameters, func(n string) bool { return n == name })
	}
	if raw, err = json.Marshal(out); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	answer.Header.Del("Content-Length")
	return nil
}
