//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of processors, in its own code and in the kernel's.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
