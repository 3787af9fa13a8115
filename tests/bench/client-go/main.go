// Command client-go is a subject of the benchmark: a shared informer of client-go with a handler in the same process.
//
// It takes the options of a measurement and prints a line of JSON for each phase, as every subject does; `subject.rs`
// has the steps. GOGC comes from the environment.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	plan, err := parse(arguments)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	return plan.measure(ctx)
}
