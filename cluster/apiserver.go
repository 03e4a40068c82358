package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // time zones of cron jobs

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

const roleAPIServer = "kube-apiserver"

// Features that clients can use and that are off by default in some versions.
var features = []featuregate.Feature{"ShardedListAndWatch", "WatchList"}

// featureGates returns the flag that enables the features that this version has; it refuses others.
func featureGates() string {
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	var gates []string
	for _, feature := range features {
		if _, exists := known[feature]; exists {
			gates = append(gates, string(feature)+"=true")
		}
	}
	return "--feature-gates=" + strings.Join(gates, ",")
}

func apiserverArguments(o options, folder string, p ports) []string {
	file := func(name string) string { return filepath.Join(folder, name) }
	arguments := []string{
		"--etcd-servers=" + etcdURL(p.etcd),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.apiserver),
		"--tls-cert-file=" + file(certificateFile),
		"--tls-private-key-file=" + file(certificateKeyFile),
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + file(signingKeyFile),
		"--service-account-signing-key-file=" + file(signingKeyFile),
		"--token-auth-file=" + file(tokensFile),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/16",
		"--allow-privileged=true",
		featureGates(),
		"--runtime-config=api/all=true",
		fmt.Sprintf("--etcd-compaction-interval=%s", o.compaction),
		// There are no controllers that create service accounts or the endpoints of `kubernetes.default`.
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		"--profiling=false",
	}
	var sizes []string
	for resource := range strings.SplitSeq(o.uncached, ",") {
		if resource != "" {
			sizes = append(sizes, resource+"#0")
		}
	}
	if len(sizes) > 0 {
		arguments = append(arguments, "--watch-cache-sizes="+strings.Join(sizes, ","))
	}
	if o.watchCache > 0 {
		arguments = append(arguments, fmt.Sprintf("--default-watch-cache-size=%d", o.watchCache))
	}
	return arguments
}

// runAPIServer runs kube-apiserver in a child process.
func runAPIServer(arguments []string) {
	endWithParent(arguments[0])
	command := app.NewAPIServerCommand()
	command.SetArgs(arguments[1:])
	os.Exit(cli.Run(command))
}

func (c *cluster) apiserverReady() error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.keys.ca))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.keys.url+"/readyz", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.keys.admin)
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}
