package cluster

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
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
