// Package main warns about each Deployment whose image goes back to an older version.
//
// The comparison of versions comes from a package of the Go ecosystem, github.com/Masterminds/semver.
package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/Masterminds/semver/v3"
	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/handler"
)

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// fields are what the handler reads of a Deployment.
type fields struct {
	Containers []container `pointer:"/spec/template/spec/containers"`
}

func init() { handler.Register(handler.Funcs{Update: compare}) }

func main() {}

func compare(_ context.Context, old, new *informer.Object) error {
	var before, after fields
	if err := old.Read(&before); err != nil {
		return err
	}
	if err := new.Read(&after); err != nil {
		return err
	}
	earlier := map[string]string{}
	for _, container := range before.Containers {
		earlier[container.Name] = container.Image
	}
	for _, container := range after.Containers {
		from, to := version(earlier[container.Name]), version(container.Image)
		if from != nil && to != nil && to.LessThan(from) {
			slog.Warn("goes back to an older version", "object", new.Key(), "container", container.Name,
				"from", from.Original(), "to", to.Original())
		}
	}
	return nil
}

// version returns the version in the tag of an image, or nil if there is no tag or it is not a version.
func version(image string) *semver.Version {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(strings.SplitN(name, "@", 2)[0], ":")
	found, err := semver.NewVersion(tag)
	if err != nil {
		return nil
	}
	return found
}
