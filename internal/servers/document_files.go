package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// packedDocument is a document of several files as one text, so that it is sent and
// stored as a whole while problems still name the file they are in.
type packedDocument struct {
	Main  string            `json:"junctor_document"` // name of the main file
	Files map[string]string `json:"files"`            // texts by path, relative to the folder of the main file
}

const (
	packedBegin  = `{"junctor_document":`
	packedFolder = "file:///document/" // base URL of the files; it is never read from disk
)

// PackDocument returns the text of a local document together with the files of
// its folder that it refers to.
func PackDocument(ctx context.Context, path string, text []byte) ([]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%s cannot be read: %w", path, err)
	}
	name := filepath.Base(path)
	at := admission.LocalFile(path)
	all := packedDocument{Main: name, Files: map[string]string{name: string(text)}}
	files := siblingFetcher(nil, nil, at, nil)
	// Problems are reported by the instance that receives the document.
	_, _ = apigen.ReadDocument(ctx, doc.Source{Name: name, URL: at.String(), Text: text}, func(ctx context.Context, file string) ([]byte, error) {
		more, err := files(ctx, file)
		if err != nil {
			return nil, err
		}
		sibling, err := at.Sibling(file)
		if err != nil {
			return nil, err
		}
		found, _ := sibling.File()
		below, err := filepath.Rel(filepath.Dir(path), found)
		all.Files[filepath.ToSlash(below)] = string(more)
		return more, err
	})
	if err := ctx.Err(); err != nil || len(all.Files) == 1 {
		return text, err
	}
	return json.Marshal(all)
}

// unpackDocument returns the files of a text that PackDocument made.
func unpackDocument(text []byte) (doc.Source, doc.Fetch, bool) {
	var all packedDocument
	if !bytes.HasPrefix(text, []byte(packedBegin)) || json.Unmarshal(text, &all) != nil {
		return doc.Source{}, nil, false
	}
	source := doc.Source{Name: all.Main, URL: packedFolder + url.PathEscape(all.Main), Text: []byte(all.Files[all.Main])}
	return source, func(_ context.Context, file string) ([]byte, error) {
		if u, err := url.Parse(file); err == nil && strings.HasPrefix(file, packedFolder) {
			if found, ok := all.Files[strings.TrimPrefix(u.Path, "/document/")]; ok {
				return []byte(found), nil
			}
		}
		return nil, junctor.Errorf(junctor.CodeNotFound, "the file was not beside the document when it was sent")
	}, true
}

// nameFiles replaces the URLs of a packed document's files by their paths.
func nameFiles(m *apigen.ImportedAPI) {
	for i := range m.Problems {
		m.Problems[i].At.File = strings.TrimPrefix(m.Problems[i].At.File, packedFolder)
	}
	for i := range m.Tools {
		m.Tools[i].At.File = strings.TrimPrefix(m.Tools[i].At.File, packedFolder)
	}
}
