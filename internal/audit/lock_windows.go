package audit

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// sharingViolation is the error of Windows for a file that another process has
// opened exclusively.
const sharingViolation = syscall.Errno(32)

// lockFile takes the lock at path. held means that another process has it. The
// system releases it when the process ends, however it ends.
func lockFile(path string) (l io.Closer, held bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, errors.Is(err, sharingViolation), err
	}
	return os.NewFile(uintptr(h), path), false, nil
}
