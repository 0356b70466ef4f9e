package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"engang/infra/engang/client"
	"engang/infra/engang/stack"
	"engang/shared/parameters"
	"engang/shared/secrets"
)

// A vault is the target's part of the parameter store, as this operator may use it.
type vault struct {
	store *parameters.Store
	read  func(context.Context) error // makes the target read it again, where that can be asked for
}

// openVault finds the parameter store of the target: a stack's by its outputs and the operator's own AWS
// identity, the local system's by asking it where its engine is.
func (p *program) openVault(ctx context.Context, c *client.Client) (*vault, error) {
	if p.deployed != nil {
		if p.deployed.SecretPath == "" {
			return nil, &failure{exitNotFound, p.deployed.Lacks("SecretPath")}
		}
		return &vault{parameters.Open(p.deployed.Config, p.deployed.SecretPath), func(context.Context) error { return nil }}, nil
	}
	at, err := c.Engine(ctx, false)
	if err != nil {
		return nil, p.explain(err)
	}
	cfg := aws.Config{
		Region: at.Region, BaseEndpoint: &at.Endpoint, HTTPClient: p.HTTP,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	return &vault{parameters.Open(cfg, at.SecretPath), func(ctx context.Context) error {
		_, err := c.Engine(ctx, true)
		return p.explain(err)
	}}, nil
}

// within bounds one call of the parameter store, and sorts its error.
func within[T any](ctx context.Context, p *program, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	v, err := call(ctx)
	return v, storeError(err)
}

// storeError gives an error of the parameter store its exit code, and leaves out what the store itself
// says: that may repeat a value.
func storeError(err error) error {
	if err == nil || errors.Is(err, parameters.ErrExists) {
		return err
	}
	e, said := errors.AsType[smithy.APIError](err)
	code, stranger := stack.RefusesIdentity(err)
	switch {
	case stack.RefusesClock(err):
		return &failure{exitNotAllowed, errors.New("the parameter store refuses the clock of this machine: set it")}
	case stranger:
		return &failure{exitNotAllowed, fmt.Errorf("the parameter store refuses this identity (%s): it needs ssm:GetParameters, GetParametersByPath, PutParameter and DeleteParameter below the stack's path", code)}
	case stack.CannotNow(err):
		return fmt.Errorf("the parameter store: %w: it says that it cannot now", client.ErrNoAnswer)
	case said:
		return &failure{exitFailed, fmt.Errorf("the parameter store refuses: %s", e.ErrorCode())}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the parameter store: %w in time", client.ErrNoAnswer)
	}
	return fmt.Errorf("the parameter store: %w", client.ErrNoAnswer)
}

// maxSecret is what the parameter store holds at most in a standard parameter.
const maxSecret = 4096

// readSecret reads a secret from standard input: all of it, without the line end that a shell puts there;
// on a terminal one line, which is not shown.
func (p *program) readSecret(ctx context.Context) (secrets.Value, error) {
	if p.Stdin == nil {
		return secrets.Value{}, usage("the secret is read from standard input, and there is none")
	}
	if p.Hide != nil {
		show, err := p.Hide()
		if err != nil {
			return secrets.Value{}, usage("what is typed here would be shown: give the secret on standard input, from a file or a pipe")
		}
		defer show()
		fmt.Fprint(p.Stderr, "secret (what you type is not shown): ")
		defer fmt.Fprintln(p.Stderr)
	}
	type input struct {
		raw []byte
		err error
	}
	got := make(chan input, 1)
	go func() { // a read from a terminal ends with nothing else
		raw, err := readUpTo(p.Stdin, maxSecret+3, p.Hide != nil)
		got <- input{raw, err}
	}()
	select {
	case <-ctx.Done():
		return secrets.Value{}, fmt.Errorf("%w: nothing was stored", errInterrupted)
	case in := <-got:
		text := strings.TrimSuffix(strings.TrimSuffix(string(in.raw), "\n"), "\r")
		switch {
		case in.err != nil:
			return secrets.Value{}, fmt.Errorf("read secret: %w", in.err)
		case len(text) > maxSecret:
			return secrets.Value{}, usage("what stands on standard input has more than %d bytes: that is no secret", maxSecret)
		}
		return secrets.NewValue(text), nil
	}
}

// readUpTo reads so many bytes at most, or one line.
func readUpTo(from io.Reader, limit int, line bool) ([]byte, error) {
	var raw []byte
	one := make([]byte, 1) // byte by byte: what stands behind the line is not ours
	if !line {
		return io.ReadAll(io.LimitReader(from, int64(limit)))
	}
	for len(raw) < limit && !bytes.HasSuffix(raw, []byte("\n")) {
		n, err := from.Read(one)
		raw = append(raw, one[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return raw, nil
}
