package seal

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// fileKey is one key of a key file. Its text is kept only while a file is read or
// written.
type fileKey struct {
	text    string // base64
	master  *masterKey
	created time.Time // zero if the file does not say
	current bool
}

// keyFileHeader explains the file to people who open it.
const keyFileHeader = `# Sealing keys of Junctor: id, key, created. The current one seals, all of them open.
# Without them stored secrets are lost: keep a copy, apart from the backups.
`

// parseKeys reads a key file. Each line is a key: its id, 32 bytes in base64, the
// time of its creation and, for exactly one of them, the word current. A file
// with one key may contain only the base64: the first key is written like that.
// Errors name a line, but show nothing of it.
func parseKeys(text string) ([]fileKey, error) {
	var keys []fileKey
	current := 0
	seen := map[[idSize]byte]bool{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		k, err := parseKey(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if seen[k.master.id] {
			return nil, fmt.Errorf("line %d: duplicate key", number)
		}
		seen[k.master.id] = true
		if k.current {
			current++
		}
		keys = append(keys, k)
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("the file is empty")
	case len(keys) == 1:
		keys[0].current = true // the only key is current even if it is not marked
	case current != 1:
		return nil, fmt.Errorf("%d keys are marked as current; mark exactly one", current)
	}
	return keys, nil
}

// parseKey reads one line of a key file, split into words.
func parseKey(fields []string) (k fileKey, err error) {
	switch {
	case len(fields) == 1:
		k.text = fields[0]
	case len(fields) == 3, len(fields) == 4 && fields[3] == "current":
		k.text, k.current = fields[1], len(fields) == 4
		if k.created, err = time.Parse(time.RFC3339, fields[2]); err != nil {
			return k, errors.New("the third field is not a time")
		}
	default:
		return k, errors.New("the line must have the fields id, key, time and optionally current")
	}
	raw, err := decodeKey(k.text)
	if err != nil {
		return k, errors.New("the key is not 32 bytes in base64")
	}
	if k.master, err = newMaster(raw); err != nil {
		return k, err
	}
	// This detects a mistyped or cut key before a secret cannot be opened.
	if len(fields) > 1 && fields[0] != k.master.ID() {
		return k, errors.New("the id does not match the key")
	}
	return k, nil
}

// formatKeys is the inverse of parseKeys.
func formatKeys(keys []fileKey) string {
	var b strings.Builder
	b.WriteString(keyFileHeader)
	for _, k := range keys {
		created := k.created
		if created.IsZero() {
			created = time.Unix(0, 0)
		}
		fmt.Fprintf(&b, "%s %s %s", k.master.ID(), k.text, created.UTC().Format(time.RFC3339))
		if k.current {
			b.WriteString(" current")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
