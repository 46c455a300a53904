package canary

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxDepth is how many archives may lie in each other.
const maxDepth = 4

// Tree looks through every file below root, as File does: databases with their
// write-ahead logs, journals, logs, backups, whatever lies there. A file that
// goes away meanwhile is no error.
func (s *Set) Tree(root string) (hits []Hit, files int, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular():
			return nil
		}
		h, err := s.File(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files++
		hits = append(hits, h...)
		return err
	})
	return hits, files, err
}

// File looks through a file as it lies there and, where it is a gzip, tar or zip
// archive, through what is in it.
func (s *Set) File(path string) ([]Hit, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hits, err := s.Reader(path, f)
	if err != nil {
		return hits, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return hits, err
	}
	more, err := s.unpack(path, f, 0)
	return append(hits, more...), err
}

// Archive looks through a stream and what is packed in it.
func (s *Set) Archive(where string, r io.Reader) ([]Hit, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	hits := s.Bytes(where, b)
	more, err := s.unpack(where, bytes.NewReader(b), 0)
	return append(hits, more...), err
}

// unpack looks through what is packed in r, known by its first bytes. What
// turns out to be damaged is looked through as far as it goes: it is searched as
// it lies there anyway.
func (s *Set) unpack(where string, r io.Reader, depth int) ([]Hit, error) {
	if depth == maxDepth {
		return nil, nil
	}
	br := bufio.NewReaderSize(r, 1024)
	head, err := br.Peek(262)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, nil //nolint:nilerr // no gzip after all
		}
		return s.member(where+"!gunzip", z, depth)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return s.zip(where, br, depth)
	case len(head) == 262 && string(head[257:]) == "ustar":
		return s.tar(where, br, depth)
	}
	return nil, nil
}

// member looks through a packed stream and through what is packed in it again.
func (s *Set) member(where string, r io.Reader, depth int) ([]Hit, error) {
	b, _ := io.ReadAll(r) // as far as it goes
	hits := s.Bytes(where, b)
	more, err := s.unpack(where, bytes.NewReader(b), depth+1)
	return append(hits, more...), err
}

func (s *Set) tar(where string, r io.Reader, depth int) (hits []Hit, err error) {
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err != nil {
			return hits, nil //nolint:nilerr // the end, or damage
		}
		more, err := s.member(where+"!"+h.Name, tr, depth)
		if hits = append(hits, more...); err != nil {
			return hits, err
		}
	}
}

func (s *Set) zip(where string, r io.Reader, depth int) (hits []Hit, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, nil //nolint:nilerr // no archive after all
	}
	for _, f := range z.File {
		m, err := f.Open()
		if err != nil {
			continue
		}
		more, err := s.member(where+"!"+f.Name, m, depth)
		m.Close()
		if hits = append(hits, more...); err != nil {
			return hits, err
		}
	}
	return hits, nil
}
