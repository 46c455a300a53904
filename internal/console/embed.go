//go:build !noconsole

package console

import (
	"embed"
	"io/fs"
)

//go:generate ../../tools/console.sh

//go:embed all:dist
var embedded embed.FS

// dist is the build.
func dist() fs.FS {
	sub, err := fs.Sub(embedded, "dist")
	if err != nil { // the folder is there, or this would not compile
		return embedded
	}
	return sub
}
