//go:build !linux

package pgtest

import "syscall"

// processAttributes has nothing to ask for: elsewhere nobody runs tests as root.
func (s *Server) processAttributes() *syscall.SysProcAttr { return nil }
