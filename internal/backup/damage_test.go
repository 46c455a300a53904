package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/backup"
)

type file struct {
	head tar.Header
	body []byte
}

func unpacked(t *testing.T, archive []byte) []file {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	ok(t, err)
	var files []file
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		ok(t, err)
		body, err := io.ReadAll(in)
		ok(t, err)
		files = append(files, file{*head, body})
	}
}

func packed(t *testing.T, files []file) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, f := range files {
		f.head.Size = int64(len(f.body))
		ok(t, w.WriteHeader(&f.head))
		_, err := w.Write(f.body)
		ok(t, err)
	}
	ok(t, w.Close())
	ok(t, zip.Close())
	return out.Bytes()
}

func TestHoldsNoKey(t *testing.T) {
	t.Parallel()
	in := engines()["sqlite"](t)
	populate(t, in)
	archive, m := in.backup(t)
	for _, f := range unpacked(t, archive) {
		if bytes.Contains(f.body, []byte("canary")) || strings.HasSuffix(f.head.Name, ".key") {
			t.Errorf("%s holds a key", f.head.Name)
		}
	}
	if !strings.Contains(m.KeysNote, "seal.key") {
		t.Errorf("the manifest says %q of keys", m.KeysNote)
	}
}

// An archive that is not what its manifest says is refused before anything is
// touched.
func TestDamaged(t *testing.T) {
	t.Parallel()
	source := engines()["sqlite"](t)
	populate(t, source)
	archive, _ := source.backup(t)
	// manifest changes what the manifest says.
	manifest := func(files []file, change func(*backup.Manifest)) []file {
		var m backup.Manifest
		ok(t, json.Unmarshal(files[0].body, &m))
		change(&m)
		text, err := json.Marshal(m)
		ok(t, err)
		files[0].body = text
		return files
	}
	cases := map[string]func([]file) []file{
		"a changed byte":   func(f []file) []file { f[3].body[0] ^= 1; return f },
		"a longer member":  func(f []file) []file { f[3].body = append(f[3].body, 'x'); return f },
		"a missing member": func(f []file) []file { return f[:len(f)-1] },
		"one more member":  func(f []file) []file { return append(f, file{tar.Header{Name: "store/x.jsonl", Mode: 0o600}, nil}) },
		"another order":    func(f []file) []file { f[1], f[2] = f[2], f[1]; return f },
		"a member twice":   func(f []file) []file { return append(f[:4], f[3:]...) },
		"no manifest":      func(f []file) []file { return f[1:] },
		"nothing":          func([]file) []file { return nil },
		"a link": func(f []file) []file {
			f[2].head.Typeflag, f[2].head.Linkname, f[2].body = tar.TypeSymlink, "/etc/passwd", nil
			return f
		},
		"a name that leads up": func(f []file) []file {
			f[2].head.Name = "store/../../x"
			return manifest(f, func(m *backup.Manifest) { m.Members[1].Name = "store/../../x" })
		},
		"a key file": func(f []file) []file {
			f[2].head.Name = "heads/signing.key"
			return manifest(f, func(m *backup.Manifest) { m.Members[1].Name = "heads/signing.key" })
		},
		"an unknown folder": func(f []file) []file {
			last := len(f) - 1
			f[last].head.Name = "elsewhere/x"
			return manifest(f, func(m *backup.Manifest) { m.Members[last-1].Name = "elsewhere/x" })
		},
		"an unknown database": func(f []file) []file { return manifest(f, func(m *backup.Manifest) { m.Schemas["other"] = 1 }) },
	}
	for name, damage := range cases {
		target := engines()["sqlite"](t)
		if err := target.restore(t, packed(t, damage(unpacked(t, archive)))); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v (cause %v)", name, err, junctor.AsError(err))
		}
		if files, err := os.ReadDir(target.data); err != nil || len(files) != 0 {
			t.Errorf("%s: it left %v, %v", name, files, err)
		}
	}
	for _, cut := range []int{0, 5, len(archive) / 2, len(archive) - 3} {
		target := engines()["sqlite"](t)
		if err := target.restore(t, archive[:cut]); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("cut to %d: %v", cut, err)
		}
	}
	for name, change := range map[string]func(*backup.Manifest){
		"a newer schema": func(m *backup.Manifest) { m.Schemas["store"] = 999 },
		"a newer form":   func(m *backup.Manifest) { m.Format = 3 },
	} {
		if err := engines()["sqlite"](t).restore(t, packed(t, manifest(unpacked(t, archive), change))); junctor.CodeOf(err) != junctor.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A full folder is left alone.
	target := engines()["sqlite"](t)
	write(t, filepath.Join(target.data, "journal", "1.log"), "mine")
	if err := target.restore(t, archive); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("a full folder: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(target.data, "journal", "1.log")); err != nil || string(text) != "mine" {
		t.Errorf("a full folder: %q, %v", text, err)
	}
}

// Tables that do not fit the schema are refused, with hashes that are right.
func TestForged(t *testing.T) {
	t.Parallel()
	source := engines()["sqlite"](t)
	populate(t, source)
	archive, m := source.backup(t)
	index := map[string]int{}
	for i, member := range m.Members {
		index[member.Name] = i
	}
	for name, text := range map[string]string{
		"an unknown column": `["tenant_id","name","value","updated_at) VALUES ('','','',0); --"]` + "\n",
		"a short row":       `["tenant_id","name","value","updated_at"]` + "\n[\"acme\"]\n",
		"no columns":        "[]\n",
		"no JSON":           `["tenant_id","name","value","updated_at"]` + "\n{]\n",
		"a float":           `["tenant_id","name","value","updated_at"]` + "\n[\"acme\",\"a\",\"1\",1.5]\n",
		"an odd object":     `["tenant_id","name","value","updated_at"]` + "\n[\"acme\",\"a\",{\"x\":1},1]\n",
		"empty":             "",
	} {
		files := unpacked(t, archive)
		at := index["store/settings.jsonl"]
		files[at+1].body = []byte(text)
		forged := m
		forged.Members = append([]backup.Member(nil), m.Members...)
		forged.Members[at].Size, forged.Members[at].SHA256 = int64(len(text)), digest(text)
		body, err := json.Marshal(forged)
		ok(t, err)
		files[0].body = body
		if err := engines()["sqlite"](t).restore(t, packed(t, files)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v (%v)", name, err, junctor.AsError(err))
		}
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
