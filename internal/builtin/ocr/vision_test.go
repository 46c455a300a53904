package ocr

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// sealed is a store with one credential, for one tenant.
type sealed struct {
	text string
	err  error
}

func (s sealed) Credential(_ context.Context, tenant junctor.TenantID, server, name string) (string, bool, error) {
	if s.err != nil {
		return "", false, s.err
	}
	ok := tenant == "acme" && server == "ocr" && name == VisionCredential && s.text != ""
	return s.text, ok, nil
}

func TestVisionReads(t *testing.T) {
	t.Parallel()
	for name, credential := range map[string]func(*google) string{
		"service account":   (*google).account,
		"key":               func(*google) string { return canaryKey },
		"key with a margin": func(*google) string { return " " + canaryKey + "\n" },
		"key in JSON":       func(*google) string { return `{"api_key":"` + canaryKey + `"}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGoogle(t)
			given, stored := newRig(t, Options{VisionURL: g.url + "/"}), newRig(t, Options{VisionURL: g.url, Credentials: sealed{text: credential(g)}})
			res, err := given.vision(dataURI, credential(g))
			wantText(t, res, err, usualText)
			if !g.got(pixel(t)) {
				t.Error("the image did not arrive as it was")
			}
			for _, arguments := range []map[string]any{
				{"image_path": dataURI}, {"image_path": dataURI, "credentials_json": nil}, {"image_path": dataURI, "credentials_json": ""},
			} {
				res, err = stored.do(t.Context(), "google_vision_ocr", arguments)
				wantText(t, res, err, usualText)
			}
		})
	}
}

func TestVisionWithoutCredential(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	for name, r := range map[string]*rig{"no store": newRig(t, Options{VisionURL: g.url}), "empty store": newRig(t, Options{VisionURL: g.url, Credentials: sealed{}})} {
		res, err := r.vision(dataURI, "")
		wantRefused(t, res, err, junctor.CodeInvalid, "credentials_json", "service account", VisionCredential)
		if g.sent.Load() != 0 {
			t.Errorf("%s: something was sent", name)
		}
	}
	broken := newRig(t, Options{VisionURL: g.url, Credentials: sealed{err: errors.New("the disk is gone")}})
	res, err := broken.vision(dataURI, "")
	wantRefused(t, res, err, junctor.CodeInternal, "")
}

// Credentials whose form is wrong are refused before anything is sent.
func TestVisionMalformedCredentials(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	r := newRig(t, Options{VisionURL: g.url})
	damaged := strings.Replace(g.account(), `-----BEGIN PRIVATE KEY-----\n`, `-----BEGIN PRIVATE KEY-----\nAAAA`, 1)
	for name, tt := range map[string]struct{ credential, word string }{
		"words":        {"CANARY is not a key", "neither"},
		"line breaks":  {"CANARY\r\nHost: evil", "neither"},
		"file":         {"/etc/CANARY.json", "contents"},
		"cut JSON":     {`{"type":"service_account","private_key":"CANARY`, "not valid JSON"},
		"wrong type":   {`{"type":"authorized_user","refresh_token":"CANARY"}`, "service_account"},
		"wrong member": {`{"client_email":{"CANARY":1}}`, "not valid JSON"},
		"no key":       {`{"type":"service_account","client_email":"CANARY@x"}`, "missing"},
		"no PEM":       {`{"client_email":"CANARY@x","private_key":"CANARY"}`, "PEM"},
		"bad PEM":      {damaged, "PEM"},
		"plain http":   {accountFile("http://tokens.example/CANARY", key()), "https"},
		"user in URI":  {accountFile("https://CANARY@tokens.example/", key()), "https"},
		"no URI":       {accountFile("CANARY", key()), "https"},
		"endless":      {strings.Repeat("CANARY", 20_000), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := r.vision(dataURI, tt.credential)
			wantRefused(t, res, err, junctor.CodeInvalid, "credentials_json", tt.word)
			res, err = newRig(t, Options{VisionURL: g.url, Credentials: sealed{text: tt.credential}}).vision(dataURI, "")
			wantFailed(t, res, err, VisionCredential, "operator", tt.word)
			if g.sent.Load() != 0 {
				t.Error("something was sent")
			}
		})
	}
}

func TestVisionRefusesCredentials(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	r := newRig(t, Options{VisionURL: g.url})
	res, err := r.vision(dataURI, canaryKey+"-old")
	wantFailed(t, res, err, "does not accept", "API key not valid", "***")

	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	res, err = r.vision(dataURI, accountFile(g.url+"/token", other))
	wantFailed(t, res, err, "service account (invalid_grant)", "clock")
	if g.tokens.Load() != 0 {
		t.Error("a token was given for a signature that is not good")
	}
	res, err = r.vision(dataURI, accountFile(g.url+"/elsewhere", key()))
	wantFailed(t, res, err, "service account (status 404)")
}

// Google refuses in many forms; each comes out as what to do about it.
func TestVisionRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		header string // Retry-After
		body   string
		code   junctor.Code // "" is a result that says what failed
		retry  time.Duration
		word   string
	}{
		"quota":           {429, "", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded for consumer 'api_key:` + canaryKey + `'.","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.5s"}]}}`, junctor.CodeLimited, 12*time.Second + 501*time.Millisecond, "Quota exceeded"},
		"quota, header":   {429, "7", `slow down`, junctor.CodeLimited, 7 * time.Second, "try again in 7s"},
		"quota, unsaid":   {403, "soon", `{"error":{"status":"RESOURCE_EXHAUSTED"}}`, junctor.CodeLimited, time.Minute, "try again in 1m0s"},
		"quota, per item": {200, "", `{"responses":[{"error":{"code":8,"message":"no more"}}]}`, junctor.CodeLimited, time.Minute, "no more"},
		"switched off":    {403, "", `{"error":{"code":403,"message":"Cloud Vision API has not been used in project 1 before. Consumer '` + canaryKey + `'"}}`, "", 0, "are enabled"},
		"damaged image":   {200, "", `{"responses":[{"error":{"code":3,"message":"Bad image data."}}]}`, "", 0, "Bad image data."},
		"payload":         {400, "", `{"error":{"code":400,"message":"Request payload size exceeds the limit: 41943040 bytes."}}`, junctor.CodeTooLarge, 0, "too large"},
		"too large":       {413, "", ``, junctor.CodeTooLarge, 0, "too large"},
		"slow inside":     {200, "", `{"responses":[{"error":{"code":4,"message":"deadline"}}]}`, "", 0, "in time"},
		"trouble":         {503, "", `<html>` + canaryKey + `</html>`, "", 0, "status 503"},
		"trouble, item":   {200, "", `{"responses":[{"error":{"code":13}}]}`, "", 0, "status 500"},
		"not there":       {404, "", `nothing`, "", 0, "ocr-vision-url"},
		"not JSON":        {200, "", `<html>` + canaryKey + `</html>`, "", 0, "not a response of images:annotate"},
		"cut off":         {200, "", usualAnswer[:200], "", 0, "not a response of images:annotate"},
		"no responses":    {200, "", `{"responses":[]}`, "", 0, "not a response of images:annotate"},
		"other JSON":      {200, "", `{"hello":"` + canaryKey + `"}`, "", 0, "not a response of images:annotate"},
		"wrong types":     {200, "", `{"responses":[{"fullTextAnnotation":{"text":["` + canaryKey + `"]}}]}`, "", 0, "not a response of images:annotate"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGoogle(t)
			g.answer = func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}
			res, err := newRig(t, Options{VisionURL: g.url}).vision(dataURI, canaryKey)
			if tt.code == "" {
				wantFailed(t, res, err, tt.word)
				return
			}
			wantRefused(t, res, err, tt.code, "", tt.word)
			if got := junctor.AsError(err).RetryAfter; got != tt.retry {
				t.Errorf("retry after %v, want %v", got, tt.retry)
			}
		})
	}
}

func TestVisionFindsNoText(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"responses":[{}]}`, `{"responses":[{"fullTextAnnotation":{"text":" \n ","pages":[{"confidence":0.5}]}}]}`} {
		g := newGoogle(t)
		g.answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
		res, err := newRig(t, Options{VisionURL: g.url}).vision(dataURI, canaryKey)
		wantText(t, res, err, `{"text":"","confidence":0,"formatted_text_lines":[]}`)
	}
}

// A Google that does not answer costs the call its time and no more, at both
// of its endpoints, by the caller's deadline and by the client's own.
func TestVisionTimesOut(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	arrived := make(chan struct{}, 4)
	g.answer = func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-stop
	}
	r := newRig(t, Options{VisionURL: g.url})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		<-arrived
		cancel(context.Canceled)
	}()
	res, err := r.do(ctx, "google_vision_ocr", map[string]any{"image_path": dataURI, "credentials_json": canaryKey})
	wantRefused(t, res, err, junctor.CodeCanceled, "")

	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	res, err = r.do(ctx, "google_vision_ocr", map[string]any{"image_path": dataURI, "credentials_json": canaryKey})
	wantRefused(t, res, err, junctor.CodeTimeout, "")

	impatient := &http.Client{Timeout: 50 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err = newRig(t, Options{VisionURL: g.url, Client: impatient}).vision(dataURI, canaryKey)
	wantFailed(t, res, err, "did not arrive in time")
}

func TestVisionUnreachable(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{VisionURL: "http://127.0.0.1:1"})
	res, err := r.vision(dataURI, canaryKey)
	wantFailed(t, res, err, "127.0.0.1:1")
	res, err = r.vision(dataURI, accountFile("https://127.0.0.1:1/token", key()))
	wantFailed(t, res, err, "token of the service account")

	// What egress does not let out is this machine's fault, not the caller's.
	res, err = newRig(t, Options{VisionURL: "http://127.0.0.1:1", Client: outward(t, r.slog())}).vision(dataURI, canaryKey)
	wantFailed(t, res, err, "egress-allow")
}

func TestTokenIsSharedAndRenewed(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	r := newRig(t, Options{VisionURL: g.url})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			res, err := r.vision(dataURI, g.account())
			if err != nil || res.IsError {
				t.Errorf("%s, %v", res.Body, err)
			}
		})
	}
	all.Wait()
	if n := g.tokens.Load(); n != 1 {
		t.Errorf("%d tokens were got for one account", n)
	}
	g.refuse.Store(1) // as when it was revoked
	res, err := r.vision(dataURI, g.account())
	wantText(t, res, err, usualText)
	if n := g.tokens.Load(); n != 2 {
		t.Errorf("%d tokens after one was refused, want 2", n)
	}
	g.refuse.Store(2)
	res, err = r.vision(dataURI, g.account())
	wantFailed(t, res, err, "does not accept the credential")
}

func TestOffer(t *testing.T) {
	t.Parallel()
	offer, err := newRig(t, Options{}).server.Offer(t.Context())
	if err != nil || len(offer.Tools) != 2 {
		t.Fatalf("%+v, %v", offer, err)
	}
	var tool struct {
		Name, Description string
		InputSchema       struct {
			Properties map[string]map[string]any
			Required   []string
		}
	}
	if err := json.Unmarshal(offer.Tools[0].JSON, &tool); err != nil {
		t.Fatal(err)
	}
	secret := tool.InputSchema.Properties["credentials_json"]
	value, has := secret["default"]
	if tool.Name != "google_vision_ocr" || len(tool.InputSchema.Properties) != 2 || len(tool.InputSchema.Required) != 1 || tool.InputSchema.Required[0] != "image_path" ||
		!has || value != nil || secret["format"] != "password" || secret["writeOnly"] != true {
		t.Errorf("the tool is %s", offer.Tools[0].JSON)
	}
	if offer.Tools[1].Name != "tesseract_ocr" || offer.Instructions == "" {
		t.Errorf("offer: %+v", offer)
	}
}

func TestNewChecks(t *testing.T) {
	t.Parallel()
	client := outward(t, newRig(t, Options{}).slog())
	for name, o := range map[string]Options{
		"no client":     {},
		"relative root": {Client: client, Roots: []string{"images"}},
		"no URL":        {Client: client, VisionURL: "vision"},
		"other scheme":  {Client: client, VisionURL: "ftp://x"},
		"password":      {Client: client, VisionURL: "https://a:b@x"},
		"query":         {Client: client, VisionURL: "https://x?key=1"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
