//go:build !noconsole

package console

import (
	"embed"
	"io/fs"
)

//go:generate ../../tools/console.sh

//go:embed all:dist
var embeddedBuild embed.FS

// openBuild returns the files of the build.
func openBuild() fs.FS {
	sub, err := fs.Sub(embeddedBuild, "dist")
	if err != nil { // the folder is there, or this would not compile
		return embeddedBuild
	}
	return sub
}
