// Package plugin is the life cycle of a plugin, and what all plugins use.
package plugin

import (
	"fmt"

	"MODULE/bindings/informer_plugin_log"
	"MODULE/bindings/informer_plugin_types"
	"MODULE/bindings/wit/types"
)

// Name and Version are what the plugin says about itself.
var Name, Version = "MODULE", "0.1.0"

// Start prepares an instance. The host calls it once in each instance, before a handler, with the table [plugin.config] as JSON.
var Start = func(config string) error { return nil }

// Stop ends an instance, with a short deadline.
var Stop = func() {}

// Log writes a line at the level info, with fields: names and values in turn.
func Log(message string, fields ...string) {
	pairs := make([]types.Tuple2[string, string], 0, len(fields)/2)
	for i := 1; i < len(fields); i += 2 {
		pairs = append(pairs, types.Tuple2[string, string]{F0: fields[i-1], F1: fields[i]})
	}
	informer_plugin_log.Write(informer_plugin_log.LevelInfo, message, pairs)
}

// Value returns the value of a result, or its error as an error of Go.
func Value[T, E any](result types.Result[T, E]) (T, error) {
	if result.IsOk() {
		return result.Ok(), nil
	}
	var none T
	switch refused := any(result.Err()).(type) {
	case informer_plugin_types.Error:
		return none, fmt.Errorf("the host refused the call: %s", refused.Message)
	default:
		return none, fmt.Errorf("the host refused the call: %+v", refused)
	}
}
