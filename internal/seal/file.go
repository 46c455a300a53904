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

// LoadOrCreate reads the master key from the file at path, or makes a new one
// there. The file is only ever whole: of several processes that start at once,
// one makes it and all use it. A file that others can read is refused.
func LoadOrCreate(path string) (*Master, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createKey(path); err == nil {
			key, err = readKey(path)
		}
	}
	if err != nil {
		if e, ok := errors.AsType[*junctor.Error](err); ok {
			return nil, e
		}
		return nil, &junctor.Error{
			Code:    junctor.CodeUnavailable,
			Message: "the sealing key at " + path + " can neither be read nor made: " + reason(err),
			Cause:   err,
		}
	}
	return newMaster(key)
}

// reason is the system's own word for a failure, without the path, which the
// message has already.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	// Judged on the open file, not on the path: what is read is what was judged.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the sealing key at %s is not a file", path)
	}
	// Windows has no such bits: there the user's own folder guards the file.
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, junctor.Errorf(junctor.CodeDenied,
			"the sealing key at %s can be read by others (mode %04o): run chmod 600 %s", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, err
	}
	key, err := decodeKey(string(text))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid,
			"the file at %s holds no sealing key (32 bytes in base64): put the right file back; without it stored secrets cannot be opened", path)
	}
	return key, nil
}

// createKey writes a new key beside path and links it into place: a link
// fails where a file is, so nobody's key is ever replaced.
func createKey(path string) error {
	key := make([]byte, keySize)
	rand.Read(key) // never fails: the runtime ends the process instead
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// The name is on disk before the first secret is sealed. Folders cannot be
	// synced everywhere, and where they cannot nothing is lost but this.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
	return nil
}
