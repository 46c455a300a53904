package backup

import (
	"archive/tar"
	"encoding/hex"
	"encoding/json"
	"io"

	junctor "github.com/junctor-mcp/junctor"
)

// macName is the member that follows the manifest of an authenticated archive.
const macName = "manifest.mac"

// maxMAC bounds that member in bytes.
const maxMAC = 4 << 10

// Authenticator makes and checks message authentication codes (MACs) under the
// sealing key. Without that key nobody can make or change an archive: the
// manifest is authenticated, and contains the digest of everything else.
type Authenticator interface {
	// Authenticate returns the MAC of a message and the id of the key that made
	// it.
	Authenticate(message []byte) (keyID string, mac []byte)
	// CheckMAC returns nil for the MAC that Authenticate returned for the same
	// message. For an unknown key, the error says which key is needed and what to
	// do.
	CheckMAC(keyID string, message, mac []byte) error
}

// macRecord is the content of the member macName.
type macRecord struct {
	Key string `json:"key"` // the id of the sealing key
	// In hex, of the exact bytes of the manifest.
	MAC string `json:"mac"`
}

// makeMAC returns the content of the member macName for a manifest.
func makeMAC(a Authenticator, manifest []byte) (keyID string, text []byte, err error) {
	id, mac := a.Authenticate(manifest)
	text, err = json.Marshal(macRecord{Key: id, MAC: hex.EncodeToString(mac)})
	return id, text, err
}

// readMAC reads the member macName, which must be the next one.
func readMAC(in *tar.Reader) (macRecord, error) {
	head, err := in.Next()
	if err != nil || head.Name != macName || head.Size > maxMAC {
		return macRecord{}, damagedError("its authentication code is missing", err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return macRecord{}, damagedError("its authentication code is incomplete", err)
	}
	var r macRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return macRecord{}, damagedError("its authentication code cannot be read", err)
	}
	return r, nil
}

// checkAuthenticity checks the manifest of an archive against its MAC. missing
// says that the archive has none. Every error has the code CodeInvalid and says
// how to continue.
func checkAuthenticity(o RestoreOptions, manifest []byte, r macRecord, missing bool) error {
	const onward = "; to restore it without verification, add --unverified"
	switch {
	case o.Unverified:
		return nil
	case missing:
		return junctor.Errorf(junctor.CodeInvalid, "the backup is not authenticated: it was made by an older version or without the sealing key, or its authentication code was removed"+onward)
	case o.Authenticator == nil:
		return junctor.Errorf(junctor.CodeInvalid,
			"the backup cannot be verified without its sealing key: copy the key with the ID %s to seal.key in the data directory, name it with --seal-key-file, or set JUNCTOR_SEAL_KEY"+onward, printableKeyID(r.Key))
	}
	mac, err := hex.DecodeString(r.MAC)
	if err != nil {
		return damagedError("its authentication code cannot be read", err)
	}
	if err := o.Authenticator.CheckMAC(printableKeyID(r.Key), manifest, mac); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "the backup is not authentic, or was made with another key: %w"+onward, err)
	}
	return nil
}

// printableKeyID returns the id of a key from an archive that is not
// authenticated yet, in a form that is safe to print.
func printableKeyID(id string) string {
	if _, err := hex.DecodeString(id); err != nil || len(id) > 64 {
		return "(unreadable)"
	}
	return id
}
