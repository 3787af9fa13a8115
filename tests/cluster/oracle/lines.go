package main

import (
	"encoding/json"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lines prints values as JSON, each on a line of its own, from many goroutines.
type lines struct {
	lock sync.Mutex
}

// called is one call of a handler. For an update the state before is told too.
type called struct {
	Call      string `json:"call"`
	Late      bool   `json:"late,omitempty"`
	Gvr       string `json:"gvr"`
	Key       string `json:"key"`
	UID       string `json:"uid"`
	RV        string `json:"rv"`
	OldUID    string `json:"oldUid,omitempty"`
	OldRV     string `json:"oldRv,omitempty"`
	Initial   bool   `json:"initial,omitempty"`
	Tombstone bool   `json:"tombstone,omitempty"`
}

// requested is one request of a reflector: list, watch, or watch-list (a streaming list).
type requested struct {
	Request string `json:"request"`
	Gvr     string `json:"gvr"`
}

// cached is everything in one informer's cache, by key.
type cached struct {
	Cache   string                       `json:"cache"`
	Synced  bool                         `json:"synced"`
	RV      string                       `json:"rv"`
	Objects []*unstructured.Unstructured `json:"objects"`
}

func (l *lines) print(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
		// Nobody listens any more.
		os.Exit(1)
	}
}
