// Command plain is the registry of the distribution project, which has no lists of referrers, with the drivers that
// tests need. It ends together with the process that started it.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"informer.test/registries/servers/parent"
)

func main() {
	parent.EndWith()
	if registry.RootCmd.Execute() != nil {
		os.Exit(1)
	}
}
