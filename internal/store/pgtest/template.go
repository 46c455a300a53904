package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copyTemplate puts the data of a new server into its folder. initdb takes a second of
// computing time, and a run of all tests starts dozens of servers: so it runs once, and
// what it wrote stays in the temporary folder, for the tests of other programs too.
func (s *Server) copyTemplate() error {
	// What another user may have put there is not used.
	template := filepath.Join(os.TempDir(), fmt.Sprintf("junctor-pg-template-%s-%d", filepath.Base(filepath.Dir(s.bin)), s.owner()))
	if !s.owns(template) {
		if err := s.makeTemplate(template); err != nil {
			return err
		}
	}
	return s.copyTree(template, filepath.Join(s.dir, "data"))
}

// makeTemplate has initdb write a folder. Of several tests that do so at the same time,
// one gives its folder the name.
func (s *Server) makeTemplate(template string) error {
	data := filepath.Join(s.dir, "template")
	initdb := s.newCommand("initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--wal-segsize", "4")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	// The folder of the server may be open to nobody else, and moves with what is in it.
	if err := os.Rename(data, template); err != nil && !s.owns(template) {
		return err
	}
	return os.RemoveAll(data)
}

// owner is the id of the user that the server runs as.
func (s *Server) owner() int {
	if s.uid != 0 {
		return int(s.uid)
	}
	return os.Getuid()
}

// owns reports whether a folder is there and is that of the server's user alone.
func (s *Server) owns(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	owner, known := ownerOf(info)
	return !known || owner == s.owner()
}

// copyTree copies folders and files, as the user whom the server runs as.
func (s *Server) copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case entry.IsDir():
			err = os.Mkdir(target, 0o700)
		case entry.Type().IsRegular():
			var content []byte
			if content, err = os.ReadFile(path); err == nil { //nolint:gosec // below the template
				err = os.WriteFile(target, content, 0o600) //nolint:gosec // below the folder of the server
			}
		default:
			err = fmt.Errorf("%s is neither a folder nor a file: %w", path, errors.ErrUnsupported)
		}
		if err == nil && s.uid != 0 {
			err = os.Chown(target, int(s.uid), int(s.gid))
		}
		return err
	})
}
