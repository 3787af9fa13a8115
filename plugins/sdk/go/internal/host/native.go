//go:build !wasip1

package host

import "sync"

// Host is what a fake of the host provides. The functions of this package say what each does.
type Host interface {
	ObjectMeta(id uint32) (Meta, *Error)
	ObjectJSON(id uint32) (string, *Error)
	ObjectFields(id uint32, pointers []string) ([]*string, *Error)
	ObjectsDiffer(old, new uint32, pointers []string) (bool, *Error)
	LogEnabled(level Level) bool
	Log(level Level, message string, fields [][2]string)
	CurrentDelivery() Delivery
	CallAgain(millis uint32) *Error
	TimerAfter(name string, millis uint32) *Error
	TimerCancel(name string)
	CounterAdd(name string, labels [][2]string, value float64) *Error
	GaugeSet(name string, labels [][2]string, value float64) *Error
	HistogramObserve(name string, labels [][2]string, value float64) *Error
	ListerGet(gvr string, key Key) (*string, *Error)
	ListerFields(gvr string, key Key, pointers []string) ([]*string, bool, *Error)
	ListMetas(gvr string, of Selector, token *string) ([]Meta, *string, *Error)
	ListRows(gvr string, of Selector, pointers []string, token *string) ([]Row, *string, *Error)
	ListJSON(gvr string, of Selector, token *string) ([]string, *string, *Error)
	IndexValues(gvr, index, namespace string, after *string, limit uint32) ([]IndexValue, *Error)
	StateOf(gvr string) (CacheState, *Error)
	HasSynced(gvr string) (bool, *Error)
	WaitUntil(gvr, namespace, resourceVersion string, millis uint32) (bool, *Error)
	Get(gvr string, key Key, subresource string) (string, *Error)
	List(gvr string, options ListOptions) ([]string, *string, *Error)
	Create(gvr, namespace, object string, options WriteOptions) (string, *Error)
	Update(gvr string, key Key, object string, options WriteOptions) (string, *Error)
	Patch(gvr string, key Key, kind PatchKind, body string, options WriteOptions) (string, *Error)
	Delete(gvr string, key Key, options DeleteOptions) *Error
	RecordEvent(event Event) *Error
	QueueAdd(key string) *Error
	QueueAddAfter(key string, millis uint32) *Error
	QueueAddRateLimited(key string) *Error
	QueueForget(key string)
	QueueRequeues(key string) uint32
	QueueLen() uint32
	BucketGet(bucket, key string) ([]byte, bool, *Error)
	BucketSet(bucket, key string, value []byte) *Error
	BucketDelete(bucket, key string) *Error
	BucketExists(bucket, key string) (bool, *Error)
	BucketKeys(bucket string, cursor *uint64) ([]string, *uint64, *Error)
	BucketIncrement(bucket, key string, delta uint64) (uint64, *Error)
	BucketGetMany(bucket string, keys []string) (map[string][]byte, *Error)
	BucketSetMany(bucket string, values map[string][]byte) *Error
	BucketDeleteMany(bucket string, keys []string) *Error
	ConfigGet(key string) (string, bool, *Error)
	ConfigAll() (map[string]string, *Error)
	SendHTTP(request HTTPRequest) (HTTPAnswer, *Error)
}

var (
	mutex   sync.Mutex
	current Host
)

// Use makes a fake the host that the functions of this package call, and returns the previous one. The plugin forgets what it has
// written to the previous host.
func Use(fake Host) Host {
	mutex.Lock()
	defer mutex.Unlock()
	before := current
	current = fake
	if Forget != nil {
		Forget()
	}
	return before
}

func fake() Host {
	mutex.Lock()
	defer mutex.Unlock()
	if current == nil {
		panic("there is no host outside a component: make one with informertest.New in the test")
	}
	return current
}

func ObjectMeta(id uint32) (Meta, *Error)   { return fake().ObjectMeta(id) }
func ObjectJSON(id uint32) (string, *Error) { return fake().ObjectJSON(id) }
func ObjectFields(id uint32, pointers []string) ([]*string, *Error) {
	return fake().ObjectFields(id, pointers)
}
func ObjectsDiffer(old, new uint32, pointers []string) (bool, *Error) {
	return fake().ObjectsDiffer(old, new, pointers)
}
func LogEnabled(level Level) bool                         { return fake().LogEnabled(level) }
func Log(level Level, message string, fields [][2]string) { fake().Log(level, message, fields) }
func CurrentDelivery() Delivery                           { return fake().CurrentDelivery() }
func CallAgain(millis uint32) *Error                      { return fake().CallAgain(millis) }
func TimerAfter(name string, millis uint32) *Error        { return fake().TimerAfter(name, millis) }
func TimerCancel(name string)                             { fake().TimerCancel(name) }
func CounterAdd(name string, labels [][2]string, value float64) *Error {
	return fake().CounterAdd(name, labels, value)
}
func GaugeSet(name string, labels [][2]string, value float64) *Error {
	return fake().GaugeSet(name, labels, value)
}
func HistogramObserve(name string, labels [][2]string, value float64) *Error {
	return fake().HistogramObserve(name, labels, value)
}
func ListerGet(gvr string, key Key) (*string, *Error) { return fake().ListerGet(gvr, key) }
func ListerFields(gvr string, key Key, pointers []string) ([]*string, bool, *Error) {
	return fake().ListerFields(gvr, key, pointers)
}
func ListMetas(gvr string, of Selector, token *string) ([]Meta, *string, *Error) {
	return fake().ListMetas(gvr, of, token)
}
func ListRows(gvr string, of Selector, pointers []string, token *string) ([]Row, *string, *Error) {
	return fake().ListRows(gvr, of, pointers, token)
}
func ListJSON(gvr string, of Selector, token *string) ([]string, *string, *Error) {
	return fake().ListJSON(gvr, of, token)
}
func IndexValues(gvr, index, namespace string, after *string, limit uint32) ([]IndexValue, *Error) {
	return fake().IndexValues(gvr, index, namespace, after, limit)
}
func StateOf(gvr string) (CacheState, *Error) { return fake().StateOf(gvr) }
func HasSynced(gvr string) (bool, *Error)     { return fake().HasSynced(gvr) }
func WaitUntil(gvr, namespace, resourceVersion string, millis uint32) (bool, *Error) {
	return fake().WaitUntil(gvr, namespace, resourceVersion, millis)
}
func Get(gvr string, key Key, subresource string) (string, *Error) {
	return fake().Get(gvr, key, subresource)
}
func List(gvr string, options ListOptions) ([]string, *string, *Error) {
	return fake().List(gvr, options)
}
func Create(gvr, namespace, object string, options WriteOptions) (string, *Error) {
	return fake().Create(gvr, namespace, object, options)
}
func Update(gvr string, key Key, object string, options WriteOptions) (string, *Error) {
	return fake().Update(gvr, key, object, options)
}
func Patch(gvr string, key Key, kind PatchKind, body string, options WriteOptions) (string, *Error) {
	return fake().Patch(gvr, key, kind, body, options)
}
func Delete(gvr string, key Key, options DeleteOptions) *Error {
	return fake().Delete(gvr, key, options)
}
func RecordEvent(event Event) *Error                      { return fake().RecordEvent(event) }
func QueueAdd(key string) *Error                          { return fake().QueueAdd(key) }
func QueueAddAfter(key string, millis uint32) *Error      { return fake().QueueAddAfter(key, millis) }
func QueueAddRateLimited(key string) *Error               { return fake().QueueAddRateLimited(key) }
func QueueForget(key string)                              { fake().QueueForget(key) }
func QueueRequeues(key string) uint32                     { return fake().QueueRequeues(key) }
func QueueLen() uint32                                    { return fake().QueueLen() }
func BucketGet(bucket, key string) ([]byte, bool, *Error) { return fake().BucketGet(bucket, key) }
func BucketSet(bucket, key string, value []byte) *Error   { return fake().BucketSet(bucket, key, value) }
func BucketDelete(bucket, key string) *Error              { return fake().BucketDelete(bucket, key) }
func BucketExists(bucket, key string) (bool, *Error)      { return fake().BucketExists(bucket, key) }
func BucketKeys(bucket string, cursor *uint64) ([]string, *uint64, *Error) {
	return fake().BucketKeys(bucket, cursor)
}
func BucketIncrement(bucket, key string, delta uint64) (uint64, *Error) {
	return fake().BucketIncrement(bucket, key, delta)
}
func BucketGetMany(bucket string, keys []string) (map[string][]byte, *Error) {
	return fake().BucketGetMany(bucket, keys)
}
func BucketSetMany(bucket string, values map[string][]byte) *Error {
	return fake().BucketSetMany(bucket, values)
}
func BucketDeleteMany(bucket string, keys []string) *Error {
	return fake().BucketDeleteMany(bucket, keys)
}
func ConfigGet(key string) (string, bool, *Error) { return fake().ConfigGet(key) }
func ConfigAll() (map[string]string, *Error)      { return fake().ConfigAll() }
func SendHTTP(request HTTPRequest) (HTTPAnswer, *Error) {
	return fake().SendHTTP(request)
}
