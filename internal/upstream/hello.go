package upstream

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// The handshakes of both eras, for every transport.

// clientInfo is how we name ourselves.
func (o *Options) clientInfo() []byte {
	return append(wire.AppendString([]byte(`{"name":"junctor","version":`), o.Version), '}')
}

// discoverParams are the params of server/discover, the first thing that a
// server is asked: whoever answers it is modern.
func (o *Options) discoverParams() []byte { return o.bareParams() }

// bareParams are params with nothing in them but what a modern server must be
// told, for requests on nobody's behalf.
func (o *Options) bareParams(members ...wire.Member) []byte {
	return o.paramsOf(ours, members...)
}

// paramsOf are those of a client with these capabilities.
func (o *Options) paramsOf(capabilities []byte, members ...wire.Member) []byte {
	meta := wire.AppendObject(nil, nil, nil,
		wire.Member{Key: wire.MetaProtocolVersion, Value: []byte(`"` + wire.Modern + `"`)},
		wire.Member{Key: wire.MetaClientCapabilities, Value: capabilities},
		wire.Member{Key: wire.MetaClientInfo, Value: o.clientInfo()})
	return wire.AppendObject(nil, nil, nil, append(members, wire.Member{Key: "_meta", Value: meta})...)
}

// initializeParams are the params of a legacy handshake.
func (o *Options) initializeParams(declared []byte) []byte {
	if len(declared) == 0 {
		declared = ours
	}
	return wire.AppendObject(nil, nil, nil,
		wire.Member{Key: "protocolVersion", Value: []byte(`"` + wire.LatestLegacy + `"`)},
		wire.Member{Key: "capabilities", Value: declared},
		wire.Member{Key: "clientInfo", Value: o.clientInfo()})
}

// greeting is what a server said of itself in the handshake of its era. It does
// the first half of what a link is.
type greeting struct {
	isModern  bool
	spoken    string
	abilities []byte
	self      []byte
	howTo     string
}

func (g *greeting) modern() bool         { return g.isModern }
func (g *greeting) version() string      { return g.spoken }
func (g *greeting) capabilities() []byte { return g.abilities }
func (g *greeting) info() []byte         { return g.self }
func (g *greeting) instructions() string { return g.howTo }

// readDiscover reads the result of server/discover. It says false where the
// server does not name our modern version: some answer discover and speak only
// older ones.
func readDiscover(result []byte) (greeting, bool) {
	g := greeting{isModern: true, spoken: wire.Modern, abilities: object(wire.Get(result, "capabilities"))}
	g.self = wire.Get(wire.Get(result, "_meta"), wire.MetaServerInfo)
	if g.self == nil {
		g.self = wire.Get(result, "serverInfo")
	}
	g.howTo, _ = wire.String(wire.Get(result, "instructions"))
	for raw := range wire.Elements(wire.Get(result, "supportedVersions")) {
		if v, _ := wire.String(raw); v == wire.Modern {
			return g, true
		}
	}
	return greeting{}, false
}

// readInitialize reads the result of initialize.
func readInitialize(id string, result []byte) (greeting, error) {
	g := greeting{abilities: object(wire.Get(result, "capabilities")), self: wire.Get(result, "serverInfo")}
	g.spoken, _ = wire.String(wire.Get(result, "protocolVersion"))
	g.howTo, _ = wire.String(wire.Get(result, "instructions"))
	if !wire.Supported(g.spoken) || wire.IsModern(g.spoken) {
		return greeting{}, junctor.Errorf(junctor.CodeUpstream, "server %s answers initialize with the protocol version %q, which is not spoken here; its operator has to update it", id, clip(g.spoken))
	}
	return g, nil
}

// isModernError says whether an error can only come from a modern server.
func isModernError(e *wire.Error) bool {
	switch e.Code {
	case wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion:
		return true
	}
	return false
}

func object(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte(`{}`)
	}
	return raw
}

// said is what a server said, for a message: without what is secret, which a cut
// must not halve before it is found, and not too long.
func (o *Options) said(text string) string { return clip(o.Scrub(text)) }

// clip keeps what a server says from filling a message.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
