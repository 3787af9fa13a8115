package keyvalue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	informer "github.com/informer-host/informer/plugins/sdk/go"
	"github.com/informer-host/informer/plugins/sdk/go/config"
	"github.com/informer-host/informer/plugins/sdk/go/informertest"
	"github.com/informer-host/informer/plugins/sdk/go/keyvalue"
	"github.com/informer-host/informer/plugins/sdk/go/metrics"
	"github.com/informer-host/informer/plugins/sdk/go/workqueue"
)

const bucket = keyvalue.Bucket("state")

type state struct{ Seen int }

func TestAValueIsKeptAsJSON(t *testing.T) {
	informertest.New(t)

	if _, found, err := keyvalue.Load[state](bucket, "a"); found || err != nil {
		t.Error(found, err)
	}
	if err := keyvalue.Store(bucket, "a", state{3}); err != nil {
		t.Fatal(err)
	}
	if value, found, err := keyvalue.Load[state](bucket, "a"); value.Seen != 3 || !found || err != nil {
		t.Error(value, found, err)
	}
	if err := bucket.Set("b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keyvalue.Load[state](bucket, "b"); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Error(err)
	}
	if err := bucket.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if exists, err := bucket.Exists("a"); exists || err != nil {
		t.Error(exists, err)
	}
}

func TestKeysGoThroughAllPages(t *testing.T) {
	informertest.New(t)
	if err := bucket.SetMany(map[string][]byte{"a": {1}, "b": {2}, "c": {3}, "d": {4}, "e": {5}}); err != nil {
		t.Fatal(err)
	}
	if err := bucket.DeleteMany("d", "x"); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key, err := range bucket.Keys() {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if !slices.Equal(keys, []string{"a", "b", "c", "e"}) {
		t.Error(keys)
	}
	if values, err := bucket.GetMany("a", "d"); err != nil || len(values) != 1 || values["a"][0] != 1 {
		t.Error(values, err)
	}
}

func TestGetManyReadsAtMostAThousandKeys(t *testing.T) {
	informertest.New(t)
	keys := make([]string, 1001)
	if _, err := bucket.GetMany(keys[1:]...); err != nil {
		t.Error(err)
	}
	const message = "1001 keys in one read; at most 1000 are allowed"
	if _, err := bucket.GetMany(keys...); !errors.Is(err, informer.StoreFailed) || !strings.Contains(err.Error(), message) {
		t.Error(err)
	}
}

func TestANumberIsIncremented(t *testing.T) {
	informertest.New(t)
	for _, want := range []uint64{2, 4} {
		if sum, err := bucket.Increment("n", 2); sum != want || err != nil {
			t.Error(sum, err)
		}
	}
	if number, _, err := keyvalue.Load[int](bucket, "n"); number != 4 || err != nil {
		t.Error(number, err)
	}
}

func TestAValueThatIsNoNumberOf64BitsIsNotIncremented(t *testing.T) {
	informertest.New(t)
	for _, kept := range []string{"five", "18446744073709551615"} {
		if err := bucket.Set("n", []byte(kept)); err != nil {
			t.Fatal(err)
		}
		sum, refused := bucket.Increment("n", 1)
		if found, _, err := bucket.Get("n"); !errors.Is(refused, informer.StoreFailed) || string(found) != kept || err != nil {
			t.Error(sum, refused, string(found), err)
		}
	}
}

func TestConfigurationMetricsAndKeysReachTheHost(t *testing.T) {
	host := informertest.New(t)
	host.SetConfig("a.b", "1")

	if value, found, err := config.Get("a.b"); value != "1" || !found || err != nil {
		t.Error(value, found, err)
	}
	if values, err := config.All(); len(values) != 1 || err != nil {
		t.Error(values, err)
	}
	if err := metrics.Add("scaled", 1, metrics.Label{"to", "3"}); err != nil || !slices.Equal(host.Metrics(), []string{"add scaled to=3 1"}) {
		t.Error(host.Metrics(), err)
	}
	for _, key := range []string{"a", "a", "b"} {
		if err := workqueue.Add(key); err != nil {
			t.Error(err)
		}
	}
	if key, ok := host.TakeKey(); workqueue.Len() != 1 || key != "a" || !ok {
		t.Error(key, ok)
	}
}

func TestAKeyThatIsNotUTF8IsRefused(t *testing.T) {
	host := informertest.New(t)
	const key = "a\xff"
	_, _, got := bucket.Get(key)
	_, exists := bucket.Exists(key)
	_, increment := bucket.Increment(key, 1)
	_, many := bucket.GetMany("b", key)
	_, _, named := keyvalue.Bucket(key).Get("b")
	_, _, configured := config.Get(key)
	refused := map[string]error{
		"Get": got, "Exists": exists, "Increment": increment, "GetMany": many, "the name of a bucket": named,
		"config.Get": configured, "Set": bucket.Set(key, nil), "Delete": bucket.Delete(key),
		"SetMany": bucket.SetMany(map[string][]byte{key: nil}), "DeleteMany": bucket.DeleteMany(key),
		"Add": workqueue.Add(key), "AddAfter": workqueue.AddAfter(key, 0), "AddRateLimited": workqueue.AddRateLimited(key),
	}

	for name, err := range refused {
		if !errors.Is(err, informer.Invalid) || !strings.Contains(err.Error(), `"a\xff" is not UTF-8: use strings.ToValidUTF8`) {
			t.Error(name, err)
		}
	}
	for _, err := range keyvalue.Bucket(key).Keys() {
		if !errors.Is(err, informer.Invalid) {
			t.Error("Keys", err)
		}
	}
	workqueue.Forget(key)
	if found, ok := host.TakeKey(); ok || workqueue.Requeues(key) != 0 {
		t.Error(found)
	}
}
