package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const roleEtcd = "etcd"

func etcdURL(port int) string {
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

func etcdArguments(folder string, p ports) []string {
	return []string{filepath.Join(folder, "data"), strconv.Itoa(p.etcd)}
}

// runEtcd runs etcd in a child process.
func runEtcd(arguments []string) {
	endWithParent(arguments[0])
	if err := serveEtcd(arguments[1], arguments[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveEtcd runs etcd with a configuration file, whose keys are the same in all versions of etcd; the fields of `embed.Config` are not.
func serveEtcd(data, port string) error {
	file := data + ".json"
	if err := os.WriteFile(file, etcdConfiguration(data, port), 0o644); err != nil {
		return err
	}
	config, err := embed.ConfigFromFile(file)
	if err != nil {
		return err
	}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	return <-etcd.Err()
}

func etcdConfiguration(data, port string) []byte {
	client := "http://127.0.0.1:" + port
	// A cluster of one has no peers, but etcd listens for them.
	peer := "http://127.0.0.1:0"
	text, err := json.Marshal(map[string]any{
		"name":                        "default",
		"data-dir":                    data,
		"listen-client-urls":          client,
		"advertise-client-urls":       client,
		"listen-peer-urls":            peer,
		"initial-advertise-peer-urls": peer,
		"initial-cluster":             "default=" + peer,
		"log-level":                   "warn",
		// The data is deleted with the directory, so fsync is not needed. A killed process does not lose data without it.
		"unsafe-no-fsync": true,
	})
	if err != nil {
		panic(err) // Strings and booleans can be encoded.
	}
	return text
}

func (c *cluster) etcdClient() (*clientv3.Client, context.Context, func(), error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{etcdURL(c.ports.etcd)},
		DialTimeout: time.Second,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	return client, ctx, func() { cancel(); client.Close() }, nil
}

func (c *cluster) etcdReady() error {
	client, ctx, done, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer done()
	_, err = client.Get(ctx, "health")
	return err
}

// compact drops the history before the current revision, and returns that revision.
func (c *cluster) compact() (int64, error) {
	client, ctx, done, err := c.etcdClient()
	if err != nil {
		return 0, err
	}
	defer done()
	present, err := client.Get(ctx, "health")
	if err != nil {
		return 0, err
	}
	revision := present.Header.Revision
	_, err = client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return revision, err
}
