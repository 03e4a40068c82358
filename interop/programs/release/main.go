// Command release installs, upgrades, rolls back and uninstalls a chart with the SDK of Helm, and prints a line for each step.
package main

import (
	"fmt"
	"os"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
)

const (
	name      = "shop"
	namespace = "shops"
	timeout   = time.Minute
)

func install(config *action.Configuration, path string) (release.Releaser, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.CreateNamespace = name, namespace, true
	install.WaitStrategy, install.Timeout = kube.HookOnlyStrategy, timeout
	return install.Run(chart, map[string]any{"color": "red"})
}

func upgrade(config *action.Configuration, path string) (release.Releaser, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = namespace, kube.HookOnlyStrategy, timeout
	return upgrade.Run(name, chart, map[string]any{"color": "blue", "service": false})
}

func run(path string) error {
	settings := cli.New()
	settings.SetNamespace(namespace)
	config := action.NewConfiguration()
	if err := config.Init(settings.RESTClientGetter(), namespace, "secret"); err != nil {
		return err
	}
	for _, step := range []func(*action.Configuration, string) (release.Releaser, error){install, upgrade} {
		released, err := step(config, path)
		if err != nil {
			return err
		}
		accessor, err := release.NewAccessor(released)
		if err != nil {
			return err
		}
		fmt.Printf("revision %d: %s\n", accessor.Version(), accessor.Status())
		if err := pause(); err != nil {
			return err
		}
	}
	rollback := action.NewRollback(config)
	rollback.WaitStrategy, rollback.Timeout, rollback.Version = kube.HookOnlyStrategy, timeout, 1
	rollback.ServerSideApply = "auto"
	if err := rollback.Run(name); err != nil {
		return err
	}
	fmt.Println("rolled back")
	if err := pause(); err != nil {
		return err
	}
	uninstall := action.NewUninstall(config)
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, timeout
	if _, err := uninstall.Run(name); err != nil {
		return err
	}
	fmt.Println("uninstalled")
	return nil
}

// Waits for a line of the test, which reads the objects of each step.
func pause() error {
	var line string
	_, err := fmt.Scanln(&line)
	return err
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: release CHART")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
