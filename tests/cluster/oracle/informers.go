package main

import (
	"context"
	"fmt"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type informer struct {
	gvr schema.GroupVersionResource
	cache.SharedIndexInformer
}

// start creates one shared informer for each resource, as a controller does, and runs them until ctx is done.
func start(ctx context.Context, options options, out *lines) ([]informer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", options.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", options.kubeconfig, err)
	}
	// Disable the client's own rate limit, so that only the faults delay the informers.
	config.QPS = -1
	config.Wrap(observe(out))
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	selected := func(list *metav1.ListOptions) { list.LabelSelector = options.selector }
	namespaced := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, options.namespace, nil)
	cluster := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, metav1.NamespaceAll, selected)

	var informers []informer
	register := func(factory dynamicinformer.DynamicSharedInformerFactory, resources []schema.GroupVersionResource) error {
		for _, gvr := range resources {
			it := informer{gvr, factory.ForResource(gvr).Informer()}
			if err := it.register(out, false); err != nil {
				return err
			}
			informers = append(informers, it)
		}
		factory.Start(ctx.Done())
		return nil
	}
	if err := register(namespaced, options.namespaced); err != nil {
		return nil, err
	}
	return informers, register(cluster, options.cluster)
}

func (i informer) obey(command string, out *lines) error {
	switch command {
	case "join":
		return i.register(out, true)
	case "dump":
		out.print(i.cache())
		return nil
	}
	return fmt.Errorf("unknown command %q", command)
}

func (i informer) register(out *lines, late bool) error {
	if _, err := i.AddEventHandler(handler{gvr: name(i.gvr), late: late, out: out}); err != nil {
		return fmt.Errorf("register a handler of %s: %w", name(i.gvr), err)
	}
	return nil
}

func (i informer) cache() cached {
	objects := []*unstructured.Unstructured{}
	for _, object := range i.GetStore().List() {
		objects = append(objects, object.(*unstructured.Unstructured))
	}
	sort.Slice(objects, func(left, right int) bool { return key(objects[left]) < key(objects[right]) })
	return cached{Cache: name(i.gvr), Synced: i.HasSynced(), RV: i.LastSyncResourceVersion(), Objects: objects}
}

func key(object metav1.Object) string {
	return cache.MetaObjectToName(object).String()
}
