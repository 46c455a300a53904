package egress

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// longestSocketName is what an address of a unix socket has room for, without
// the byte that ends it.
const longestSocketName = len(unix.RawSockaddrUnix{}.Path) - 1

// withSocketName has use called with a name of the socket that fits into an
// address: a data directory may lie so deep that its path does not. The name is
// good only during the call.
func withSocketName(path string, use func(name string) error) error {
	if len(path) <= longestSocketName {
		return use(path)
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return use("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}
