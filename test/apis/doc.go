// Package apis holds the benchmark of generated servers: every tool that is made
// from a document is called, and a mock that is built from the same document,
// without the product's readers, looks at what came over the wire.
package apis
