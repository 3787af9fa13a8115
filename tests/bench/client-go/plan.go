package main

import (
	"flag"
	"fmt"
	"time"
)

// clientGoPage is the page size of client-go's pager, which a shared informer cannot change.
const clientGoPage = 500

// plan has the parameters of a measurement, which are the same for every subject.
type plan struct {
	server        string
	types         string
	kind          string
	objects       int64
	events        int64
	batch         int64
	paced         int64
	managedFields string
	settle        time.Duration
	limit         time.Duration
}

func parse(arguments []string) (plan, error) {
	var it plan
	var settle, limit, pageSize int64
	flags := flag.NewFlagSet("client-go", flag.ContinueOnError)
	flags.StringVar(&it.server, "server", "", "address of the server")
	flags.StringVar(&it.types, "types", "", "Go type of the cached objects: typed or unstructured")
	flags.StringVar(&it.kind, "kind", "", "kind of the served objects: pods, small-pods, config-maps or workflows")
	flags.Int64Var(&it.objects, "objects", 0, "number of served objects")
	flags.Int64Var(&it.events, "events", 0, "number of events")
	flags.Int64Var(&it.batch, "batch", 0, "largest number of events in flight")
	flags.Int64Var(&pageSize, "page-size", 0, "number of objects on each page of a list")
	flags.Int64Var(&it.paced, "paced", 0, "number of events at a fixed rate, whose latency is measured")
	flags.StringVar(&it.managedFields, "managed-fields", "", "drop or keep")
	flags.Int64Var(&settle, "settle-seconds", 0, "longest wait for the memory to settle")
	flags.Int64Var(&limit, "limit-seconds", 0, "deadline of a phase")
	if err := flags.Parse(arguments); err != nil {
		return it, err
	}
	it.settle, it.limit = time.Duration(settle)*time.Second, time.Duration(limit)*time.Second
	if it.types != "typed" && it.types != "unstructured" {
		return it, fmt.Errorf("-types is typed or unstructured, not %q", it.types)
	}
	if _, known := resources[it.kind]; !known {
		return it, fmt.Errorf("-kind is pods, small-pods, config-maps or workflows, not %q", it.kind)
	}
	if pageSize != clientGoPage {
		return it, fmt.Errorf("a shared informer of client-go asks for pages of %d objects, so -page-size must be that", clientGoPage)
	}
	return it, nil
}
