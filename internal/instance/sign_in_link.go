package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	junctor "github.com/junctor-mcp/junctor"
)

// signInLinkFile holds the address in the data directory that signs the first user in.
const signInLinkFile = "sign-in-link"

// SignInLinkPath returns the path of the file with the address that signs the first user
// in.
func SignInLinkPath(dataDir string) string { return filepath.Join(dataDir, signInLinkFile) }

// WriteSignInLink writes the address that signs the first user in to a file that only the
// user of this process can read. It replaces a former file as a whole, so that neither its
// permissions nor a link in its place count.
func WriteSignInLink(dataDir, url string) error {
	path := SignInLinkPath(dataDir)
	err := writePrivateFile(path, url+"\n")
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot write the sign-in link to %s: %w", path, err)
	}
	return nil
}

// RemoveSignInLink removes the file of WriteSignInLink, if there is one.
func RemoveSignInLink(dataDir string) error {
	err := os.Remove(SignInLinkPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writePrivateFile replaces a file by one with the mode 0600. os.CreateTemp gives it that
// mode from the beginning.
func writePrivateFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
