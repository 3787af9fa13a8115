// Package config reads the configuration while the plugin runs: [plugin.config], and the files under config-files, which may be
// mounted from ConfigMaps and Secrets. Changes of files are visible at once. [informer.OnStart] receives the same values at the start.
package config

import (
	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// Get returns a value, and false if there is none. The key a.b is the value at b in the table a. Text is returned as it is, any other
// value as JSON.
func Get(key string) (string, bool, error) {
	if refused := host.NotUTF8("the key", key); refused != nil {
		return "", false, informer.Refused(refused)
	}
	value, found, err := host.ConfigGet(key)
	return value, found, informer.Refused(err)
}

// All returns all values.
func All() (map[string]string, error) {
	values, err := host.ConfigAll()
	return values, informer.Refused(err)
}
