// Command kube-scheduler is k8s.io/kubernetes/cmd/kube-scheduler. It ends together with the process that started it.
package main

import (
	"os"

	"informer.test/cluster/kubernetes/parent"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parent.EndWith()
	os.Exit(cli.Run(app.NewSchedulerCommand()))
}
