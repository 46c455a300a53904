package seal_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

func TestWrapRoundTrip(t *testing.T) {
	t.Parallel()
	m, other := newKeyring(t), newKeyring(t)
	rapid.Check(t, func(t *rapid.T) {
		plaintext := rapid.SliceOf(rapid.Byte()).Draw(t, "plaintext")
		aad := rapid.SliceOf(rapid.Byte()).Draw(t, "aad")
		wrapped := m.Wrap(plaintext, aad)

		got, err := m.Unwrap(wrapped, aad)
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Fatalf("round trip: %v, %x", err, got)
		}
		if bytes.Equal(wrapped, m.Wrap(plaintext, aad)) {
			t.Fatal("two wraps of one plaintext are equal: the nonce is not random")
		}
		if _, err := m.Unwrap(wrapped, append(aad, 'x')); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Fatalf("opened in another place: %v", err)
		}
		if _, err := other.Unwrap(wrapped, aad); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Fatalf("opened with another key: %v", err)
		}
		bit := rapid.IntRange(0, 8*len(wrapped)-1).Draw(t, "bit")
		wrapped[bit/8] ^= 1 << (bit % 8)
		if _, err := m.Unwrap(wrapped, aad); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Fatalf("opened with bit %d flipped: %v", bit, err)
		}
	})
}

func TestUnwrapShort(t *testing.T) {
	t.Parallel()
	m := newKeyring(t)
	wrapped := m.Wrap(nil, nil)
	for n := range wrapped {
		if _, err := m.Unwrap(wrapped[:n], nil); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

func TestLoadOrCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seal.key")
	first, err := seal.OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %o", info.Mode().Perm())
	}
	again, err := seal.OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Unwrap(first.Wrap([]byte("x"), nil), nil); err != nil || string(got) != "x" {
		t.Errorf("a second start does not open what the first wrapped: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	env, err := seal.KeyringFromEnv(string(text))
	if err != nil || env.CurrentID() != first.CurrentID() {
		t.Errorf("the file's text as environment value is another key: %v", err)
	}
	if strings.Contains(string(text), first.CurrentID()) {
		t.Error("the id is part of the key")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left beside the key: %v, %v", left, err)
	}
}

func TestCreatedOnceByMany(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "seal.key")
		ids := make([]string, 8)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				<-start
				m, err := seal.OpenKeyring(path)
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = m.CurrentID()
			})
		}
		close(start)
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("starts at the same time use different keys: %v", ids)
			}
		}
	}
}

func TestKeyFileRefused(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	tests := []struct {
		name string
		text string
		mode fs.FileMode
		code junctor.Code
		says string
	}{
		{"readable by the group", good, 0o640, junctor.CodeDenied, "chmod 600"},
		{"readable by all", good, 0o604, junctor.CodeDenied, "chmod 600"},
		{"empty", "", 0o600, junctor.CodeInvalid, "no valid sealing key"},
		{"too short", good[:20], 0o600, junctor.CodeInvalid, "no valid sealing key"},
		{"not base64", strings.Repeat("#", 44), 0o600, junctor.CodeInvalid, "no valid sealing key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && tt.code == junctor.CodeDenied {
				t.Skip("files have no mode on Windows")
			}
			path := filepath.Join(t.TempDir(), "seal.key")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			_, err := seal.OpenKeyring(path)
			if junctor.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v (%s)", err, junctor.CodeOf(err))
			}
			if tt.text != "" && strings.Contains(err.Error(), tt.text) {
				t.Error("the error shows the file's content")
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != tt.text {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func TestKeyFileElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := seal.OpenKeyring(dir); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("a folder as key file: %v", err)
	}
	_, err := seal.OpenKeyring(filepath.Join(dir, "absent", "seal.key"))
	if junctor.CodeOf(err) != junctor.CodeUnavailable || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key file in an absent folder: %v", err)
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, 32))
	for _, text := range []string{good, strings.TrimRight(good, "="), " " + good + "\n"} {
		if _, err := seal.KeyringFromEnv(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "hunter2", good[:40], good + good, "!" + good[1:]} {
		_, err := seal.KeyringFromEnv(text)
		if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "openssl") {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the value %q", text)
		}
	}
}
