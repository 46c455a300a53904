package seal

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

func textOfKey(b byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(b)), keySize)))
}

func envKeyring(t *testing.T, texts ...string) *Keyring {
	t.Helper()
	k, err := KeyringFromEnv(strings.Join(texts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A code is good for its message, its purpose and the keys that know it.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	old := envKeyring(t, textOfKey('a'))
	id, mac := old.Authenticate("backup", []byte("manifest"))
	both, other := envKeyring(t, textOfKey('b'), textOfKey('a')), envKeyring(t, textOfKey('b'))
	for name, k := range map[string]*Keyring{"the key": old, "after a rotation that kept it": both} {
		if err := k.CheckMAC("backup", id, []byte("manifest"), mac); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := append([]byte{}, mac...)
	wrong[0] ^= 1
	for name, err := range map[string]error{
		"another message": old.CheckMAC("backup", id, []byte("manifesto"), mac),
		"another purpose": old.CheckMAC("backupm", id, []byte("anifest"), mac),
		"another code":    old.CheckMAC("backup", id, []byte("manifest"), wrong),
		"no code":         old.CheckMAC("backup", id, []byte("manifest"), nil),
		"no key":          old.CheckMAC("backup", "", []byte("manifest"), mac),
		"no id of a key":  old.CheckMAC("backup", "zz", []byte("manifest"), mac),
		"another key":     both.CheckMAC("backup", other.CurrentID(), []byte("manifest"), mac),
	} {
		if junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := other.CheckMAC("backup", id, []byte("manifest"), mac); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), other.CurrentID()) {
		t.Errorf("a key that is not known: %v", err)
	}
}

// A keyring that must exist is not made.
func TestOpenExistingKeyring(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seal.key")
	if _, err := OpenExistingKeyring(path); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a key was made")
	}
	if _, err := OpenKeyring(path); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenExistingKeyring(path); err != nil {
		t.Error(err)
	}
}
