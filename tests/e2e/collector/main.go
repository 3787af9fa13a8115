// Command collector is the OTLP receiver of the OpenTelemetry Collector, for gRPC and HTTP on free ports, which it logs. It
// writes each message that it receives as a line of OTLP's JSON, as the collector's file exporter does. It ends together with the
// process that started it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.uber.org/zap"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	endpoints := map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": "127.0.0.1:0"},
		"http": map[string]any{"endpoint": "127.0.0.1:0"},
	}}
	if err := confmap.NewFromStringMap(endpoints).Unmarshal(config); err != nil {
		return err
	}
	traces, err := consumer.NewTraces(printer())
	if err != nil {
		return err
	}
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	// It logs the addresses.
	if settings.Logger, err = zap.NewProduction(); err != nil {
		return err
	}
	receiver, err := factory.CreateTraces(ctx, settings, config, traces)
	if err != nil {
		return err
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	// The parent holds the other end of the pipe and never writes to it.
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return receiver.Shutdown(ctx)
}

// printer writes each message that is received on a line of its own.
func printer() consumer.ConsumeTracesFunc {
	var line sync.Mutex
	return func(_ context.Context, traces ptrace.Traces) error {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err != nil {
			return err
		}
		line.Lock()
		defer line.Unlock()
		_, err = fmt.Printf("%s\n", text)
		return err
	}
}
