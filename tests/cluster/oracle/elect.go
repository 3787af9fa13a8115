package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// elected is a change of the role of this process, or of the leader that it sees.
type elected struct {
	Leads  *bool  `json:"leads,omitempty"`
	Leader string `json:"leader,omitempty"`
}

// elect competes for the lease, as a controller with client-go does, until ctx is done. Then it releases the lease.
func elect(ctx context.Context, options options, out *lines) error {
	config, err := clientcmd.BuildConfigFromFlags("", options.kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", options.kubeconfig, err)
	}
	client, err := coordination.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	namespace, name, found := strings.Cut(options.lease, "/")
	if !found {
		return fmt.Errorf("%q is not namespace/name", options.lease)
	}
	role := func(leads bool) { out.print(elected{Leads: &leads}) }
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: options.identity},
		},
		LeaseDuration:   options.duration,
		RenewDeadline:   options.duration * 2 / 3,
		RetryPeriod:     options.duration * 2 / 15,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { role(true) },
			OnStoppedLeading: func() { role(false) },
			OnNewLeader:      func(identity string) { out.print(elected{Leader: identity}) },
		},
	})
	if err != nil {
		return fmt.Errorf("make an elector: %w", err)
	}
	elector.Run(ctx)
	return nil
}

// defaultDuration is that of client-go.
const defaultDuration = 15 * time.Second
