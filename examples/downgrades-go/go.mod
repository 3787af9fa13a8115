module downgrades

go 1.24

require (
	github.com/Masterminds/semver/v3 v3.5.0
	github.com/informer-host/informer/plugins/sdk/go v0.1.0
)

replace github.com/informer-host/informer/plugins/sdk/go => ../../plugins/sdk/go
