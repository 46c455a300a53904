package admission

import (
	"net/url"
	"path/filepath"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Document is the address of an API document that was admitted and may be read.
type Document struct{ address *url.URL }

// checkDocument judges the address of a document that p names. former is the stored
// address of the server, which may stay; "" if it has none.
func (j *Judge) checkDocument(p *junctor.Principal, address, former string) (Document, error) {
	d, err := parseDocument(address)
	if err != nil {
		return Document{}, err
	}
	if _, file := d.File(); file && p.Issuer != junctor.IssuerLocal && address != former {
		return Document{}, junctor.Errorf(junctor.CodeDenied, "only the operator can name a document by its file: send its text instead")
	}
	return d, nil
}

// LocalFile returns a file that the user of the program named on its own command line. It
// is read with the rights of that user, not with those of an instance.
func LocalFile(path string) Document {
	return Document{&url.URL{Scheme: schemeFile, Path: filepath.ToSlash(path)}}
}

// schemeFile is the URL scheme of a document on this machine.
const schemeFile = "file"

// parseDocument parses the address and judges the parsed form, because FILE: and file: are
// the same scheme.
func parseDocument(address string) (Document, error) {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme == schemeFile && u.Opaque == "" && u.User == nil && (u.Host == "" || strings.EqualFold(u.Host, "localhost")) && filepath.IsAbs(filepath.FromSlash(u.Path)):
		return Document{u}, nil
	case err != nil || junctor.CheckServerURL(address) != nil:
		return Document{}, junctor.Errorf(junctor.CodeInvalid, "document_url is not a URL: write it as https://host/openapi.yaml")
	}
	return Document{u}, nil
}

// Valid reports whether a judge made the value.
func (d Document) Valid() bool { return d.address != nil }

// String returns the address; "" if there is none.
func (d Document) String() string {
	if d.address == nil {
		return ""
	}
	return d.address.String()
}

// File returns the path of a document that is a file.
func (d Document) File() (path string, ok bool) {
	if d.address == nil || d.address.Scheme != schemeFile {
		return "", false
	}
	return filepath.FromSlash(d.address.Path), true
}

// Sibling returns another file that the document's text refers to. It is denied unless the
// file is below the document's own folder, or at its own origin.
func (d Document) Sibling(address string) (Document, error) {
	u, err := url.Parse(address)
	if err != nil || d.address == nil {
		return Document{}, junctor.Errorf(junctor.CodeDenied, "files that a document refers to are fetched only from its own origin")
	}
	folder, isFile := d.File()
	if isFile && u.Scheme == schemeFile {
		below, err := filepath.Rel(filepath.Dir(folder), filepath.FromSlash(u.Path))
		if err != nil || !filepath.IsLocal(below) {
			return Document{}, junctor.Errorf(junctor.CodeDenied, "files that a document refers to are read only from its own folder")
		}
		return Document{u}, nil
	}
	if isFile || u.Scheme != d.address.Scheme || u.Host != d.address.Host || u.User != nil {
		return Document{}, junctor.Errorf(junctor.CodeDenied, "files that a document refers to are fetched only from its own origin")
	}
	return Document{u}, nil
}
