module github.com/informer-host/informer/plugins/sdk/go

go 1.24
