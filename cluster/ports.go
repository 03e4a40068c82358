// Ports for etcd and kube-apiserver that nobody else comes to have.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

type ports struct{ etcd, apiserver int }

// Ports below this one need rights, or are those of well-known services.
const firstPort = 10_000

// free fills in ports that nobody listens on. All are held until the last is found, so that they differ.
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

// listen takes a port that the system gives to nobody who does not ask for it by its number. One that it gives away
// could be somebody's own end of a connection by the time that a server is started, or started again.
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

// firstGivenAway is the first of the ports that the system gives to those who ask for any.
func firstGivenAway() int {
	var first int
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(text), &first)
	return first
}
