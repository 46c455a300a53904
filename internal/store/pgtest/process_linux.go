package pgtest

import "syscall"

// processAttributes make the server another user's where this one is root, and end it
// when the test's process dies.
func (s *Server) processAttributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	if s.uid != 0 {
		attr.Credential = &syscall.Credential{Uid: s.uid, Gid: s.gid}
	}
	return attr
}
