package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	issuer             = "https://kubernetes.default.svc.cluster.local"
	certificateFile    = "apiserver.crt"
	certificateKeyFile = "apiserver.key"
	signingKeyFile     = "service-accounts.key"
	tokensFile         = "tokens.csv"
	kubeconfigFile     = "kubeconfig"
)

// keys are the credentials of clients: the certificate to trust, and tokens.
type keys struct {
	url, ca       string
	admin, nobody string
	signing       *ecdsa.PrivateKey
}

// The seconds for which kube-apiserver accepts an expired token, because clocks differ.
const leeway = 60

type account struct{ namespace, name, uid string }

func makeKeys(folder string, port int) (*keys, error) {
	k := &keys{url: fmt.Sprintf("https://127.0.0.1:%d", port), admin: rand.Text(), nobody: rand.Text()}
	steps := []func(string) error{k.writeCertificate, k.writeSigningKey, k.writeTokens, k.writeKubeconfig}
	for _, step := range steps {
		if err := step(folder); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *keys) writeCertificate(folder string) error {
	loopback := []net.IP{net.IPv4(127, 0, 0, 1)}
	chain, key, err := cert.GenerateSelfSignedCertKey("localhost", loopback, []string{"kubernetes.default.svc"})
	if err != nil {
		return err
	}
	// The authority follows the certificate that it signed.
	_, authority := pem.Decode(chain)
	k.ca = string(authority)
	return errors.Join(write(folder, certificateFile, chain), write(folder, certificateKeyFile, key))
}

func (k *keys) writeSigningKey(folder string) (err error) {
	if k.signing, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(k.signing)
	if err != nil {
		return err
	}
	return write(folder, signingKeyFile, key)
}

// writeTokens creates an administrator, and a user without permissions.
func (k *keys) writeTokens(folder string) error {
	text := fmt.Sprintf("%s,admin,admin,\"system:masters\"\n%s,nobody,nobody\n", k.admin, k.nobody)
	return write(folder, tokensFile, []byte(text))
}

func (k *keys) writeKubeconfig(folder string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: k.url, CertificateAuthorityData: []byte(k.ca)}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: k.admin}
	config.AuthInfos["nobody"] = &clientcmdapi.AuthInfo{Token: k.nobody}
	config.Contexts["admin"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "admin", Namespace: "default"}
	config.Contexts["nobody"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "nobody", Namespace: "default"}
	config.CurrentContext = "admin"
	return clientcmd.WriteToFile(*config, filepath.Join(folder, kubeconfigFile))
}

// token creates a token as the API does, but with any lifetime; the minimum of the API is ten minutes. The functions of Kubernetes for
// this have other parameters in each version.
func (k *keys) token(a account, seconds int64) (string, error) {
	now := time.Now().Unix()
	claims := map[string]any{
		"iss": issuer,
		"aud": []string{issuer},
		"sub": fmt.Sprintf("system:serviceaccount:%s:%s", a.namespace, a.name),
		"iat": now,
		"nbf": now,
		"exp": now + seconds - leeway,
		"jti": rand.Text(),
		"kubernetes.io": map[string]any{
			"namespace":      a.namespace,
			"serviceaccount": map[string]any{"name": a.name, "uid": a.uid},
		},
	}
	head, err := json.Marshal(map[string]string{"alg": "ES256"})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(head) + "." + encode(body)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, k.signing, digest[:])
	if err != nil {
		return "", err
	}
	// ES256 has two numbers of 32 bytes.
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return signed + "." + encode(signature), nil
}

func write(folder, name string, content []byte) error {
	return os.WriteFile(filepath.Join(folder, name), content, 0o600)
}
