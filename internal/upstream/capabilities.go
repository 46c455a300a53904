package upstream

import (
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Every server is told that pages of MCP Apps are shown here, and A2UI in
// results, when its lists are read, when a page is read, and when a link of the
// older era begins: a server that brings them only to those who say so would else
// hide them from all, since all share what is listed and kept, and a link of the
// older era is declared for once. With a call, a modern server is told what its
// caller shows. Clients that show nothing are given the text (guard).
const (
	appsExtension  = `"` + wire.ExtensionUI + `":{"mimeTypes":["` + wire.MediaTypeApp + `","application/a2ui+json"]}`
	tasksExtension = `"` + wire.ExtensionTasks + `":{}`
)

// What is declared for a client that declares nothing itself.
var (
	gatewayCapabilities     = []byte(`{"extensions":{` + appsExtension + `}}`)                        //nolint:gochecknoglobals // never changed
	gatewayTaskCapabilities = []byte(`{"extensions":{` + appsExtension + `,` + tasksExtension + `}}`) //nolint:gochecknoglobals // likewise
	noCapabilities          = []byte(`{}`)                                                            //nolint:gochecknoglobals // likewise
	taskCapabilities        = []byte(`{"extensions":{` + tasksExtension + `}}`)                       //nolint:gochecknoglobals // likewise
)

// declareCapabilities is what is told a server of a caller's capabilities: what the caller
// declareCapabilities, without what we do not carry, which is tasks that a client works on,
// and whether this call may become a task that the server works on. pages says that
// pages are shown, whatever the caller declared.
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

// handshakeCapabilities are the capabilities that a legacy session begins with. That the
// client says when its roots change is left out where it does not: tells.
func handshakeCapabilities(caps []byte, tells bool) []byte {
	caps = declareCapabilities(caps, false, true)
	if roots := wire.Get(caps, "roots"); roots != nil {
		value := `{}`
		if tells && string(wire.Get(roots, "listChanged")) == "true" {
			value = `{"listChanged":true}`
		}
		caps = wire.AppendObject(nil, caps, nil, wire.Member{Key: "roots", Value: []byte(value)})
	}
	return caps
}

// clientAbilities are what a caller can be asked.
type clientAbilities struct{ elicit, sample, roots bool }

func abilitiesOf(caps []byte) clientAbilities {
	has := func(key string) bool { v := wire.Get(caps, key); return v != nil && !wire.IsNull(v) }
	return clientAbilities{elicit: has("elicitation"), sample: has("sampling"), roots: has("roots")}
}

func (a clientAbilities) canAnswerAny() bool { return a.elicit || a.sample || a.roots }

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
