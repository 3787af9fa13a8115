package main

import (
	"encoding/json"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lines prints values from many goroutines as JSON, one value on each line.
type lines struct {
	lock sync.Mutex
}

// called is one call of a handler. An update also has the old state.
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

// cached has all objects in the cache of one informer by key.
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
		// The reader of standard output is gone.
		os.Exit(1)
	}
}
