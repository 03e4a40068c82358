// Command elect runs client-go's LeaderElector on a Lease, and prints "leading", "stopped", and "observed" with each leader.
//
// While it leads, it holds an exclusive lock on a file. It prints "violation" if another process holds that lock. It releases the
// Lease and ends when its standard input does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type options struct {
	kubeconfig, namespace, name, identity, lock string
	lease, renew, retry                         time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig of the server")
	flag.StringVar(&o.namespace, "namespace", "default", "the namespace of the Lease")
	flag.StringVar(&o.name, "name", "", "the name of the Lease")
	flag.StringVar(&o.identity, "identity", "", "the identity of this candidate")
	flag.StringVar(&o.lock, "lock", "", "the file that the leader locks")
	flag.DurationVar(&o.lease, "lease-duration", 15*time.Second, "the lease duration")
	flag.DurationVar(&o.renew, "renew-deadline", 10*time.Second, "the renew deadline")
	flag.DurationVar(&o.retry, "retry-period", 2*time.Second, "the retry period")
	flag.Parse()
	if err := elect(o); err != nil {
		fmt.Fprintln(os.Stderr, "elect:", err)
		os.Exit(1)
	}
}

func elect(o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(o.lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		// The guarded work ends before the Lease is released.
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		cancel()
	}()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.namespace, Name: o.name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.identity},
		},
		LeaseDuration:   o.lease,
		RenewDeadline:   o.renew,
		RetryPeriod:     o.retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
				switch {
				case errors.Is(err, syscall.EWOULDBLOCK):
					fmt.Println("violation")
				case err != nil:
					fmt.Println("error", err)
				default:
					fmt.Println("leading")
				}
			},
			OnNewLeader: func(identity string) {
				fmt.Println("observed", identity)
			},
			OnStoppedLeading: func() {
				_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
				fmt.Println("stopped")
			},
		},
	})
	return nil
}
