package pgtest

import (
	"io/fs"
	"syscall"
)

// processAttributes make the server another user's where this one is root, and end it
// when the test's process dies.
func (s *Server) processAttributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	if s.uid != 0 {
		attr.Credential = &syscall.Credential{Uid: s.uid, Gid: s.gid}
	}
	return attr
}

// ownerOf gives the id of the user whom a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
