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

// start runs a shared informer of all pods, made by the factory that controllers use, until ctx is done.
func (p plan) start(ctx context.Context, counted *counter) (cache.SharedIndexInformer, error) {
	// Without the client's own rate limit.
	config := &rest.Config{Host: p.server, QPS: -1}
	pods, err := p.informer(config)
	if err != nil {
		return nil, err
	}
	if p.managedFields == "drop" {
		if err := pods.SetTransform(dropManagedFields); err != nil {
			return nil, fmt.Errorf("set the transform: %w", err)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { handle(object, counted) },
		UpdateFunc: func(_, object any) { handle(object, counted) },
		DeleteFunc: func(any) { counted.fail(fmt.Errorf("a pod was deleted")) },
	}
	if _, err := pods.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("register the handler: %w", err)
	}
	go pods.RunWithContext(ctx)
	return pods, nil
}

func (p plan) informer(config *rest.Config) (cache.SharedIndexInformer, error) {
	if p.objects == "typed" {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("make a client: %w", err)
		}
		return informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer(), nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(resource).Informer(), nil
}

func dropManagedFields(object any) (any, error) {
	if pod, is := object.(metav1.Object); is {
		pod.SetManagedFields(nil)
	}
	return object, nil
}

// handle reads two fields of a pod and counts it.
func handle(object any, counted *counter) {
	phase, node := twoFields(object)
	if phase == "" || node == "" {
		counted.fail(fmt.Errorf("a pod lacks a field"))
		return
	}
	counted.add()
}

func twoFields(object any) (phase, node string) {
	switch pod := object.(type) {
	case *corev1.Pod:
		return string(pod.Status.Phase), pod.Spec.NodeName
	case *unstructured.Unstructured:
		phase, _, _ = unstructured.NestedString(pod.Object, "status", "phase")
		node, _, _ = unstructured.NestedString(pod.Object, "spec", "nodeName")
	}
	return phase, node
}
