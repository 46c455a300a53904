package egress

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxSocketNameLen is the longest name that fits into the address of a unix socket,
// without the byte that ends it.
const maxSocketNameLen = len(unix.RawSockaddrUnix{}.Path) - 1

// withSocketName calls use with a name of the socket that fits into an address. The path
// of a data directory may be too long for that; then the name leads through a file
// descriptor of the directory, and is valid only during the call.
func withSocketName(path string, use func(name string) error) error {
	if len(path) <= maxSocketNameLen {
		return use(path)
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return use("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}
