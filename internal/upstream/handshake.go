package upstream

import (
	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// The params and results of the handshakes of both eras, for all transports.

// clientInfo is the name and version of this client, as JSON.
func (o *Options) clientInfo() []byte {
	return append(wire.AppendString([]byte(`{"name":"junctor","version":`), o.Version), '}')
}

// discoverParams are the params of server/discover, the first request to a server. A
// server that answers it is modern.
func (o *Options) discoverParams() []byte { return o.baseParams() }

// baseParams are the params of a request to a modern server on nobody's behalf, with the
// members that every such request must have.
func (o *Options) baseParams(members ...wire.Member) []byte {
	return o.paramsWith(gatewayCapabilities, members...)
}

// paramsWith is baseParams with other client capabilities.
func (o *Options) paramsWith(capabilities []byte, members ...wire.Member) []byte {
	meta := wire.AppendObject(nil, nil, nil,
		wire.Member{Key: wire.MetaProtocolVersion, Value: []byte(`"` + wire.ModernVersion + `"`)},
		wire.Member{Key: wire.MetaClientCapabilities, Value: capabilities},
		wire.Member{Key: wire.MetaClientInfo, Value: o.clientInfo()})
	return wire.AppendObject(nil, nil, nil, append(members, wire.Member{Key: "_meta", Value: meta})...)
}

// initializeParams are the params of a legacy handshake.
func (o *Options) initializeParams(declared []byte) []byte {
	if len(declared) == 0 {
		declared = gatewayCapabilities
	}
	return wire.AppendObject(nil, nil, nil,
		wire.Member{Key: "protocolVersion", Value: []byte(`"` + wire.LatestLegacyVersion + `"`)},
		wire.Member{Key: "capabilities", Value: declared},
		wire.Member{Key: "clientInfo", Value: o.clientInfo()})
}

// handshakeInfo is what a server reported about itself in the handshake. Links
// embed it: its methods are a part of the link interface.
type handshakeInfo struct {
	modernEra    bool
	version      string
	capabilities []byte
	info         []byte
	instructions string
}

// isModern implements link; so do the methods below.
func (g *handshakeInfo) isModern() bool             { return g.modernEra }
func (g *handshakeInfo) protocolVersion() string    { return g.version }
func (g *handshakeInfo) serverCapabilities() []byte { return g.capabilities }
func (g *handshakeInfo) serverInfo() []byte         { return g.info }
func (g *handshakeInfo) serverInstructions() string { return g.instructions }

// readDiscover reads the result of server/discover. It returns false if the server does
// not name our modern version: some servers answer the method and speak only older
// versions.
func readDiscover(result []byte) (handshakeInfo, bool) {
	g := handshakeInfo{modernEra: true, version: wire.ModernVersion, capabilities: objectOrEmpty(wire.Get(result, "capabilities"))}
	g.info = wire.Get(wire.Get(result, "_meta"), wire.MetaServerInfo)
	if g.info == nil {
		g.info = wire.Get(result, "serverInfo")
	}
	g.instructions, _ = wire.String(wire.Get(result, "instructions"))
	for raw := range wire.Elements(wire.Get(result, "supportedVersions")) {
		if v, _ := wire.String(raw); v == wire.ModernVersion {
			return g, true
		}
	}
	return handshakeInfo{}, false
}

// readInitialize reads the result of initialize. It refuses protocol versions that are
// not supported.
func readInitialize(id string, result []byte) (handshakeInfo, error) {
	g := handshakeInfo{capabilities: objectOrEmpty(wire.Get(result, "capabilities")), info: wire.Get(result, "serverInfo")}
	g.version, _ = wire.String(wire.Get(result, "protocolVersion"))
	g.instructions, _ = wire.String(wire.Get(result, "instructions"))
	if !wire.IsSupported(g.version) || wire.IsModern(g.version) {
		return handshakeInfo{}, junctor.Errorf(junctor.CodeUpstream, "server %s answers initialize with the protocol version %q, which Junctor does not support; ask its operator to update it", id, clipText(g.version))
	}
	return g, nil
}

// isModernError reports whether only a modern server can have sent an error.
func isModernError(e *wire.Error) bool {
	switch e.Code {
	case wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion:
		return true
	}
	return false
}
