// Package packs holds the packs that come with the program, a file each:
// internal/pack reads them, and the gallery shows them. What a pack needs beside
// its file is in a folder of its name: the surfaces of its agents, for
// internal/agent/rules, in templates.
package packs

import "embed"

// Files are the packs.
//
//go:embed *.yaml
var Files embed.FS

// Templates are the surfaces that rules may name, as PACK/templates/NAME.json.
//
//go:embed */templates/*.json
var Templates embed.FS
