package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// resource is a kind of served objects, as `collection/kind.rs` has it.
type resource struct {
	schema.GroupVersionResource
	// fields has the paths of the two fields that each handler reads.
	fields [2][]string
}

var resources = map[string]resource{
	"pods":       {corev1.SchemeGroupVersion.WithResource("pods"), podFields},
	"small-pods": {corev1.SchemeGroupVersion.WithResource("pods"), podFields},
	"config-maps": {
		corev1.SchemeGroupVersion.WithResource("configmaps"),
		[2][]string{{"data", "mode"}, {"data", "release"}},
	},
	"workflows": {
		schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "workflows"},
		[2][]string{{"status", "phase"}, {"spec", "entrypoint"}},
	},
}

var podFields = [2][]string{{"status", "phase"}, {"spec", "nodeName"}}

// start runs a shared informer of all objects, made by the factory that controllers use, until ctx is done.
func (p plan) start(ctx context.Context, counted *counter) (cache.SharedIndexInformer, error) {
	// Without the client's own rate limit.
	config := &rest.Config{Host: p.server, QPS: -1}
	informer, err := p.informer(config)
	if err != nil {
		return nil, err
	}
	if p.managedFields == "drop" {
		if err := informer.SetTransform(dropManagedFields); err != nil {
			return nil, fmt.Errorf("set the transform: %w", err)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.handle(object, counted) },
		UpdateFunc: func(_, object any) { p.handle(object, counted) },
		DeleteFunc: func(any) { counted.fail(fmt.Errorf("an object was deleted")) },
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("register the handler: %w", err)
	}
	go informer.RunWithContext(ctx)
	return informer, nil
}

func (p plan) informer(config *rest.Config) (cache.SharedIndexInformer, error) {
	resource := resources[p.kind].GroupVersionResource
	if p.types == "unstructured" {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("make a client: %w", err)
		}
		return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(resource).Informer(), nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	generic, err := informers.NewSharedInformerFactory(client, 0).ForResource(resource)
	if err != nil {
		return nil, fmt.Errorf("there is no type for %s, so -types must be unstructured: %w", p.kind, err)
	}
	return generic.Informer(), nil
}

func dropManagedFields(object any) (any, error) {
	if accessor, is := object.(metav1.Object); is {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// handle reads two fields of an object and counts it.
func (p plan) handle(object any, counted *counter) {
	first, second := p.twoFields(object)
	if first == "" || second == "" {
		counted.fail(fmt.Errorf("an object lacks one of the fields %v", resources[p.kind].fields))
		return
	}
	counted.add()
}

func (p plan) twoFields(object any) (first, second string) {
	switch object := object.(type) {
	case *corev1.Pod:
		return string(object.Status.Phase), object.Spec.NodeName
	case *corev1.ConfigMap:
		return object.Data["mode"], object.Data["release"]
	case *unstructured.Unstructured:
		fields := resources[p.kind].fields
		first, _, _ = unstructured.NestedString(object.Object, fields[0]...)
		second, _, _ = unstructured.NestedString(object.Object, fields[1]...)
	}
	return first, second
}
