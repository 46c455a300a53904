package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	junctor "github.com/junctor-mcp/junctor"
)

// maxKeyFile bounds the size of a key file: some hundred keys.
const maxKeyFile = 64 << 10

// loadOrCreateKeys reads the keys of a file, or creates a file with one key. A
// file is never incomplete: if several processes start at once, one creates it
// and all use it.
func loadOrCreateKeys(path string) ([]fileKey, error) {
	keys, err := readKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createKey(path); err == nil {
			keys, err = readKeys(path)
		}
	}
	if err != nil {
		return nil, withFileCode(err, "the sealing key at "+path+" cannot be read or created")
	}
	return keys, nil
}

// withFileCode returns err with a code: its own, or CodeUnavailable with the
// reason of the system.
func withFileCode(err error, what string) error {
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		return e
	}
	return &junctor.Error{Code: junctor.CodeUnavailable, Message: what + ": " + systemReason(err), Cause: err}
}

// systemReason returns the system's message for a failure, without the path,
// which the caller's message already has.
func systemReason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err.Error()
	}
	return err.Error()
}

// readKeys reads a key file. It refuses a file that other users can read.
func readKeys(path string) ([]fileKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	// Check the open file, not the path: otherwise another file could be read than
	// the one that was checked.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the sealing key at %s is not a file", path)
	}
	// Windows has no such permission bits: there the user's own folder protects the file.
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, junctor.Errorf(junctor.CodeDenied,
			"the sealing key at %s can be read by others (mode %04o): run chmod 600 %s", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeyFile {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file at %s contains no sealing key, because it is too large", path)
	}
	keys, err := parseKeys(string(text))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid,
			"the file at %s contains no valid sealing key (%s); restore the correct file, because stored secrets cannot be opened without it", path, err.Error())
	}
	return keys, nil
}

// createKey writes a new key beside path and links it into place. A link fails if
// the file exists, so an existing key is never replaced.
func createKey(path string) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(newKeyText() + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	syncFolder(dir)
	return nil
}

// replaceKeys replaces the file at path by one with these keys, completely or not
// at all. The caller must hold the exclusive lock of the keyring: a file that a
// killed process left beside it is overwritten.
func replaceKeys(path string, keys []fileKey) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(formatKeys(keys))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a new file name durable before the first secret needs the key.
// Not every system can sync a folder; an error is ignored.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// newKeyText returns a new random key in base64.
func newKeyText() string {
	key := make([]byte, keySize)
	rand.Read(key) // never fails: the runtime ends the process instead
	return base64.StdEncoding.EncodeToString(key)
}
