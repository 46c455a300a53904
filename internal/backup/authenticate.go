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

// Authenticator makes and checks message authentication codes under the sealing
// key. Who cannot read that key can neither make an archive nor change one: the
// manifest is authenticated, and has the digest of everything else.
type Authenticator interface {
	// Authenticate gives the code of a message, and the id of the key that made it.
	Authenticate(message []byte) (keyID string, mac []byte)
	// CheckMAC is nil for what Authenticate gave for the same message. The error
	// says which key is needed where it is not known, and what to do.
	CheckMAC(keyID string, message, mac []byte) error
}

// macRecord is the content of the member.
type macRecord struct {
	Key string `json:"key"` // the id of the sealing key
	MAC string `json:"mac"` // in hex, of the exact bytes of the manifest
}

// makeMAC is the text of the member for a manifest.
func makeMAC(a Authenticator, manifest []byte) (keyID string, text []byte, err error) {
	id, mac := a.Authenticate(manifest)
	text, err = json.Marshal(macRecord{Key: id, MAC: hex.EncodeToString(mac)})
	return id, text, err
}

// readMAC reads the member.
func readMAC(in *tar.Reader) (macRecord, error) {
	head, err := in.Next()
	if err != nil || head.Name != macName || head.Size > maxMAC {
		return macRecord{}, damagedError("its authentication code is missing", err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return macRecord{}, damagedError("its authentication code is not whole", err)
	}
	var r macRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return macRecord{}, damagedError("its authentication code cannot be read", err)
	}
	return r, nil
}

// checkAuthenticity checks the manifest of an archive. missing says that it has no code;
// errors are invalid.
func checkAuthenticity(o RestoreOptions, manifest []byte, r macRecord, missing bool) error {
	const onward = "; to restore it although nobody can say who made it, add --unverified"
	switch {
	case o.Unverified:
		return nil
	case missing:
		return junctor.Errorf(junctor.CodeInvalid, "the backup is not authenticated: an older Junctor made it, or one without its sealing key, or somebody took the code away"+onward)
	case o.Authenticator == nil:
		return junctor.Errorf(junctor.CodeInvalid,
			"the backup cannot be verified, because there is no sealing key here: put a copy of the key with the id %s at seal.key in the data directory, name it with --seal-key-file, or set JUNCTOR_SEAL_KEY"+onward, printableKeyID(r.Key))
	}
	mac, err := hex.DecodeString(r.MAC)
	if err != nil {
		return damagedError("its authentication code cannot be read", err)
	}
	if err := o.Authenticator.CheckMAC(printableKeyID(r.Key), manifest, mac); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "the backup is not authentic, or was made under another key: %w"+onward, err)
	}
	return nil
}

// printableKeyID is the id of a key out of an archive that nobody has vouched for.
func printableKeyID(id string) string {
	if _, err := hex.DecodeString(id); err != nil || len(id) > 64 {
		return "(unreadable)"
	}
	return id
}
