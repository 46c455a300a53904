package seal

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is what Windows says of a file that another has for itself.
const sharingViolation = syscall.Errno(32)

// lockFile takes the lock for oneself or together with others, or says that it
// is held. The system gives it back when the process ends, however it ends.
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
