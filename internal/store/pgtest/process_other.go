//go:build !linux

package pgtest

import (
	"io/fs"
	"syscall"
)

// processAttributes has nothing to ask for: elsewhere nobody runs tests as root.
func (s *Server) processAttributes() *syscall.SysProcAttr { return nil }

// ownerOf does not know: the temporary folder of these systems is the user's own.
func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
