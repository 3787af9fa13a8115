package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

type options struct {
	kubeconfig string
	namespace  string
	selector   string
	namespaced []schema.GroupVersionResource
	cluster    []schema.GroupVersionResource
	lease      string
	identity   string
	duration   time.Duration
}

func parse(arguments []string) (options, error) {
	var it options
	flags := flag.NewFlagSet("oracle", flag.ContinueOnError)
	flags.StringVar(&it.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&it.namespace, "namespace", "", "where namespaced resources are watched; all namespaces if empty")
	flags.StringVar(&it.selector, "selector", "", "the labels by which cluster-scoped resources are watched")
	flags.Func("namespaced", "a namespaced resource to watch", appendTo(&it.namespaced))
	flags.Func("cluster", "a cluster-scoped resource to watch", appendTo(&it.cluster))
	flags.StringVar(&it.lease, "lease", "", "the lease to compete for, namespace/name; no informer runs then")
	flags.StringVar(&it.identity, "identity", "oracle", "the holder that the lease names while this process leads")
	flags.DurationVar(&it.duration, "lease-duration", defaultDuration, "how long other processes wait for a leader")
	if err := flags.Parse(arguments); err != nil {
		return it, err
	}
	if it.kubeconfig == "" || it.lease == "" && len(it.namespaced)+len(it.cluster) == 0 {
		return it, errors.New("-kubeconfig and a resource or a lease are needed")
	}
	return it, nil
}

func appendTo(list *[]schema.GroupVersionResource) func(string) error {
	return func(text string) error {
		parts := strings.Split(text, "/")
		switch len(parts) {
		case 2:
			parts = append([]string{""}, parts...)
		case 3:
		default:
			return fmt.Errorf("%q is not group/version/resource", text)
		}
		*list = append(*list, schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]})
		return nil
	}
}

// name returns a resource in the form of the options and the output.
func name(gvr schema.GroupVersionResource) string {
	if gvr.Group == "" {
		return gvr.Version + "/" + gvr.Resource
	}
	return gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
}
