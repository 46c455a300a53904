package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// certificateFor writes a certificate and its key, and gives their files.
func certificateFor(t *testing.T, host string, ends time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: ends.Add(-time.Hour), NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestSharedFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("folders have no such modes here")
	}
	dir := privateDir(t)
	for mode, want := range map[os.FileMode]checkState{0o700: stateOK, 0o755: stateOK, 0o775: stateFail} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if f := (&exposure{}).checkSecretFiles(dir); f.State != want {
			t.Errorf("%04o: %+v", mode, f)
		}
	}
}

// TestUnsafe holds each check to what it has to find, and all of them to silence
// where nothing is wrong.
func TestUnsafe(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const host = "junctor.example.com"
	cert, key := certificateFor(t, host, now.Add(90*24*time.Hour))
	soon, soonKey := certificateFor(t, host, now.Add(24*time.Hour))
	old, oldKey := certificateFor(t, host, now.Add(-time.Hour))
	other, otherKey := certificateFor(t, "else.example.com", now.Add(90*24*time.Hour))
	shared := filepath.Join(t.TempDir(), "shared")
	if err := os.WriteFile(shared, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o640); err != nil {
		t.Fatal(err)
	}
	admin := func(k junctor.Key) []junctor.Key {
		k.Name, k.ID, k.Scopes = "root", "k1", []junctor.Scope{junctor.ScopeAdmin}
		return []junctor.Key{k, {Name: "ci", Scopes: []junctor.Scope{junctor.ScopeToolsCall}}}
	}
	type set = map[string]string
	exposed := func(more set) set {
		s := set{"listen": "0.0.0.0:443", "public-url": "https://" + host, "tls-cert": cert, "tls-key": key}
		maps.Copy(s, more)
		return s
	}
	for _, tt := range []struct {
		name  string
		set   set
		keys  []junctor.Key
		check string // "" is none
		want  checkState
		says  string
	}{
		{"at home", set{"listen": "127.0.0.1:8717", "allow-commands": "true", "pprof": "true", "egress-allow": "127.0.0.0/8"}, admin(junctor.Key{}), "", stateOK, ""},
		{"well exposed", exposed(nil), admin(junctor.Key{ExpiresAt: now.Add(time.Hour)}), "", stateOK, ""},
		{"behind a proxy", set{"public-url": "https://" + host, "trusted-proxy": "127.0.0.1/32"}, nil, "", stateOK, ""},
		{"a revoked admin key", exposed(nil), admin(junctor.Key{RevokedAt: now}), "", stateOK, ""},
		{"open", set{"open": "true"}, nil, "open", stateWarn, "--open"},
		{"in the clear", set{"listen": ":8717", "public-url": "http://10.0.0.5:8717"}, nil, "url", stateFail, "--tls-cert"},
		{"a container at home", set{"listen": ":8717", "public-url": "http://127.0.0.1:8717"}, nil, "", stateOK, ""},
		{"ends soon", exposed(set{"tls-cert": soon, "tls-key": soonKey}), nil, "certificate", stateWarn, "renew"},
		{"has ended", exposed(set{"tls-cert": old, "tls-key": oldKey}), nil, "certificate", stateFail, "renew"},
		{"for another name", exposed(set{"tls-cert": other, "tls-key": otherKey}), nil, "certificate", stateFail, host},
		{"another's key", exposed(set{"tls-key": otherKey}), nil, "certificate", stateFail, "--tls-key"},
		{"a proxy that is not named", set{"public-url": "https://" + host}, nil, "proxy", stateWarn, "--trusted-proxy"},
		{"everybody is a proxy", exposed(set{"trusted-proxy": "10.0.0.1/32,0.0.0.0/0"}), nil, "proxy", stateFail, "0.0.0.0/0"},
		{"a key file of others", exposed(set{"seal-key-file": shared}), nil, "secrets", stateFail, "chmod 600"},
		{"a client secret of others", exposed(set{"oidc-client-secret": "file:" + shared}), nil, "secrets", stateFail, "chmod 600"},
		{"all of a private net", set{"egress-allow": "10.0.0.0/8"}, nil, "egress", stateWarn, "--egress-allow"},
		{"this machine's own services", exposed(set{"egress-allow": "127.0.0.1/32"}), nil, "egress", stateWarn, "--egress-allow"},
		{"commands from anywhere", exposed(set{"allow-commands": "true"}), nil, "commands", stateWarn, "--allow-commands"},
		{"profiles from anywhere", exposed(set{"pprof": "true"}), nil, "pprof", stateWarn, "--pprof"},
		{"an admin for ever", exposed(nil), admin(junctor.Key{}), "keys", stateWarn, "root (k1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.check == "secrets" && runtime.GOOS == "windows" {
				t.Skip("files have no such modes here")
			}
			found := false
			for _, f := range (&exposure{settings: tt.set, keys: tt.keys, now: now}).runChecks(privateDir(t)) {
				switch {
				case f.Check == tt.check:
					found = true
					if f.State != tt.want || f.Fix == "" || !strings.Contains(f.Detail+" "+f.Fix, tt.says) {
						t.Errorf("%+v, want %s with %q", f, tt.want, tt.says)
					}
				case f.State != stateOK:
					t.Errorf("%+v", f)
				}
			}
			if tt.check != "" && !found {
				t.Errorf("there is no check %s", tt.check)
			}
		})
	}
}
