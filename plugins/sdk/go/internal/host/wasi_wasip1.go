package host

import (
	config "github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_config_store"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_keyvalue_atomics"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_keyvalue_batch"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wasi_keyvalue_store"
	"github.com/informer-host/informer/plugins/sdk/go/bindings/wit/types"
)

// buckets are those that this instance has opened. It keeps their handles, of which the host allows 64.
var buckets = map[string]*wasi_keyvalue_store.Bucket{}

func stored[T any](result types.Result[T, wasi_keyvalue_store.Error]) (T, *Error) {
	if result.IsOk() {
		return result.Ok(), nil
	}
	var none T
	switch refused := result.Err(); refused.Tag() {
	case wasi_keyvalue_store.ErrorNoSuchStore:
		return none, &Error{Kind: "no-such-store", Message: "the host does not have the bucket"}
	case wasi_keyvalue_store.ErrorAccessDenied:
		return none, &Error{Kind: "access-denied", Message: "the host refuses the bucket"}
	default:
		return none, &Error{Kind: "store-failed", Message: refused.Other()}
	}
}

func opened(name string) (*wasi_keyvalue_store.Bucket, *Error) {
	if bucket, ok := buckets[name]; ok {
		return bucket, nil
	}
	bucket, err := stored(wasi_keyvalue_store.Open(name))
	if err == nil {
		buckets[name] = bucket
	}
	return bucket, err
}

func BucketGet(bucket, key string) ([]byte, bool, *Error) {
	store, err := opened(bucket)
	if err != nil {
		return nil, false, err
	}
	found, err := stored(store.Get(key))
	return found.SomeOr(nil), found.IsSome(), err
}

func BucketSet(bucket, key string, value []byte) *Error {
	store, err := opened(bucket)
	if err == nil {
		_, err = stored(store.Set(key, value))
	}
	return err
}

func BucketDelete(bucket, key string) *Error {
	store, err := opened(bucket)
	if err == nil {
		_, err = stored(store.Delete(key))
	}
	return err
}

func BucketExists(bucket, key string) (bool, *Error) {
	store, err := opened(bucket)
	if err != nil {
		return false, err
	}
	return stored(store.Exists(key))
}

func BucketKeys(bucket string, cursor *uint64) ([]string, *uint64, *Error) {
	store, err := opened(bucket)
	if err != nil {
		return nil, nil, err
	}
	found, err := stored(store.ListKeys(option(cursor)))
	return found.Keys, pointer(found.Cursor), err
}

func BucketIncrement(bucket, key string, delta uint64) (uint64, *Error) {
	store, err := opened(bucket)
	if err != nil {
		return 0, err
	}
	return stored(wasi_keyvalue_atomics.Increment(store, key, delta))
}

func BucketGetMany(bucket string, keys []string) (map[string][]byte, *Error) {
	store, err := opened(bucket)
	if err != nil {
		return nil, err
	}
	found, err := stored(wasi_keyvalue_batch.GetMany(store, keys))
	values := make(map[string][]byte, len(found))
	for _, pair := range found {
		if pair.IsSome() {
			values[pair.Some().F0] = pair.Some().F1
		}
	}
	return values, err
}

func BucketSetMany(bucket string, values map[string][]byte) *Error {
	store, err := opened(bucket)
	if err != nil {
		return err
	}
	pairs := make([]types.Tuple2[string, []byte], 0, len(values))
	for key, value := range values {
		pairs = append(pairs, types.Tuple2[string, []byte]{F0: key, F1: value})
	}
	_, err = stored(wasi_keyvalue_batch.SetMany(store, pairs))
	return err
}

func BucketDeleteMany(bucket string, keys []string) *Error {
	store, err := opened(bucket)
	if err == nil {
		_, err = stored(wasi_keyvalue_batch.DeleteMany(store, keys))
	}
	return err
}

func configured[T any](result types.Result[T, config.Error]) (T, *Error) {
	if result.IsOk() {
		return result.Ok(), nil
	}
	var none T
	switch refused := result.Err(); refused.Tag() {
	case config.ErrorUpstream:
		return none, &Error{Kind: "config-failed", Message: refused.Upstream()}
	default:
		return none, &Error{Kind: "config-failed", Message: refused.Io()}
	}
}

func ConfigGet(key string) (string, bool, *Error) {
	found, err := configured(config.Get(key))
	return found.SomeOr(""), found.IsSome(), err
}

func ConfigAll() (map[string]string, *Error) {
	found, err := configured(config.GetAll())
	values := make(map[string]string, len(found))
	for _, pair := range found {
		values[pair.F0] = pair.F1
	}
	return values, err
}
