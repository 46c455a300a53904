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

// open reads a file under the roots. A path that is not even written as one
// under a root is refused before the disk is asked, so that nobody learns what
// else there is. Links are followed as long as they stay under the roots.
func (im *images) open(path string) ([]byte, error) {
	if len(im.roots) == 0 {
		return nil, unfit(junctor.CodeDenied, imagePath, "no folder of this machine is open to this tool: give a data: URI or an https URL, or ask the operator to set ocr-roots")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, unfit(junctor.CodeInvalid, imagePath, "the path holds a zero byte")
	}
	var last error
	for _, candidate := range im.candidates(path) {
		data, err := im.openUnder(candidate)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
		last = err
	}
	if last == nil {
		return nil, im.outside(path)
	}
	return nil, &junctor.Error{
		Code: junctor.CodeInvalid, Message: imagePath + ": there is no file " + shorten(path), Cause: last,
		Violations: []junctor.Violation{{Pointer: "/" + imagePath, Message: "there is no file " + shorten(path) + "; check the path"}},
	}
}

// candidates are what a path may mean: itself, or, when it is relative, a file
// under any root. Those that lead out of the roots as written are left out.
func (im *images) candidates(path string) []string {
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
	if root, _ := within(im.roots, path); root == "" {
		if root, _ = within(resolved(im.roots), path); root == "" {
			return nil
		}
	}
	return []string{path}
}

func (im *images) openUnder(path string) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, im.unreadable(path, err)
	}
	root, rel := within(resolved(im.roots), real)
	if root == "" {
		return nil, im.outside(path)
	}
	// Should a link have been put in its place meanwhile, os.Root does not
	// follow it out.
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, im.unreadable(path, err)
	}
	defer dir.Close()
	info, err := dir.Stat(rel)
	if err != nil {
		return nil, im.unreadable(path, err)
	}
	if !info.Mode().IsRegular() { // before it is opened, which alone may do something to a device
		return nil, notAFile(path, info.Mode())
	}
	f, err := dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, im.unreadable(path, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, im.unreadable(path, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, notAFile(path, info.Mode())
	case info.Size() > MaxImage:
		return nil, tooLarge(shorten(path))
	}
	data, err := readUpTo(f, MaxImage)
	switch {
	case err != nil:
		return nil, im.unreadable(path, err)
	case data == nil:
		return nil, tooLarge(shorten(path))
	}
	return data, nil
}

// unreadable leaves a missing file to the caller, who may have another place to
// look.
func (im *images) unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return unfit(junctor.CodeDenied, imagePath, "this instance may not read "+shorten(path)+": the operator must give its user the right to")
	}
	return unfit(junctor.CodeInvalid, imagePath, "the file "+shorten(path)+" cannot be read; check the path")
}

func (im *images) outside(path string) error {
	return unfit(junctor.CodeDenied, imagePath, shorten(path)+" does not lie, or a link in it does not lead, under a folder that is open to this tool; open are: "+strings.Join(im.roots, ", "))
}

func notAFile(path string, mode fs.FileMode) error {
	what := "a device, pipe or socket"
	if mode.IsDir() {
		what = "a directory"
	}
	return unfit(junctor.CodeInvalid, imagePath, shorten(path)+" is "+what+", not a file")
}

// resolved gives the roots with their own links followed; one that is not
// there, such as a disk that is not mounted, is left out.
func resolved(roots []string) []string {
	var all []string
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// within gives the root that path lies under, and the rest of the path; "" when
// there is none.
func within(roots []string, path string) (root, rel string) {
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
