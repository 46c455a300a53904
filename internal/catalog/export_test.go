package catalog

// SplitURI is splitURI, for tests outside the package.
func SplitURI(exposed string) (server, uri string, ok bool) { return splitURI(exposed) }

// Paged is a definition with a page that was made for its tool.
func Paged(definition []byte, page string) []byte {
	return (&ToolVersion{JSON: definition, ownPage: readPageURI(definition), generatedPage: page}).withGeneratedPage().JSON
}

// Version makes a version of a tool as a snapshot does.
func Version(def ToolDef) *ToolVersion {
	v, err := newToolVersion(def, nil, "s", false, &snapshotBuilder{})
	if err != nil {
		panic(err)
	}
	return v
}
