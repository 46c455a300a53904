package seal_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// keyText is the n-th key of the tests.
func keyText(n byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32)) }

func keyID(t testing.TB, n byte) string {
	t.Helper()
	m, err := seal.KeyringFromEnv(keyText(n))
	if err != nil {
		t.Fatal(err)
	}
	return m.CurrentID()
}

func writeKeys(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seal.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	a, b := keyID(t, 1), keyID(t, 2)
	lineA, lineB := a+" "+keyText(1)+" 2026-01-02T03:04:05Z", b+" "+keyText(2)+" 2026-01-02T03:04:05Z"
	tests := []struct {
		name, text string
		ids        []string // current first
		says       string
	}{
		{"one key, nothing else", keyText(1) + "\n", []string{a}, ""},
		{"without a line break", keyText(1), []string{a}, ""},
		{"one line", lineA + " current\n", []string{a}, ""},
		{"one line that is not marked", lineA, []string{a}, ""},
		{"two", lineA + "\n" + lineB + " current\n", []string{b, a}, ""},
		{"remarks, spaces, Windows", "# keys\r\n\r\n  " + lineA + " current\r\n" + lineB + "\r\n", []string{a, b}, ""},
		{"a plain one among others", keyText(1) + "\n" + lineB + " current", []string{b, a}, ""},
		{"nothing but remarks", "# keys\n", nil, "empty"},
		{"none is current", lineA + "\n" + lineB, nil, "0 keys are marked"},
		{"two are current", lineA + " current\n" + lineB + " current", nil, "2 keys are marked"},
		{"the same key twice", lineA + " current\n" + lineA, nil, "line 2"},
		{"the id of another", b + lineA[len(a):], nil, "line 1: the id"},
		{"no time", a + " " + keyText(1) + " today", nil, "third field"},
		{"another word", lineA + " old", nil, "line 1"},
		{"two words", a + " " + keyText(1), nil, "line 1"},
		{"a cut key", lineB + " current\n" + a + " " + keyText(1)[:40] + " 2026-01-02T03:04:05Z", nil, "line 2: the key is not 32 bytes"},
		{"too large", strings.Repeat("#\n", 40_000) + keyText(1), nil, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeKeys(t, tt.text)
			k, err := seal.OpenKeyring(path)
			if tt.ids == nil {
				if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Errorf("%v", err)
				}
				if err != nil && strings.Contains(err.Error(), keyText(1)[:16]) {
					t.Error("the error shows the key")
				}
				return
			}
			if err != nil || !slices.Equal(k.IDs(), tt.ids) || k.CurrentID() != tt.ids[0] {
				t.Errorf("%v", err)
			}
		})
	}
}

// All keys of a ring open, and the file that a rotation writes can be read again.
func TestKeyFileIsRewritten(t *testing.T) {
	t.Parallel()
	path := writeKeys(t, keyText(1))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	db := newDatabase()
	p := start(t, link, db)
	p.mustPut(t, at{"t", "o", "n"}, "x")
	db.on = (&countdown{1}).step // the key is added, and then the process dies
	if _, err := p.Rotate(t.Context()); err == nil {
		t.Fatal("not killed")
	}
	db.on = nil
	fresh := start(t, link, db)
	if ids := fresh.keys.IDs(); len(ids) != 2 || ids[1] != keyID(t, 1) {
		t.Fatalf("on file: %v", ids)
	}
	fresh.mustGet(t, at{"t", "o", "n"}, "x")
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "# Sealing keys of Junctor") || !strings.Contains(string(text), "keep a copy") {
		t.Errorf("the file does not say what it is: %v\n%.80s", err, text)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err = os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	got, err := fresh.Resume(t.Context())
	if err != nil || got.Rewrapped != 2 || len(got.Removed) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, end := range []string{".new"} {
		if _, err := os.Stat(path + end); err == nil {
			t.Errorf("%s is left", end)
		}
	}
	m, err := seal.OpenKeyring(link)
	if err != nil || m.CurrentID() != got.KeyID {
		t.Errorf("the single key of the file: %v", err)
	}
}

func TestKeyringFromEnv(t *testing.T) {
	t.Parallel()
	k, err := seal.KeyringFromEnv(keyText(2) + ", " + keyText(1))
	if err != nil || !slices.Equal(k.IDs(), []string{keyID(t, 2), keyID(t, 1)}) {
		t.Fatalf("%v", err)
	}
	old, err := seal.KeyringFromEnv(keyText(1))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Unwrap(old.Wrap([]byte("x"), []byte("aad")), []byte("aad")); err != nil || string(got) != "x" {
		t.Errorf("%v", err)
	}
	if _, err := old.Unwrap(k.Wrap([]byte("x"), nil), nil); err == nil {
		t.Error("the second key wraps")
	}
	for _, text := range []string{"", ",", keyText(1) + ",", "," + keyText(1), keyText(1) + ",hunter2"} {
		if _, err := seal.KeyringFromEnv(text); junctor.CodeOf(err) != junctor.CodeInvalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzKeyFile(f *testing.F) {
	for _, text := range []string{"", keyText(1), keyID(f, 1) + " " + keyText(1) + " 2026-01-02T03:04:05Z current", "# x\n" + keyText(1) + "\n" + keyText(2)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := writeKeys(t, text)
		k, err := seal.OpenKeyring(path)
		if err != nil {
			if junctor.CodeOf(err) != junctor.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		// What was taken survives being rewritten.
		ids := k.IDs()
		db := newDatabase()
		p := startWith(t, k, db)
		db.on = (&countdown{1}).step
		if _, err := p.Rotate(t.Context()); err == nil {
			t.Fatal("not killed")
		}
		again, err := seal.OpenKeyring(path)
		if err != nil || len(again.IDs()) != len(ids)+1 {
			t.Fatalf("%v", err)
		}
		for _, id := range ids {
			if !slices.Contains(again.IDs(), id) {
				t.Fatalf("%s is lost", id)
			}
		}
	})
}
