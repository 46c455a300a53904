package canary_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/testkit/canary"
)

// forms are the ways in which a text may be hidden in another.
func forms() map[string]func(string) string {
	return map[string]func(string) string{
		"raw":       func(s string) string { return s },
		"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"hex":       func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":       func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"query":     url.QueryEscape,
		"path":      url.PathEscape,
	}
}

func TestFindsEveryForm(t *testing.T) {
	t.Parallel()
	s := canary.New(40)
	for form, hide := range forms() {
		for n := range s.Len() {
			for shift := range 3 { // base64 has three ways to begin
				text := hide(strings.Repeat("§"[:1], shift) + s.Secret(n) + " and more")
				hits := s.Text("text", "before: "+text)
				if len(hits) == 0 {
					t.Errorf("canary %d as %s, shifted by %d, was not found", n, form, shift)
				}
				for _, h := range hits {
					if h.Secret != fmt.Sprintf("canary %d", n) || strings.Contains(h.String(), s.Secret(n)) {
						t.Errorf("canary %d was reported as %v", n, h)
					}
				}
			}
		}
	}
}

func TestSecretsAreUnlike(t *testing.T) {
	t.Parallel()
	s, other := canary.New(100), canary.New(100)
	for n := range s.Len() {
		if hits := other.Text("text", s.Secret(n)); len(hits) > 0 {
			t.Errorf("a secret of another set was found: %v", hits)
		}
	}
	clean := strings.Repeat(`{"level":"info","msg":"a call ended","call":"0198f2c0aa","took":"12ms"}`+"\n", 1000)
	if hits := s.Text("log", clean); len(hits) > 0 {
		t.Errorf("found where there is nothing: %v", hits)
	}
}

// TestProperty plants a secret at any place of any text in any form, and cuts
// off up to half of it.
func TestProperty(t *testing.T) {
	t.Parallel()
	hidden := forms()
	rapid.Check(t, func(t *rapid.T) {
		s := canary.New(0)
		secret := rapid.StringMatching(`[A-Za-z0-9+/=._~ -]{34,80}`).Draw(t, "secret")
		s.Add("mine", secret)
		form := rapid.SampledFrom([]string{"raw", "base64", "base64url", "hex", "HEX", "query", "path"}).Draw(t, "form")
		before, after := rapid.StringN(0, 50, -1).Draw(t, "before"), rapid.StringN(0, 50, -1).Draw(t, "after")
		part := secret
		if rapid.Bool().Draw(t, "cut") {
			part = secret[:(len(secret)+1)/2]
		}
		text := hidden[form](before + part + after)
		if len(s.Text("text", text)) == 0 {
			t.Fatalf("not found in %q", text)
		}
	})
}

func TestOffsets(t *testing.T) {
	t.Parallel()
	s := canary.New(1)
	// Whole windows before it, so that it lies across two of them.
	for _, before := range []int{0, 1, 1<<20 - 20, 1 << 20, 1<<20 + 30, 3<<20 - 5} {
		text := strings.Repeat("x", before) + s.Secret(0) + strings.Repeat("y", 100)
		hits, err := s.Reader("stream", strings.NewReader(text))
		if err != nil || len(hits) != 2 || hits[0].Offset != int64(before) || hits[0].Form != "raw" {
			t.Errorf("planted at %d: %v, %v", before, hits, err)
		}
		if got := hits[0].String(); got != fmt.Sprintf("stream:%d: canary 0, raw", before) {
			t.Errorf("a hit reads %q", got)
		}
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	s := canary.New(5)
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	must(t, os.MkdirAll(deep, 0o700))
	must(t, os.WriteFile(filepath.Join(deep, "log.json"), []byte(`{"token":"`+s.Secret(0)+`"}`), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "clean"), []byte("nothing here"), 0o600))

	// A backup: a database file in a tar in a gzip.
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	inner := []byte("SQLite format 3\x00…" + hex.EncodeToString([]byte(s.Secret(1))))
	must(t, w.WriteHeader(&tar.Header{Name: "data/junctor.db", Mode: 0o600, Size: int64(len(inner)), Format: tar.FormatPAX}))
	_, err := w.Write(inner)
	must(t, err)
	must(t, w.Close())
	must(t, z.Close())
	must(t, os.WriteFile(filepath.Join(dir, "backup.tar.gz"), packed.Bytes(), 0o600))

	hits, files, err := s.Tree(dir)
	must(t, err)
	if files != 3 {
		t.Errorf("%d files were read, want 3", files)
	}
	got := map[string]bool{}
	for _, h := range hits {
		got[h.Secret+" in "+strings.TrimPrefix(h.Where, dir)] = true
	}
	for _, want := range []string{"canary 0 in /a/b/log.json", "canary 1 in /backup.tar.gz!gunzip!data/junctor.db"} {
		if !got[want] {
			t.Errorf("missing: %s; found %v", want, hits)
		}
	}
	if len(got) != 3 { // the tar itself holds it, too
		t.Errorf("found %v", hits)
	}
	streamed, err := s.Archive("upload", &packed)
	if err != nil || len(streamed) == 0 || streamed[len(streamed)-1].Where != "upload!gunzip!data/junctor.db" {
		t.Errorf("as a stream: %v, %v", streamed, err)
	}
}

// TestSQLite finds what a database holds: in its write-ahead log, in the file
// itself, in rows of many pages and in pages that are free again.
func TestSQLite(t *testing.T) {
	t.Parallel()
	s := canary.New(4)
	dir := t.TempDir()
	path := filepath.Join(dir, "some.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=secure_delete(0)")
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(context.Background(), query, args...)
		must(t, err)
	}
	run("CREATE TABLE t (v)")
	run("INSERT INTO t VALUES (?)", s.Secret(0))
	run("PRAGMA wal_checkpoint(truncate)")
	run("INSERT INTO t VALUES (?)", []byte(s.Secret(1)))
	// Wherever a page ends, one half of one of these is whole.
	run("INSERT INTO t VALUES (?)", strings.Repeat(s.Secret(2), 500))
	run("INSERT INTO t VALUES (?)", strings.Repeat("z", 9000)+s.Secret(3))
	run("DELETE FROM t WHERE length(v) > 9000")

	hits, _, err := s.Tree(dir)
	must(t, err)
	found := map[string]bool{}
	for _, h := range hits {
		found[h.Secret+" in "+filepath.Base(h.Where)] = true
	}
	for _, want := range []string{"canary 0 in some.db", "canary 1 in some.db-wal", "canary 2 in some.db-wal", "canary 3 in some.db-wal"} {
		if !found[want] {
			t.Errorf("missing: %s; found %v", want, found)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
