package seal

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
)

// Wrapper wraps the keys that are in the database. *Keyring has several master keys, of
// which one wraps.
type Wrapper interface {
	Wrap(plaintext, aad []byte) []byte
	Unwrap(wrapped, aad []byte) ([]byte, error)
	// Hold keeps the current key current until release is called. Everything that
	// Wrap returned meanwhile is stored before a rotation searches for it.
	Hold(ctx context.Context) (release func(), err error)
}

// Keyring holds the master keys: the current one wraps, and all of them unwrap.
// Replicas and processes on one machine may share its file. All methods may be
// called from any goroutine.
type Keyring struct {
	path   string // of the key file; "" if the keys come from the environment
	keySet atomic.Pointer[keySet]

	// holdGate is read-locked from wrapping to storing, and locked while keys are
	// added or removed. A file lock does the same between processes.
	holdGate sync.RWMutex
	fileMu   sync.Mutex // from reading or writing the file to using its keys

	testStep func(string) error // tests end a rotation here; nil otherwise
}

// keySet is an immutable set of master keys.
type keySet struct {
	current *masterKey
	fileIDs []string // ids in the file or in the environment, current first
	// known holds every key that this process has read, including removed ones: a
	// secret that was read from the store before a rotation still opens after it.
	known map[[idSize]byte]*masterKey
}

// OpenKeyring reads the master keys from the file at path, or creates one there.
// It refuses a file that other users can read.
func OpenKeyring(path string) (*Keyring, error) {
	keys, err := loadOrCreateKeys(path)
	if err != nil {
		return nil, err
	}
	// Resolve links, so that a link to the file stays a link when it is replaced.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	k := &Keyring{path: path}
	k.useKeys(keys)
	return k, nil
}

// KeyringFromEnv reads the master keys from the text of an environment variable:
// each 32 bytes in base64, as in the key file, separated by commas. The first one
// is current. Errors never show the text.
func KeyringFromEnv(value string) (*Keyring, error) {
	var keys []fileKey
	for text := range strings.SplitSeq(value, ",") {
		raw, err := decodeKey(text)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid,
				"JUNCTOR_SEAL_KEY is invalid; set it to 32 random bytes in base64, such as the output of `openssl rand -base64 32`, "+
					"or to several such keys separated by commas, the current one first")
		}
		m, err := newMaster(raw)
		if err != nil {
			return nil, err
		}
		keys = append(keys, fileKey{master: m, current: len(keys) == 0})
	}
	k := &Keyring{}
	k.useKeys(keys)
	return k, nil
}

// useKeys makes these keys the ones in use.
func (k *Keyring) useKeys(keys []fileKey) {
	s := &keySet{known: map[[idSize]byte]*masterKey{}}
	if old := k.keySet.Load(); old != nil {
		maps.Copy(s.known, old.known)
	}
	for _, key := range keys {
		s.known[key.master.id] = key.master
		switch id := key.master.ID(); {
		case key.current:
			s.current = key.master
			s.fileIDs = append([]string{id}, s.fileIDs...)
		default:
			s.fileIDs = append(s.fileIDs, id)
		}
	}
	k.keySet.Store(s)
}

// CurrentID returns the id of the key that wraps.
func (k *Keyring) CurrentID() string { return k.keySet.Load().current.ID() }

// IDs returns the ids of all keys, the current one first.
func (k *Keyring) IDs() []string { return append([]string{}, k.keySet.Load().fileIDs...) }

// Wrap encrypts plaintext with the current key; see masterKey.Wrap.
func (k *Keyring) Wrap(plaintext, aad []byte) []byte {
	return k.keySet.Load().current.Wrap(plaintext, aad)
}

// Unwrap opens what any of the keys wrapped; see masterKey.Unwrap.
func (k *Keyring) Unwrap(wrapped, aad []byte) ([]byte, error) {
	m := k.findKey(wrapped)
	if m == nil {
		return nil, otherKeyError()
	}
	return m.Unwrap(wrapped, aad)
}

// findKey returns the key that wrapped this, or nil. Another process may have
// added an unknown key since, so the file is read again.
func (k *Keyring) findKey(wrapped []byte) *masterKey {
	if len(wrapped) < idSize {
		return nil
	}
	id := [idSize]byte(wrapped)
	if m := k.keySet.Load().known[id]; m != nil || k.path == "" {
		return m
	}
	if err := k.reloadFile(); err != nil {
		return nil // the known keys stay in use
	}
	return k.keySet.Load().known[id]
}

// reloadFile reads the key file again.
func (k *Keyring) reloadFile() error {
	k.fileMu.Lock()
	defer k.fileMu.Unlock()
	keys, err := readKeys(k.path)
	if err != nil {
		return withFileCode(err, "the sealing key at "+k.path+" cannot be read any more; restore it")
	}
	k.useKeys(keys)
	return nil
}
