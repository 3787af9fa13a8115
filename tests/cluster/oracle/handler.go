package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// handler prints each of its calls.
type handler struct {
	gvr  string
	late bool
	out  *lines
}

var _ cache.ResourceEventHandler = handler{}

func (h handler) OnAdd(object any, isInInitialList bool) {
	line := h.call("add", object.(metav1.Object))
	line.Initial = isInInitialList
	h.out.print(line)
}

func (h handler) OnUpdate(oldObject, newObject any) {
	line := h.call("update", newObject.(metav1.Object))
	before := oldObject.(metav1.Object)
	line.OldUID, line.OldRV = string(before.GetUID()), before.GetResourceVersion()
	h.out.print(line)
}

func (h handler) OnDelete(object any) {
	tombstone, unknown := object.(cache.DeletedFinalStateUnknown)
	if unknown {
		object = tombstone.Obj
	}
	line := h.call("delete", object.(metav1.Object))
	line.Tombstone = unknown
	h.out.print(line)
}

func (h handler) call(verb string, object metav1.Object) called {
	return called{
		Call: verb,
		Late: h.late,
		Gvr:  h.gvr,
		Key:  key(object),
		UID:  string(object.GetUID()),
		RV:   object.GetResourceVersion(),
	}
}
