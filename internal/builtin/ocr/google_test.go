package ocr

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Secrets that must come out nowhere.
const (
	canaryKey   = "AIzaCANARYkey-0123456789_abcdefghijklmn"
	canaryToken = "ya29.CANARYtoken"
	canaryKeyID = "CANARYkeyid"
)

// key is one RSA key for all tests: making one takes a while.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// google speaks the REST of Google's token endpoint and of Cloud Vision, as far
// as this package uses it, and checks what it is sent as Google does.
type google struct {
	t        testing.TB
	url      string
	answer   http.HandlerFunc // of images:annotate once the credential is good; nil: the usual text
	validFor int              // seconds that a token lasts
	sent     atomic.Int32     // requests for images
	tokens   atomic.Int32     // tokens given out
	refuse   atomic.Int32     // so many good tokens are refused

	mu    sync.Mutex
	image []byte // the last that came
}

func newGoogle(t testing.TB) *google {
	t.Helper()
	g := &google{t: t, validFor: 3600}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	g.url = s.URL
	return g
}

func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.String(), "CANARY") {
		g.t.Errorf("a secret is in the address %s", r.URL.Path)
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /token":
		g.token(w, r)
	case "POST /v1/images:annotate":
		g.annotate(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (g *google) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if why := g.checkAssertion(r); why != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"%s; you sent %s"}`, why, r.FormValue("assertion"))
		return
	}
	fmt.Fprintf(w, `{"access_token":"%s%d","expires_in":%d,"token_type":"Bearer"}`, canaryToken, g.tokens.Add(1), g.validFor)
}

func (g *google) checkAssertion(r *http.Request) string {
	parts := strings.Split(r.PostFormValue("assertion"), ".")
	if r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(parts) != 3 {
		return "no assertion"
	}
	var header struct{ Alg, Kid, Typ string }
	var claims struct {
		Iss, Scope, Aud string
		Iat, Exp        int64
	}
	for i, into := range []any{&header, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(b, into) != nil {
			return "not a JWT"
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return "not a JWT"
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if header.Alg != "RS256" || rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, digest[:], signature) != nil {
		return "Invalid JWT Signature."
	}
	if now := time.Now().Unix(); claims.Iat > now+60 || claims.Exp <= now || claims.Exp-claims.Iat > 3600 {
		return "bad times"
	}
	if claims.Aud != g.url+"/token" || claims.Iss != "reader@p.iam.gserviceaccount.com" || !strings.Contains(claims.Scope, "/auth/cloud-") {
		return "bad claims"
	}
	return ""
}

func (g *google) annotate(w http.ResponseWriter, r *http.Request) {
	g.sent.Add(1)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	bearer := strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "+canaryToken)
	switch given := r.Header.Get("X-Goog-Api-Key"); {
	case bearer && g.refuse.Add(-1) >= 0, !bearer && given == "":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`)
		return
	case !bearer && given != canaryKey:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key. (%s)","status":"INVALID_ARGUMENT"}}`, given)
		return
	}
	var body struct {
		Requests []struct {
			Image    struct{ Content []byte }
			Features []struct{ Type string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Requests) != 1 || len(body.Requests[0].Features) != 1 || body.Requests[0].Features[0].Type != "DOCUMENT_TEXT_DETECTION" {
		g.t.Errorf("the request is not one for the text of one image: %v", err)
	}
	g.mu.Lock()
	g.image = body.Requests[0].Image.Content
	g.mu.Unlock()
	if g.answer != nil {
		g.answer(w, r)
		return
	}
	_, _ = io.WriteString(w, usualAnswer)
}

func (g *google) got(image []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.Equal(g.image, image)
}

// account is the key file of a service account that this Google knows.
func (g *google) account() string { return accountFile(g.url+"/token", key()) }

func accountFile(tokenURI string, k *rsa.PrivateKey) string {
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		panic(err)
	}
	b, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "reader@p.iam.gserviceaccount.com",
		"private_key_id": canaryKeyID, "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURI,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

const usualAnswer = `{
  "responses": [{
    "textAnnotations": [{"locale": "en", "description": "INVOICE 42\nTotal"}],
    "fullTextAnnotation": {
      "pages": [
        {"width": 600, "confidence": 0.9, "blocks": [{"blockType": "TEXT", "confidence": 0.1}]},
        {"width": 600, "blocks": [{"confidence": 0.7}, {"confidence": 0.9}, {"blockType": "PICTURE"}]}
      ],
      "text": "INVOICE 42\n\n  Total: 7 \n"
    }
  }]
}`

const usualText = `{"text":"INVOICE 42\n\n  Total: 7 \n","confidence":0.85,"formatted_text_lines":["INVOICE 42","Total: 7"]}`
