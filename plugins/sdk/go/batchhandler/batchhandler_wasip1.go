package batchhandler

import (
	"context"
	"log/slog"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_batch_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_batch_handler" // exports the interface batch-handler
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_batch_handler"
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/received"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		return failure.Registered(registered != nil, calls, "batchhandler.Register", "function for batches")
	})
	export.OnBatch = func(wire []wit.Notification) []wit.Outcome {
		var outcomes []wit.Outcome
		err := failure.Call(func(ctx context.Context) error {
			notifications, err := batch(wire)
			if err != nil {
				return err
			}
			for _, outcome := range registered(ctx, notifications) {
				outcomes = append(outcomes, answered(outcome))
			}
			return nil
		})
		if err == nil {
			return outcomes
		}
		if len(wire) == 1 {
			return []wit.Outcome{wit.MakeOutcomeFailed(answer.Failure(err))}
		}
		// Without outcomes, the host delivers each notification alone.
		slog.Warn("the batch has failed, and its notifications are delivered one by one", "error", err)
		return nil
	}
}

func batch(wire []wit.Notification) ([]Notification, error) {
	notifications := make([]Notification, len(wire))
	for i, one := range wire {
		object := received.Object(one.Gvr, one.Meta, one.Id, one.Cause)
		notification := Notification{Object: object, Attempt: int(one.Attempt)}
		switch one.Verb {
		case wit.VerbAdded:
			notification.Verb = Added
		case wit.VerbUpdated:
			notification.Verb = Updated
		case wit.VerbDeleted:
			notification.Verb = Deleted
			object.FinalStateUnknown = !one.FinalStateKnown
		}
		if one.Old.IsSome() {
			var err error
			if notification.Old, err = received.Before(one.Gvr, one.Old.Some()); err != nil {
				return nil, err
			}
		}
		notifications[i] = notification
	}
	return notifications, nil
}

func answered(outcome Outcome) wit.Outcome {
	switch {
	case outcome.Err != nil:
		return wit.MakeOutcomeFailed(answer.Failure(outcome.Err))
	case outcome.Again != 0:
		return wit.MakeOutcomeAgain(failure.Millis(outcome.Again))
	default:
		return wit.MakeOutcomeHandled()
	}
}
