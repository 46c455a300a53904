package ocr

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// inside answers requests without a network, so that time can be played with.
type inside struct{ http.Handler }

func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func parsed(t testing.TB, text, base string) *serviceAccount {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCredential(text, u)
	if err != nil {
		t.Fatal(err)
	}
	return c.account
}

func newTokens(h http.Handler) *tokenCache {
	return &tokenCache{client: &http.Client{Transport: inside{h}}, grants: map[[sha256.Size]byte]*tokenGrant{}}
}

func TestTokenEndsShortlyBeforeItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &google{t: t, url: "https://google.test", validFor: 3600}
		tk, a := newTokens(g), parsed(t, g.account(), g.url)
		for _, step := range []struct {
			wait time.Duration
			want int32
		}{{0, 1}, {59*time.Minute - time.Second, 1}, {time.Second, 2}, {time.Minute, 2}} {
			time.Sleep(step.wait)
			if _, err := tk.getToken(t.Context(), a); err != nil || g.tokens.Load() != step.want {
				t.Errorf("after %v more: %d tokens, want %d; %v", step.wait, g.tokens.Load(), step.want, err)
			}
		}
	})
}

// One who leaves does not break off what others wait for; one who waits leaves
// when told; and an endpoint that never answers ends the exchange by itself.
func TestTokenWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &google{t: t, url: "https://google.test", validFor: 3600}
		delay := 5 * time.Second
		tk := newTokens(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(delay):
				g.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		}))
		a := parsed(t, g.account(), g.url)
		first, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := tk.getToken(first, a)
			left <- err
		}()
		synctest.Wait()
		stayed := make(chan error)
		go func() {
			_, err := tk.getToken(t.Context(), a)
			stayed <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		if err := <-stayed; err != nil || g.tokens.Load() != 1 {
			t.Errorf("who stayed got %v, %d tokens", err, g.tokens.Load())
		}

		delay, tk.grants = time.Hour, map[[sha256.Size]byte]*tokenGrant{}
		start := time.Now()
		if _, err := tk.getToken(t.Context(), a); junctor.CodeOf(err) != junctor.CodeTimeout || time.Since(start) != tokenTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		delay = 0
		if _, err := tk.getToken(t.Context(), a); err != nil {
			t.Errorf("a failure is remembered: %v", err)
		}
	})
}

func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	g := &google{t: t, url: "https://google.test", validFor: 3600}
	tk, a := newTokens(g), parsed(t, g.account(), g.url)
	for i := range 2 * maxTokens {
		a.digest[0], a.digest[1] = byte(i), byte(i>>8)
		if _, err := tk.getToken(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if len(tk.grants) > maxTokens {
			t.Fatalf("%d tokens are kept", len(tk.grants))
		}
	}
	if n := g.tokens.Load(); n != 2*maxTokens {
		t.Errorf("%d accounts shared tokens: %d were got", 2*maxTokens, n)
	}
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	g := &google{t: t, url: "https://google.test"}
	for name, tt := range map[string]struct {
		status int
		body   string
		word   string
	}{
		"not JSON":   {200, `<html>CANARY`, "did not return a token"},
		"no token":   {200, `{"id_token":"CANARY"}`, "did not return a token"},
		"wrong type": {200, `{"access_token":{"CANARY":1}}`, "did not return a token"},
		"talkative":  {400, `{"error":"CANARY in words"}`, "status 400"},
		"named":      {401, `{"error":"invalid_client"}`, "invalid_client"},
		"trouble":    {502, `CANARY`, "try again later"},
	} {
		tk := newTokens(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		_, err := tk.getToken(t.Context(), parsed(t, g.account(), g.url))
		if junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantWords(t, err.Error(), []string{tt.word})
		(&rig{t: t}).silent(name, err.Error())
	}
}
