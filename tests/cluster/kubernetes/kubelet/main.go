// Command kubelet is k8s.io/kubernetes/cmd/kubelet. It ends together with the process that started it.
package main

import (
	"context"
	"os"

	"informer.test/cluster/kubernetes/parent"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	parent.EndWith()
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
