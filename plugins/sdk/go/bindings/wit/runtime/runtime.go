// Package runtime is what the generated bindings need below them: memory for arguments and results, and handles of resources.
//
// The garbage collector never starts by itself. A cycle that ended while the host places an argument in the memory of the plugin
// would read the clock, and the plugin may not call the host at that moment. A cycle runs at the start of a call instead, if
// there is enough to collect.
package runtime

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"unsafe"
)

// collectAbove is the size of the heap from which on it is collected, and again whenever it has doubled.
const collectAbove = 8 << 20

// early is memory for what arrives before the runtime of Go is ready.
var early [256 << 10]byte

var (
	earlyUsed   uintptr
	ready       bool
	arrived     runtime.Pinner
	heap        = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	collectNext = uint64(collectAbove)
)

func init() {
	debug.SetGCPercent(-1)
	ready = true
}

// Unpin ends the use of the memory that the host has filled with arguments. The generated code calls it at the start of each
// call, after it has made Go values of them.
func Unpin() {
	arrived.Unpin()
	metrics.Read(heap)
	if heap[0].Value.Uint64() < collectNext {
		return
	}
	runtime.GC()
	metrics.Read(heap)
	collectNext = max(collectAbove, 2*heap[0].Value.Uint64())
}

// Allocate returns zeroed memory that stays at its place until the pinner unpins it.
func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	var memory unsafe.Pointer
	if align == 1 {
		memory = unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
	} else {
		// The elements are aligned to 8 bytes, which is the most that an argument needs.
		memory = unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	}
	pinner.Pin(memory)
	return memory
}

//go:wasmimport wasi_snapshot_preview1 adapter_monotonic_clock_set_paused
func pauseClock(paused bool)

// cabiRealloc is called by the host, which never asks for more memory at the same place.
//
//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if old != nil || oldSize != 0 {
		panic("the host grows memory that it got before")
	}
	if ready {
		// An allocation may ask for the time, which the adapter then answers from memory.
		pauseClock(true)
		memory := Allocate(&arrived, size, align)
		pauseClock(false)
		return memory
	}
	start := (uintptr(unsafe.Pointer(&early)) + earlyUsed + align - 1) &^ (align - 1)
	earlyUsed = start + size - uintptr(unsafe.Pointer(&early))
	if earlyUsed > uintptr(len(early)) {
		panic("the memory for the start is used up")
	}
	return unsafe.Add(unsafe.Pointer(&early), start-uintptr(unsafe.Pointer(&early)))
}

// A Handle is the number of a resource. Zero means that the resource was dropped, or given away.
type Handle struct {
	number int32
}

// MakeHandle returns the handle of a resource.
func MakeHandle(number int32) *Handle {
	handle := &Handle{}
	handle.Set(number)
	return handle
}

// Use returns the number, which the handle keeps.
func (handle *Handle) Use() int32 {
	if handle.number == 0 {
		panic("the resource was dropped")
	}
	return handle.number
}

// Take returns the number, which the handle loses.
func (handle *Handle) Take() int32 {
	number := handle.Use()
	handle.number = 0
	return number
}

// TakeOrNil is like Take, and returns zero if there is no number.
func (handle *Handle) TakeOrNil() int32 {
	number := handle.number
	handle.number = 0
	return number
}

// Set gives the handle a number.
func (handle *Handle) Set(number int32) {
	if number == 0 || handle.number != 0 {
		panic("a handle gets one number")
	}
	handle.number = number
}
