package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// maxDocument is the maximum size of an API document in bytes.
const maxDocument = 32 << 20

// apiReader reads the members that only a server made of an API document has.
// It notes which of them are present, because they decide the mode of the
// server.
type apiReader struct {
	api          junctor.API
	fields       fieldReaders
	givenMembers []string // names of the members that are present
}

// newAPIReader returns the reader of these members for a server.
func (d *document) newAPIReader(s *Server) *apiReader {
	r := &apiReader{}
	r.fields = mergeFields(d.structFields(&r.api.APISettings), fieldReaders{
		"document":    d.documentField(s),
		"base_url":    d.urlField(&s.connection.URL),
		"allow_empty": d.boolField(&s.AllowEmpty),
	})
	for name, read := range r.fields {
		r.fields[name] = func(n *yaml.Node, path string) {
			r.givenMembers = append(r.givenMembers, name)
			read(n, path)
		}
	}
	return r
}

// documentField reads an API document. A value of several lines is the text
// itself. A value of one line is the path of a file, relative to the folder of
// the settings file. If no folder is known, a path is a problem: the text came
// from a caller who must not read files here.
func (d *document) documentField(s *Server) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.readText(n, path)
		if !ok {
			return
		}
		if strings.Contains(text, "\n") {
			s.Document = text
			return
		}
		if d.loader.folder == "" {
			d.addProblem(n, "%s is the path of a file, but no files are read from here: write the text of the document on several lines, or its URL as document_url", path)
			return
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(d.loader.folder, text)
		}
		content, err := readDocument(text)
		if err != nil {
			d.addProblem(n, "%s: %s: %v", path, text, err)
			d.loader.problems[len(d.loader.problems)-1].File = text
			return
		}
		s.Document, s.DocumentPath = content, text
	}
}

// readDocument returns the text of a document's file. Only regular files are
// read, so that a device or a pipe cannot block the caller.
func readDocument(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("the file does not exist")
	case err != nil:
		return "", errors.New("the file cannot be read: " + systemReason(err))
	case !info.Mode().IsRegular():
		return "", errors.New("this is not a regular file")
	case info.Size() > maxDocument:
		return "", fmt.Errorf("the file is larger than %d MiB", maxDocument>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", errors.New("the file cannot be read: " + systemReason(err))
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return "", errors.New("the file is empty")
	}
	return string(text), nil
}

// setMode decides by its members whether a server is generated, and reports
// members that do not go together. mode is the value of the member mode, or "".
func (r *apiReader) setMode(d *document, m member, s *Server, mode junctor.Mode) {
	path := "servers." + s.ID
	if mode == junctor.ModeBYO || mode == "" && len(r.givenMembers) == 0 {
		if len(r.givenMembers) > 0 {
			d.addProblem(m.key, "%s.%s requires mode: %s", path, slices.Min(r.givenMembers), junctor.ModeGenerated)
		}
		return
	}
	s.API = &r.api
	others := []string{"url", "transport", "command", "cwd", "env"}
	for _, other := range d.listMembers(m.value, path) {
		if slices.Contains(others, other.key.Value) {
			d.addProblem(other.key, "%s.%s is only for MCP servers: a generated server uses base_url, auth and headers instead", path, other.key.Value)
		}
	}
	switch text, address := slices.Contains(r.givenMembers, "document"), slices.Contains(r.givenMembers, "document_url"); {
	case text && address:
		d.addProblem(m.key, "%s has both document and document_url: remove one of them", path)
	case !text && !address:
		d.addProblem(m.key, "%s needs an API document: set document (a file or text) or document_url (a URL)", path)
	}
}

// checkAPI checks what depends on several members of a generated server. The
// base URL and the token URL may be missing, since the document can have them;
// placeholders stand for them in the check.
func checkAPI(s *Server) error {
	c := *s.connection
	c.URL = cmp.Or(c.URL, "https://localhost")
	if c.Auth != nil && c.Auth.Type == junctor.AuthOAuthClient && c.Auth.Issuer == "" {
		auth := *c.Auth
		auth.TokenURL = cmp.Or(auth.TokenURL, "https://localhost")
		c.Auth = &auth
	}
	if err := c.Check(); err != nil {
		return err
	}
	return s.API.Check()
}

// textsField reads a list of texts. what names its items in the problem.
func (d *document) textsField(to *[]string, what string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.addProblem(n, "%s must be a list of %s", path, what)
			return
		}
		for i, item := range n.Content {
			if text, ok := d.readText(item, fmt.Sprintf("%s[%d]", path, i)); ok {
				*to = append(*to, text)
			}
		}
	}
}

// declarableAPI returns the part of a stored API that a file declares, without
// what was read from the document. The path of a document's file is left out
// too: the text is exported instead. It returns nil for a server that is not
// generated.
func declarableAPI(row *junctor.Server) *junctor.API {
	if row.Mode != junctor.ModeGenerated || row.API == nil {
		return nil
	}
	api := junctor.API{APISettings: row.API.APISettings}
	if api.FromFile() {
		api.DocumentURL, api.PollMinutes = "", 0
	}
	return &api
}

// addAPIFields adds the members of a generated server to the form of a file. A
// document of one line gets a line break, since it would be read as a path
// otherwise.
func (s *Server) addAPIFields(f *fileServer) {
	if s.API == nil {
		return
	}
	f.BaseURL, f.URL = f.URL, ""
	f.APISettings = s.API.APISettings
	if f.Document = s.Document; f.Document != "" && !strings.Contains(f.Document, "\n") {
		f.Document += "\n"
	}
}

// Documents returns the SHA-256 of the files of API documents, by path.
// internal/declare watches them for changes.
func (d Declared) Documents() map[string][sha256.Size]byte {
	out := map[string][sha256.Size]byte{}
	for i := range d.Servers {
		if s := &d.Servers[i]; s.DocumentPath != "" {
			out[s.DocumentPath] = sha256.Sum256([]byte(s.Document))
		}
	}
	return out
}

// mergeFields adds the readers of b to a, and returns a.
func mergeFields(a, b fieldReaders) fieldReaders {
	maps.Copy(a, b)
	return a
}
