// A plain HTTP endpoint with the rights of the administrator, for tests whose clients have no TLS.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// A plainEndpoint forwards requests on loopback to kube-apiserver, and can refuse requests and close connections.
type plainEndpoint struct {
	listener net.Listener
	proxy    *httputil.ReverseProxy
	mutex    sync.Mutex
	// The resource whose requests are rejected with 503; empty if there is none.
	refused     string
	connections map[net.Conn]bool
}

// servePlain starts the endpoint.
func (c *cluster) servePlain() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	target, err := url.Parse(c.keys.url)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.keys.ca))
	p := &plainEndpoint{listener: listener, connections: map[net.Conn]bool{}}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Authorization", "Bearer "+c.keys.admin)
		},
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
			// A response is forwarded as kube-apiserver sent it.
			DisableCompression: true,
		},
		// Events of a watch are forwarded at once.
		FlushInterval: -1,
		// While kube-apiserver is down, connections end as they would without the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	server := &http.Server{Handler: p, ConnState: p.connectionChanged, ErrorLog: log.New(io.Discard, "", 0)}
	c.plain = p
	go func() { _ = server.Serve(listener) }()
	return nil
}

func (p *plainEndpoint) url() string {
	return "http://" + p.listener.Addr().String()
}

func (p *plainEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	refused := p.refused
	p.mutex.Unlock()
	if refused != "" && strings.Contains(r.URL.Path+"/", "/"+refused+"/") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused","reason":"ServiceUnavailable","code":503}`)
		return
	}
	p.proxy.ServeHTTP(w, r)
}

func (p *plainEndpoint) connectionChanged(connection net.Conn, state http.ConnState) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch state {
	case http.StateNew:
		p.connections[connection] = true
	case http.StateClosed, http.StateHijacked:
		delete(p.connections, connection)
	}
}

// refuse rejects requests for this resource with 503; an empty name ends that.
func (p *plainEndpoint) refuse(resource string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.refused = resource
}

// cut closes all connections.
func (p *plainEndpoint) cut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for connection := range p.connections {
		connection.Close()
	}
}
