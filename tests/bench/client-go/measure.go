package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Together five seconds in which the memory does not change, as in `subject.rs`.
const (
	look       = 500 * time.Millisecond
	stillLooks = 10
	still      = 200
)

type synced struct {
	Phase        string  `json:"phase"`
	Objects      int     `json:"objects"`
	SyncedMs     float64 `json:"synced_ms"`
	CPUSeconds   float64 `json:"cpu_seconds"`
	StartBytes   int64   `json:"start_bytes"`
	SettledBytes int64   `json:"settled_bytes"`
	PeakBytes    int64   `json:"peak_bytes"`
}

type events struct {
	Phase        string  `json:"phase"`
	Handled      int64   `json:"handled"`
	ElapsedMs    float64 `json:"elapsed_ms"`
	CPUSeconds   float64 `json:"cpu_seconds"`
	SettledBytes int64   `json:"settled_bytes"`
	PeakBytes    int64   `json:"peak_bytes"`
}

type paced struct {
	Phase    string  `json:"phase"`
	Arrivals []int64 `json:"arrivals"`
}

// measure makes the phases of a measurement and prints a sample of each.
func (p plan) measure(ctx context.Context) error {
	// Connect before the measurement, so that the memory of the connection is not counted.
	if err := p.request("/emit?n=0"); err != nil {
		return err
	}
	counted := newCounter()
	if err := p.sync(ctx, counted); err != nil {
		return fmt.Errorf("the first list: %w", err)
	}
	if err := p.emit(ctx, counted); err != nil {
		return fmt.Errorf("the events: %w", err)
	}
	if err := p.pace(ctx, counted); err != nil {
		return fmt.Errorf("the paced events: %w", err)
	}
	if surplus := counted.count.Load() - p.objects - p.events - p.paced; surplus != 0 {
		return fmt.Errorf("%d events too many", surplus)
	}
	return nil
}

func (p plan) sync(ctx context.Context, counted *counter) error {
	var informer cache.SharedIndexInformer
	cost, err := p.phase(func() (err error) {
		if informer, err = p.start(ctx, counted); err != nil {
			return err
		}
		if err := p.reaches(ctx, counted, p.objects); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) {
			return fmt.Errorf("the cache has not synced: %w", limited.Err())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return write(synced{
		Phase:        "synced",
		Objects:      len(informer.GetStore().ListKeys()),
		SyncedMs:     cost.elapsedMs,
		CPUSeconds:   cost.cpuSeconds,
		StartBytes:   cost.startBytes,
		SettledBytes: cost.settled.residentBytes,
		PeakBytes:    cost.settled.peakBytes,
	})
}

func (p plan) emit(ctx context.Context, counted *counter) error {
	cost, err := p.phase(func() error {
		for sent := int64(0); sent < p.events; {
			batch := min(p.batch, p.events-sent)
			if err := p.request(fmt.Sprintf("/emit?n=%d", batch)); err != nil {
				return err
			}
			sent += batch
			if err := p.reaches(ctx, counted, p.objects+sent); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return write(events{
		Phase:        "events",
		Handled:      counted.count.Load() - p.objects,
		ElapsedMs:    cost.elapsedMs,
		CPUSeconds:   cost.cpuSeconds,
		SettledBytes: cost.settled.residentBytes,
		PeakBytes:    cost.settled.peakBytes,
	})
}

// cost is what a phase took: time until its end, memory before it and once it has settled.
type cost struct {
	elapsedMs  float64
	cpuSeconds float64
	startBytes int64
	settled    usage
}

// phase does the work of a phase and waits until the memory has settled.
func (p plan) phase(work func() error) (cost, error) {
	before, err := now()
	if err != nil {
		return cost{}, err
	}
	started := time.Now()
	if err := work(); err != nil {
		return cost{}, err
	}
	elapsed := time.Since(started)
	after, err := now()
	if err != nil {
		return cost{}, err
	}
	settled, err := p.settled()
	return cost{
		elapsedMs:  float64(elapsed) / float64(time.Millisecond),
		cpuSeconds: after.cpuSeconds - before.cpuSeconds,
		startBytes: before.residentBytes,
		settled:    settled,
	}, err
}

func (p plan) pace(ctx context.Context, counted *counter) error {
	arrivals := make([]int64, 0, p.paced)
	counted.arrivals.Store(&arrivals)
	if err := p.request(fmt.Sprintf("/pace?n=%d", p.paced)); err != nil {
		return err
	}
	if err := p.reaches(ctx, counted, p.objects+p.events+p.paced); err != nil {
		return err
	}
	return write(paced{Phase: "paced", Arrivals: arrivals})
}

func (p plan) reaches(ctx context.Context, counted *counter, target int64) error {
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	return counted.reaches(limited, target)
}

// settled waits until the resident memory no longer changes.
func (p plan) settled() (usage, error) {
	until := time.Now().Add(p.settle)
	used, err := now()
	for unchanged := 0; err == nil && unchanged < stillLooks && time.Now().Before(until); {
		time.Sleep(look)
		before := used.residentBytes
		used, err = now()
		if difference := max(used.residentBytes, before) - min(used.residentBytes, before); difference > before/still {
			unchanged = 0
		} else {
			unchanged++
		}
	}
	return used, err
}

func (p plan) request(path string) error {
	answer, err := http.Post(p.server+path, "", nil)
	if err != nil {
		return fmt.Errorf("request events: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("request events: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("request events: %s", answer.Status)
	}
	return nil
}

func write(sample any) error {
	return json.NewEncoder(os.Stdout).Encode(sample)
}
