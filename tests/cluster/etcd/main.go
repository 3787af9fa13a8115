// Command etcd has the parts of etcd that a kube-apiserver under test needs: one member without TLS on loopback, and two
// tools.
//
//	etcd serve <data directory> <client address>   until standard input ends, or SIGTERM
//	etcd compact <client address>                  compacts at the current revision and prints it
//	etcd key <file>                                writes an ECDSA private key that signs service account tokens
package main

import (
	"errors"
	"fmt"
	"os"
)

var errUsage = errors.New("usage: etcd serve <data directory> <address> | compact <address> | key <file>")

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		return serve(args[1], args[2])
	case len(args) == 2 && args[0] == "compact":
		return compact(args[1])
	case len(args) == 2 && args[0] == "key":
		return writeKey(args[1])
	}
	return errUsage
}
