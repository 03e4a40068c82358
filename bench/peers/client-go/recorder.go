package main

import (
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// sentAnnotation has the time at which the server sent the object, in nanoseconds since 1970.
const sentAnnotation = "bench.kube-informer.dev/sent"

// The timeout of every command.
const timeout = 900 * time.Second

const (
	goalCount = iota
	goalAny
	goalNewer
	goalTimed
)

// goal is the kind and number of events to wait for.
type goal struct {
	kind            int
	wanted, version uint64
}

// record describes the events since a goal was set.
type record struct {
	events          uint64
	firstAt, doneAt int64
	latencies       []int64
}

// recorder is an event handler that counts events, and notifies when a goal is reached.
type recorder struct {
	lock     sync.Mutex
	goal     goal
	matching uint64
	checksum uint64
	record   record
	reached  chan struct{}
}

func newRecorder() *recorder {
	return &recorder{reached: make(chan struct{})}
}

func (r *recorder) expect(g goal) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.goal, r.matching, r.record, r.reached = g, 0, record{}, make(chan struct{})
	if g.kind == goalTimed {
		r.record.latencies = make([]int64, 0, g.wanted)
	}
}

func (r *recorder) wait() (record, bool) {
	r.lock.Lock()
	reached := r.reached
	r.lock.Unlock()
	select {
	case <-reached:
		r.lock.Lock()
		defer r.lock.Unlock()
		return r.record, true
	case <-time.After(timeout):
		return record{}, false
	}
}

func (r *recorder) count() uint64 {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.record.events
}

func (r *recorder) OnAdd(added any, _ bool) { r.event(added.(metav1.Object)) }

func (r *recorder) OnUpdate(_, updated any) { r.event(updated.(metav1.Object)) }

func (r *recorder) OnDelete(deleted any) {
	if unknown, missed := deleted.(cache.DeletedFinalStateUnknown); missed {
		deleted = unknown.Obj
	}
	r.event(deleted.(metav1.Object))
}

// event records an event, and reads the parts of the object that the goal requires.
func (r *recorder) event(object metav1.Object) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.record.events == 0 {
		r.record.firstAt = time.Now().UnixNano()
	}
	r.record.events++
	switch r.goal.kind {
	case goalCount:
		r.matching++
	case goalAny:
		r.checksum ^= fnv(nestedField(object))
		r.matching++
	case goalNewer:
		if version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64); err == nil && version > r.goal.version {
			r.matching++
		}
	case goalTimed:
		if sent, err := strconv.ParseInt(object.GetAnnotations()[sentAnnotation], 10, 64); err == nil && sent > 0 {
			r.matching++
			r.record.latencies = append(r.record.latencies, time.Now().UnixNano()-sent)
		}
	}
	if r.matching >= r.goal.wanted && r.record.doneAt == 0 {
		r.record.doneAt = time.Now().UnixNano()
		close(r.reached)
	}
}
