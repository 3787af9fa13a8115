package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

func serve(dataDir, address string) error {
	config := embed.NewConfig()
	config.Dir = dataDir
	config.ListenClientUrls = []url.URL{{Scheme: "http", Host: address}}
	config.AdvertiseClientUrls = config.ListenClientUrls
	// A single member has no peers, but etcd insists on listening for them: any free port will do.
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// The launcher holds the port reserved by a socket of its own that never listens.
	config.SocketOpts.ReusePort = true
	// The data need to survive this process, not the machine.
	config.UnsafeNoFsync = true
	config.LogLevel = "warn"

	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer etcd.Close()
	select {
	case <-parentEnded():
	case <-terminated():
	case err := <-etcd.Err():
		return fmt.Errorf("etcd stopped: %w", err)
	}
	return nil
}

// parentEnded is closed when standard input ends. The parent holds the other end of that pipe and never writes to it,
// so the end comes when the parent closes it or dies, however it dies.
func parentEnded() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	return ended
}

func terminated() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return signals
}
