package main

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	workers = 4
	// The rate of the events whose latency is measured.
	controllerRate = 1000
)

// podReconciler reads each pod from the cache, as every reconcile function does, and records it.
type podReconciler struct {
	indexer    cache.Indexer
	reconciles atomic.Int64
	recorder   *recorder
}

func (r *podReconciler) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	object, exists, err := r.indexer.GetByKey(request.String())
	if err != nil || !exists {
		return reconcile.Result{}, err
	}
	if one := object.(*corev1.Pod); len(one.Annotations) > 0 {
		r.recorder.event(one)
	}
	r.reconciles.Add(1)
	return reconcile.Result{}, nil
}

func (r *podReconciler) await(reconciles int64) {
	for r.reconciles.Load() < reconciles {
		time.Sleep(100 * time.Microsecond)
	}
}

// measureController reconciles all pods ROUNDS times, then sends 1,000 events per second for MILLISECONDS.
func measureController(rounds, milliseconds int) error {
	log.SetLogger(logr.Discard())
	base := currentUsage().rss
	informer, channel, err := fakeInformer()
	if err != nil {
		return err
	}
	triggers := make(chan event.GenericEvent, 1024)
	reconciler := &podReconciler{indexer: informer.GetIndexer(), recorder: newRecorder()}
	skipName := true
	loop, err := controller.NewUnmanaged("pods", controller.Options{
		Reconciler:              reconciler,
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      &skipName,
	})
	if err != nil {
		return err
	}
	if err := loop.Watch(&source.Informer{Informer: informer, Handler: &handler.EnqueueRequestForObject{}}); err != nil {
		return err
	}
	if err := loop.Watch(source.Channel(triggers, &handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go informer.RunWithContext(ctx)
	go func() { _ = loop.Start(ctx) }()
	reconciler.await(objects)
	pods := make([]*corev1.Pod, objects)
	for number := range pods {
		pods[number] = pod(number, 1)
	}
	start, before := time.Now(), reconciler.reconciles.Load()
	for round := range rounds {
		for _, one := range pods {
			triggers <- event.GenericEvent{Object: one}
		}
		reconciler.await(before + int64(round+1)*objects)
	}
	rate := float64(rounds*objects) / time.Since(start).Seconds()
	memory := currentUsage().rss - base
	latencies := controllerLatencies(reconciler.recorder, channel, milliseconds*controllerRate/1000)
	printLine(map[string]any{
		"rate":   rate,
		"memory": memory,
		"p50":    quantile(latencies, 0.5),
		"p99":    quantile(latencies, 0.99),
	})
	return nil
}

// controllerLatencies sends one event per millisecond, each of another pod.
func controllerLatencies(recorder *recorder, channel chan<- watch.Event, events int) []int64 {
	recorder.expect(goal{kind: goalTimed, wanted: uint64(events)})
	ticks := time.NewTicker(time.Millisecond)
	start := time.Now()
	for turn := 0; turn < events; {
		<-ticks.C
		// A ticker drops late ticks, so all events that are due are sent.
		for due := int(time.Since(start).Milliseconds()); turn < min(due, events); turn++ {
			one := pod(turn%objects, turn+2)
			one.Annotations = map[string]string{sentAnnotation: strconv.FormatInt(time.Now().UnixNano(), 10)}
			channel <- watch.Event{Type: watch.Modified, Object: one}
		}
	}
	record, _ := recorder.wait()
	return record.latencies
}
