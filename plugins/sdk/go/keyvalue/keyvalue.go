// Package keyvalue keeps state on the disk of the host. It survives restarts and reloads, and belongs to the name of the plugin in
// informer.toml. A component that uses it needs `keyvalue = "64KiB"`, or more, under [plugin.grant].
package keyvalue

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/page"
)

// A Bucket is the name of a collection of keys with values. The first use of a name makes the bucket:
//
//	const changes = keyvalue.Bucket("changes")
//
// A write that returned is on disk. Keys have at most 1 KiB. A key that is not UTF-8 is refused with [informer.Invalid].
type Bucket string

// check returns an error if the name of the bucket or a key is not UTF-8.
func (bucket Bucket) check(keys ...string) error {
	if refused := host.NotUTF8("the name of a bucket", string(bucket)); refused != nil {
		return informer.Refused(refused)
	}
	return informer.Refused(host.NotUTF8("the key", keys...))
}

// Get returns the value of a key, and false if there is none.
func (bucket Bucket) Get(key string) ([]byte, bool, error) {
	if err := bucket.check(key); err != nil {
		return nil, false, err
	}
	value, found, err := host.BucketGet(string(bucket), key)
	return value, found, informer.Refused(err)
}

// Set sets the value of a key.
func (bucket Bucket) Set(key string, value []byte) error {
	if err := bucket.check(key); err != nil {
		return err
	}
	return informer.Refused(host.BucketSet(string(bucket), key, value))
}

// Delete deletes a key. A key that does not exist is no error.
func (bucket Bucket) Delete(key string) error {
	if err := bucket.check(key); err != nil {
		return err
	}
	return informer.Refused(host.BucketDelete(string(bucket), key))
}

// Exists returns true if the key has a value.
func (bucket Bucket) Exists(key string) (bool, error) {
	if err := bucket.check(key); err != nil {
		return false, err
	}
	exists, err := host.BucketExists(string(bucket), key)
	return exists, informer.Refused(err)
}

// Increment adds to the number that is kept as decimal text, and returns the sum. A missing value is 0.
func (bucket Bucket) Increment(key string, delta uint64) (uint64, error) {
	if err := bucket.check(key); err != nil {
		return 0, err
	}
	sum, err := host.BucketIncrement(string(bucket), key, delta)
	return sum, informer.Refused(err)
}

// Keys iterates over the keys in the order of their bytes. An error ends the loop.
func (bucket Bucket) Keys() iter.Seq2[string, error] {
	return page.Iterate(func(cursor *uint64) ([]string, *uint64, error) {
		if err := bucket.check(); err != nil {
			return nil, nil, err
		}
		keys, next, err := host.BucketKeys(string(bucket), cursor)
		return keys, next, informer.Refused(err)
	})
}

// GetMany returns the values of those keys that have one, in one call. There may be at most 1,000 keys.
func (bucket Bucket) GetMany(keys ...string) (map[string][]byte, error) {
	if err := bucket.check(keys...); err != nil {
		return nil, err
	}
	values, err := host.BucketGetMany(string(bucket), keys)
	return values, informer.Refused(err)
}

// SetMany sets values in one transaction.
func (bucket Bucket) SetMany(values map[string][]byte) error {
	if err := bucket.check(slices.Collect(maps.Keys(values))...); err != nil {
		return err
	}
	return informer.Refused(host.BucketSetMany(string(bucket), values))
}

// DeleteMany deletes keys in one transaction.
func (bucket Bucket) DeleteMany(keys ...string) error {
	if err := bucket.check(keys...); err != nil {
		return err
	}
	return informer.Refused(host.BucketDeleteMany(string(bucket), keys))
}

// Load returns the value of a key from JSON, and false if there is none.
func Load[T any](bucket Bucket, key string) (T, bool, error) {
	var value T
	text, found, err := bucket.Get(key)
	if err != nil || !found {
		return value, false, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, false, fmt.Errorf("the key %q of the bucket %q: %w", key, bucket, err)
	}
	return value, true, nil
}

// Store sets the value of a key, as JSON.
func Store(bucket Bucket, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("the key %q of the bucket %q: %w", key, bucket, err)
	}
	return bucket.Set(key, text)
}
