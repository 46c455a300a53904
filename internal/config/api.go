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

// maxDocument is as much as the document of an API may hold.
const maxDocument = 32 << 20

// apiReader reads the members of a server that is made of an API's document.
type apiReader struct {
	api    junctor.API
	fields fields
	given  []string // the members that were there
}

// api gives what reads the members that only servers made of a document have.
func (d *document) api(s *Server) *apiReader {
	r := &apiReader{}
	a := &r.api
	var exposure string
	r.fields = fields{
		"document":     d.apiDocument(s),
		"document_url": d.address(&a.DocumentURL),
		"base_url":     d.address(&s.connection.URL),
		"format":       d.text(&a.Format),
		"include":      d.list(&a.Include, "rules, such as [GET, 'tag:pets']"),
		"mutations":    d.choice(&a.Mutations, "none", "explicit", "all"),
		"rate":         d.decimal(&a.Rate),
		"poll_minutes": d.number(&a.PollMinutes),
		"allow_empty":  d.truth(&s.AllowEmpty),
		"exposure": func(n *yaml.Node, path string) {
			d.choice(&exposure, string(junctor.ExposureAuto), string(junctor.ExposureAll), string(junctor.ExposureSearch))(n, path)
			a.Exposure = junctor.Exposure(exposure)
		},
	}
	for name, read := range r.fields {
		r.fields[name] = func(n *yaml.Node, path string) {
			r.given = append(r.given, name)
			read(n, path)
		}
	}
	return r
}

// apiDocument reads a document: its text where that has several lines, else the
// path of its file, from the folder of the file that names it.
func (d *document) apiDocument(s *Server) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		text, ok := d.verbatim(n, path)
		if !ok {
			return
		}
		if strings.Contains(text, "\n") {
			s.Document = text
			return
		}
		if d.l.folder == "" {
			d.fault(n, "%s is the path of a file, and none is read from here: write the document's text, of several lines, or its address as document_url", path)
			return
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(d.l.folder, text)
		}
		content, err := readDocument(text)
		if err != nil {
			d.fault(n, "%s: %s: %v", path, text, err)
			d.l.problems[len(d.l.problems)-1].File = text
			return
		}
		s.Document, s.DocumentPath = content, text
	}
}

func readDocument(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file")
	case err != nil:
		return "", errors.New("the file cannot be read: " + reason(err))
	case !info.Mode().IsRegular():
		return "", errors.New("this is no file")
	case info.Size() > maxDocument:
		return "", fmt.Errorf("the file is larger than %d MiB", maxDocument>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", errors.New("the file cannot be read: " + reason(err))
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return "", errors.New("the file is empty")
	}
	return string(text), nil
}

// settle decides what a server is by the members that it has, and refuses those
// that do not go together.
func (r *apiReader) settle(d *document, m member, s *Server, mode junctor.Mode) {
	path := "servers." + s.ID
	if mode == junctor.ModeBYO || mode == "" && len(r.given) == 0 {
		if len(r.given) > 0 {
			d.fault(m.key, "%s.%s is for servers of the mode %s", path, slices.Min(r.given), junctor.ModeGenerated)
		}
		return
	}
	s.API = &r.api
	others := []string{"url", "transport", "command", "cwd", "env"}
	for _, other := range d.members(m.value, path) {
		if slices.Contains(others, other.key.Value) {
			d.fault(other.key, "%s.%s is for MCP servers: one that is made of a document has base_url, auth and headers", path, other.key.Value)
		}
	}
	switch text, address := slices.Contains(r.given, "document"), slices.Contains(r.given, "document_url"); {
	case text && address:
		d.fault(m.key, "%s has document and document_url: write one of them", path)
	case !text && !address:
		d.fault(m.key, "%s needs the document that it is made of: document, a file, or document_url, an address", path)
	}
}

// checkAPI checks what no member of a server made of a document can know of
// itself. What the document may say need not stand in the file.
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

// list reads a list of texts.
func (d *document) list(to *[]string, what string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.fault(n, "%s must be a list of %s", path, what)
			return
		}
		for i, item := range n.Content {
			if text, ok := d.verbatim(item, fmt.Sprintf("%s[%d]", path, i)); ok {
				*to = append(*to, text)
			}
		}
	}
}

// wantedAPI is what somebody can want of an API: nothing that its document says.
// A file of the machine that it was read from is not part of it; the text is.
func wantedAPI(row *junctor.Server) *junctor.API {
	if row.Mode != junctor.ModeGenerated || row.API == nil {
		return nil
	}
	api := *row.API
	api.Title, api.Version, api.KeyIn, api.KeyName, api.LoginURL, api.TokenURL = "", "", "", "", "", ""
	if api.FromFile() {
		api.DocumentURL, api.PollMinutes = "", 0
	}
	return &api
}

// written puts what a server has of an API into what is written of it. A text of
// one line would be read as a path, and documents end in as many lines as they like.
func (s *Server) written(f *fileServer) {
	if s.API == nil {
		return
	}
	a := s.API
	f.BaseURL, f.URL = f.URL, ""
	f.DocumentURL, f.Format, f.Exposure, f.Include, f.Mutations, f.Rate, f.PollMinutes = a.DocumentURL, a.Format, a.Exposure, a.Include, a.Mutations, a.Rate, a.PollMinutes
	if f.Document = s.Document; f.Document != "" && !strings.Contains(f.Document, "\n") {
		f.Document += "\n"
	}
}

// Documents are the SHA-256 of the files that declared servers are made of, by
// their paths.
func (d Declared) Documents() map[string][sha256.Size]byte {
	out := map[string][sha256.Size]byte{}
	for i := range d.Servers {
		if s := &d.Servers[i]; s.DocumentPath != "" {
			out[s.DocumentPath] = sha256.Sum256([]byte(s.Document))
		}
	}
	return out
}

func merged(a, b fields) fields {
	maps.Copy(a, b)
	return a
}
