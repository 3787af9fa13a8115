package batchhandler

import (
	"context"
	"errors"
	"log/slog"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	export "github.com/informer-host/informer/plugins/sdk/go/bindings/export_informer_plugin_batch_handler"
	_ "github.com/informer-host/informer/plugins/sdk/go/bindings/exports_batch_handler" // exports the interface batch-handler
	wit "github.com/informer-host/informer/plugins/sdk/go/bindings/informer_plugin_batch_handler"
	"github.com/informer-host/informer/plugins/sdk/go/internal/answer"
	"github.com/informer-host/informer/plugins/sdk/go/internal/failure"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

func init() {
	informer.OnStart(func(context.Context, informer.Config) error {
		if registered == nil {
			return errors.New("no function for batches is registered: call batchhandler.Register from an init function")
		}
		return nil
	})
	export.OnBatch = func(wire []wit.Notification) []wit.Outcome {
		var outcomes []wit.Outcome
		err := failure.Call(func(ctx context.Context) error {
			notifications, err := received(wire)
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

func received(wire []wit.Notification) ([]Notification, error) {
	notifications := make([]Notification, len(wire))
	for i, one := range wire {
		object := informer.OfToken(one.Gvr, host.MetaOf(one.Meta), one.Id)
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
		switch one.Cause {
		case wit.CauseLive:
			object.Cause = informer.Live
		case wit.CauseInitial:
			object.Cause = informer.Initial
		case wit.CauseRelist:
			object.Cause = informer.Relist
		case wit.CauseResync:
			object.Cause = informer.Resync
		case wit.CauseReplay:
			object.Cause = informer.Replay
		}
		if one.Old.IsSome() {
			old := one.Old.Some()
			meta, err := host.ObjectMeta(old)
			if err != nil {
				return nil, informer.Refused(err)
			}
			notification.Old = informer.OfToken(one.Gvr, meta, old)
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
