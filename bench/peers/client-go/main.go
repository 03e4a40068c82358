// Command client-go is client-go's SharedIndexInformer as a client of the benchmarks.
//
// It takes the options and orders of the other clients, and reports what they report; the Rust crate beside it says which.
// `client-go micro NAME` measures a part of client-go on its own.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	kubeconfig, encoding, managedFields, strategy, kind string
	count                                               uint64
	settle                                              float64
}

func main() {
	began, base := time.Now(), usageNow()
	if len(os.Args) > 1 && os.Args[1] == "micro" {
		exit(micro(os.Args[2:]))
	}
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the server")
	flag.Uint64Var(&o.count, "n", 0, "how many objects there are")
	flag.Float64Var(&o.settle, "settle", 0, "seconds after the sync until the memory is looked at")
	flag.StringVar(&o.encoding, "encoding", "protobuf", "json or protobuf")
	flag.StringVar(&o.managedFields, "managed-fields", "keep", "keep or drop")
	flag.StringVar(&o.strategy, "strategy", "stream", "stream or list")
	flag.StringVar(&o.kind, "kind", "pods", "pods or widgets")
	flag.Parse()
	exit(follow(o, began, base))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
