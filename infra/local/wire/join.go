package wire

import "context"

// Join makes a context belong to the invocation that another one belongs to, or to none. It ends as ctx ends: a call
// that came from another process is the process's.
func Join(ctx, invocation context.Context) context.Context {
	return context.WithValue(ctx, key{}, From(invocation))
}
