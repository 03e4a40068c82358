// Command kubectl is the Kubernetes client at the version that go.mod names.
package main

import (
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	kubectl := cmd.NewDefaultKubectlCommand()
	// CheckErr prints the error once, and ends with the exit code that scripts rely on.
	kubectl.SilenceErrors, kubectl.SilenceUsage = true, true
	util.CheckErr(kubectl.Execute())
}
