// Command lists is the registry of go-containerregistry with lists of referrers. It listens on a free port, which it
// logs, and ends together with the process that started it.
package main

import (
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"informer.test/registries/servers/parent"
)

func main() {
	parent.EndWith()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %s", listener.Addr())
	server := &http.Server{
		Handler:           registry.New(registry.WithReferrersSupport(true)),
		ReadHeaderTimeout: 5 * time.Second,
	}
	log.Fatal(server.Serve(listener))
}
