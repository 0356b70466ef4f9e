package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Recover makes an error of a panic, which is a bug: to be deferred by who answers for one piece of work among others.
// Its line holds the panic's type and where it was, never its value, which may be content. The reference finds the line
// again, and stands in the error.
func Recover(ctx context.Context, log *slog.Logger, err *error, reference slog.Attr) {
	if p := recover(); p != nil {
		log.LogAttrs(ctx, slog.LevelError, "bug", reference, slog.String("kind", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
		*err = fmt.Errorf("bug, see %s %s in the log", reference.Key, reference.Value)
	}
}
