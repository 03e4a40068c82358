package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/clientcmd"
)

// runManyKinds starts an informer of a shared factory for each kind, and measures them until standard input is closed.
func runManyKinds(arguments []string, start time.Time, base usage) error {
	flags := flag.NewFlagSet("many-kinds", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "the kubeconfig file of the server")
	kinds := flags.Int("kinds", 0, "the number of kinds")
	objects := flags.Int("objects", 0, "the number of objects of each kind")
	idle := flags.Int("idle", 0, "the seconds without changes")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	// The default of 5 requests per second would delay the start by 18 seconds.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	resources := make([]schema.GroupVersionResource, *kinds)
	for number := range resources {
		resource := fmt.Sprintf("kind%ds", number)
		resources[number] = schema.GroupVersionResource{Group: "bench.kube-informer.dev", Version: "v1", Resource: resource}
		factory.ForResource(resources[number]).Informer()
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for _, resource := range resources {
		if count := len(factory.ForResource(resource).Informer().GetStore().ListKeys()); count != *objects {
			return fmt.Errorf("%d objects in a cache", count)
		}
	}
	seconds := time.Since(start).Seconds()
	synced := currentUsage()
	report := synced.report("synced")
	report["sync_seconds"] = seconds
	report["base_rss"] = base.rss
	report["threads"] = threads()
	printLine(report)
	time.Sleep(time.Duration(*idle) * time.Second)
	settled := currentUsage()
	report = settled.report("idle")
	report["cpu_seconds"] = settled.cpuSeconds - synced.cpuSeconds
	report["threads"] = threads()
	printLine(report)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// threads returns the number of threads that the process has created.
func threads() int {
	return pprof.Lookup("threadcreate").Count()
}
