// Package backup copies an instance, which may be running, into one archive, and
// restores an instance from such an archive.
//
// internal/app passes in the databases (store.Raw) and the folders; internal/cli
// has the commands. The sealing key of internal/seal authenticates archives.
//
// An archive is a gzipped tar. It contains a manifest with the size and SHA-256
// of every other member, each table as a file of JSON lines (its columns first),
// and the files of the folders. Each database is read in one transaction, so its
// tables are of one moment, and no writer waits for that. Rows do not depend on
// the engine: an archive of SQLite can be restored into PostgreSQL, and the
// reverse.
//
// An archive never contains a key file: neither the key that wraps the secrets
// nor the key that signs the journal's heads. Operators must keep copies of them
// elsewhere, because the secrets in an archive are sealed and cannot be opened
// without the key.
//
// To read the code, begin with manifest.go (what an archive contains), then
// create.go and restore.go. rows.go is the format of tables, and authenticate.go
// the authentication code of an archive.
package backup
