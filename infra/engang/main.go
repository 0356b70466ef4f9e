// Engang is the operator program: it runs the whole system on one machine, delivers to it, and looks at
// what became of events and work, here and in a deployed stack.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"engang/infra/engang/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := program.Run(ctx, program.Process())
	stop()
	os.Exit(code)
}
