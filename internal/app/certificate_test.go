package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// writeCertificate puts a certificate for 127.0.0.1 with that serial number
// into two files.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64, ends time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "junctor"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: ends,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shown is the serial number of the certificate that an address shows.
func shown(t *testing.T, addr string, c *tls.Config) (int64, error) {
	t.Helper()
	c.InsecureSkipVerify = true
	conn, err := (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestCertificateIsReadAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1, time.Now().Add(24*time.Hour))
	i := testkit.Start(t, testkit.Settings{"tls-cert": cert, "tls-key": key})
	addr := i.App.Addr()
	if !strings.HasPrefix(i.App.URL(), "https://") || !strings.HasPrefix(i.App.ConsoleURL(), "https://") {
		t.Errorf("it is at %s and %s", i.App.URL(), i.App.ConsoleURL())
	}
	if n, err := shown(t, addr, &tls.Config{}); n != 1 || err != nil {
		t.Fatalf("certificate %d, %v", n, err)
	}
	if !strings.Contains(i.Log.String(), "expires soon") {
		t.Error("nothing says that the certificate ends tomorrow")
	}
	if _, err := shown(t, addr, &tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	// Half of a new pair, as while somebody copies it: the former goes on.
	writeCertificate(t, filepath.Join(dir, "new.pem"), filepath.Join(dir, "new.key"), 2, time.Now().Add(1000*time.Hour))
	if err := os.Rename(filepath.Join(dir, "new.pem"), cert); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a log line about half a pair", time.Minute, func() bool {
		if n, err := shown(t, addr, &tls.Config{}); n != 1 || err != nil {
			t.Fatalf("certificate %d, %v", n, err)
		}
		return strings.Contains(i.Log.String(), "cannot load the new TLS certificate")
	})
	if err := os.Rename(filepath.Join(dir, "new.key"), key); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the new certificate", time.Minute, func() bool {
		n, err := shown(t, addr, &tls.Config{})
		return err == nil && n == 2
	})
}

func TestBadCertificateDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, filepath.Join(dir, "other.pem"), 1, time.Now().Add(time.Hour))
	writeCertificate(t, filepath.Join(dir, "unused.pem"), key, 1, time.Now().Add(time.Hour))
	cfg, err := config.Load(config.Sources{Flags: map[string]string{"listen": "127.0.0.1:0", "data-dir": t.TempDir(), "tls-cert": cert, "tls-key": key}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	if err := a.Listen(context.Background()); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Errorf("a key of another certificate: %v", err)
	}
}
