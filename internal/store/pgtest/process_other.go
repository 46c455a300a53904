//go:build !linux

package pgtest

import "syscall"

// attributes has nothing to ask for: elsewhere nobody runs tests as root.
func (s *Server) attributes() *syscall.SysProcAttr { return nil }
