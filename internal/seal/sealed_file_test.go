package seal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// TestSealedFile writes, reads and removes a sealed file, and reads it after a rotation
// has removed the master key that it was written with.
func TestSealedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, err := seal.OpenKeyring(filepath.Join(dir, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "setup.sealed")
	file := seal.NewSealedFile(keys, path, "setup")
	if _, err := file.Read(); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("no file: %v", err)
	}
	content := bytes.Repeat([]byte("canary "), 1<<15) // more than a secret may have
	if err := file.Write(t.Context(), content); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(path)
	if err != nil || bytes.Contains(stored, []byte("canary")) {
		t.Errorf("%v, the content is readable in the file: %t", err, err == nil)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := seal.NewSealedFile(keys, path, "another").Read(); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("it opens under another name: %v", err)
	}

	db := newDatabase()
	former := keys.CurrentID()
	vault, err := seal.NewVault(keys, db, db, file)
	if err != nil {
		t.Fatal(err)
	}
	result, err := vault.Rotate(t.Context())
	if err != nil || result.Rewrapped != 1 || len(result.Removed) != 1 || result.Removed[0] != former {
		t.Fatalf("%+v, %v", result, err)
	}
	other, err := seal.OpenKeyring(filepath.Join(dir, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := seal.NewSealedFile(other, path, "setup").Read(); err != nil || !bytes.Equal(got, content) {
		t.Errorf("after the rotation: %d bytes, %v", len(got), err)
	}
	if err := os.WriteFile(path, stored[:len(stored)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Read(); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("damaged: %v", err)
	}
	if err := file.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := file.Remove(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// TestSealedFileOfTheLargestSize reads files at the limit of the size, and writes content
// that would exceed it: the file stays as it was, since nothing could read the new one.
func TestSealedFileOfTheLargestSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, err := seal.OpenKeyring(filepath.Join(dir, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "setup.sealed")
	file := seal.NewSealedFile(keys, path, "setup")
	if err := file.Write(t.Context(), []byte("content")); err != nil {
		t.Fatal(err)
	}
	// The base64 of the text is a third longer.
	if err := file.Write(t.Context(), make([]byte, seal.MaxSealedFile/4*3)); junctor.CodeOf(err) != junctor.CodeTooLarge {
		t.Errorf("it was written: %v", err)
	}
	if got, err := file.Read(); err != nil || string(got) != "content" {
		t.Errorf("then it has %d bytes, %v", len(got), err)
	}
	// Files with a hole take no space.
	for size, want := range map[int64]junctor.Code{seal.MaxSealedFile: junctor.CodeUnavailable, seal.MaxSealedFile + 1: junctor.CodeTooLarge} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Read(); junctor.CodeOf(err) != want {
			t.Errorf("a damaged file of %d bytes: %v", size, err)
		}
	}
}
