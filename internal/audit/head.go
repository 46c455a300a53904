package audit

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-json-experiment/json"
)

// Head names a record of a replica's chain and is signed. All records up to it must
// exist.
type Head struct {
	Replica string    `json:"replica"`
	Seq     uint64    `json:"seq"`
	Hash    string    `json:"hash"`
	Time    time.Time `json:"time"`
	// Shipped is the last record that the copy in SQL had.
	Shipped uint64 `json:"shipped,omitzero"`
	// Closed says that the journal was closed properly: no record follows.
	Closed    bool   `json:"closed,omitzero"`
	Signature []byte `json:"signature"`
}

// signedBytes returns the text that the signature covers. It must not change:
// older heads have to stay valid.
func (h *Head) signedBytes() []byte {
	return fmt.Appendf(nil, "junctor journal head\n%s\n%d\n%s\n%s\n%d\n%t\n",
		h.Replica, h.Seq, h.Hash, h.Time.UTC().Format(time.RFC3339Nano), h.Shipped, h.Closed)
}

// Checkpoint says that the journal itself removed the records up to one.
type Checkpoint struct {
	Replica string    `json:"replica"`
	UpTo    uint64    `json:"up_to_seq"`
	Hash    string    `json:"hash"` // of the record UpTo
	Time    time.Time `json:"time"`
	// How many records this checkpoint covers.
	Count uint64 `json:"count"`
	// The signature covers the signature of the checkpoint before, too, so that
	// none can be left out.
	Signature []byte `json:"signature"`
}

// signedBytes returns the text that the signature covers. before is the signature
// of the checkpoint before.
func (c *Checkpoint) signedBytes(before []byte) []byte {
	b := fmt.Appendf(nil, "junctor journal checkpoint\n%s\n%d\n%s\n%s\n%d\n",
		c.Replica, c.UpTo, c.Hash, c.Time.UTC().Format(time.RFC3339Nano), c.Count)
	return append(b, before...)
}

func headPath(dir, replica string) string       { return filepath.Join(dir, replica+".json") }
func checkpointPath(dir, replica string) string { return filepath.Join(dir, replica+".checkpoints") }
func signingKeyPath(dir string) string          { return filepath.Join(dir, "signing.key") }
func publicKeyPath(dir string) string           { return filepath.Join(dir, "signing.pub") }

// Why a head or a list of checkpoints is not usable.
var (
	errNoHead         = errors.New("there is no signed head")
	errBadSignature   = errors.New("the signature was not made with this journal's key")
	errUnreadableFile = errors.New("the file cannot be read")
)

// readHead reads the signed head of a replica. The error is errNoHead if there is
// none, and errUnreadableFile or errBadSignature if it is not valid.
func readHead(dir, replica string, key ed25519.PublicKey) (*Head, error) {
	b, err := os.ReadFile(headPath(dir, replica))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoHead
	}
	if err != nil {
		return nil, err
	}
	h := new(Head)
	if err := json.Unmarshal(b, h); err != nil {
		return nil, errUnreadableFile
	}
	if h.Replica != replica || !ed25519.Verify(key, h.signedBytes(), h.Signature) {
		return nil, errBadSignature
	}
	return h, nil
}

// writeHead signs a head and puts it in place.
func writeHead(dir string, h *Head, key ed25519.PrivateKey) error {
	h.Signature = ed25519.Sign(key, h.signedBytes())
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return writeFile(headPath(dir, h.Replica), append(b, '\n'), 0o644)
}

// readCheckpoints reads a replica's checkpoints, oldest first. bad is the first line
// that is not valid; 0 for none.
func readCheckpoints(dir, replica string, key ed25519.PublicKey) (all []Checkpoint, bad int, err error) {
	b, err := os.ReadFile(checkpointPath(dir, replica))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var before Checkpoint
	sc := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; sc.Scan(); n++ {
		var c Checkpoint
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			return all, n, errUnreadableFile
		}
		if c.Replica != replica || !ed25519.Verify(key, c.signedBytes(before.Signature), c.Signature) {
			return all, n, errBadSignature
		}
		if c.UpTo-before.UpTo != c.Count || c.UpTo <= before.UpTo {
			return all, n, errBadSignature
		}
		all, before = append(all, c), c
	}
	if sc.Err() != nil {
		return all, len(all) + 1, errUnreadableFile
	}
	return all, 0, nil
}

// writeCheckpoints replaces the whole file at once, since there are few
// checkpoints. all must not be empty.
func writeCheckpoints(dir string, all []Checkpoint) error {
	var b []byte
	for _, c := range all {
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		b = append(append(b, text...), '\n')
	}
	return writeFile(checkpointPath(dir, all[0].Replica), b, 0o644)
}

// loadSigningKey reads the signing key of a folder, or creates one. The public
// key is beside it, for verification.
func loadSigningKey(dir string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(signingKeyPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		if err := writeFile(signingKeyPath(dir), encodeKey(key.Seed()), 0o600); err != nil {
			return nil, err
		}
		return key, writeFile(publicKeyPath(dir), encodeKey(key.Public().(ed25519.PublicKey)), 0o644)
	}
	if err != nil {
		return nil, err
	}
	// Windows has no such permission bits: there the user's own folder protects the file.
	if info, err := os.Stat(signingKeyPath(dir)); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read the signing key: run chmod 600 %s", signingKeyPath(dir))
	}
	seed, err := decodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", signingKeyPath(dir), err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	if pub, err := readPublicKey(dir); err != nil || !pub.Equal(key.Public()) {
		err = writeFile(publicKeyPath(dir), encodeKey(key.Public().(ed25519.PublicKey)), 0o644)
		return key, err
	}
	return key, nil
}

// readPublicKey reads the public key of a folder, with which heads and
// checkpoints are verified.
func readPublicKey(dir string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(publicKeyPath(dir))
	if err != nil {
		return nil, err
	}
	return decodeKey(text)
}

func encodeKey(b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(nil, b), '\n')
}

// decodeKey reads a seed or a public key, which have the same length.
func decodeKey(text []byte) ([]byte, error) {
	b, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(text))
	if err != nil || len(b) != ed25519.SeedSize { // a public key has the same size
		return nil, errors.New("the file must contain a key: 32 bytes in base64")
	}
	return b, nil
}

// writeFile replaces a file as a whole: readers see the old one or the new one,
// also after a power cut.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	syncDir(dir)
	return nil
}

// syncDir makes file names durable. Not every system can sync a folder. Where it
// fails, only a power cut could show it, so errors are ignored.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
