// Package backup copies an instance that may be running into one archive, and
// makes an instance of such an archive again. It stands on the ground, beside
// what it copies: app hands it databases (package store's Raw) and folders, the
// CLI says when.
//
// An archive is a gzipped tar: a manifest, with the size and SHA-256 of
// everything else; each table as a file of JSON lines, its columns first; and
// the files of the folders. Each database is read in one transaction, so it is
// of one moment, and nobody waits for that. Rows are the same whatever engine
// they come from, so an archive of one engine can be restored into the other.
//
// An archive never holds a key file: neither the key that wraps the secrets nor
// the one that signs the journal's heads. Keep copies of them elsewhere: secrets
// in the archive are sealed, and cannot be opened without.
package backup
