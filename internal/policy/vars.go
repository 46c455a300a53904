package policy

import (
	"context"
	"net/netip"
	"reflect"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	junctor "github.com/junctor-mcp/junctor"
)

// Subject is who makes a call, as conditions see it.
type Subject struct {
	Tenant junctor.TenantID `json:"tenant,omitempty"`
	User   string           `json:"user,omitempty"`  // name of the user, also of an agent's owner
	Agent  string           `json:"agent,omitempty"` // name of the agent; "" for users and services
	Role   string           `json:"role,omitempty"`  // role of the agent, or else of the user
	Groups []string         `json:"groups,omitempty"`
	Key    string           `json:"key,omitempty"`    // id of the key
	Client string           `json:"client,omitempty"` // id of the program that calls for the user
}

// Tool is a tool as conditions see it.
type Tool struct {
	Server, Name string
	Definition   []byte // the MCP object; nil if no list has the tool
	Hints        junctor.ToolHints
	Tags         []string
	Digest       string
	Output       OutputChecker // nil if the definition is not known
}

// OutputChecker knows the output schema of a tool.
type OutputChecker interface {
	// FitsOutput reports whether structured content fits the schema. Everything fits if there
	// is none.
	FitsOutput(ctx context.Context, structured []byte) bool
}

// Call is one call to judge. The slices belong to the caller.
type Call struct {
	Subject      Subject
	Kind         junctor.Kind
	Server, Name string // the server, and the item's name or URI there
	Tool         *Tool  // for tools
	Arguments    []byte // JSON object; nil is {}
	EntryPoint   junctor.EntryPoint
	Address      netip.Addr
	Time         time.Time

	// Incomplete says that Arguments are not all of those of the call.
	Incomplete bool
	// Recorded says that the call is over and only its record is judged. A condition that
	// depends on what the record does not have is undecidable then, and filters are not
	// asked. Of a call that is made, such a condition fails closed.
	Recorded bool
}

// AddressText returns the address of the client; "" if there is none.
func (c *Call) AddressText() string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.Unmap().WithZone("").String()
}

// Digest returns the digest of the tool's definition; "" if the call is of no tool.
func (c *Call) Digest() string {
	if c.Tool == nil {
		return ""
	}
	return c.Tool.Digest
}

// variables gives a condition the values of its variables. Each is made when it is
// first read.
type variables struct {
	call   *Call
	node   *schemaNode // of the arguments; nil if unknown
	result []byte
	args   *jsonObject

	principal record
	tool      record
	request   record
}

// record is a variable with members. It is a value of the evaluator only while
// members are read: a condition cannot use it as a whole.
type record struct {
	of   *variables
	kind byte // p, t or r
}

// Parent implements cel.Activation.
func (v *variables) Parent() cel.Activation { return nil }

// ResolveName implements cel.Activation.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case varPrincipal:
		v.principal = record{v, 'p'}
		return &v.principal, true
	case varTool:
		v.tool = record{v, 't'}
		return &v.tool, true
	case varRequest:
		v.request = record{v, 'r'}
		return &v.request, true
	case varArgs:
		if v.args == nil {
			raw := v.call.Arguments
			if len(raw) == 0 || raw[0] != '{' {
				raw = []byte("{}")
			}
			v.args = &jsonObject{raw: raw, node: v.node}
		}
		return v.args, true
	case varResult:
		if v.result == nil {
			return nil, false
		}
		return jsonValue(v.result, nil), true
	}
	return nil, false
}

// FindStringKey is what the evaluator calls for a member.
func (r *record) FindStringKey(name string) (any, bool) {
	switch r.kind {
	case 'p':
		return r.of.call.Subject.member(name)
	case 't':
		return r.of.call.toolMember(name)
	}
	return r.of.call.requestMember(name)
}

func (s *Subject) member(name string) (any, bool) {
	switch name {
	case "user":
		return types.String(s.User), true
	case "agent":
		return types.String(s.Agent), true
	case "role":
		return types.String(s.Role), true
	case "groups":
		return textList(s.Groups), true
	case "tenant":
		return types.String(s.Tenant), true
	case "key":
		return types.String(s.Key), true
	case "client":
		return types.String(s.Client), true
	}
	return nil, false
}

// toolMember returns a member of the variable tool. Without hints of anybody who is
// believed, a tool counts as one that may change and destroy things, that cannot be
// repeated, and that reaches other systems.
func (c *Call) toolMember(name string) (any, bool) {
	var t Tool
	if c.Tool != nil {
		t = *c.Tool
	}
	switch name {
	case "server":
		return types.String(c.Server), true
	case "name":
		return types.String(c.Name), true
	case "tags":
		return textList(t.Tags), true
	case "digest":
		return types.String(t.Digest), true
	case "read_only":
		return types.Bool(t.Hints.ReadOnly == junctor.HintTrue), true
	case "destructive":
		return types.Bool(t.Hints.Destructive == junctor.HintTrue || t.Hints.Destructive == junctor.HintUnknown && t.Hints.ReadOnly != junctor.HintTrue), true
	case "idempotent":
		return types.Bool(t.Hints.Idempotent == junctor.HintTrue), true
	case "open_world":
		return types.Bool(t.Hints.OpenWorld != junctor.HintFalse), true
	}
	return nil, false
}

func (c *Call) requestMember(name string) (any, bool) {
	switch name {
	case "entry_point":
		return types.String(c.EntryPoint), true
	case "address":
		return types.String(c.AddressText()), true
	case "time":
		return types.Timestamp{Time: c.Time}, true
	}
	return nil, false
}

func textList(all []string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, all) }

// The rest makes record a ref.Val, so that the evaluator passes it on. Conditions
// cannot reach these methods: the types have no operators.

// ConvertToNative implements ref.Val.
func (r *record) ConvertToNative(reflect.Type) (any, error) { return nil, errWholeRecord() }

// ConvertToType implements ref.Val.
func (r *record) ConvertToType(ref.Type) ref.Val { return types.WrapErr(errWholeRecord()) }

// Equal implements ref.Val.
func (r *record) Equal(ref.Val) ref.Val { return types.WrapErr(errWholeRecord()) }

// Type implements ref.Val.
func (r *record) Type() ref.Type {
	switch r.kind {
	case 'p':
		return types.NewObjectType(typePrincipal)
	case 't':
		return types.NewObjectType(typeTool)
	}
	return types.NewObjectType(typeRequest)
}

// Value implements ref.Val.
func (r *record) Value() any { return r }

func errWholeRecord() error {
	return junctor.Errorf(junctor.CodeInvalid, "principal, tool and request can only be used by their members")
}
