package apps

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// view is an open View. Fields above the lock's section never change after Open.
type view struct {
	id string
	// owner opened the View. Its login or key is the session that the View belongs to.
	owner *junctor.Principal
	// agentName is the agent that the View acts as; empty if it acts as its owner.
	agentName string
	callID    string // whose result it shows; "" if none
	tool      toolPage
	frames    viewFrames
	page      mcpapps.Page
	digest    string
	profile   junctor.AppProfile
	approval  junctor.Approval
	openedAt  time.Time
	// closed is closed when the View ends, which ends requests to it.
	closed chan struct{}

	// The lock of the host guards the fields below.
	lastUsed     time.Time
	modelContext json.RawMessage // the last that the page gave
	latestDigest string          // of the server's page when it was last read
	log          viewLog
	mail         []junctor.ViewMail
	mailFetched  time.Time // when a browser last asked for mail
}

// requestedPermissions lists the browser features that the page asks for.
func (v *view) requestedPermissions() []string { return listPermissions(v.page.Meta.Permissions) }

// OpenView reads the page of a tool and opens a View for it, for the session of p. in.Agent
// lets the View act as an agent, if p may. in.Resource chooses another page than the one
// that the tool names.
func (h *Host) OpenView(ctx context.Context, p *junctor.Principal, in junctor.OpenView) (junctor.View, error) {
	acts, err := h.actingPrincipal(p, in.Agent)
	if err != nil {
		return junctor.View{}, err
	}
	t, err := h.findToolPage(acts, in.Server, in.Tool)
	if err != nil {
		return junctor.View{}, err
	}
	if in.Resource != "" {
		t.uri = in.Resource
	}
	if !strings.HasPrefix(t.uri, mcpapps.URIScheme) {
		return junctor.View{}, noAppError(t)
	}
	v := &view{id: h.newID(), owner: p, agentName: in.Agent, callID: in.Call, tool: t, openedAt: h.opts.Now(), closed: make(chan struct{})}
	if v.frames, err = h.opts.Sandbox().placeView(v.id, in.Console, in.Isolation); err != nil {
		return junctor.View{}, err
	}
	if v.page, err = h.readPage(ctx, acts, t, v.id, in.Fresh); err != nil {
		return junctor.View{}, err
	}
	v.digest = v.page.Digest()
	v.latestDigest, v.lastUsed = v.digest, v.openedAt
	if v.profile, v.approval, err = h.pageProfile(ctx, p.Tenant, t.item.Server.ID, t.uri, v.digest); err != nil {
		return junctor.View{}, err
	}
	if err := h.keepView(v); err != nil {
		return junctor.View{}, err
	}
	h.addNote(v, sourceGateway, kindNote, "", map[string]any{"opened": t.name, "digest": v.digest, "profile": v.profile, "isolation": v.frames.isolation})
	return h.describeView(v), nil
}

// newID makes the id of a View: 26 letters and digits of base32. At least 16 of them are
// random, which makes ids unguessable: the sandbox listener asks for no credential.
func (h *Host) newID() string {
	return h.opts.Replica + strings.ToLower(rand.Text())[len(h.opts.Replica):]
}

// ReplicaOf gives the id of the replica that a View's id begins with; empty if the id is too
// short. The caller must check that such a replica exists.
func ReplicaOf(id string) string {
	if len(id) <= replicaIDLength {
		return ""
	}
	return id[:replicaIDLength]
}

// actingPrincipal gives the principal that requests are judged as: p, or the agent, if p
// may act as it.
func (h *Host) actingPrincipal(p *junctor.Principal, agent string) (*junctor.Principal, error) {
	if agent == "" {
		return p, nil
	}
	return h.opts.Catalog.Snapshot().For(p.Tenant).Acting(p, agent)
}

// keepView adds a View to the table. It first drops dead Views and, above maxViews, the
// session's least recently used ones. The error has CodeLimited if the pages would take
// too much memory.
func (h *Host) keepView(v *view) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropDead()
	var mine []*view
	for _, other := range h.views {
		if other.belongsTo(v.owner) {
			mine = append(mine, other)
		}
		if other.digest == v.digest {
			v.page.HTML = other.page.HTML // Views with the same page share one string
		}
	}
	slices.SortFunc(mine, func(a, b *view) int { return a.lastUsed.Compare(b.lastUsed) })
	for len(mine) >= maxViews {
		h.dropView(mine[0])
		mine = mine[1:]
	}
	if h.heldBytes+len(v.page.HTML) > maxHeldBytes {
		return junctor.Errorf(junctor.CodeLimited, "too many App views are open on this instance; close some and try again")
	}
	h.heldBytes += len(v.page.HTML)
	h.views[v.id] = v
	return nil
}

// belongsTo reports whether p is the owner of the View in the same session. Another login
// or key of the same user does not count.
func (v *view) belongsTo(p *junctor.Principal) bool {
	return v.owner.Same(p) && v.owner.Login == p.Login && v.owner.Key == p.Key
}

// isAlive reports whether a View goes on: it has not expired, and its session is valid.
func (h *Host) isAlive(v *view, now time.Time) bool {
	return now.Before(h.expiresAt(v)) && h.opts.IsSessionActive(v.owner)
}

// expiresAt is when the View ends unless it is used again. The lock is held.
func (h *Host) expiresAt(v *view) time.Time {
	idle, most := v.lastUsed.Add(maxIdleTime), v.openedAt.Add(maxLifetime)
	if most.Before(idle) {
		return most
	}
	return idle
}

// dropDead drops the Views that have ended. The lock is held.
func (h *Host) dropDead() {
	now := h.opts.Now()
	for _, v := range h.views {
		if !h.isAlive(v, now) {
			h.dropView(v)
		}
	}
}

// DropDeadViews drops the Views that have ended. The app calls it regularly, so that pages of
// ended sessions do not stay in memory.
func (h *Host) DropDeadViews() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropDead()
}

// dropView removes a View and ends the requests to it. It does nothing for a View that
// was removed before. The lock is held.
func (h *Host) dropView(v *view) {
	if h.views[v.id] == v {
		delete(h.views, v.id)
		close(v.closed)
		h.heldBytes -= len(v.page.HTML)
	}
}

// findView gives a View of p's session and marks it as used. A View of another session
// gives the same error as one that does not exist.
func (h *Host) findView(p *junctor.Principal, id string) (*view, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.views[id]
	now := h.opts.Now()
	if v != nil && !h.isAlive(v, now) {
		h.dropView(v)
		v = nil
	}
	if v == nil || !v.belongsTo(p) {
		return nil, junctor.Errorf(junctor.CodeNotFound, "unknown App view %q in this session; it may have been closed", clipText(id))
	}
	v.lastUsed = now
	return v, nil
}

// GetView describes one View of p's session. If check is set, it reads the page again to see
// whether the server has a different page by now.
func (h *Host) GetView(ctx context.Context, p *junctor.Principal, id string, check bool) (junctor.View, error) {
	v, err := h.findView(p, id)
	if err != nil {
		return junctor.View{}, err
	}
	if check {
		h.checkPage(ctx, p, v)
	}
	return h.describeView(v), nil
}

// checkPage reads a View's page again and keeps the digest. A failed read is only logged:
// the View goes on.
func (h *Host) checkPage(ctx context.Context, p *junctor.Principal, v *view) {
	acts, err := h.actingPrincipal(p, v.agentName)
	if err != nil {
		return
	}
	page, err := h.readPage(ctx, acts, v.tool, v.id, true)
	if err != nil {
		h.addNote(v, sourceGateway, kindNote, "", map[string]any{"unreadable": junctor.AsError(err).Message})
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.latestDigest = page.Digest()
}

// ListViews lists the open Views of p's session, oldest first.
func (h *Host) ListViews(p *junctor.Principal) []junctor.View {
	h.mu.Lock()
	h.dropDead()
	var mine []*view
	for _, v := range h.views {
		if v.belongsTo(p) {
			mine = append(mine, v)
		}
	}
	h.mu.Unlock()
	slices.SortFunc(mine, func(a, b *view) int { return cmp.Or(a.openedAt.Compare(b.openedAt), cmp.Compare(a.id, b.id)) })
	out := make([]junctor.View, len(mine))
	for i, v := range mine {
		out[i] = h.describeView(v)
	}
	return out
}

// CloseView ends a View: its addresses are not found any more, and its requests fail.
func (h *Host) CloseView(p *junctor.Principal, id string) error {
	v, err := h.findView(p, id)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropView(v)
	return nil
}

// describeView is a View as the API gives it. It checks again whether the owner may still
// use the server and tool, and otherwise gives the state ViewRemoved. The caller must not
// hold the lock.
func (h *Host) describeView(v *view) junctor.View {
	f, tool := &v.frames, v.tool.item.Tool.JSON
	out := junctor.View{
		ID: v.id, State: junctor.ViewOpen, Server: v.tool.item.Server.ID, Tool: v.tool.item.Name, Name: v.tool.name, Resource: v.tool.uri,
		Call: v.callID, Agent: v.agentName, Isolation: f.isolation, Proxy: f.proxy.String(), ProxyOrigin: f.proxyOrigin(), Page: f.page.String(), Origin: f.pageOrigin(),
		Sandbox: outerSandbox, Allow: allowAttribute(v), Approval: v.approval, AppPage: describePage(v.page, v.profile, v.contentPolicy()),
		HostCapabilities: hostCapabilities(v), Definition: json.RawMessage(tool), Notes: viewNotes(v), OpenedAt: v.openedAt.UTC(),
	}
	out.Title, _ = wire.String(wire.Get(tool, "title"))
	h.mu.Lock()
	out.ModelContext, out.ExpiresAt = v.modelContext, h.expiresAt(v).UTC()
	latest := v.latestDigest
	h.mu.Unlock()
	sh := h.opts.Catalog.Snapshot().For(v.owner.Tenant)
	acts, err := h.actingPrincipal(v.owner, v.agentName)
	if err == nil {
		_, err = sh.Server(acts, out.Server)
	}
	if err == nil {
		_, err = h.findToolPage(acts, out.Server, out.Tool)
	}
	switch {
	case err != nil:
		out.State = junctor.ViewRemoved
	case latest != v.digest:
		out.State = junctor.ViewChanged
	}
	return out
}

// allowAttribute is the allow attribute of the outer frame. It passes the permitted
// browser features on to the proxy and the page, and to no other origin.
func allowAttribute(v *view) string {
	if v.page.Meta.Permissions == nil {
		return ""
	}
	features := v.page.Meta.Permissions.AllowAttribute()
	to := " " + v.frames.page.Scheme + "://" + v.frames.page.Host
	if v.frames.isolation == junctor.IsolationOpaque {
		to = " *" // an opaque page has no origin to name, and the proxy has no other frame
	}
	var out []string
	for feature := range strings.SplitSeq(features, "; ") {
		if feature != "" {
			out = append(out, feature+" "+v.frames.proxyOrigin()+to)
		}
	}
	return strings.Join(out, "; ")
}

// hostCapabilities are the capabilities that the console announces to the page, as JSON.
func hostCapabilities(v *view) json.RawMessage {
	sandbox := &mcpapps.SandboxCapabilities{CSP: v.page.Meta.CSP.FilterInvalid(), Permissions: v.page.Meta.Permissions}
	text, err := json.Marshal(mcpapps.HostCapabilities{
		ServerTools: &mcpapps.ListCapability{ListChanged: true}, ServerResources: &mcpapps.ListCapability{ListChanged: true}, Logging: true, Sandbox: sandbox,
	})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}

// viewNotes are remarks for the person who looks at a View.
func viewNotes(v *view) []string {
	out := []string{}
	if v.frames.isolation == junctor.IsolationOpaque {
		out = append(out, "This App view has no host name of its own: it runs without an origin and cannot store anything, which some Apps do not expect. Open the console under a host name, or set --sandbox-url.")
	}
	switch v.approval.State {
	case junctor.ApprovalChanged:
		out = append(out, "The page has changed since it was approved: it runs under the strict policy until it is approved again.")
	case junctor.ApprovalGiven:
		out = append(out, "The page may run code from strings (eval): "+v.approval.By+" approved it.")
	case junctor.ApprovalNone:
	}
	if err := v.page.Meta.CSP.Validate(); err != nil {
		out = append(out, "Some sources that the page declares are invalid and were ignored.")
	}
	return out
}
