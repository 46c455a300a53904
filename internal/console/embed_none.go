//go:build noconsole

package console

import (
	"embed"
	"io/fs"
)

// openBuild returns no files: this binary is built without the pages.
func openBuild() fs.FS { return embed.FS{} }
