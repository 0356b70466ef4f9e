// Engang is the operator program: it runs the whole system on one machine, delivers to it, and looks at
// what became of events and work, here and in a deployed stack.
package main

import (
	"os"

	"engang/infra/engang/program"
)

func main() { os.Exit(program.Main()) }
