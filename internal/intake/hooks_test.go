package intake_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

const first, second = "the first secret of a test", "the second secret of a test"

func macOf(secret, text string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// postGitHub sends a message with headers that no signature covers.
func postGitHub(t *testing.T, mux http.Handler, body, event, delivery string) (int, junctor.Taken) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/github", strings.NewReader(body))
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(macOf(first, body)))
	req.Header.Set("X-GitHub-Delivery", delivery)
	req.Header.Set("X-GitHub-Event", event)
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, req)
	var taken junctor.Taken
	_ = json.Unmarshal(rec.Body.Bytes(), &taken) // of a refusal it has nothing
	return rec.Code, taken
}

// A person who saw a message of GitHub can send it again with other headers: it is
// known by its bytes, and of the type that its members say.
func TestGitHubHeadersDecideNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.in.AddSource(t.Context(), junctor.DefaultTenant, junctor.Source{ID: "github", Style: junctor.StyleGitHub}, seal.NewSecret(first)); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	r.in.Routes(mux)
	stored := func(id string) junctor.Event {
		e, err := r.store.For(junctor.DefaultTenant).Event(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const issue = `{"action":"opened","issue":{"number":1},"repository":{"name":"r"}}`
	status, taken := postGitHub(t, mux, issue, "issues", "guid-1")
	if e := stored(taken.ID); status != 202 || e.Type != "issues.opened" || e.TypeUnsigned {
		t.Fatalf("%d %+v", status, e)
	}
	for _, again := range [][2]string{{"issues", "guid-2"}, {"push", "guid-3"}, {"release", "guid-4"}, {"issues", ""}} {
		if status, got := postGitHub(t, mux, issue, again[0], again[1]); status != 202 || !got.Duplicate || got.ID != taken.ID {
			t.Errorf("the same message again as %q: %d %+v", again, status, got)
		}
	}
	const comment = `{"action":"created","issue":{"number":1},"comment":{"body":"x"}}`
	if _, taken := postGitHub(t, mux, comment, "push", "guid-5"); stored(taken.ID).Type != "issue_comment.created" {
		t.Errorf("a comment that says it is a push: %+v", stored(taken.ID))
	}
	// Where the members do not tell, the header is taken, and the event says so.
	const public = `{"repository":{"name":"r"},"sender":{"login":"s"}}`
	if status, _ := postGitHub(t, mux, public, "push", "guid-6"); status != 400 {
		t.Errorf("what is no push is taken as one: %d", status)
	}
	if _, taken := postGitHub(t, mux, public, "public", "guid-7"); stored(taken.ID).Type != "public" || !stored(taken.ID).TypeUnsigned {
		t.Errorf("an event that only the header names: %+v", stored(taken.ID))
	}
	if status, got := postGitHub(t, mux, public, "repository", "guid-8"); status != 202 || !got.Duplicate {
		t.Errorf("that again under another name: %d %+v", status, got)
	}
}

// A place in the data that a source names for the type is signed.
func TestTypeFieldIsSigned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.in.AddSource(t.Context(), junctor.DefaultTenant, junctor.Source{ID: "github", Style: junctor.StyleGitHub, TypeField: "data.kind"}, seal.NewSecret(first)); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	r.in.Routes(mux)
	_, taken := postGitHub(t, mux, `{"kind":"own"}`, "public", "guid")
	if e, err := r.store.For(junctor.DefaultTenant).Event(t.Context(), taken.ID); err != nil || e.Type != "own" || e.TypeUnsigned {
		t.Errorf("%+v, %v", e, err)
	}
}

// Who has no secret learns nothing of which sources there are: every refusal is
// the same.
func TestRefusalsAreAlike(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.store.EnsureTenant(t.Context(), "acme", "Acme"); err != nil {
		t.Fatal(err)
	}
	names := []string{"nowhere", "Not-A-Name", "none", "acme/nowhere", "nobody/nowhere"}
	for _, tenant := range []junctor.TenantID{junctor.DefaultTenant, "acme"} {
		for _, style := range []junctor.SourceStyle{junctor.StyleStandard, junctor.StyleGitHub, junctor.StyleStripe, junctor.StyleHMAC} {
			for _, off := range []bool{false, true} {
				s := junctor.Source{ID: string(tenant) + "-" + string(style), Style: style, Disabled: off}
				if off {
					s.ID += "-off"
				}
				if _, err := r.in.AddSource(t.Context(), tenant, s, seal.NewSecret(first)); err != nil {
					t.Fatal(err)
				}
				names = append(names, s.ID, string(tenant)+"/"+s.ID)
			}
		}
	}
	mux := http.NewServeMux()
	r.in.Routes(mux)
	sum := sha256.Sum256([]byte("x"))
	stamp := func(h http.Header) {
		now := r.clock.Now()
		h.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
		h.Set(junctor.HeaderWebhookID, "m1")
		h.Set(junctor.HeaderWebhookSignature, junctor.SignWebhook(second, "m1", now, []byte("{}")))
		h.Set("Stripe-Signature", "t=1,v1="+hex.EncodeToString(sum[:]))
		h.Set("X-Hub-Signature-256", hex.EncodeToString(sum[:]))
		h.Set("X-Signature-256", "no hex")
	}
	for name, c := range map[string]struct {
		body string
		set  func(h http.Header)
	}{
		"nothing signed": {"{}", func(http.Header) {}},
		"all signed":     {"{}", stamp},
		"no JSON":        {"{", stamp},
		"a long id": {"{}", func(h http.Header) {
			stamp(h)
			h.Set(junctor.HeaderWebhookID, strings.Repeat("x", 300))
		}},
		"too large": {strings.Repeat("x", junctor.MaxEventData+1), stamp},
	} {
		want := ""
		for _, id := range names {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/"+id, strings.NewReader(c.body))
			c.set(req.Header)
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, req)
			head, _ := json.Marshal(rec.Header()) // a map of texts
			got := http.StatusText(rec.Code) + string(head) + rec.Body.String()
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, %s: %s; others: %s", name, id, got, want)
			}
		}
	}
}

// What everybody knows, or can guess, is no secret of a source, however it comes
// to be one.
func TestSourcesRefuseWeakSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mux := http.NewServeMux()
	r.in.Routes(mux)
	public := "whpk_" + strings.Repeat("A", 20)
	for _, style := range []junctor.SourceStyle{junctor.StyleStandard, junctor.StyleGitHub, junctor.StyleStripe, junctor.StyleHMAC} {
		s := junctor.Source{ID: "s-" + string(style), Style: style}
		for _, secret := range []string{public, "whsec_YQ==", strings.Repeat(" ", 20), "fifteen bytes..", "whsk_" + strings.Repeat("A", 43) + "="} {
			if _, err := r.in.AddSource(t.Context(), junctor.DefaultTenant, s, seal.NewSecret(secret)); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "secret") {
				t.Errorf("%s takes %q: %v", style, secret, err)
			}
		}
		if _, err := r.in.AddSource(t.Context(), junctor.DefaultTenant, s, seal.NewSecret(first)); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{public, "whsec_YQ==", strings.Repeat(" ", 20)} {
			if _, err := r.in.ChangeSource(t.Context(), junctor.DefaultTenant, "user:u1", s, seal.NewSecret(secret), false); junctor.CodeOf(err) != junctor.CodeInvalid {
				t.Errorf("%s is changed to %q: %v", style, secret, err)
			}
		}
		// One that is stored already is not used.
		if err := r.in.Secrets.Put(t.Context(), junctor.DefaultTenant, junctor.SourceOwner(s.ID), "secret", seal.NewSecret(public)); err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/"+s.ID, strings.NewReader("{}"))
		stamp := strconv.FormatInt(r.clock.Now().Unix(), 10)
		req.Header.Set("X-Hub-Signature-256", hex.EncodeToString(macOf(public, "{}")))
		req.Header.Set("X-Signature-256", hex.EncodeToString(macOf(public, "{}")))
		req.Header.Set("X-GitHub-Event", "public")
		req.Header.Set("Stripe-Signature", "t="+stamp+",v1="+hex.EncodeToString(macOf(public, stamp+".{}")))
		req.Header.Set(junctor.HeaderWebhookID, "m1")
		req.Header.Set(junctor.HeaderWebhookTimestamp, stamp)
		req.Header.Set(junctor.HeaderWebhookSignature, "v1,"+base64.StdEncoding.EncodeToString(macOf(public, "m1."+stamp+".{}")))
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, req)
		if rec.Code != http.StatusUnauthorized {
			t.Errorf("%s uses a public key as a secret: %d %s", style, rec.Code, rec.Body)
		}
	}
	// Another style, under which the secret would be another thing.
	s := junctor.Source{ID: "moved", Style: junctor.StyleStripe}
	if _, err := r.in.AddSource(t.Context(), junctor.DefaultTenant, s, seal.NewSecret("whsec_of Stripe, no base64")); err != nil {
		t.Fatal(err)
	}
	s.Style = junctor.StyleStandard
	if _, err := r.in.ChangeSource(t.Context(), junctor.DefaultTenant, "user:u1", s, seal.Secret{}, false); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("a secret that is no base64 counts in another style: %v", err)
	}
}
