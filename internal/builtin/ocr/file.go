package ocr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	junctor "github.com/junctor-mcp/junctor"
)

// readFile reads a file under the roots. A path that is not written as one
// under a root is refused before the disk is asked, so that callers cannot find
// out which other files exist. Symbolic links are followed as long as they stay
// under the roots.
func (im *imageLoader) readFile(path string) ([]byte, error) {
	if len(im.roots) == 0 {
		return nil, newArgumentError(junctor.CodeDenied, argImagePath, "this tool may not read files of this machine: give a data: URI or an https URL, or ask the operator to set ocr-roots")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "the path holds a zero byte")
	}
	var last error
	for _, candidate := range im.candidatePaths(path) {
		data, err := im.readUnderRoot(candidate)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
		last = err
	}
	if last == nil {
		return nil, im.newOutsideError(path)
	}
	return nil, &junctor.Error{
		Code: junctor.CodeInvalid, Message: argImagePath + ": there is no file " + quoteShort(path), Cause: last,
		Violations: []junctor.Violation{{Pointer: "/" + argImagePath, Message: "there is no file " + quoteShort(path) + "; check the path"}},
	}
}

// candidatePaths returns the files that a path may mean: itself or, if it is
// relative, a file under each root. Paths that lead out of the roots as written
// are left out.
func (im *imageLoader) candidatePaths(path string) []string {
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			return nil
		}
		var all []string
		for _, root := range im.roots {
			all = append(all, filepath.Join(root, path))
		}
		return all
	}
	path = filepath.Clean(path)
	if root, _ := findRoot(im.roots, path); root == "" {
		if root, _ = findRoot(resolveRoots(im.roots), path); root == "" {
			return nil
		}
	}
	return []string{path}
}

// readUnderRoot reads a file after its links were resolved. The error is
// fs.ErrNotExist for a missing file.
func (im *imageLoader) readUnderRoot(path string) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, im.newReadError(path, err)
	}
	root, rel := findRoot(resolveRoots(im.roots), real)
	if root == "" {
		return nil, im.newOutsideError(path)
	}
	// os.Root does not follow a link out of the root that was put in place after
	// the check.
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, im.newReadError(path, err)
	}
	defer dir.Close()
	info, err := dir.Stat(rel)
	if err != nil {
		return nil, im.newReadError(path, err)
	}
	if !info.Mode().IsRegular() { // check before opening: to open a device may already have an effect
		return nil, newFileTypeError(path, info.Mode())
	}
	// O_NONBLOCK: opening a pipe that was put in place after the check must not
	// block.
	f, err := dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, im.newReadError(path, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, im.newReadError(path, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, newFileTypeError(path, info.Mode())
	case info.Size() > MaxImage:
		return nil, newTooLargeError(quoteShort(path))
	}
	data, err := readUpTo(f, MaxImage)
	switch {
	case err != nil:
		return nil, im.newReadError(path, err)
	case data == nil:
		return nil, newTooLargeError(quoteShort(path))
	}
	return data, nil
}

// newReadError describes why a file cannot be read. A missing file is
// fs.ErrNotExist, since the caller may try another candidate.
func (im *imageLoader) newReadError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return newArgumentError(junctor.CodeDenied, argImagePath, "this instance may not read "+quoteShort(path)+": the operator must give its user the right to")
	}
	return newArgumentError(junctor.CodeInvalid, argImagePath, "the file "+quoteShort(path)+" cannot be read; check the path")
}

// newOutsideError is the error for a path outside the roots.
func (im *imageLoader) newOutsideError(path string) error {
	return newArgumentError(junctor.CodeDenied, argImagePath, quoteShort(path)+" is not in a folder that this tool may read, or is a link that leads out of it; the folders are: "+strings.Join(im.roots, ", "))
}

// newFileTypeError is the error for a directory or a special file.
func newFileTypeError(path string, mode fs.FileMode) error {
	what := "a device, pipe or socket"
	if mode.IsDir() {
		what = "a directory"
	}
	return newArgumentError(junctor.CodeInvalid, argImagePath, quoteShort(path)+" is "+what+", not a file")
}

// resolveRoots returns the roots with their own links resolved. A root that
// does not exist, such as a disk that is not mounted, is left out.
func resolveRoots(roots []string) []string {
	var all []string
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// findRoot returns the root that contains a path, and the rest of the path; ""
// if there is none.
func findRoot(roots []string, path string) (root, rel string) {
	i := slices.IndexFunc(roots, func(r string) bool {
		var err error
		rel, err = filepath.Rel(r, path)
		return err == nil && filepath.IsLocal(rel)
	})
	if i < 0 {
		return "", ""
	}
	return roots[i], rel
}
