package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// usage has the processor time and the memory of this process.
type usage struct {
	cpuSeconds    float64
	residentBytes int64
	peakBytes     int64
}

// ticksPerSecond is the unit of times in /proc. The kernel's interface fixes it.
const ticksPerSecond = 100

func now() (usage, error) {
	var it usage
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return it, err
	}
	// User and system time are the 14th and 15th fields. The second is the name of the program, in brackets.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return it, fmt.Errorf("read /proc/self/stat: %w", err)
		}
		it.cpuSeconds += float64(ticks) / ticksPerSecond
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return it, err
	}
	if it.residentBytes, err = kibibytes(string(status), "VmRSS:"); err != nil {
		return it, err
	}
	it.peakBytes, err = kibibytes(string(status), "VmHWM:")
	return it, err
}

func kibibytes(status, name string) (int64, error) {
	_, rest, found := strings.Cut(status, name)
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("/proc/self/status has no %s", name)
	}
	number, err := strconv.ParseInt(fields[0], 10, 64)
	return number * 1024, err
}
