// Package clients reads and writes the configuration files of MCP clients, such as Claude
// Code, Cursor, VS Code, Codex and Goose.
//
// internal/cli is its only caller. `junctor server import` reads the servers that a user
// has in such a file and adds them to an instance. `junctor connect` writes an entry for
// Junctor into the file and removes it again. `junctor setup` does both for all files that
// Discover finds. The package knows files and nothing of a running instance. Of this
// module it imports only package junctor.
//
// Read client.go first: All is the table of clients, and everything that differs between
// them when an entry is written. format_json.go, format_toml.go and format_yaml.go edit
// the text of a file without touching the rest of it (jsonc.go finds the bytes of a JSON
// file). read.go finds the entries of a file, member.go turns the members of one entry
// into a Server, and bridge.go replaces commands that only connect to a URL. connect.go
// adds and removes the entry for Junctor; discover.go finds the files of a machine, and
// rewrite.go puts Junctor in the place of their servers and takes that back.
package clients
