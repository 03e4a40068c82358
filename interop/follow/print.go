package main

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// object identifies a state of an object.
type object struct {
	Key     string `json:"key"`
	UID     string `json:"uid"`
	Version string `json:"version"`
}

// event is the line for a change, or for the end of the initial list.
type event struct {
	Event   string `json:"event"`
	Initial bool   `json:"initial,omitempty"`
	// Missed is true if the informer detected the deletion by a list, and the object is its last known state.
	Missed bool `json:"missed,omitempty"`
	*object
}

// printer is an event handler that prints each event when it is received.
type printer struct {
	lock  sync.Mutex
	lines *json.Encoder
}

func newPrinter(to io.Writer) *printer {
	return &printer{lines: json.NewEncoder(to)}
}

func (p *printer) OnAdd(added any, isInInitialList bool) {
	p.print(event{Event: "add", Initial: isInInitialList, object: read(added)})
}

func (p *printer) OnUpdate(_, updated any) {
	p.print(event{Event: "update", object: read(updated)})
}

func (p *printer) OnDelete(deleted any) {
	unknown, missed := deleted.(cache.DeletedFinalStateUnknown)
	if missed {
		deleted = unknown.Obj
	}
	p.print(event{Event: "delete", Missed: missed, object: read(deleted)})
}

func (p *printer) synced() {
	p.print(event{Event: "synced"})
}

// store prints the last line, which contains all objects in the store, ordered by key.
func (p *printer) store(held []any) error {
	objects := make([]*object, 0, len(held))
	for _, one := range held {
		objects = append(objects, read(one))
	}
	slices.SortFunc(objects, func(a, b *object) int { return cmp.Compare(a.Key, b.Key) })
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.lines.Encode(map[string][]*object{"store": objects})
}

func (p *printer) print(line event) {
	p.lock.Lock()
	defer p.lock.Unlock()
	// An error means that the reader has exited, so that standard input is closed as well.
	_ = p.lines.Encode(line)
}

func read(one any) *object {
	accessor, err := meta.Accessor(one)
	if err != nil {
		panic(err)
	}
	return &object{
		Key:     cache.MetaObjectToName(accessor).String(),
		UID:     string(accessor.GetUID()),
		Version: accessor.GetResourceVersion(),
	}
}
