// Command client-go runs a SharedIndexInformer as a client of the benchmarks.
//
// Its options, commands and responses are those of the Rust clients; see bench/client. `client-go component NAME` measures a
// component of client-go without a server, and `client-go many-kinds` the informers of a shared factory.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	kubeconfig, encoding, managedFields, strategy, kind string
	objects                                             uint64
	settle                                              float64
}

func main() {
	start, base := time.Now(), currentUsage()
	if len(os.Args) > 1 && os.Args[1] == "component" {
		exit(measureComponent(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "many-kinds" {
		exit(runManyKinds(os.Args[2:], start, base))
	}
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig file of the server")
	flag.Uint64Var(&o.objects, "objects", 0, "the number of objects")
	flag.Float64Var(&o.settle, "settle", 0, "seconds between the sync and the measurement of memory")
	flag.StringVar(&o.encoding, "encoding", "protobuf", "json or protobuf")
	flag.StringVar(&o.managedFields, "managed-fields", "keep", "keep or drop")
	flag.StringVar(&o.strategy, "strategy", "stream", "stream or list")
	flag.StringVar(&o.kind, "kind", "pods", "pods or widgets")
	flag.Parse()
	exit(runInformer(o, start, base))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
