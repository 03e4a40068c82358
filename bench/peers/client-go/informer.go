package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// The Accept header of each encoding; for protobuf as in controllers, with JSON as the fallback.
var accepts = map[string]string{
	"json":     "application/json",
	"protobuf": "application/vnd.kubernetes.protobuf,application/json",
}

// runInformer syncs, waits until the memory has settled, and then executes commands.
func runInformer(o options, start time.Time, base usage) error {
	// The informer reads its feature gates from the environment.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", strconv.FormatBool(o.strategy == "stream")); err != nil {
		return err
	}
	informer, err := newInformer(o)
	if err != nil {
		return err
	}
	recorder := newRecorder()
	recorder.expect(goal{kind: goalCount, wanted: o.objects})
	if _, err := informer.AddEventHandler(recorder); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go informer.RunWithContext(ctx)
	if _, reached := recorder.wait(); !reached {
		return fmt.Errorf("no sync after %d events", recorder.count())
	}
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	seconds := time.Since(start).Seconds()
	report := currentUsage().report("synced")
	report["sync_seconds"] = seconds
	report["base_rss"] = base.rss
	printLine(report)
	time.Sleep(time.Duration(o.settle * float64(time.Second)))
	printLine(currentUsage().report("settled"))
	return executeCommands(os.Stdin, recorder, informer)
}

func newInformer(o options) (cache.SharedIndexInformer, error) {
	accept, known := accepts[o.encoding]
	if !known {
		return nil, fmt.Errorf("unknown encoding %q", o.encoding)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, err
	}
	if o.kind == "widgets" {
		return newDynamicInformer(config)
	}
	config.ContentConfig = rest.ContentConfig{AcceptContentTypes: accept}
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	source := cache.NewListWatchFromClient(client.RESTClient(), "pods", "", fields.Everything())
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	if o.managedFields == "drop" {
		err = informer.SetTransform(withoutManagedFields)
	}
	return informer, err
}

// newDynamicInformer returns an informer of the custom resource, whose objects are maps.
func newDynamicInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	widgets := schema.GroupVersionResource{Group: "example.kube-informer.dev", Version: "v1", Resource: "widgets"}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, widgets, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	return informer.Informer(), nil
}

// withoutManagedFields is the usual transform to save memory.
func withoutManagedFields(object any) (any, error) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		pod.ManagedFields = nil
	}
	return object, nil
}

func byNode(object any) ([]string, error) {
	return []string{object.(*corev1.Pod).Spec.NodeName}, nil
}
