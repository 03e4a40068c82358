package main

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	burst  = 5
	others = 9
)

// slow sends 5,000 events a second for a while to nine handlers and a tenth that sleeps at each.
func slow(milliseconds, sleep int) error {
	informer, channel, err := fakeInformer()
	if err != nil {
		return err
	}
	events := milliseconds * burst
	handlers := make([]*seen, others)
	for i := range handlers {
		handlers[i] = newSeen()
		handlers[i].expect(goal{kind: goalTimed, wanted: uint64(events)})
		if _, err := informer.AddEventHandler(handlers[i]); err != nil {
			return err
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
		time.Sleep(time.Duration(sleep) * time.Millisecond)
	}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go informer.RunWithContext(ctx)
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	for _, handler := range handlers {
		for handler.count() < objects {
			time.Sleep(time.Millisecond)
		}
	}
	before := usageNow().rss
	ticks := time.NewTicker(time.Millisecond)
	began := time.Now()
	for turn := 0; turn < events; {
		<-ticks.C
		// A ticker drops ticks that come late; what is due is sent all the same.
		for due := int(time.Since(began).Milliseconds()) * burst; turn < min(due, events); turn++ {
			one := pod(turn%objects, turn+2)
			one.Annotations = map[string]string{sentAnnotation: strconv.FormatInt(time.Now().UnixNano(), 10)}
			channel <- watch.Event{Type: watch.Modified, Object: one}
		}
	}
	var all []timed
	for _, handler := range handlers {
		if sight, reached := handler.wait(); reached {
			all = append(all, sight.timed...)
		}
	}
	grown := uint64(0)
	if after := usageNow().rss; after > before {
		grown = after - before
	}
	say(map[string]any{
		"p99":       windows(all, 0.99),
		"delivered": float64(len(all)) / float64(events*others),
		"growth":    grown,
	})
	return nil
}
