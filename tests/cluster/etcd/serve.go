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
	// A single member has no peers, but etcd always listens for them, so use any free port.
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// The launcher reserves the port with its own socket, which never listens.
	config.SocketOpts.ReusePort = true
	// The data must survive this process, but not a crash of the machine.
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

// parentEnded is closed when standard input ends. The parent holds the other end of the pipe and never writes to it, so
// the pipe ends when the parent closes it or ends for any reason.
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
