// Command oracle runs client-go's shared informers or its leader election, and prints what they do, so that ours can be
// compared with them.
//
//	oracle -kubeconfig <file> -namespace <name> -selector <labels> -namespaced <gvr>... -cluster <gvr>...
//	oracle -kubeconfig <file> -lease <namespace>/<name> -identity <name> -lease-duration <duration>
//
// A gvr is written group/version/resource, or version/resource for the core group. Namespaced resources are watched in
// the namespace, cluster-scoped ones by the selector.
//
// Each call of a handler, and each requested list or watch, is one JSON line on standard output. The line "join" on
// standard input registers a late handler with each informer. The line "dump" prints the caches, one JSON line for each
// resource. The end of standard input ends the process.
//
// With a lease, each change of the role and of the leader is one JSON line. The end of standard input releases the lease.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	options, err := parse(arguments)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	out := &lines{}
	if options.lease != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
		return elect(ctx, options, out)
	}
	informers, err := start(ctx, options, out)
	if err != nil {
		return err
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		for _, it := range informers {
			if err := it.obey(commands.Text(), out); err != nil {
				return err
			}
		}
	}
	return commands.Err()
}
