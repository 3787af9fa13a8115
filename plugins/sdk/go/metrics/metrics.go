// Package metrics records metrics of the plugin, which the host serves for Prometheus under the prefix informer_plugin_. Never put the
// name of an object into a label: the number of series is limited.
package metrics

import (
	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// A Label is the name and the value of a label.
type Label [2]string

// Add adds to a counter. The host appends _total to its name.
func Add(counter string, value float64, labels ...Label) error {
	return informer.Refused(host.CounterAdd(counter, wire(labels), value))
}

// Set sets a gauge.
func Set(gauge string, value float64, labels ...Label) error {
	return informer.Refused(host.GaugeSet(gauge, wire(labels), value))
}

// Observe adds a value to a histogram, in base units: seconds or bytes.
func Observe(histogram string, value float64, labels ...Label) error {
	return informer.Refused(host.HistogramObserve(histogram, wire(labels), value))
}

func wire(labels []Label) [][2]string {
	pairs := make([][2]string, len(labels))
	for i, label := range labels {
		pairs[i] = [2]string{host.UTF8(label[0]), host.UTF8(label[1])}
	}
	return pairs
}
