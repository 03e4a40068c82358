package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

// The timeout of the first response of the API, on a loaded machine.
const patience = 2 * time.Minute

// The number of attempts to start a cluster.
const attempts = 3

// A cluster is a directory with its contents, and the processes that use it.
type cluster struct {
	folder    string
	keys      *keys
	ports     ports
	etcd      *child
	apiserver *child
	// nil without the option `-plain`.
	plain *plainEndpoint
}

// errEnded is returned if a child exits before its first response.
var errEnded = errors.New("ended before it answered")

// start starts a cluster. Another process may use a port before the child listens on it, so a child that exits is started again
// with other ports.
func start(o options, folder string) (*cluster, error) {
	for attempt := 1; ; attempt++ {
		c, err := startOnce(o, folder)
		if attempt == attempts || !errors.Is(err, errEnded) {
			return c, err
		}
	}
}

func startOnce(o options, folder string) (*cluster, error) {
	ports, err := free(o.ports)
	if err != nil {
		return nil, err
	}
	keys, err := makeKeys(folder, ports.apiserver)
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, keys: keys, ports: ports}
	c.etcd = newChild(roleEtcd, folder, etcdArguments(folder, ports), o.verbose)
	c.apiserver = newChild(roleAPIServer, folder, apiserverArguments(o, folder, ports), o.verbose)
	for _, child := range []*child{c.etcd, c.apiserver} {
		if err := c.start(child); err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

func (c *cluster) end() {
	c.apiserver.kill()
	c.etcd.kill()
}

// start starts a child and waits for its first response.
func (c *cluster) start(child *child) error {
	if err := child.start(); err != nil {
		return err
	}
	ready := c.apiserverReady
	if child == c.etcd {
		ready = c.etcdReady
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := ready()
		switch {
		case err == nil:
			return nil
		case child.ended():
			return fmt.Errorf("%s %w:\n%s", child.role, errEnded, child.tail())
		case time.Now().After(deadline):
			return fmt.Errorf("%s does not answer: %w\n%s", child.role, err, child.tail())
		}
	}
}

// serve prints the address of the cluster, and executes commands until standard input is closed.
func (c *cluster) serve(in io.Reader, out io.Writer) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	answers := json.NewEncoder(out)
	if err := answers.Encode(c.description()); err != nil {
		return err
	}
	for {
		select {
		case <-signals:
			return nil
		case line, more := <-lines:
			if !more {
				return nil
			}
			answer, err := c.obey(line)
			if err != nil {
				answer = map[string]any{"error": err.Error()}
			}
			if err := answers.Encode(answer); err != nil {
				return err
			}
		}
	}
}

func (c *cluster) description() map[string]any {
	description := map[string]any{
		"url":        c.keys.url,
		"kubeconfig": filepath.Join(c.folder, kubeconfigFile),
		"ca":         c.keys.ca,
		"token":      c.keys.admin,
		"nobody":     c.keys.nobody,
		"folder":     c.folder,
		"version":    version(),
	}
	if c.plain != nil {
		description["plain"] = c.plain.url()
	}
	return description
}

// version returns the version of Kubernetes.
func version() string {
	if built, known := debug.ReadBuildInfo(); known {
		for _, module := range built.Deps {
			if module.Path == "k8s.io/kubernetes" {
				return module.Version
			}
		}
	}
	return "unknown"
}
