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

// slowHandler sends 5,000 events per second to nine handlers and a tenth one that sleeps at each event.
func slowHandler(milliseconds, sleep int) error {
	informer, channel, err := fakeInformer()
	if err != nil {
		return err
	}
	events := milliseconds * burst
	handlers := make([]*recorder, others)
	for i := range handlers {
		handlers[i] = newRecorder()
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
	before := currentUsage().rss
	ticks := time.NewTicker(time.Millisecond)
	start := time.Now()
	for turn := 0; turn < events; {
		<-ticks.C
		// A ticker drops late ticks, so all events that are due are sent.
		for due := int(time.Since(start).Milliseconds()) * burst; turn < min(due, events); turn++ {
			one := pod(turn%objects, turn+2)
			one.Annotations = map[string]string{sentAnnotation: strconv.FormatInt(time.Now().UnixNano(), 10)}
			channel <- watch.Event{Type: watch.Modified, Object: one}
		}
	}
	var latencies []int64
	for _, handler := range handlers {
		if record, reached := handler.wait(); reached {
			latencies = append(latencies, record.latencies...)
		}
	}
	grown := uint64(0)
	if after := currentUsage().rss; after > before {
		grown = after - before
	}
	printLine(map[string]any{
		"p99":       quantile(latencies, 0.99),
		"delivered": float64(len(latencies)) / float64(events*others),
		"growth":    grown,
	})
	return nil
}
