// Package parent ends a server together with the process that started it.
package parent

import (
	"io"
	"os"
	"syscall"
	"time"
)

// grace is how long a server may take after the signal before it is killed.
const grace = 15 * time.Second

// EndWith sends SIGTERM to this process when standard input ends. The parent holds the other end of the pipe and never
// writes to it, so the pipe ends when the parent closes it or ends for any reason. So no server outlives its test.
func EndWith() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(grace)
		os.Exit(1)
	}()
}
