package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// measureComponent measures one component: fanout HANDLERS EVENTS, slow MILLISECONDS SLEEP, readers READERS MILLISECONDS, queue ITEMS,
// fill ITEMS, or controller ROUNDS MILLISECONDS.
func measureComponent(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("usage: client-go component NAME NUMBER..")
	}
	numbers := make([]int, 2)
	for i, word := range arguments[1:] {
		number, err := strconv.Atoi(word)
		if err != nil || i > 1 {
			return fmt.Errorf("%q is not a number", word)
		}
		numbers[i] = number
	}
	switch arguments[0] {
	case "fanout":
		return fanout(numbers[0], numbers[1])
	case "slow":
		return slowHandler(numbers[0], numbers[1])
	case "readers":
		readers(numbers[0], time.Duration(numbers[1])*time.Millisecond)
	case "controller":
		return measureController(numbers[0], numbers[1])
	case "queue":
		queue(numbers[0])
	case "fill":
		fill(numbers[0])
	default:
		return fmt.Errorf("unknown component %q", arguments[0])
	}
	return nil
}

const objects = 10_000

func pod(number, version int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace:       fmt.Sprintf("ns-%d", number%40),
		Name:            fmt.Sprintf("pod-%d", number),
		ResourceVersion: strconv.Itoa(version),
	}}
}

// fakeInformer returns an informer without a server; events are sent on the channel.
func fakeInformer() (cache.SharedIndexInformer, chan<- watch.Event, error) {
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", "false"); err != nil {
		return nil, nil, err
	}
	channel := make(chan watch.Event, 1024)
	source := &cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
			for number := range objects {
				list.Items = append(list.Items, *pod(number, 1))
			}
			return list, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
			return watch.NewProxyWatcher(channel), nil
		},
	}
	return cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{}), channel, nil
}

// fanout sends decoded events to many handlers of an informer.
func fanout(handlers, events int) error {
	informer, channel, err := fakeInformer()
	if err != nil {
		return err
	}
	counts := make([]atomic.Int64, handlers)
	for i := range counts {
		count := &counts[i]
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, updated any) {
			if updated.(*corev1.Pod).Name != "" {
				count.Add(1)
			}
		}})
		if err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go informer.RunWithContext(ctx)
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	pods := make([]*corev1.Pod, events)
	for i := range pods {
		pods[i] = pod(i%objects, i+2)
	}
	start := time.Now()
	for _, one := range pods {
		channel <- watch.Event{Type: watch.Modified, Object: one}
	}
	for i := range counts {
		for counts[i].Load() < int64(events) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	printLine(map[string]any{"rate": float64(events) / time.Since(start).Seconds()})
	return nil
}

// readers writes to an indexer while other goroutines list it repeatedly.
func readers(count int, period time.Duration) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for number := range objects {
		_ = indexer.Add(pod(number, 1))
	}
	pods := make([]*corev1.Pod, objects*2)
	for i := range pods {
		pods[i] = pod(i*7919%objects, i+2)
	}
	var stopped atomic.Bool
	var lists atomic.Int64
	for range count {
		go func() {
			for !stopped.Load() {
				_ = indexer.List()
				lists.Add(1)
			}
		}()
	}
	start, writes := time.Now(), 0
	for time.Since(start) < period {
		_ = indexer.Update(pods[writes%len(pods)])
		writes++
	}
	seconds := time.Since(start).Seconds()
	stopped.Store(true)
	printLine(map[string]any{"rate": float64(writes) / seconds, "lists": float64(lists.Load()) / seconds})
}

// queue adds, gets and finishes items, one at a time.
func queue(items int) {
	queue := workqueue.NewTyped[int]()
	start := time.Now()
	for number := range items {
		queue.Add(number)
		item, _ := queue.Get()
		queue.Done(item)
	}
	printLine(map[string]any{"nanoseconds": float64(time.Since(start).Nanoseconds()) / float64(items)})
}

// fill adds items to a queue that already has many.
func fill(items int) {
	queue := workqueue.NewTyped[int]()
	for number := range items {
		queue.Add(number)
	}
	start, added := time.Now(), items/10
	for number := range added {
		queue.Add(items + number)
	}
	printLine(map[string]any{"nanoseconds": float64(time.Since(start).Nanoseconds()) / float64(added)})
}
