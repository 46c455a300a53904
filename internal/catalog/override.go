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

// Changed shows a backend's tools as the operator wants them: without the
// hidden ones, under other names and descriptions, and with a deadline of
// theirs where it is not zero and the tool names none. A tool of which the operator
// says that it changes nothing counts as read-only. The backend goes on to
// see its own names. A new name that another tool of the server has is not
// given: the tool keeps its own.
func Changed(b Backend, overrides map[string]junctor.Override, timeout time.Duration) Backend {
	if len(overrides) == 0 && timeout == 0 {
		return b
	}
	return &changed{Backend: b, overrides: overrides, timeout: timeout}
}

type changed struct {
	Backend
	overrides map[string]junctor.Override
	timeout   time.Duration
	own       atomic.Pointer[map[string]string] // by the name that is shown
}

func (c *changed) Offer(ctx context.Context) (*Offer, error) {
	offer, err := c.Backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, t := range offer.Tools {
		if o := c.overrides[t.Name]; !o.Hide && o.Name == "" {
			taken[t.Name] = true
		}
	}
	names := map[string]string{} // by the own name, so that versions stay together
	next := *offer
	next.Tools = make([]ToolDef, 0, len(offer.Tools))
	for _, t := range offer.Tools {
		o := c.overrides[t.Name]
		if o.Hide {
			continue
		}
		if o.Name != "" && names[t.Name] == "" && !taken[o.Name] {
			names[t.Name], taken[o.Name] = o.Name, true
		}
		next.Tools = append(next.Tools, c.change(t, names[t.Name], &o))
	}
	own := make(map[string]string, len(names))
	for name, shown := range names {
		own[shown] = name
	}
	c.own.Store(&own)
	return &next, nil
}

func (c *changed) change(t ToolDef, name string, o *junctor.Override) ToolDef {
	var members []wire.Member
	if name != "" {
		t.Name = name
		members = append(members, member("name", name))
	}
	if o.Description != "" {
		members = append(members, member("description", o.Description))
	}
	if len(members) > 0 {
		t.JSON = wire.AppendObject(nil, t.JSON, nil, members...)
		if as := t.As; as != nil {
			t.As = func(p junctor.Profile) []byte { return wire.AppendObject(nil, as(p), nil, members...) }
		}
	}
	t.ReadOnly = o.ReadOnly
	if t.Timeout == 0 {
		t.Timeout = c.timeout
	}
	return t
}

func (c *changed) Do(ctx context.Context, req *Request, sink Sink) (Result, error) {
	if req.Kind == junctor.KindTool {
		if own := c.own.Load(); own != nil {
			if name, ok := (*own)[req.Name]; ok {
				under := *req
				under.Name = name
				req = &under
			}
		}
	}
	return c.Backend.Do(ctx, req, sink)
}

// Believe makes the annotations of a backend's tools count. Without it they are
// shown to clients and decide nothing here.
func Believe(b Backend) Backend { return believed{b} }

type believed struct{ Backend }

func (b believed) Offer(ctx context.Context) (*Offer, error) {
	offer, err := b.Backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	next := *offer
	next.Believed = true
	return &next, nil
}

// EncodeOffer writes an offer so that it can be kept, byte for byte.
func EncodeOffer(o *Offer) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(o); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "what a server offers cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeOffer reads what EncodeOffer wrote.
func DecodeOffer(data []byte) (*Offer, error) {
	o := &Offer{}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(o); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "what a server offered cannot be read: %w", err)
	}
	return o, nil
}
