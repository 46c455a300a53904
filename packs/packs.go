// Package packs holds the packs that come with the program, a file each:
// internal/pack reads them, and the gallery shows them.
package packs

import "embed"

// Files are the packs.
//
//go:embed *.yaml
var Files embed.FS
