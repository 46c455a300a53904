package catalog

import (
	"bytes"
	"context"
	"encoding/gob"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Changed returns a backend whose tools are shown as the operator configured
// them: some hidden, some with another name or description, some with statements
// of what they do or with limits of time. limits are those of tools that have none.
// The backend below still receives its own names. If another tool of the server has
// the new name already, the tool keeps its own name.
func Changed(b Backend, overrides map[string]junctor.Override, limits CallLimits) Backend {
	if len(overrides) == 0 && limits == (CallLimits{}) {
		return b
	}
	return &overriddenBackend{Backend: b, overrides: overrides, limits: limits}
}

// overriddenBackend is the backend that Changed makes.
type overriddenBackend struct {
	Backend
	overrides map[string]junctor.Override
	limits    CallLimits
	ownNames  atomic.Pointer[map[string]string] // the backend's names, by new name, as of the last Offer
}

// Offer implements Backend.
func (c *overriddenBackend) Offer(ctx context.Context) (*Offer, error) {
	offer, err := c.Backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	// Names that tools keep cannot be given to others.
	taken := map[string]bool{}
	for _, t := range offer.Tools {
		if o := c.overrides[t.Name]; !o.Hide && o.Name == "" {
			taken[t.Name] = true
		}
	}
	names := map[string]string{} // by the backend's name, so that all versions of a tool get the same new name
	next := *offer
	next.Limits = c.limits
	next.Tools = make([]ToolDef, 0, len(offer.Tools))
	for _, t := range offer.Tools {
		o := c.overrides[t.Name]
		if o.Hide {
			continue
		}
		if o.Name != "" && names[t.Name] == "" && !taken[o.Name] {
			names[t.Name], taken[o.Name] = o.Name, true
		}
		next.Tools = append(next.Tools, c.applyOverride(t, names[t.Name], &o))
	}
	own := make(map[string]string, len(names))
	for name, shown := range names {
		own[shown] = name
	}
	c.ownNames.Store(&own)
	return &next, nil
}

// applyOverride returns the definition of a tool with the operator's changes.
// name is "" if the tool keeps its own.
func (c *overriddenBackend) applyOverride(t ToolDef, name string, o *junctor.Override) ToolDef {
	limits := NewCallLimits(junctor.LimitOfTool, time.Duration(o.CallTimeout), time.Duration(o.CallTimeoutMax))
	if limits != (CallLimits{}) {
		limits.Tool = t.Name
	}
	t.Limits = limits.Or(t.Limits).Or(c.limits)
	var members []wire.Member
	if name != "" {
		t.Name = name
		members = append(members, stringMember("name", name))
	}
	if o.Description != "" {
		members = append(members, stringMember("description", o.Description))
	}
	if len(members) > 0 {
		t.JSON = wire.AppendObject(nil, t.JSON, nil, members...)
		if as := t.As; as != nil {
			t.As = func(p junctor.Profile) []byte { return wire.AppendObject(nil, as(p), nil, members...) }
		}
	}
	t.Operator, t.Tags = o.Hints(), o.Tags
	return t
}

// Do implements Backend. It translates the name of a renamed tool back.
func (c *overriddenBackend) Do(ctx context.Context, req *Request, sink Sink) (Result, error) {
	if req.Kind == junctor.KindTool {
		if own := c.ownNames.Load(); own != nil {
			if name, ok := (*own)[req.Name]; ok {
				under := *req
				under.Name = name
				req = &under
			}
		}
	}
	return c.Backend.Do(ctx, req, sink)
}

// Believe returns a backend whose tool annotations are trusted: they decide
// whether a tool counts as read-only or idempotent. Without it, clients see the
// annotations but Junctor ignores them.
func Believe(b Backend) Backend { return believedBackend{b} }

// believedBackend is the backend that Believe makes.
type believedBackend struct{ Backend }

// Offer implements Backend.
func (b believedBackend) Offer(ctx context.Context) (*Offer, error) {
	offer, err := b.Backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	next := *offer
	next.Believed = true
	return &next, nil
}

// EncodeOffer serializes an offer for storage. The JSON of its items is kept
// byte for byte. Functions (ToolDef.As and Take) are not kept.
func EncodeOffer(o *Offer) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(o); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "cannot encode the list of a server: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeOffer reads the result of EncodeOffer.
func DecodeOffer(data []byte) (*Offer, error) {
	o := &Offer{}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(o); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "cannot decode the stored list of a server: %w", err)
	}
	return o, nil
}
