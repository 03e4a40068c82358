// Command controllers runs the component that its first argument names, kube-controller-manager or kube-scheduler. The
// other arguments are the flags of the component.
//
// A single program for both components halves the link time and the size.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // time zones of cron jobs

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	var command *cobra.Command
	switch name() {
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	default:
		fmt.Fprintf(os.Stderr, "unknown program %q: expected kube-controller-manager or kube-scheduler\n", name())
		os.Exit(2)
	}
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}

func name() string {
	if len(os.Args) < 2 {
		return ""
	}
	return os.Args[1]
}
