// Command cluster runs kube-apiserver and etcd on loopback until its standard input is closed.
//
// It prints a line of JSON when the API is ready, then reads commands from standard input, one per line, and prints a line of JSON
// for each. When standard input is closed, or on SIGTERM, it stops all processes and deletes its directory.
//
// etcd and kube-apiserver are separate processes of this program, so that they can be killed, restarted and paused.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"
)

type options struct {
	within     string
	ports      ports
	compaction time.Duration
	watchCache int
	uncached   string
	plain      bool
	verbose    bool
}

func main() {
	// The first argument of a child is its role, the others are the arguments of that role.
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case roleEtcd:
			runEtcd(os.Args[2:])
		case roleAPIServer:
			runAPIServer(os.Args[2:])
		}
	}
	var o options
	flag.StringVar(&o.within, "within", os.TempDir(), "where the folder with all data is made")
	flag.IntVar(&o.ports.apiserver, "port", 0, "the port of the API; 0 takes a free one")
	flag.DurationVar(&o.compaction, "compaction", 0, "how often history is compacted; 0 leaves that to the command `compact`")
	flag.IntVar(&o.watchCache, "watch-cache", 0, "the size of each watch cache; 0 leaves it to kube-apiserver")
	flag.StringVar(&o.uncached, "uncached", "secrets", "resources without a watch cache, so that compaction is felt at once")
	flag.BoolVar(&o.plain, "plain", false, "also serve the API as HTTP without TLS and credentials on loopback, with the rights of the administrator")
	flag.BoolVar(&o.verbose, "verbose", false, "show what etcd and kube-apiserver log")
	flag.Parse()
	// The etcd client logs each attempt to connect to a starting server.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if err := os.MkdirAll(o.within, 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(o.within, "cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	cluster, err := start(o, folder)
	if err != nil {
		return err
	}
	defer cluster.end()
	if o.plain {
		if err := cluster.servePlain(); err != nil {
			return err
		}
	}
	return cluster.serve(os.Stdin, os.Stdout)
}
