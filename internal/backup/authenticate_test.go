package backup_test

import (
	"archive/tar"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/backup"
)

// hmacKeys authenticates with one key, and knows others.
type hmacKeys struct {
	current string
	known   map[string]string // id -> key
}

func codeOf(key string, message []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write(message)
	return h.Sum(nil)
}

func (k hmacKeys) Authenticate(message []byte) (string, []byte) {
	return k.current, codeOf(k.known[k.current], message)
}

func (k hmacKeys) CheckMAC(id string, message, mac []byte) error {
	key, ok := k.known[id]
	if !ok {
		return errors.New("the key " + id + " is needed")
	}
	if !hmac.Equal(mac, codeOf(key, message)) {
		return errors.New("the code is wrong")
	}
	return nil
}

func (in instance) backupAs(t *testing.T, a backup.Authenticator) []byte {
	t.Helper()
	main, hist := in.raw(t)
	var out bytes.Buffer
	_, err := backup.Create(t.Context(), &out, backup.Options{
		Version: "1.2.3", Engine: in.engine, Databases: map[string]backup.Source{"store": main, "history": hist},
		Folders: []backup.Folder{{Name: "journal", Path: filepath.Join(in.data, "journal"), CompleteLinesOnly: true}, {Name: "heads", Path: filepath.Join(in.data, "heads"), BeforeDatabases: true}},
		TempDir: t.TempDir(), Now: func() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 5, time.UTC) }, Authenticator: a,
	})
	ok(t, err)
	return out.Bytes()
}

func (in instance) restoreAs(t *testing.T, archive []byte, a backup.Authenticator, unverified bool) (backup.Manifest, error) {
	t.Helper()
	main, hist := in.raw(t)
	return backup.Restore(t.Context(), bytes.NewReader(archive), backup.RestoreOptions{
		Databases: map[string]backup.Target{"store": main, "history": hist},
		Folders:   map[string]string{"journal": filepath.Join(in.data, "journal"), "heads": filepath.Join(in.data, "heads")},
		TempDir:   t.TempDir(), Authenticator: a, Unverified: unverified,
	})
}

// addRow adds a row to a table of an archive, with the digest of it in the manifest.
func addRow(t *testing.T, files []file, table, row string) []file {
	t.Helper()
	var m backup.Manifest
	ok(t, json.Unmarshal(files[0].body, &m))
	for i := range files {
		if files[i].head.Name != table {
			continue
		}
		files[i].body = append(files[i].body, row...)
		for n := range m.Members {
			if member := &m.Members[n]; member.Name == table {
				member.Size, member.SHA256 = int64(len(files[i].body)), digest(string(files[i].body))
				member.Rows++
			}
		}
	}
	text, err := json.Marshal(m)
	ok(t, err)
	files[0].body = text
	return files
}

// TestOnlyAuthenticArchivesAreRestored: who can write an archive, and not read the
// sealing key, gets nothing into an instance.
func TestOnlyAuthenticArchivesAreRestored(t *testing.T) {
	t.Parallel()
	source := engines()["sqlite"](t)
	populate(t, source)
	mine := hmacKeys{current: "aa", known: map[string]string{"aa": "key of ours"}}
	archive := source.backupAs(t, mine)
	const row = `["acme","planted","1",5]` + "\n"
	changed := func(change func([]file) []file) []byte { return packed(t, change(unpacked(t, archive))) }
	for name, tt := range map[string]struct {
		archive []byte
		keys    backup.Authenticator
		says    string
	}{
		"a planted row": {changed(func(f []file) []file { return addRow(t, f, "store/settings.jsonl", row) }), mine, "the code is wrong"},
		"a planted row, authenticated by another key": {changed(func(f []file) []file {
			f = addRow(t, f, "store/settings.jsonl", row)
			text, err := json.Marshal(map[string]string{"key": "bb", "mac": strings.Repeat("00", 32)})
			ok(t, err)
			f[1].body = text
			return f
		}), mine, "the key bb is needed"},
		"the code taken away": {changed(func(f []file) []file { return append(f[:1], f[2:]...) }), mine, "code is missing"},
		"the form of archives without a code": {changed(func(f []file) []file {
			var m backup.Manifest
			ok(t, json.Unmarshal(f[0].body, &m))
			m.Format = 1
			text, err := json.Marshal(m)
			ok(t, err)
			f[0].body = text
			return append(f[:1], f[2:]...)
		}), mine, "--unverified"},
		"a code that is none": {changed(func(f []file) []file { f[1].body = []byte(`{"key":"aa","mac":"zz"}`); return f }), mine, "authentication code"},
		"no code":             {source.backupAs(t, nil), mine, "not authenticated"},
		"no key":              {archive, nil, "the ID aa"},
		"another key":         {archive, hmacKeys{current: "cc", known: map[string]string{"cc": "x"}}, "the key aa is needed"},
		"an odd id": {changed(func(f []file) []file {
			f[1].body = []byte(`{"key":"\u001b[31m","mac":"00"}`)
			return f
		}), nil, "(unreadable)"},
	} {
		target := engines()["sqlite"](t)
		_, err := target.restoreAs(t, tt.archive, tt.keys, false)
		if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(junctor.AsError(err).Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
		if _, err := backup.Verify(t.Context(), bytes.NewReader(tt.archive), backup.RestoreOptions{Authenticator: tt.keys}); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: verify says %v", name, err)
		}
	}

	rotated := hmacKeys{current: "dd", known: map[string]string{"aa": "key of ours", "dd": "a new one"}}
	for name, keys := range map[string]backup.Authenticator{"the key": mine, "after a rotation": rotated} {
		m, err := engines()["sqlite"](t).restoreAs(t, archive, keys, false)
		if err != nil || m.SealKey != "aa" {
			t.Errorf("%s: %v, %+v", name, err, m.SealKey)
		}
		if m, err := backup.Verify(t.Context(), bytes.NewReader(archive), backup.RestoreOptions{Authenticator: keys}); err != nil || m.SealKey != "aa" {
			t.Errorf("%s: verify: %v, %q", name, err, m.SealKey)
		}
	}
	// An operator who says so goes on without.
	for name, text := range map[string][]byte{"without a key": archive, "without a code": source.backupAs(t, nil)} {
		if m, err := engines()["sqlite"](t).restoreAs(t, text, nil, true); err != nil || m.SealKey != "" {
			t.Errorf("%s: %v, %+v", name, err, m.SealKey)
		}
	}
	// Verify reads everything, not the manifest alone.
	cut := changed(func(f []file) []file { f[4].body[0] ^= 1; return f })
	if _, err := backup.Verify(t.Context(), bytes.NewReader(cut), backup.RestoreOptions{Authenticator: mine}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("a changed member: %v", err)
	}
	if f := unpacked(t, archive); f[1].head.Name != "manifest.mac" || f[1].head.Typeflag != tar.TypeReg {
		t.Errorf("the second member is %q", f[1].head.Name)
	}
}
