package builtin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Tool is the metadata of a tool.
type Tool struct {
	Name         string          // 1 to 128 of A-Z a-z 0-9 _ . -
	Title        string          // for users
	Description  string          // for models: what the tool does, and when to use it
	InputSchema  json.RawMessage // nil: inferred from the handler's input type
	OutputSchema json.RawMessage // nil: inferred from the handler's output type, or none
	Annotations  *Annotations
	Meta         json.RawMessage // the tool's _meta, a JSON object

	Version string        // set it on every version of a tool that has several
	Default bool          // used if the caller names no version; without any Default, the last added version is
	Timeout time.Duration // how long it may run without progress; 0: as long as the instance allows
}

// Annotations are hints about the behaviour of a tool. nil means unknown, and a
// client then assumes the worst.
type Annotations struct {
	Title       string
	ReadOnly    *bool // the tool changes nothing
	Destructive *bool // the tool may destroy something; only if it is not read-only
	Idempotent  *bool // repeating a call changes nothing more; only if the tool is not read-only
	OpenWorld   *bool // the tool reaches systems outside
}

// Handler runs one call of a typed tool. The package documentation says what
// its results and errors mean.
type Handler[In, Out any] func(ctx context.Context, call *Call, in In) (Out, error)

// RawHandler runs one call of a tool with the arguments as the caller sent
// them: a JSON object that fits the schema, or nil if there were none. The
// bytes are valid until it returns.
type RawHandler func(ctx context.Context, call *Call, arguments []byte) (Result, error)

// AddTool adds a tool that is a Go function. Schemas that t does not have are
// inferred from In and Out. Out is a string (text only), a Result (any
// content), or a type that encodes as a JSON object.
func AddTool[In, Out any](s *Server, t Tool, h Handler[In, Out]) error {
	if h == nil {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q has no handler", t.Name)
	}
	return AddLazyTool(s, t, func(context.Context) (Handler[In, Out], error) { return h, nil })
}

// AddLazyTool adds a tool whose handler is built at the first call, and then
// kept. While build fails, calls return unavailable with its error, and each
// call tries again. build runs under the context of the call that needs it, one
// at a time.
func AddLazyTool[In, Out any](s *Server, t Tool, build func(context.Context) (Handler[In, Out], error)) error {
	codec, err := newTypedCodec[In, Out](&t)
	if err != nil {
		return err
	}
	return s.addTool(t, func(ctx context.Context) (toolRunner, error) {
		h, err := build(ctx)
		if err == nil && h == nil {
			err = junctor.Errorf(junctor.CodeInternal, "its factory returned no handler")
		}
		if err != nil {
			return nil, err
		}
		return codec.newRunner(h), nil
	})
}

// AddRawTool adds a tool that decodes its own arguments. t must have an
// InputSchema.
func (s *Server) AddRawTool(t Tool, h RawHandler) error {
	if h == nil {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q has no handler", t.Name)
	}
	return s.addTool(t, func(context.Context) (toolRunner, error) {
		return func(ctx context.Context, call *Call, arguments []byte) (catalog.Result, error) {
			r, err := h(ctx, call, arguments)
			if err != nil {
				return catalog.Result{}, err
			}
			return r.renderResult()
		}, nil
	})
}

// toolRunner runs one call and renders its result.
type toolRunner func(ctx context.Context, call *Call, arguments []byte) (catalog.Result, error)

// registeredTool is one version of a tool of a server, with its rendered MCP
// object.
type registeredTool struct {
	Tool
	definition []byte
	run        *lazyValue[toolRunner]
}

// toolVersions are the versions of one tool, in the order in which they were
// added.
type toolVersions struct {
	versions  []*registeredTool
	preferred int // index of the version that is used if the caller names none
}

// addTool adds a version of a tool. A version that exists is a conflict; a tool
// with several versions must name each of them.
func (s *Server) addTool(t Tool, build func(context.Context) (toolRunner, error)) error {
	if err := t.checkDefinition(); err != nil {
		return err
	}
	def, err := t.MCP()
	if err != nil {
		return err
	}
	added := &registeredTool{Tool: t, definition: def, run: newLazyValue(build)}
	return s.changeRegistry(func(it *registry) error {
		old := it.tools[t.Name]
		if old == nil {
			it.tools[t.Name] = &toolVersions{versions: []*registeredTool{added}}
			it.toolOrder = append(it.toolOrder, t.Name)
			return nil
		}
		for _, o := range old.versions {
			switch {
			case o.Version == t.Version:
				return junctor.Errorf(junctor.CodeConflict, "server %q already has tool %q%s", s.id, t.Name, versionSuffix(t.Version))
			case o.Version == "" || t.Version == "":
				return junctor.Errorf(junctor.CodeInvalid, "tool %q of server %q has several versions: name each of them", t.Name, s.id)
			}
		}
		it.tools[t.Name] = newToolVersions(append(slices.Clone(old.versions), added))
		return nil
	})
}

// newToolVersions makes the versions of a tool. The first with Default is
// preferred, else the last.
func newToolVersions(all []*registeredTool) *toolVersions {
	v := &toolVersions{versions: all, preferred: len(all) - 1}
	if i := slices.IndexFunc(all, func(t *registeredTool) bool { return t.Default }); i >= 0 {
		v.preferred = i
	}
	return v
}

// findVersion returns the requested version, or nil; "" requests the preferred
// one.
func (v *toolVersions) findVersion(version string) *registeredTool {
	if version == "" {
		return v.versions[v.preferred]
	}
	for _, t := range v.versions {
		if t.Version == version {
			return t
		}
	}
	return nil
}

// joinNames lists the versions for an error.
func (v *toolVersions) joinNames() string {
	names := make([]string, len(v.versions))
	for i, t := range v.versions {
		names[i] = t.Version
	}
	return strings.Join(names, ", ")
}

// versionSuffix names a version in an error.
func versionSuffix(version string) string {
	if version == "" {
		return ""
	}
	return " in version " + version
}

// RemoveTool removes a tool with all its versions, and reports whether it
// existed. Running calls continue to their end.
func (s *Server) RemoveTool(name string) bool {
	return s.changeRegistry(func(it *registry) error {
		if it.tools[name] == nil {
			return s.notFound("tool", name)
		}
		delete(it.tools, name)
		it.toolOrder = removeName(it.toolOrder, name)
		return nil
	}) == nil
}
