package cluster

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Renewed is a further authority of a cluster with a server certificate of its own, not in use yet.
type Renewed struct {
	CA               []byte // PEM
	certificate, key []byte
}

// Renew makes one.
func (c *Cluster) Renew() (*Renewed, error) {
	ca, err := newAuthority(c.Name)
	if err != nil {
		return nil, err
	}
	certificate, key, err := c.serverCertificate(ca)
	return &Renewed{ca.pem, certificate, key}, err
}

// Expired is a certificate of an authority that nobody may trust any more.
func (c *Cluster) Expired() ([]byte, error) {
	ca, err := newAuthorityUntil(c.Name, -clockSkew/2)
	if err != nil {
		return nil, err
	}
	return ca.pem, nil
}

// Serve lets the running API server present that certificate on new connections, which it does within
// a moment; back is the one that it presented before.
func (c *Cluster) Serve(next *Renewed) (back *Renewed, err error) {
	back = &Renewed{}
	certificate, key := c.Path("pki", "server.crt"), c.Path("pki", "server.key")
	if back.certificate, err = os.ReadFile(certificate); err != nil {
		return nil, err
	}
	if back.key, err = os.ReadFile(key); err != nil {
		return nil, err
	}
	return back, errors.Join(writeFile(key, next.key, 0o600), writeFile(certificate, next.certificate, 0o600))
}

// Disconnect aborts every connection that somebody in the cluster's network namespace opened to another
// cluster's API server.
func (c *Cluster) Disconnect(from *Cluster) error {
	argv := append(c.Enter(), "ss", "-K", "dst", from.Address, "dport", "=", strconv.Itoa(from.Port.API))
	return exec.Command(argv[0], argv[1:]...).Run()
}

// Aged is a token of the API server as it will be one day: with a life of that length, of which so much
// is left. The server's own key signs it, so that the server takes it.
func (c *Cluster) Aged(token string, life, left time.Duration) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("the API server's token is no JWT")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", err
	}
	end := time.Now().Add(left)
	claims["iat"], claims["nbf"], claims["exp"] = end.Add(-life).Unix(), end.Add(-life).Unix(), end.Unix()
	if text, err = json.Marshal(claims); err != nil {
		return "", err
	}
	file, err := os.ReadFile(c.Path("pki", "accounts.key"))
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(file)
	if block == nil {
		return "", errors.New("accounts.key is no PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
