//go:build wasip1

// Package export_informer_plugin_batch_handler passes calls of generated code to package batchhandler.
package export_informer_plugin_batch_handler

import "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_batch_handler"

// OnBatch is set by package batchhandler.
var OnBatch func(notifications []informer_plugin_batch_handler.Notification) []informer_plugin_batch_handler.Outcome
