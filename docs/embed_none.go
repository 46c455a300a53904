//go:build noconsole

package docs

import (
	"embed"
	"io/fs"
)

// Files returns no pages: this binary is built without them.
func Files() fs.FS { return embed.FS{} }
