// Free ports for etcd and kube-apiserver.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

type ports struct{ etcd, apiserver int }

// Lower ports need permissions, or belong to well-known services.
const firstPort = 10_000

// free sets ports that are not in use. All are open until the last one is found, so that they differ.
func free(p ports) (ports, error) {
	var problems error
	for _, port := range []*int{&p.etcd, &p.apiserver} {
		if *port != 0 {
			continue
		}
		listener, err := listen()
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return p, problems
}

// listen opens a port outside of the ephemeral range. An ephemeral port could be the local end of another connection when a server
// is started or restarted.
func listen() (net.Listener, error) {
	if count := firstGivenAway() - firstPort; count > 0 {
		for range 100 {
			if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(count))); err == nil {
				return listener, nil
			}
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// firstGivenAway is the first port of the ephemeral range.
func firstGivenAway() int {
	var first int
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(text), &first)
	return first
}
