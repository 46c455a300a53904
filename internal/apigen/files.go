package apigen

import (
	"context"
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxFileBytes bounds the content of all files of one call.
const maxFileBytes = 32 << 20

// ResourceReader reads a resource for the caller of a tool, by the URI that endpoints
// with several servers show. It must apply the caller's permissions: a resource
// that the caller may not read does not exist.
type ResourceReader func(ctx context.Context, req *catalog.Request, uri string) (catalog.Result, error)

// fillFiles replaces references to resources, such as
// {"resource":"notes+file:///plan.pdf"}, by their content in the arguments that
// are files.
func (s *Server) fillFiles(ctx context.Context, plan *call.Plan, req *catalog.Request, arguments []byte) ([]byte, error) {
	if s.options.ReadResource == nil {
		return arguments, nil
	}
	f := fileFiller{read: s.options.ReadResource, req: req, bytesLeft: maxFileBytes}
	for i := range plan.Args {
		a := &plan.Args[i]
		if !a.File {
			continue
		}
		value := wire.Get(arguments, a.Name)
		if value == nil {
			continue
		}
		filled, changed, err := f.fillValue(ctx, value)
		if err != nil {
			return nil, unreadableError(a.Name, err)
		}
		if changed {
			arguments = wire.AppendObject(nil, arguments, nil, wire.Member{Key: a.Name, Value: filled})
		}
	}
	return arguments, nil
}

// unreadableError returns the error for an argument whose resource cannot be
// read.
func unreadableError(name string, err error) error {
	why := "names a resource that cannot be read: " + junctor.AsError(err).Message
	e := junctor.Errorf(junctor.CodeInvalid, "the argument %s %s", name, why)
	e.Violations = []junctor.Violation{{Pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), Message: why}}
	return e
}

// fileFiller reads the resources of one call.
type fileFiller struct {
	read ResourceReader
	req  *catalog.Request
	// bytesLeft is the rest of maxFileBytes.
	bytesLeft int
}

// fillValue returns a file, or a list of files, with its content. changed is
// false if the value already has it.
func (f *fileFiller) fillValue(ctx context.Context, value []byte) (filled []byte, changed bool, err error) {
	switch {
	case len(value) > 0 && value[0] == '[':
		filled = []byte{'['}
		for item := range wire.Elements(value) {
			one, other, err := f.fillValue(ctx, item)
			if err != nil {
				return nil, false, err
			}
			if len(filled) > 1 {
				filled = append(filled, ',')
			}
			filled, changed = append(filled, one...), changed || other
		}
		return append(filled, ']'), changed, nil
	case len(value) == 0 || value[0] != '{' || wire.Get(value, "data_base64") != nil:
		return value, false, nil
	}
	uri, ok := wire.String(wire.Get(value, "resource"))
	if !ok || uri == "" {
		return value, false, nil
	}
	filled, err = f.readResource(ctx, value, uri)
	return filled, true, err
}

// readResource returns the file argument with the content of a resource. A name
// and type that the caller gives take precedence over those of the resource.
func (f *fileFiller) readResource(ctx context.Context, value []byte, uri string) ([]byte, error) {
	res, err := f.read(ctx, f.req, uri)
	if err != nil {
		return nil, err
	}
	var first []byte
	for content := range wire.Elements(wire.Get(res.Body, "contents")) {
		first = content
		break
	}
	// A resource may ask the user for input instead of answering.
	if first == nil || res.Input {
		return nil, junctor.Errorf(junctor.CodeUpstream, "it has no content to send")
	}
	blob, isBlob := wire.String(wire.Get(first, "blob"))
	if plain, ok := wire.String(wire.Get(first, "text")); !isBlob && ok {
		blob = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	if f.bytesLeft -= base64.StdEncoding.DecodedLen(len(blob)); f.bytesLeft < 0 {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "the files of a call must have at most %d MB", maxFileBytes>>20)
	}
	add := []wire.Member{stringMember("data_base64", blob)}
	if media := wire.Get(first, "mimeType"); media != nil && wire.Get(value, "mimeType") == nil {
		add = append(add, wire.Member{Key: "mimeType", Value: media})
	}
	if wire.Get(value, "filename") == nil {
		if name := baseName(uri); name != "" {
			add = append(add, stringMember("filename", name))
		}
	}
	return wire.AppendObject(nil, value, []string{"resource"}, add...), nil
}

// baseName returns the last segment of a URI's path, which usually is a file
// name. The URI has the name of its server before a "+".
func baseName(uri string) string {
	_, own, ok := strings.Cut(uri, "+")
	if !ok {
		own = uri
	}
	u, err := url.Parse(own)
	if err != nil {
		return ""
	}
	name := path.Base(u.Path)
	if name == "." || name == "/" {
		return ""
	}
	return name
}
