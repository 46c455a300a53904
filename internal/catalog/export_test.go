package catalog

// SplitURI is splitURI, for tests outside the package.
func SplitURI(exposed string) (server, uri string, ok bool) { return splitURI(exposed) }
