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

// Tool is what is known of a tool without making it.
type Tool struct {
	Name         string          // 1 to 128 of A-Z a-z 0-9 _ . -
	Title        string          // for people
	Description  string          // for models: what it does, when to use it
	InputSchema  json.RawMessage // nil: inferred from the handler's input type
	OutputSchema json.RawMessage // nil: inferred from the handler's output type, or none
	Annotations  *Annotations
	Meta         json.RawMessage // the tool's _meta, a JSON object
	Other        json.RawMessage // members of MCP's Tool object that have no field here, as a JSON object

	Version string        // set it on every version of a tool that has several
	Default bool          // used when the caller names no version; else the version added last is
	Timeout time.Duration // 0: the guard's default
}

// Annotations are hints about how a tool behaves. Nil means unsaid, and a
// client then assumes the worst.
type Annotations struct {
	Title       string
	ReadOnly    *bool           // changes nothing
	Destructive *bool           // may destroy; only where it is not read-only
	Idempotent  *bool           // twice is as once; only where it is not read-only
	OpenWorld   *bool           // reaches things outside
	Other       json.RawMessage // members that have no field here, as a JSON object
}

// Handler runs one call of a typed tool. See the package's documentation for
// what its results and errors mean.
type Handler[In, Out any] func(ctx context.Context, call *Call, in In) (Out, error)

// RawHandler runs one call of a tool with the arguments as the caller sent them:
// a JSON object that fits the schema, or nil when there were none. The bytes
// are valid until it returns.
type RawHandler func(ctx context.Context, call *Call, arguments []byte) (Result, error)

// AddTool adds a tool that is a Go function. Schemas that t does not give are
// inferred from In and Out. Out is a string (text alone), a Result (content of
// any kind), or a type that encodes as a JSON object.
func AddTool[In, Out any](s *Server, t Tool, h Handler[In, Out]) error {
	if h == nil {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q has no handler", t.Name)
	}
	return AddLazyTool(s, t, func(context.Context) (Handler[In, Out], error) { return h, nil })
}

// AddLazyTool adds a tool whose handler is made when it is first called, and
// then kept. While build fails, calls answer unavailable with its error, and
// each tries again. build runs under the context of the call that needs it, one
// at a time.
func AddLazyTool[In, Out any](s *Server, t Tool, build func(context.Context) (Handler[In, Out], error)) error {
	codec, err := newCodec[In, Out](&t)
	if err != nil {
		return err
	}
	return s.addTool(t, func(ctx context.Context) (runner, error) {
		h, err := build(ctx)
		if err == nil && h == nil {
			err = junctor.Errorf(junctor.CodeInternal, "its factory gave no handler")
		}
		if err != nil {
			return nil, err
		}
		return codec.runner(h), nil
	})
}

// AddRawTool adds a tool that reads its own arguments. t needs an InputSchema.
func (s *Server) AddRawTool(t Tool, h RawHandler) error {
	if h == nil {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q has no handler", t.Name)
	}
	return s.addTool(t, func(context.Context) (runner, error) {
		return func(ctx context.Context, call *Call, arguments []byte) (catalog.Result, error) {
			r, err := h(ctx, call, arguments)
			if err != nil {
				return catalog.Result{}, err
			}
			return r.render()
		}, nil
	})
}

// runner runs one call and renders its result.
type runner func(ctx context.Context, call *Call, arguments []byte) (catalog.Result, error)

type tool struct {
	Tool
	json []byte
	run  *lazy[runner]
}

// toolVersions are the versions of one tool, in the order they were added.
type toolVersions struct {
	all       []*tool
	preferred int // index of the one used when the caller names none
}

func (s *Server) addTool(t Tool, build func(context.Context) (runner, error)) error {
	if err := t.check(); err != nil {
		return err
	}
	def, err := t.MCP()
	if err != nil {
		return err
	}
	added := &tool{Tool: t, json: def, run: newLazy(build)}
	return s.change(func(it *items) error {
		old := it.tools[t.Name]
		if old == nil {
			it.tools[t.Name] = &toolVersions{all: []*tool{added}}
			it.toolOrder = append(it.toolOrder, t.Name)
			return nil
		}
		for _, o := range old.all {
			switch {
			case o.Version == t.Version:
				return junctor.Errorf(junctor.CodeConflict, "server %q already has tool %q%s", s.id, t.Name, inVersion(t.Version))
			case o.Version == "" || t.Version == "":
				return junctor.Errorf(junctor.CodeInvalid, "tool %q of server %q has several versions: name each of them", t.Name, s.id)
			}
		}
		it.tools[t.Name] = newVersions(append(slices.Clone(old.all), added))
		return nil
	})
}

func newVersions(all []*tool) *toolVersions {
	v := &toolVersions{all: all, preferred: len(all) - 1}
	if i := slices.IndexFunc(all, func(t *tool) bool { return t.Default }); i >= 0 {
		v.preferred = i
	}
	return v
}

// find gives the version asked for; "" asks for the preferred one.
func (v *toolVersions) find(version string) *tool {
	if version == "" {
		return v.all[v.preferred]
	}
	for _, t := range v.all {
		if t.Version == version {
			return t
		}
	}
	return nil
}

func (v *toolVersions) names() string {
	names := make([]string, len(v.all))
	for i, t := range v.all {
		names[i] = t.Version
	}
	return strings.Join(names, ", ")
}

func inVersion(version string) string {
	if version == "" {
		return ""
	}
	return " in version " + version
}

// RemoveTool removes a tool with all its versions, and says whether it was
// there. Calls that run go on to their end.
func (s *Server) RemoveTool(name string) bool {
	return s.change(func(it *items) error {
		if it.tools[name] == nil {
			return s.notFound("tool", name)
		}
		delete(it.tools, name)
		it.toolOrder = drop(it.toolOrder, name)
		return nil
	}) == nil
}

// RemoveToolVersion removes one version of a tool, and says whether it was
// there. With its last version the tool is gone.
func (s *Server) RemoveToolVersion(name, version string) bool {
	return s.change(func(it *items) error {
		old := it.tools[name]
		if old == nil {
			return s.notFound("tool", name)
		}
		left := slices.DeleteFunc(slices.Clone(old.all), func(t *tool) bool { return t.Version == version })
		switch len(left) {
		case len(old.all):
			return s.notFound("version of a tool", name)
		case 0:
			delete(it.tools, name)
			it.toolOrder = drop(it.toolOrder, name)
		default:
			it.tools[name] = newVersions(left)
		}
		return nil
	}) == nil
}
