package seal

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// lockRetryDelay is how long to wait before trying again to take a lock that
// another process holds.
const lockRetryDelay = 5 * time.Millisecond

// Hold keeps the current key current until release is called. The caller stores
// everything that it wrapped before it releases. Rotation waits for all holders,
// in this process and in others, so that it finds everything that an old key has
// wrapped. Hold only for the duration of one write.
func (k *Keyring) Hold(ctx context.Context) (release func(), err error) {
	if k.path == "" {
		return func() {}, nil
	}
	k.holdGate.RLock()
	unlock, err := k.lockKeyFile(ctx, false)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		unlock = func() {} // on a read-only disk no other process can add a key either
	default:
		k.holdGate.RUnlock()
		return nil, err
	}
	if err := k.reloadFile(); err != nil {
		unlock()
		k.holdGate.RUnlock()
		return nil, err
	}
	return func() {
		unlock()
		k.holdGate.RUnlock()
	}, nil
}

// changeKeys runs do while no process holds the keyring. do receives the keys of
// the file and returns the keys that replace them; nil leaves them unchanged.
func (k *Keyring) changeKeys(ctx context.Context, do func([]fileKey) ([]fileKey, error)) error {
	k.holdGate.Lock()
	defer k.holdGate.Unlock()
	unlock, err := k.lockKeyFile(ctx, true)
	if err != nil {
		return err
	}
	defer unlock()
	keys, err := readKeys(k.path)
	if err != nil {
		return withFileCode(err, "the sealing key at "+k.path+" cannot be read any more; restore it")
	}
	next, err := do(keys)
	if err != nil {
		return err
	}
	if next == nil {
		return nil
	}
	if err := k.runTestStep("before the file"); err != nil {
		return err
	}
	k.fileMu.Lock()
	defer k.fileMu.Unlock()
	if err := replaceKeys(k.path, next); err != nil {
		return withFileCode(err, "the sealing key file "+k.path+" cannot be written")
	}
	if err := k.runTestStep("after the file"); err != nil {
		return err
	}
	k.useKeys(next)
	return nil
}

// lockKeyFile takes the lock between processes. The lock is a separate file,
// because the key file is replaced when it changes.
func (k *Keyring) lockKeyFile(ctx context.Context, exclusive bool) (unlock func(), err error) {
	path := k.path + ".lock"
	for {
		f, held, err := lockFile(path, exclusive)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !held {
			return nil, withFileCode(err, "the lock of the sealing key, "+path+", cannot be taken")
		}
		select {
		case <-ctx.Done():
			return nil, &junctor.Error{
				Code:    junctor.CodeUnavailable,
				Message: "another process is changing the sealing keys at " + k.path + ": try again",
				Cause:   ctx.Err(),
			}
		case <-time.After(lockRetryDelay):
		}
	}
}

// runTestStep lets tests end a rotation at a step.
func (k *Keyring) runTestStep(step string) error {
	if k.testStep == nil {
		return nil
	}
	return k.testStep(step)
}
