package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/sivchari/kumo"

	"engang/infra/modelstub"
)

// Engines are where another process serves them.
type Engines struct {
	AWS   string `json:"aws"`   // table and queues: the embedded engine
	Model string `json:"model"` // the stub, which answers at once
}

// Serve serves engines in this process until the context ends, or input does, which is how an engine ends with the
// process that started it. It writes to out where they are.
func Serve(ctx context.Context, input io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve the model stub: %w", err)
	}
	model := &http.Server{Handler: modelstub.New(), ReadHeaderTimeout: 10 * time.Second}
	go model.Serve(listener)
	defer model.Close()
	aws := kumo.NewServer()
	defer aws.Close()
	if err := json.NewEncoder(out).Encode(Engines{AWS: aws.URL, Model: "http://" + listener.Addr().String() + "/v1"}); err != nil {
		return fmt.Errorf("say where engines are: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, input)
	}()
	select {
	case <-ctx.Done():
	case <-over:
	}
	return nil
}

// Beside starts this program once more, with arguments that make it serve engines, and says where they are. The
// returned function ends it.
func Beside(ctx context.Context, args ...string) (e Engines, end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return e, nil, fmt.Errorf("start engines: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return e, nil, fmt.Errorf("start engines: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return e, nil, fmt.Errorf("start engines: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return e, nil, fmt.Errorf("start engines: %w", err)
	}
	end = func() error {
		in.Close()
		return cmd.Wait()
	}
	if err := json.NewDecoder(out).Decode(&e); err != nil {
		_ = end()
		return e, nil, fmt.Errorf("start engines: they do not say where they are: %w", err)
	}
	return e, end, nil
}
