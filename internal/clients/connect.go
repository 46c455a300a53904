package clients

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	junctor "github.com/junctor-mcp/junctor"
)

// Connect writes an entry for Junctor into the client's file and creates the file if
// there is none. An entry from an earlier Connect is replaced. Everything else in the
// file stays as it is, to the byte.
//
// The first Connect keeps a copy of the file and returns its path. backup is "" if
// there was no file, or if the file was connected already: then the copy from before
// the first Connect stays. An error leaves the file unchanged.
func (c Client) Connect(path string, t Target) (backup string, err error) {
	text, mode, err := readFile(path)
	if err != nil {
		return "", err
	}
	next, err := c.format.setEntry(text, t)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "%s was not changed: %v", path, err)
	}
	if _, connected, _ := c.removeEntry(text); text != nil && !connected {
		backup = path + backupSuffix
		if err := writeFile(backup, text, 0o600); err != nil {
			return "", err
		}
	}
	return backup, writeFile(path, next, mode)
}

// backupSuffix is appended to the path of a file for the copy that Connect keeps.
const backupSuffix = ".before-junctor"

// Undo removes the entry for Junctor from the client's file. If nobody edited the file
// since Connect, it becomes what it was before, to the byte, from the copy. Otherwise
// only the entry is removed. The copy is deleted in both cases. found is false if the
// file has no entry.
func (c Client) Undo(path string) (found bool, err error) {
	text, mode, err := readFile(path)
	if err != nil || text == nil {
		return false, err
	}
	next, found, err := c.removeEntry(c.emptyObjectIfBlank(text))
	if err != nil {
		return false, junctor.Errorf(junctor.CodeInvalid, "%s was not changed: %v", path, err)
	}
	if !found {
		return false, nil
	}
	before, _, err := readFile(path + backupSuffix)
	if err != nil {
		return false, err
	}
	if before != nil && sameText(c.emptyObjectIfBlank(before), next) {
		next = before
	}
	if err := writeFile(path, next, mode); err != nil {
		return false, err
	}
	if before != nil {
		_ = os.Remove(path + backupSuffix)
	}
	return true, nil
}

// removeEntry returns the text without the entry for Junctor, and whether there was one.
func (c Client) removeEntry(text []byte) ([]byte, bool, error) {
	next, piece, err := c.format.cutEntry(text, c.format.place(text))
	return next, piece != nil, err
}

// emptyObjectIfBlank returns {} for a blank JSON file, because Connect treats one as an
// empty object. Without it, such a file would not count as JSON.
func (c Client) emptyObjectIfBlank(text []byte) []byte {
	if c.isJSON() && len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}")
	}
	return text
}

// isJSON reports whether the client's file is JSON.
func (c Client) isJSON() bool {
	switch c.format.(type) {
	case jsonFormat, opencodeFormat:
		return true
	}
	return false
}

// sameText compares two files without blanks and without an empty map of servers.
// Connect adds that map if it is missing, and removing the entry leaves it and some
// blanks behind.
func sameText(a, b []byte) bool {
	emptyMap := regexp.MustCompile(`"(mcpServers|servers|context_servers|mcp|amp\.mcpServers)":\{\},?|(mcpServers|extensions):$`)
	strip := func(t []byte) []byte {
		t = bytes.Join(bytes.Fields(t), nil)
		for emptyMap.Match(t) { // one may be inside of another
			t = emptyMap.ReplaceAll(t, nil)
		}
		return t
	}
	return bytes.Equal(strip(a), strip(b))
}

// readFile returns the text of a file, and the mode to write it with. text is nil if
// the file does not exist, and not nil if it is empty. The mode is always 0600,
// whatever it was: the file holds a key after Connect.
func readFile(path string) ([]byte, fs.FileMode, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, junctor.Errorf(junctor.CodeUnavailable, "cannot read %s: %w", path, err)
	}
	if text == nil {
		text = []byte{}
	}
	return text, 0o600, nil
}

// writeFile replaces a file as a whole or not at all, by way of a temporary file in the
// same folder. If path is a symbolic link, the link stays and its target is replaced:
// some users keep their configuration files in a repository and link to them.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	fail := func(err error) error {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot write %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // the client's own folder
		return fail(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".junctor-*")
	if err != nil {
		return fail(err)
	}
	_, werr := f.Write(text)
	err = errors.Join(werr, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fail(err)
	}
	return nil
}
