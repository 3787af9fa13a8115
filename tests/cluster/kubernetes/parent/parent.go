// Package parent ties the life of a server to that of the process that started it.
package parent

import (
	"io"
	"os"
	"syscall"
	"time"
)

// A server that ignores its signal for this long is ended without manners.
const grace = 15 * time.Second

// EndWith sends this process SIGTERM when standard input ends. The parent holds the other end of that pipe and never
// writes to it, so the end comes when the parent closes it or dies, however it dies; no process outlives its test.
func EndWith() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(grace)
		os.Exit(1)
	}()
}
