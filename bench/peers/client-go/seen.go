package main

import (
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// sentAnnotation is where the server writes when it sent an object, in nanoseconds since 1970.
const sentAnnotation = "bench.kube-informer.dev/sent"

// No order takes longer than this.
const deadline = 900 * time.Second

const (
	goalCount = iota
	goalAny
	goalNewer
	goalTimed
)

// goal says which events are waited for, and how many of them.
type goal struct {
	kind            int
	wanted, version uint64
}

// sight is what was seen since a goal was set.
type sight struct {
	events          uint64
	firstAt, doneAt int64
	timed           []timed
}

// seen is an event handler that counts, and wakes whoever waits for a certain number of events.
type seen struct {
	lock      sync.Mutex
	goal      goal
	found     uint64
	addresses uint64
	sight     sight
	reached   chan struct{}
}

func newSeen() *seen {
	return &seen{reached: make(chan struct{})}
}

func (s *seen) expect(g goal) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.goal, s.found, s.sight, s.reached = g, 0, sight{}, make(chan struct{})
	if g.kind == goalTimed {
		s.sight.timed = make([]timed, 0, g.wanted)
	}
}

func (s *seen) wait() (sight, bool) {
	s.lock.Lock()
	reached := s.reached
	s.lock.Unlock()
	select {
	case <-reached:
		s.lock.Lock()
		defer s.lock.Unlock()
		return s.sight, true
	case <-time.After(deadline):
		return sight{}, false
	}
}

func (s *seen) count() uint64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.sight.events
}

func (s *seen) OnAdd(added any, _ bool) { s.told(added.(metav1.Object)) }

func (s *seen) OnUpdate(_, updated any) { s.told(updated.(metav1.Object)) }

func (s *seen) OnDelete(deleted any) {
	if unknown, missed := deleted.(cache.DeletedFinalStateUnknown); missed {
		deleted = unknown.Obj
	}
	s.told(deleted.(metav1.Object))
}

// told hears of an object, and looks at it as the goal wants it, and as the other clients do.
func (s *seen) told(object metav1.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.sight.events == 0 {
		s.sight.firstAt = time.Now().UnixNano()
	}
	s.sight.events++
	switch s.goal.kind {
	case goalCount:
		s.found++
	case goalAny:
		s.addresses ^= fnv(deep(object))
		s.found++
	case goalNewer:
		if version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64); err == nil && version > s.goal.version {
			s.found++
		}
	case goalTimed:
		if sent, err := strconv.ParseInt(object.GetAnnotations()[sentAnnotation], 10, 64); err == nil && sent > 0 {
			s.found++
			s.sight.timed = append(s.sight.timed, timed{sent: sent, took: time.Now().UnixNano() - sent})
		}
	}
	if s.found >= s.goal.wanted && s.sight.doneAt == 0 {
		s.sight.doneAt = time.Now().UnixNano()
		close(s.reached)
	}
}
