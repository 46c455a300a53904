//go:build !windows

package audit

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockedFile is a file that is locked as long as it is open.
type lockedFile struct{ *os.File }

// Close releases the lock at once. Closing the file alone would not: a child
// process that is just being started holds a copy of the file for a moment.
func (l lockedFile) Close() error {
	_ = syscall.Flock(int(l.Fd()), syscall.LOCK_UN)
	return l.File.Close()
}

// lockFile takes the lock at path. held means that another process has it. The
// system releases it when the process ends, however it ends.
func lockFile(path string) (l io.Closer, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, errors.Is(err, syscall.EWOULDBLOCK), err
	}
	return lockedFile{f}, false, nil
}
