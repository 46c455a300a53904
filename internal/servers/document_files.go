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

// packed is a document of several files as one text: what is sent and stored of
// it is whole, and problems are found in the files that they stand in.
type packed struct {
	Main  string            `json:"junctor_document"` // its name among them
	Files map[string]string `json:"files"`            // by their paths below its folder
}

const (
	packedBegin  = `{"junctor_document":`
	packedFolder = "file:///document/" // where they seem to be; nothing is read there
)

// PackDocument gives the text of a document that is a file of this machine. Where
// it refers to other files of its folder, they are in it.
func PackDocument(ctx context.Context, path string, text []byte) ([]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%s cannot be read: %w", path, err)
	}
	name := filepath.Base(path)
	at := admission.LocalFile(path)
	all := packed{Main: name, Files: map[string]string{name: string(text)}}
	files := siblings(nil, nil, at, nil)
	// Whatever is wrong with it is said by the instance that it is sent to.
	_, _ = apigen.Read(ctx, doc.Source{Name: name, URL: at.String(), Text: text}, func(ctx context.Context, file string) ([]byte, error) {
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

// unpack finds the files of a document that PackDocument made one text of.
func unpack(text []byte) (doc.Source, doc.Fetch, bool) {
	var all packed
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

// nameFiles calls the files of a packed document by their paths alone.
func nameFiles(m *apigen.Made) {
	for i := range m.Problems {
		m.Problems[i].At.File = strings.TrimPrefix(m.Problems[i].At.File, packedFolder)
	}
	for i := range m.Tools {
		m.Tools[i].At.File = strings.TrimPrefix(m.Tools[i].At.File, packedFolder)
	}
}
