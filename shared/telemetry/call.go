// Package telemetry is what the functions tell about themselves: log lines, metric lines, and the name
// of the call in progress. It never holds a payload, an output or a secret.
package telemetry

import "context"

type callKey struct{}

// WithCall names the outside call that is about to be made ("W3 claim"), for logs, and for tests and
// the local system that count, delay and break calls in the transport.
func WithCall(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callKey{}, name)
}

// Call is the name given by [WithCall], or "".
func Call(ctx context.Context) string {
	name, _ := ctx.Value(callKey{}).(string)
	return name
}
