//go:build noconsole

package console

import (
	"embed"
	"io/fs"
)

// dist is nothing: the binary is built without the pages.
func dist() fs.FS { return embed.FS{} }
