// Package main is what a plugin in Go does with the SDK. story.js does the same.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/client"
	"github.com/informer-host/informer/plugins/sdk/go/config"
	"github.com/informer-host/informer/plugins/sdk/go/confighandler"
	"github.com/informer-host/informer/plugins/sdk/go/fetch"
	"github.com/informer-host/informer/plugins/sdk/go/handler"
	"github.com/informer-host/informer/plugins/sdk/go/keyvalue"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
	"github.com/informer-host/informer/plugins/sdk/go/synchandler"
	"github.com/informer-host/informer/plugins/sdk/go/timer"
)

const (
	deployments = "apps/v1/deployments"
	story       = keyvalue.Bucket("story")
)

var (
	web    = informer.Key{Namespace: "default", Name: "web"}
	secret = informer.Key{Namespace: "default", Name: "x"}
)

type teller struct{}

type table struct{ Greeting, Mood, URL string }

func init() {
	informer.OnStart(func(_ context.Context, settings informer.Config) error {
		greeted, err := informer.DecodeConfig[table](settings)
		if err != nil {
			return err
		}
		if greeting, _, err := config.Get("greeting"); err != nil || greeting != greeted.Greeting {
			return fmt.Errorf("the greetings %q and %q differ: %w", greeting, greeted.Greeting, err)
		}
		slog.Info("started", "greeting", greeted.Greeting)
		return nil
	})
	handler.Register(teller{})
	synchandler.Register(synced)
	timer.Register(fired)
	confighandler.Register(configured)
}

func main() {}

func (teller) OnAdd(_ context.Context, object *informer.Object) error {
	attempt := informer.CurrentDelivery().Attempt
	switch object.Name {
	case "go":
		return tell(object)
	case "later":
		if attempt == 1 {
			return informer.RetryAfter(errors.New("soon"), 5*time.Millisecond)
		}
		slog.Info(fmt.Sprintf("later: attempt %d", attempt))
	case "bad":
		explode(nil)
	case "uncaught":
		_, err := lister.Get("v1/secrets", secret)
		return informer.Terminal(fmt.Errorf("%s: %w", secret, err))
	case "again":
		return informer.CallAgain(5 * time.Millisecond)
	}
	return nil
}

func (teller) OnUpdate(_ context.Context, old, new *informer.Object) error {
	if new.Name == "again" {
		slog.Info(fmt.Sprintf("again: %s", new.Cause))
	}
	var annotations struct {
		Applied string `pointer:"/metadata/annotations/example.com~1applied"`
	}
	if err := new.Read(&annotations); err != nil || annotations.Applied != "yes" {
		return err
	}
	differs, err := informer.Changed(old, new, "/metadata/annotations")
	slog.Info(fmt.Sprintf("own write: %t, differs: %t", client.Wrote(new), differs))
	return err
}

func (teller) OnDelete(context.Context, *informer.Object) error { return nil }

func synced(_ context.Context, synced synchandler.Synced) error {
	// The plugin with the signals has one object.
	if synced.Count != 1 {
		return nil
	}
	cache, err := lister.State(synced.GVR)
	if err != nil {
		return err
	}
	fresh := cache.ResourceVersion != "" && cache.Age < time.Minute
	slog.Info(fmt.Sprintf("synced: %s, version: %t, cache: %t %t", synced.GVR, synced.ResourceVersion != "", cache.Synced, fresh))
	var values []string
	for value, err := range lister.IndexValues(synced.GVR, "app", "") {
		if err != nil {
			return err
		}
		values = append(values, fmt.Sprintf("%s %d", value.Value, value.Objects))
	}
	slog.Info("values: " + strings.Join(values, ", "))
	err = errors.Join(timer.After("never", 50*time.Millisecond), timer.After("soon", 5*time.Millisecond), timer.After("bad", 5*time.Millisecond))
	timer.Cancel("never")
	slog.Info("taken: " + refused(timer.After("tick", 5*time.Millisecond)))
	return err
}

func fired(_ context.Context, name string) error {
	if name == "bad" {
		explode(nil)
	}
	if name == "soon" && informer.CurrentDelivery().Attempt == 1 {
		return errors.New("not yet")
	}
	slog.Info(fmt.Sprintf("timer: %s, again: %s", name, refused(informer.CallAgain(5*time.Millisecond))))
	return nil
}

func configured(_ context.Context, settings informer.Config) error {
	table, err := informer.DecodeConfig[table](settings)
	slog.Info(fmt.Sprintf("config: %s %s", table.Greeting, table.Mood))
	return err
}

// refused is why the host refused a call.
func refused(err error) string {
	var refused *informer.Error
	if errors.As(err, &refused) {
		return string(refused.Kind)
	}
	return fmt.Sprint(err)
}

func tell(object *informer.Object) error {
	var names []string
	for meta, err := range lister.Metas(deployments, lister.Selector{Namespace: "default", PageSize: 2}) {
		if err != nil {
			return err
		}
		names = append(names, meta.Name)
	}
	slog.Info("pages: " + strings.Join(names, ","))

	var refused *informer.Error
	if _, err := lister.Get("v1/secrets", secret); errors.As(err, &refused) {
		slog.Info(fmt.Sprintf("refused: %s", refused.Kind))
	}
	if _, err := client.Get(deployments, informer.Key{Namespace: "default", Name: "none"}); errors.As(err, &refused) {
		slog.Info(fmt.Sprintf("missing: %s %d", refused.Kind, refused.Status))
	}
	if err := call(); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	err := client.Record(client.Event{GVR: deployments, Regarding: object.Key(), Reason: "Told", Action: "Telling", Note: "the story"})
	if err != nil {
		return err
	}
	applied, err := client.Apply(deployments, map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": map[string]any{
			"namespace":   web.Namespace,
			"name":        web.Name,
			"annotations": map[string]string{"example.com/applied": "yes"},
		},
	})
	if err != nil {
		return err
	}
	type annotated struct {
		Metadata struct{ Annotations map[string]string }
	}
	decoded, err := informer.Decode[annotated](applied)
	slog.Info("applied: " + decoded.Metadata.Annotations["example.com/applied"])
	return err
}

// call sends HTTP requests.
func call() error {
	url, _, err := config.Get("url")
	if err != nil {
		return err
	}
	request := fetch.Request{Method: "POST", URL: url + "/hook", Body: []byte("späti")}
	request.Header = map[string]string{"X-Mood": "calm", "Content-Length": "1"}
	answer, err := fetch.Do(request)
	if err != nil {
		return err
	}
	slog.Info(fmt.Sprintf("http: %d %s, %s", answer.Status, answer.Header["x-heard"], answer.Body))
	request.Body = bytes.Repeat([]byte("x"), 10_000)
	if answer, err = fetch.Do(request); err != nil {
		return err
	}
	slog.Info(fmt.Sprintf("http: %d bytes", len(answer.Body)-len("POST ")))
	_, err = fetch.Do(fetch.Request{URL: url + "/other"})
	slog.Info("denied: " + refused(err))
	return nil
}

// change modifies an object that another write changes meanwhile.
func change() error {
	type labelled struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	attempts := 0
	changed, err := client.Modify(deployments, web, func(object *labelled) error {
		attempts++
		if attempts == 1 {
			meanwhile := map[string]any{"metadata": map[string]any{"labels": map[string]string{"tier": "meanwhile"}}}
			if _, err := client.MergePatch(deployments, web, meanwhile); err != nil {
				return err
			}
		}
		object.Metadata.Labels["tier"] = "changed"
		return nil
	})
	if err != nil {
		return err
	}
	slog.Info(fmt.Sprintf("changed at attempt %d: %s", attempts, changed.Labels["tier"]))
	return nil
}

func keep() error {
	type note struct{ Text string }
	if err := keyvalue.Store(story, "ключ", note{"späti 🦀"}); err != nil {
		return err
	}
	kept, _, err := keyvalue.Load[note](story, "ключ")
	if err != nil {
		return err
	}
	sum, err := story.Increment("n", 2)
	if err != nil {
		return err
	}
	keys := 0
	for _, err := range story.Keys() {
		if err != nil {
			return err
		}
		keys++
	}
	slog.Info(fmt.Sprintf("kept: %s, %d, %d keys", kept.Text, sum, keys))
	return nil
}

func explode(values []int) int { return values[3] }
