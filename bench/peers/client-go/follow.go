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

// The Accept header of each encoding; protobuf is asked for as controllers do, with JSON for servers that have none.
var accepts = map[string]string{
	"json":     "application/json",
	"protobuf": "application/vnd.kubernetes.protobuf,application/json",
}

// follow goes through the life of a client: it syncs, settles, and then does what it is told.
func follow(o options, began time.Time, base usage) error {
	// The informer reads its feature gates from the environment, at first use.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", strconv.FormatBool(o.strategy == "stream")); err != nil {
		return err
	}
	informer, err := newInformer(o)
	if err != nil {
		return err
	}
	seen := newSeen()
	seen.expect(goal{kind: goalCount, wanted: o.count})
	if _, err := informer.AddEventHandler(seen); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go informer.RunWithContext(ctx)
	if _, reached := seen.wait(); !reached {
		return fmt.Errorf("no sync: %d events were seen", seen.count())
	}
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	seconds := time.Since(began).Seconds()
	report := usageNow().report("synced")
	report["sync_seconds"] = seconds
	report["base_rss"] = base.rss
	report["events"] = seen.count()
	say(report)
	time.Sleep(time.Duration(o.settle * float64(time.Second)))
	say(usageNow().report("settled"))
	return obey(os.Stdin, seen, informer)
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

// newDynamicInformer follows the custom resource, whose objects are maps.
func newDynamicInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	widgets := schema.GroupVersionResource{Group: "example.kube-informer.dev", Version: "v1", Resource: "widgets"}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, widgets, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	return informer.Informer(), nil
}

// withoutManagedFields is the transform that controllers use to save memory.
func withoutManagedFields(object any) (any, error) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		pod.ManagedFields = nil
	}
	return object, nil
}

func byNode(object any) ([]string, error) {
	return []string{object.(*corev1.Pod).Spec.NodeName}, nil
}
