// Package main makes mistakes at run time.
package main

import (
	"context"
	"fmt"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/handler"
	"github.com/informer-host/informer/plugins/sdk/go/lister"
)

func init() { handler.Register(handler.Funcs{Add: added}) }

func main() {}

func added(_ context.Context, object *informer.Object) error {
	switch object.Name {
	case "boom":
		return boom(object)
	case "spin":
		spin()
	case "eat":
		eat()
	default:
		for _, err := range lister.Metas(object.GVR, lister.Selector{}) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func boom(object *informer.Object) error {
	var colours []string
	fmt.Println(colours[len(object.Labels)])
	return nil
}

var turns uint64

//go:noinline
func spin() {
	for {
		turns++
	}
}

var eaten [][]byte

func eat() {
	for {
		eaten = append(eaten, make([]byte, 1<<20))
	}
}
