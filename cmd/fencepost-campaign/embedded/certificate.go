package embedded

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// keyFile contains the server's private key. Only the owner may read the file.
const keyFile = "key.pem"

// certificate returns the server's certificate and its key. before is the existing certificate in PEM. If before is
// empty or its key is missing, certificate creates a new one, which is used from then on.
func certificate(f *access.Folder, before string) (tls.Certificate, string, error) {
	key, err := f.Read(keyFile)
	if err == nil && before != "" {
		pair, err := tls.X509KeyPair([]byte(before), key)
		return pair, before, err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, "", err
	}
	cert, key, err := newCertificate()
	if err == nil {
		err = f.Write(keyFile, key)
	}
	if err != nil {
		return tls.Certificate{}, "", err
	}
	pair, err := tls.X509KeyPair(cert, key)
	return pair, string(cert), err
}

// newCertificate creates a self-signed certificate. It never expires, because clients accept only this certificate, and
// their clocks may differ from the server's.
func newCertificate() (cert, key []byte, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: access.Name},
		DNSNames: []string{access.Name}, NotBefore: time.Unix(0, 0).UTC(),
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, crypto.Signer(private))
	if err != nil {
		return nil, nil, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), nil
}
