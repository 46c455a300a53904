package seal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	junctor "github.com/junctor-mcp/junctor"
)

// maxSealedFile bounds the size of a sealed file, which is read as a whole.
const maxSealedFile = 64 << 20

// SealedFile is one file beside the database whose content is sealed, such as copies of
// configurations of other programs. It is a WrappedKeyTable with at most one row, so that
// a rotation wraps its key again before it removes the master key. A process that writes
// the file and a process that rotates the keys may run at the same time: both hold the
// keyring.
type SealedFile struct {
	keys *Keyring
	path string
	name string
}

// NewSealedFile returns the sealed file at a path, which need not exist. The content is
// bound to name: it does not open as another file.
func NewSealedFile(keys *Keyring, path, name string) *SealedFile {
	return &SealedFile{keys: keys, path: path, name: name}
}

// The place that the content is bound to, beside the name.
const (
	sealedFileTenant = "default"
	sealedFileRecord = "file"
)

// Write replaces the content of the file as a whole or not at all; CodeTooLarge if Read
// could not read it again.
func (f *SealedFile) Write(ctx context.Context, content []byte) error {
	release, err := f.keys.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	sealed, err := f.keys.Seal(sealedFileTenant, sealedFileRecord, f.name, content)
	if err != nil {
		return err
	}
	return f.store(sealed)
}

// Read returns the content; CodeNotFound if there is no file, and CodeUnavailable if no
// key of the ring opens it.
func (f *SealedFile) Read() ([]byte, error) {
	sealed, err := f.load()
	if err != nil {
		return nil, err
	}
	content, err := f.keys.Open(sealedFileTenant, sealedFileRecord, f.name, sealed)
	if err != nil {
		return nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: f.path + " does not open: " + junctor.AsError(err).Message, Cause: err}
	}
	return content, nil
}

// Remove deletes the file. A file that does not exist is no error.
func (f *SealedFile) Remove(ctx context.Context) error {
	release, err := f.keys.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return withFileCode(err, f.path+" cannot be removed")
	}
	return nil
}

// load reads the file without opening its content.
func (f *SealedFile) load() (SealedSecret, error) {
	var sealed SealedSecret
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return sealed, junctor.Errorf(junctor.CodeNotFound, "the file %s does not exist", f.path)
	}
	if err == nil && info.Size() > maxSealedFile {
		return sealed, junctor.Errorf(junctor.CodeTooLarge, "%s has %d bytes; the limit is %d", f.path, info.Size(), maxSealedFile)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return sealed, withFileCode(err, f.path+" cannot be read")
	}
	if json.Unmarshal(text, &sealed) != nil || len(sealed.Ciphertext) == 0 {
		return sealed, junctor.Errorf(junctor.CodeUnavailable, "%s is damaged", f.path)
	}
	return sealed, nil
}

// store writes sealed content. The caller holds the keyring.
func (f *SealedFile) store(sealed SealedSecret) error {
	text, err := json.Marshal(sealed)
	if err != nil {
		return err
	}
	if len(text) > maxSealedFile {
		return junctor.Errorf(junctor.CodeTooLarge, "%s cannot be written: it would have %d bytes; the limit is %d", f.path, len(text), maxSealedFile)
	}
	temp, err := os.CreateTemp(filepath.Dir(f.path), ".sealed-*")
	if err != nil {
		return withFileCode(err, f.path+" cannot be written")
	}
	_, werr := temp.Write(text)
	err = errors.Join(werr, temp.Chmod(0o600), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return withFileCode(err, f.path+" cannot be written")
	}
	return nil
}

// row returns the wrapped key of the file as a row of a table.
func (f *SealedFile) row(sealed SealedSecret) WrappedKey {
	return WrappedKey{Tenant: sealedFileTenant, Record: sealedFileRecord, Field: f.name, KeyID: sealed.KeyID, Wrapped: sealed.WrappedKey}
}

// ListStale implements WrappedKeyTable.
func (f *SealedFile) ListStale(_ context.Context, keyID string, after WrappedKey, _ int) ([]WrappedKey, error) {
	sealed, err := f.load()
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound, err == nil && (sealed.KeyID == keyID || after.Field == f.name):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []WrappedKey{f.row(sealed)}, nil
}

// Replace implements WrappedKeyTable.
func (f *SealedFile) Replace(_ context.Context, old, now WrappedKey) (bool, error) {
	sealed, err := f.load()
	if err != nil || sealed.KeyID != old.KeyID || !bytes.Equal(sealed.WrappedKey, old.Wrapped) {
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			err = nil
		}
		return false, err
	}
	sealed.KeyID, sealed.WrappedKey = now.KeyID, now.Wrapped
	return true, f.store(sealed)
}

// Count implements WrappedKeyTable.
func (f *SealedFile) Count(_ context.Context, keyID string) (int, error) {
	sealed, err := f.load()
	if err != nil || sealed.KeyID != keyID {
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			err = nil
		}
		return 0, err
	}
	return 1, nil
}
