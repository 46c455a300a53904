package upstream

import (
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// To every server, this client declares that it shows pages of MCP Apps, and
// A2UI in results, in three cases: when its lists are read, when a page is
// read, and when a legacy link begins. A server may hide pages from clients
// that do not declare this. All clients share the lists and cached pages, and a
// legacy link declares capabilities once, so such a server would hide its pages
// from all of them. In a call, a modern server is told what the caller itself
// shows. Guard gives clients that show nothing the text.
const (
	appsExtension  = `"` + wire.ExtensionUI + `":{"mimeTypes":["` + wire.MediaTypeApp + `","application/a2ui+json"]}`
	tasksExtension = `"` + wire.ExtensionTasks + `":{}`
)

// Capabilities that are sent for a client that declares none itself: with and without
// Apps and tasks.
var (
	gatewayCapabilities     = []byte(`{"extensions":{` + appsExtension + `}}`)                        //nolint:gochecknoglobals // never changed
	gatewayTaskCapabilities = []byte(`{"extensions":{` + appsExtension + `,` + tasksExtension + `}}`) //nolint:gochecknoglobals // never changed
	noCapabilities          = []byte(`{}`)                                                            //nolint:gochecknoglobals // never changed
	taskCapabilities        = []byte(`{"extensions":{` + tasksExtension + `}}`)                       //nolint:gochecknoglobals // never changed
)

// declareCapabilities gives the capabilities to send for a caller: those that the caller
// declared, without tasks that the client works on, which are not forwarded. tasks says
// that this call may become a task of the server. pages means that Apps are shown,
// whatever the caller declared.
func declareCapabilities(caps []byte, tasks, pages bool) []byte {
	if len(caps) <= len(`{}`) || caps[0] != '{' {
		switch {
		case tasks && pages:
			return gatewayTaskCapabilities
		case pages:
			return gatewayCapabilities
		case tasks:
			return taskCapabilities
		}
		return noCapabilities
	}
	extensions := objectOrEmpty(wire.Get(caps, "extensions"))
	shows, has := !pages || catalog.ShowsApps(caps), wire.Get(extensions, wire.ExtensionTasks) != nil
	if shows && has == tasks && wire.Get(caps, "tasks") == nil {
		return caps
	}
	var add []wire.Member
	if !shows {
		add = append(add, wire.Member{Key: wire.ExtensionUI, Value: wire.Get(wire.Get(gatewayCapabilities, "extensions"), wire.ExtensionUI)})
	}
	drop := []string{wire.ExtensionTasks}
	if tasks {
		add, drop = append(add, wire.Member{Key: wire.ExtensionTasks, Value: []byte(`{}`)}), nil
	}
	extensions = wire.AppendObject(nil, extensions, drop, add...)
	return wire.AppendObject(nil, caps, []string{"tasks"}, wire.Member{Key: "extensions", Value: extensions})
}

// handshakeCapabilities gives the capabilities for a legacy handshake. announcesRoots
// says that the client announces when its roots change; otherwise the server must not
// rely on that.
func handshakeCapabilities(caps []byte, announcesRoots bool) []byte {
	caps = declareCapabilities(caps, false, true)
	if roots := wire.Get(caps, "roots"); roots != nil {
		value := `{}`
		if announcesRoots && string(wire.Get(roots, "listChanged")) == "true" {
			value = `{"listChanged":true}`
		}
		caps = wire.AppendObject(nil, caps, nil, wire.Member{Key: "roots", Value: []byte(value)})
	}
	return caps
}

// clientAbilities are the kinds of questions that a client can answer.
type clientAbilities struct{ elicit, sample, roots bool }

// abilitiesOf reads them from the client's capabilities.
func abilitiesOf(caps []byte) clientAbilities {
	has := func(key string) bool { v := wire.Get(caps, key); return v != nil && !wire.IsNull(v) }
	return clientAbilities{elicit: has("elicitation"), sample: has("sampling"), roots: has("roots")}
}

// canAnswerAny reports whether the client can answer any kind of question.
func (a clientAbilities) canAnswerAny() bool { return a.elicit || a.sample || a.roots }

// canAnswer reports whether the client can answer a request with this method.
func (a clientAbilities) canAnswer(method string) bool {
	switch method {
	case wire.MethodElicitationCreate:
		return a.elicit
	case wire.MethodSamplingCreateMessage:
		return a.sample
	case wire.MethodRootsList:
		return a.roots
	}
	return false
}
