package identity_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func TestEnsureAdminMakesOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	late := another(t, b) // another process that starts at the same time
	token, made, err := b.EnsureAdminKey(t.Context())
	if err != nil || !made {
		t.Fatalf("the first start: %v, %v", made, err)
	}
	p, err := b.AuthenticateToken(token)
	if err != nil || !p.Has(junctor.ScopeKeysWrite) || p.Tenant != junctor.DefaultTenant {
		t.Fatalf("the admin is %+v, %v", p, err)
	}
	if again, made, err := b.EnsureAdminKey(t.Context()); err != nil || made || again != "" {
		t.Errorf("again: %q, %v, %v", again, made, err)
	}
	if again, made, err := late.EnsureAdminKey(t.Context()); err != nil || made || again != "" {
		t.Errorf("the slower process: %q, %v, %v", again, made, err)
	}
	if q, err := late.AuthenticateToken(token); err != nil || !q.Same(p) {
		t.Errorf("the slower process knows the admin as %+v, %v", q, err)
	}
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, p.Subject); err != nil {
		t.Fatal(err)
	}
	if again, made, err := another(t, b).EnsureAdminKey(t.Context()); err != nil || made || again != "" {
		t.Errorf("after it was revoked: %q, %v, %v", again, made, err)
	}
}

func TestSetAdminKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	former, _, err := b.EnsureAdminKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	was, err := b.AuthenticateToken(former)
	if err != nil {
		t.Fatal(err)
	}
	const chosen = "sixteen-chars-ok"
	for range 2 {
		if err := b.SetAdminKey(t.Context(), chosen); err != nil {
			t.Fatal(err)
		}
		is, err := b.AuthenticateToken(chosen)
		if err != nil || !is.Same(was) || !is.Has(junctor.ScopeAdmin) {
			t.Fatalf("the admin was %+v and is %+v, %v", was, is, err)
		}
		_, err = b.AuthenticateToken(former)
		fails(t, err, junctor.CodeUnauthenticated)
	}
	list, err := b.ListKeys(t.Context(), junctor.DefaultTenant)
	if err != nil || len(list) != 1 || list[0].Prefix != "" || list[0].Name != "admin" {
		t.Errorf("listed as %+v, %v", list, err)
	}

	// Revoked and set again, it lives.
	if err := b.RevokeKey(t.Context(), junctor.DefaultTenant, was.Subject); err != nil {
		t.Fatal(err)
	}
	if err := b.SetAdminKey(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	if _, err := b.AuthenticateToken(chosen); err != nil {
		t.Error(err)
	}

	k, taken := b.key(t, "ci", time.Time{})
	err = b.SetAdminKey(t.Context(), taken)
	fails(t, err, junctor.CodeConflict)
	if p, err := b.AuthenticateToken(taken); err != nil || p.Subject != k.ID || p.Has(junctor.ScopeAdmin) {
		t.Errorf("a key that was refused as the admin's is %+v, %v", p, err)
	}
	if _, err := b.AuthenticateToken(chosen); err != nil {
		t.Error(err)
	}
}

func TestSetAdminKeyFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.SetAdminKey(t.Context(), "chosen-by-the-operator"); err != nil {
		t.Fatal(err)
	}
	if _, made, err := b.EnsureAdminKey(t.Context()); err != nil || made {
		t.Errorf("made %v, %v", made, err)
	}
	if _, err := b.AuthenticateToken("chosen-by-the-operator"); err != nil {
		t.Error(err)
	}
}

func TestSetAdminKeyRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, bad := range []string{
		"", "fifteen-charact", strings.Repeat("x", 513), "with a space in it", "with-ünïcode-in-it", "with-newline-in-it\n", "with-nul-in-it\x00",
	} {
		err := b.SetAdminKey(t.Context(), bad)
		fails(t, err, junctor.CodeInvalid)
		if bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("the message has the key in it: %v", err)
		}
	}
}

// Tokens are shown when they are made, and are nowhere after that.
func TestTokensAreNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var said bytes.Buffer // all errors
	note := func(err error) {
		if err != nil {
			said.WriteString(err.Error() + "\n")
			if cause := junctor.AsError(err).Cause; cause != nil {
				said.WriteString(cause.Error() + "\n")
			}
		}
	}
	admin, _, err := b.EnsureAdminKey(t.Context())
	note(err)
	live, token := b.key(t, "live", time.Time{})
	gone, revoked := b.key(t, "gone", time.Time{})
	note(b.RevokeKey(t.Context(), junctor.DefaultTenant, gone.ID))
	_, expired := b.key(t, "short", b.clock.Now().Add(time.Second))
	b.clock.add(time.Minute)
	const chosen, short, unknown = "canary-chosen-by-the-operator", "canary-short", "canary-unknown-to-anybody"
	note(b.SetAdminKey(t.Context(), chosen))
	note(b.SetAdminKey(t.Context(), short))
	note(b.SetAdminKey(t.Context(), token)) // refused: another key's
	tokens := []string{admin, token, revoked, expired, chosen, short, unknown}
	for _, tok := range tokens {
		for _, h := range []string{"Bearer " + tok, "Basic " + tok, tok} {
			_, err := b.Authenticate(request(t, "/mcp?key="+tok, header("Authorization", h)))
			note(err)
			_, err = b.Authenticate(request(t, "/mcp", header("Authorization", h, "X-API-Key", "x"+tok)))
			note(err)
		}
	}
	note(b.FlushUsage(t.Context()))
	note(b.RevokeKey(t.Context(), junctor.DefaultTenant, live.ID))
	files, err := filepath.Glob(b.path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("files of the database: %v, %v", files, err)
	}
	places := map[string][]byte{"the errors": said.Bytes(), "the log": b.log.Bytes()}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places[filepath.Base(file)] = content
	}
	if said.Len() == 0 || b.log.Len() == 0 || !bytes.Contains(places["junctor.db-wal"], []byte(live.ID)) {
		t.Fatal("the test does not see what it looks at")
	}
	for _, tok := range tokens {
		secret := tok[strings.LastIndexAny(tok, "_")+1:]
		for place, content := range places {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("a token is in %s", place)
			}
		}
	}
}
