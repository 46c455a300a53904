//go:build !linux

package proc

import (
	"runtime"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Usage requires Linux: the error says so.
func Usage(int) (cpu time.Duration, rss uint64, err error) { return 0, 0, unsupportedError() }

// BusyTime requires Linux: the error says so.
func BusyTime() (time.Duration, error) { return 0, unsupportedError() }

func unsupportedError() error {
	return junctor.Errorf(junctor.CodeUnavailable, "CPU time and memory of processes can be read on Linux only, and this is %s", runtime.GOOS)
}
