// Package junctor holds the nouns of Junctor, one file each, and its one error
// type. It imports only the standard library, so every other package may
// import it: a request passes gateway, identity, guard, catalog and a backend
// below internal/, and all of them speak in these words.
package junctor
