package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// Change is what was changed in a file of a client: Rewrite makes it, and Revert takes it
// back. It contains credentials of the file, so it is stored sealed.
type Change struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	// Before is the text before the first change; nil if there was no file.
	Before []byte `json:"before"`
	// Mode is the mode of the file before the first change.
	Mode fs.FileMode `json:"mode"`
	// After is the digest of the text after the last change. A file with another digest
	// was edited since.
	After   string       `json:"after"`
	Removed []RemovedOne `json:"removed"`
	Added   bool         `json:"added"` // the entry for Junctor is from this change
	KeyIDs  []string     `json:"key_ids"`
	// Edited says that the file was edited between two changes, so that Before is not what
	// the user wants back.
	Edited bool `json:"edited"`
	// Reverted says that the file is as it was, and only keys are left to revoke.
	Reverted bool `json:"reverted"`
}

// RemovedOne is one entry that a change removed.
type RemovedOne struct {
	Place Place  `json:"place"`
	Piece []byte `json:"piece"`
}

// Rewrite returns the text of a file without some of its entries, and with an entry for
// Junctor. removed is what was removed, for Revert. t is nil to leave the entry for
// Junctor as it is. Any error is CodeInvalid and means that nothing should be written.
func (c Client) Rewrite(text []byte, remove []Place, t *Target) (next []byte, removed []RemovedOne, err error) {
	next = text
	for _, place := range remove {
		after, piece, err := c.format.cutEntry(next, place)
		if err != nil {
			return nil, nil, junctor.Errorf(junctor.CodeInvalid, "%v", err)
		}
		if piece != nil {
			next, removed = after, append(removed, RemovedOne{place, slices.Clone(piece)})
		}
	}
	if t != nil {
		if next, err = c.format.setEntry(next, *t); err != nil {
			return nil, nil, junctor.Errorf(junctor.CodeInvalid, "%v", err)
		}
	}
	return next, removed, nil
}

// HasJunctor reports whether a file has an entry with the name of Junctor.
func (c Client) HasJunctor(text []byte) bool {
	_, found, err := c.removeEntry(c.emptyObjectIfBlank(text))
	return err == nil && found
}

// Revert takes a change back. If nobody edited the file since, it becomes what it was,
// to the byte, and whole is true. Otherwise only the change is taken back: the entry for
// Junctor is removed, and each removed entry is put back if the file has none of that
// name now. An error leaves the file unchanged.
func (ch *Change) Revert() (whole bool, err error) {
	c, err := Find(ch.Client)
	if err != nil {
		return false, err
	}
	text, _, err := readFile(ch.Path)
	if err != nil {
		return false, err
	}
	if !ch.Edited && bytes.Equal(text, ch.Before) && (text == nil) == (ch.Before == nil) {
		return true, nil // the change was interrupted before it was written
	}
	if digest(text) == ch.After && !ch.Edited {
		if ch.Before != nil {
			return true, writeFile(ch.Path, ch.Before, ch.Mode)
		}
		if err := os.Remove(ch.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, junctor.Errorf(junctor.CodeUnavailable, "cannot remove %s: %w", ch.Path, err)
		}
		return true, nil
	}
	if text == nil { // the user deleted it
		return false, nil
	}
	next := c.emptyObjectIfBlank(text)
	if ch.Added {
		if next, _, err = c.removeEntry(next); err != nil {
			return false, junctor.Errorf(junctor.CodeInvalid, "%s was not changed: %v", ch.Path, err)
		}
	}
	for _, r := range ch.Removed {
		if _, there, err := c.format.cutEntry(next, r.Place); err == nil && there != nil {
			continue
		}
		if next, err = c.format.pasteEntry(next, r.Place, r.Piece); err != nil {
			return false, junctor.Errorf(junctor.CodeInvalid, "%s was not changed, because the entry %s cannot be restored: %v", ch.Path, r.Place.Name, err)
		}
	}
	return false, writeFile(ch.Path, next, ch.Mode)
}

// ReadFile returns the text and the mode of a client's file. text is nil if there is no
// file.
func ReadFile(path string) (text []byte, mode fs.FileMode, err error) {
	text, mode, err = readFile(path)
	if info, serr := os.Stat(path); err == nil && serr == nil {
		mode = info.Mode().Perm()
	}
	return text, mode, err
}

// Expect notes the text that the file is going to have. It is stored before Write, so that
// a change that was interrupted in between can be taken back, too.
func (ch *Change) Expect(text []byte) { ch.After = digest(text) }

// IsCurrent reports whether a text is the one that the change left in its file.
func (ch *Change) IsCurrent(text []byte) bool { return digest(text) == ch.After }

// Write writes the text of a change. The file keeps its mode, but becomes unreadable for
// others if it has a key now.
func (ch *Change) Write(text []byte, hasKey bool) error {
	mode := ch.Mode
	if hasKey {
		mode &= 0o700
	}
	return writeFile(ch.Path, text, mode)
}

// digest returns the digest of a text. No file and an empty file differ.
func digest(text []byte) string {
	if text == nil {
		return "none"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
