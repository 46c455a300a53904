package client

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// TestSign has each kind of key sign, and the public key agree.
func TestSign(t *testing.T) {
	t.Parallel()
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, d, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for alg, key := range map[string]crypto.Signer{"RS256": r, "ES256": e, "EdDSA": d} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := signAssertion(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "me", "https://issuer.example", now)
		if err != nil {
			t.Fatal(alg, err)
		}
		parts := strings.Split(text, ".")
		var head, claims map[string]any
		for i, to := range []*map[string]any{&head, &claims} {
			raw, err := base64.RawURLEncoding.DecodeString(parts[i])
			if err != nil || json.Unmarshal(raw, to) != nil {
				t.Fatal(alg, err)
			}
		}
		if head["alg"] != alg || claims["iss"] != "me" || claims["sub"] != "me" || claims["aud"] != "https://issuer.example" || claims["exp"].(float64) <= float64(now.Unix()) || claims["jti"] == "" {
			t.Errorf("%s: %v %v", alg, head, claims)
		}
		signature, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		said := parts[0] + "." + parts[1]
		sum := sha256.Sum256([]byte(said))
		switch k := key.Public().(type) {
		case *rsa.PublicKey:
			err = rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature)
		case *ecdsa.PublicKey:
			if !ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
				t.Error("the signature of P-256 is wrong")
			}
		case ed25519.PublicKey:
			if !ed25519.Verify(k, []byte(said), signature) {
				t.Error("the signature of Ed25519 is wrong")
			}
		}
		if err != nil {
			t.Errorf("%s: %v", alg, err)
		}
	}
	for _, bad := range []string{"", "canary", "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n"} {
		if _, err := signAssertion(bad, "me", "x", now); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
