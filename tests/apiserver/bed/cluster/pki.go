package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certificateLife = 10 * 365 * 24 * time.Hour
	clockSkew       = time.Hour
)

// authority signs the certificates of one cluster. Its key is never written down.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func template(name pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial, Subject: name,
		NotBefore: time.Now().Add(-clockSkew), NotAfter: time.Now().Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}, err
}

func newAuthority(cluster string) (*authority, error) {
	return newAuthorityUntil(cluster, certificateLife)
}

// newAuthorityUntil makes one that is trusted for so long from now on.
func newAuthorityUntil(cluster string, life time.Duration) (*authority, error) {
	t, err := template(pkix.Name{CommonName: cluster + " test authority"})
	if err != nil {
		return nil, err
	}
	t.NotAfter = time.Now().Add(life)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, key, encode("CERTIFICATE", der)}, err
}

// issue makes a key and a certificate, both in PEM: a server's when it has addresses, else a client's.
func (a *authority) issue(name pkix.Name, names []string, addresses []net.IP) (certificate, key []byte, err error) {
	t, err := template(name)
	if err != nil {
		return nil, nil, err
	}
	t.DNSNames, t.IPAddresses = names, addresses
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(addresses) > 0 {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	private, key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, private.Public(), a.key)
	return encode("CERTIFICATE", der), key, err
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(private)
	return private, encode("EC PRIVATE KEY", der), err
}

// writeAccountKeys makes the pair that signs and checks service-account tokens.
func writeAccountKeys(dir string) error {
	private, key, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "accounts.pub"), encode("PUBLIC KEY", public), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "accounts.key"), key, 0o600)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
