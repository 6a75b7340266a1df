package process

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

// Identity is a self-signed certificate by which a run's servers recognize each other. Any process that has the private
// key is a server of this run.
type Identity struct {
	Certificate string // path of the certificate (PEM)
	Key         string // path of a file with the key and the certificate (PEM); only this user can read it
}

// NewIdentity creates an identity and writes it to a folder that only this user can read. The certificate never
// expires, because servers' clocks may jump.
func NewIdentity(folder string) (id Identity, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return id, err
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fencepost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	signed, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return id, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return id, err
	}
	id = Identity{filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem")}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	if err := os.WriteFile(id.Certificate, certificate, 0o600); err != nil {
		return id, err
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), certificate...)
	return id, os.WriteFile(id.Key, both, 0o600)
}
