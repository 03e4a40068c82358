// Command follow runs a client-go informer, and prints its events and its final store, one JSON document per line.
//
// It ends when its standard input is closed, or on SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// accepts maps a format to its Accept header. As in controllers, the fallback of protobuf is JSON, for servers without
// protobuf.
var accepts = map[string]string{
	"json":     "application/json",
	"protobuf": "application/vnd.kubernetes.protobuf,application/json",
}

var examples = map[string]runtime.Object{
	"pods":       &corev1.Pod{},
	"configmaps": &corev1.ConfigMap{},
}

type options struct {
	kubeconfig, server, resource, accept string
	watchList                            bool
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the server")
	flag.StringVar(&o.server, "server", "", "the URL of the server, over that of the kubeconfig")
	flag.StringVar(&o.resource, "resource", "pods", "pods or configmaps")
	flag.StringVar(&o.accept, "accept", "json", "json or protobuf")
	flag.BoolVar(&o.watchList, "watch-list", true, "begin with a streaming list")
	flag.Parse()
	if err := follow(o); err != nil {
		fmt.Fprintln(os.Stderr, "follow:", err)
		os.Exit(1)
	}
}

func follow(o options) error {
	// The informer reads its feature gates from the environment, at first use.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", strconv.FormatBool(o.watchList)); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()

	informer, err := newInformer(o)
	if err != nil {
		return err
	}
	printer := newPrinter(os.Stdout)
	registration, err := informer.AddEventHandler(printer)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	if cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		printer.synced()
	}
	<-ended
	return printer.store(informer.GetStore().List())
}

func newInformer(o options) (cache.SharedIndexInformer, error) {
	accept, known := accepts[o.accept]
	if !known {
		return nil, fmt.Errorf("unknown format %q", o.accept)
	}
	example, known := examples[o.resource]
	if !known {
		return nil, fmt.Errorf("unknown resource %q", o.resource)
	}
	config, err := clientcmd.BuildConfigFromFlags(o.server, o.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentConfig = rest.ContentConfig{AcceptContentTypes: accept}
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	source := cache.NewListWatchFromClient(client.RESTClient(), o.resource, "", fields.Everything())
	return cache.NewSharedIndexInformer(source, example, 0, cache.Indexers{}), nil
}
