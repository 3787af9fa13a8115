//go:build !wasip1

package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

func (f fake) QueueAdd(key string) *host.Error {
	if !slices.Contains(f.queue, key) {
		f.queue = append(f.queue, key)
	}
	return nil
}

func (f fake) QueueAddAfter(key string, _ uint32) *host.Error { return f.QueueAdd(key) }

func (f fake) QueueAddRateLimited(key string) *host.Error {
	f.requeues[key]++
	return f.QueueAdd(key)
}

func (f fake) QueueForget(key string)          { delete(f.requeues, key) }
func (f fake) QueueRequeues(key string) uint32 { return f.requeues[key] }
func (f fake) QueueLen() uint32                { return uint32(len(f.queue)) }

func (f fake) CallAgain(millis uint32) *host.Error {
	f.again = append(f.again, time.Duration(millis)*time.Millisecond)
	return nil
}

func (f fake) TimerAfter(name string, millis uint32) *host.Error {
	if name == "" {
		return &host.Error{Kind: "invalid", Message: "the name of a timer is empty"}
	}
	f.timers[name] = time.Duration(millis) * time.Millisecond
	return nil
}

func (f fake) TimerCancel(name string) { delete(f.timers, name) }

func (f fake) bucket(name string) map[string][]byte {
	if f.buckets[name] == nil {
		f.buckets[name] = map[string][]byte{}
	}
	return f.buckets[name]
}

func (f fake) BucketGet(bucket, key string) ([]byte, bool, *host.Error) {
	value, found := f.bucket(bucket)[key]
	return slices.Clone(value), found, nil
}

func (f fake) BucketSet(bucket, key string, value []byte) *host.Error {
	f.bucket(bucket)[key] = slices.Clone(value)
	return nil
}

func (f fake) BucketDelete(bucket, key string) *host.Error {
	delete(f.bucket(bucket), key)
	return nil
}

func (f fake) BucketExists(bucket, key string) (bool, *host.Error) {
	_, found := f.bucket(bucket)[key]
	return found, nil
}

// BucketKeys returns a page of keys. As in the host, a page begins after the last key of the previous page, so keys that are set or
// deleted meanwhile move no other key.
func (f fake) BucketKeys(bucket string, cursor *uint64) ([]string, *uint64, *host.Error) {
	keys := slices.Sorted(maps.Keys(f.bucket(bucket)))
	if cursor != nil {
		if *cursor >= uint64(len(f.cursors)) {
			return nil, nil, &host.Error{Kind: "store-failed", Message: "no page has this cursor"}
		}
		last := f.cursors[*cursor]
		keys = slices.DeleteFunc(keys, func(key string) bool { return key <= last })
	}
	if len(keys) <= PageSize {
		return keys, nil, nil
	}
	next := uint64(len(f.cursors))
	f.cursors = append(f.cursors, keys[PageSize-1])
	return keys[:PageSize], &next, nil
}

func (f fake) BucketIncrement(bucket, key string, delta uint64) (uint64, *host.Error) {
	var number uint64
	if value, found := f.bucket(bucket)[key]; found {
		var err error
		if number, err = strconv.ParseUint(string(value), 10, 64); err != nil {
			return 0, &host.Error{Kind: "store-failed", Message: "the value is no decimal number"}
		}
	}
	sum := number + delta
	if sum < number {
		return 0, &host.Error{Kind: "store-failed", Message: "the sum is no number of 64 bits"}
	}
	return sum, f.BucketSet(bucket, key, strconv.AppendUint(nil, sum, 10))
}

// readKeys is the most keys that the host reads in one call.
const readKeys = 1000

func (f fake) BucketGetMany(bucket string, keys []string) (map[string][]byte, *host.Error) {
	if len(keys) > readKeys {
		message := fmt.Sprintf("%d keys in one read; at most %d are allowed", len(keys), readKeys)
		return nil, &host.Error{Kind: "store-failed", Message: message}
	}
	values := map[string][]byte{}
	for _, key := range keys {
		if value, found := f.bucket(bucket)[key]; found {
			values[key] = slices.Clone(value)
		}
	}
	return values, nil
}

func (f fake) BucketSetMany(bucket string, values map[string][]byte) *host.Error {
	for key, value := range values {
		f.bucket(bucket)[key] = slices.Clone(value)
	}
	return nil
}

func (f fake) BucketDeleteMany(bucket string, keys []string) *host.Error {
	for _, key := range keys {
		delete(f.bucket(bucket), key)
	}
	return nil
}

func (f fake) ConfigGet(key string) (string, bool, *host.Error) {
	value, found := f.config[key]
	return value, found, nil
}

func (f fake) SendHTTP(request host.HTTPRequest) (host.HTTPAnswer, *host.Error) {
	scheme := "http"
	if request.HTTPS {
		scheme = "https"
	}
	place := fmt.Sprintf("%s %s://%s%s", request.Method, scheme, request.Authority, request.Path)
	f.requests = append(f.requests, fmt.Sprintf("%s %s", place, request.Body))
	answer, found := f.answers[place]
	if !found {
		return answer, &host.Error{Kind: "http-request-denied", Message: "the test has no answer"}
	}
	return answer, nil
}

func (f fake) ConfigAll() (map[string]string, *host.Error) { return maps.Clone(f.config), nil }
