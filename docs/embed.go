//go:build !noconsole

// Package docs has the pages of the documentation for the binary, which serves them at
// /docs/ beside the console. internal/console renders them; app passes them to it. The
// pages for contributors are not part of it: the architecture and the decisions.
// embed_none.go leaves the pages out, with the tag noconsole.
package docs

import (
	"embed"
	"io/fs"
)

//go:embed README.md start guides operate reference images
var embedded embed.FS

// Files returns the pages and their images, by their paths below this folder.
func Files() fs.FS { return embedded }
