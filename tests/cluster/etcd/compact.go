package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const compactTimeout = 30 * time.Second

// compact makes all revisions before the current one unreadable. The compaction is physical: when compact returns, a
// watch from an older revision is refused.
func compact(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), compactTimeout)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{"http://" + address}})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	defer client.Close()
	current, err := client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("read the current revision: %w", err)
	}
	revision := current.Header.Revision
	if _, err := client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("compact at revision %d: %w", revision, err)
	}
	fmt.Println(revision)
	return nil
}
