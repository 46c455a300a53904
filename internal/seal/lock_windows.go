package seal

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is the error of Windows for a file that another process has
// opened exclusively.
const sharingViolation = syscall.Errno(32)

// lockFile takes an exclusive or shared lock without waiting. held means that
// another process has it. The system releases it when the process ends, however
// it ends.
func lockFile(path string, exclusive bool) (f *os.File, held bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	access, share := uint32(syscall.GENERIC_READ), uint32(syscall.FILE_SHARE_READ)
	if exclusive {
		access, share = syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0
	}
	h, err := syscall.CreateFile(name, access, share, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, errors.Is(err, sharingViolation), err
	}
	return os.NewFile(uintptr(h), path), false, nil
}
