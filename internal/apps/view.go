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

// view is a View that is open. What is not said to change does not.
type view struct {
	id        string
	owner     *junctor.Principal // who opened it, in which session
	agentName string             // whom it acts as; "" is the owner
	callID    string
	tool      toolPage
	frames    viewFrames
	page      mcpapps.Page
	digest    string
	profile   junctor.AppProfile
	approval  junctor.Approval
	openedAt  time.Time
	closed    chan struct{} // closed when it is

	// Under the host's lock.
	lastUsed     time.Time
	modelContext json.RawMessage // what it last told the model
	latestDigest string          // the digest that the server's page was last seen with
	log          viewLog
	mail         []junctor.ViewMail
	mailFetched  time.Time // when somebody last asked for mail
}

func (v *view) requestedPermissions() []string { return listPermissions(v.page.Meta.Permissions) }

// Open reads the page that a tool brings and gives it a place to run.
func (h *Host) Open(ctx context.Context, p *junctor.Principal, in junctor.OpenView) (junctor.View, error) {
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
	if !strings.HasPrefix(t.uri, mcpapps.Scheme) {
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

// newID makes the id of a View: 26 letters and digits of base32, of which 16 are
// chance at the least.
func (h *Host) newID() string {
	return h.opts.Node + strings.ToLower(rand.Text())[len(h.opts.Node):]
}

// NodeOf is the process that a View would be of, by its id; "" where it is none.
// Whether there is such a process is for the caller to know.
func NodeOf(id string) string {
	if len(id) <= replicaIDLength {
		return ""
	}
	return id[:replicaIDLength]
}

// actingPrincipal is whom a request is judged as.
func (h *Host) actingPrincipal(p *junctor.Principal, agent string) (*junctor.Principal, error) {
	if agent == "" {
		return p, nil
	}
	return h.opts.Catalog.Snapshot().For(p.Tenant).Acting(p, agent)
}

// keepView holds a View. Where its session has many, the one that was not used for
// longest goes; so does what nobody is there for any more.
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
			v.page.HTML = other.page.HTML // the same text is held once
		}
	}
	slices.SortFunc(mine, func(a, b *view) int { return a.lastUsed.Compare(b.lastUsed) })
	for len(mine) >= maxViews {
		h.dropView(mine[0])
		mine = mine[1:]
	}
	if h.heldBytes+len(v.page.HTML) > maxHeldBytes {
		return junctor.Errorf(junctor.CodeLimited, "too many Views are open on this instance; close some and try again")
	}
	h.heldBytes += len(v.page.HTML)
	h.views[v.id] = v
	return nil
}

// belongsTo says whether a View is that of a principal, in this session.
func (v *view) belongsTo(p *junctor.Principal) bool {
	return v.owner.Same(p) && v.owner.Login == p.Login && v.owner.Key == p.Key
}

// isAlive says whether a View goes on: it dies with its session.
func (h *Host) isAlive(v *view, now time.Time) bool {
	return now.Before(h.expiresAt(v)) && h.opts.Stands(v.owner)
}

func (h *Host) expiresAt(v *view) time.Time {
	idle, most := v.lastUsed.Add(maxIdleTime), v.openedAt.Add(maxLifetime)
	if most.Before(idle) {
		return most
	}
	return idle
}

// dropDead drops the Views that do not go on. The lock is held.
func (h *Host) dropDead() {
	now := h.opts.Now()
	for _, v := range h.views {
		if !h.isAlive(v, now) {
			h.dropView(v)
		}
	}
}

// Sweep drops the Views that do not go on.
func (h *Host) Sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropDead()
}

func (h *Host) dropView(v *view) {
	if h.views[v.id] == v {
		delete(h.views, v.id)
		close(v.closed)
		h.heldBytes -= len(v.page.HTML)
	}
}

// findView gives a View of a principal's session. One that is another's answers like
// one that is not there.
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
		return nil, junctor.Errorf(junctor.CodeNotFound, "there is no View %q in this session; it may have been closed", clipText(id))
	}
	v.lastUsed = now
	return v, nil
}

// View gives one. With check the page is read again, to see whether the server has
// another by now.
func (h *Host) View(ctx context.Context, p *junctor.Principal, id string, check bool) (junctor.View, error) {
	v, err := h.findView(p, id)
	if err != nil {
		return junctor.View{}, err
	}
	if check {
		h.checkPage(ctx, p, v)
	}
	return h.describeView(v), nil
}

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

// Views lists those of a principal's session, oldest first.
func (h *Host) Views(p *junctor.Principal) []junctor.View {
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

// Close ends a View: its page is gone, and it is answered nothing any more.
func (h *Host) Close(p *junctor.Principal, id string) error {
	v, err := h.findView(p, id)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropView(v)
	return nil
}

// describeView is a View as its session sees it.
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
		out.State = junctor.ViewGone
	case latest != v.digest:
		out.State = junctor.ViewChanged
	}
	return out
}

// allowAttribute is what the outer frame passes on of the browser's features, to the page
// alone.
func allowAttribute(v *view) string {
	if v.page.Meta.Permissions == nil {
		return ""
	}
	features := v.page.Meta.Permissions.Allow()
	to := " " + v.frames.page.Scheme + "://" + v.frames.page.Host
	if v.frames.isolation == junctor.IsolationOpaque {
		to = " *" // it has no origin to name; the proxy has but this one frame
	}
	var out []string
	for feature := range strings.SplitSeq(features, "; ") {
		if feature != "" {
			out = append(out, feature+" "+v.frames.proxyOrigin()+to)
		}
	}
	return strings.Join(out, "; ")
}

// hostCapabilities are those of a host that this one stands behind.
func hostCapabilities(v *view) json.RawMessage {
	sandbox := &mcpapps.SandboxCapabilities{CSP: v.page.Meta.CSP.Allowed(), Permissions: v.page.Meta.Permissions}
	text, err := json.Marshal(mcpapps.HostCapabilities{
		ServerTools: &mcpapps.ListChanged{ListChanged: true}, ServerResources: &mcpapps.ListChanged{ListChanged: true}, Logging: true, Sandbox: sandbox,
	})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}

// viewNotes are what to tell the person who looks at a View.
func viewNotes(v *view) []string {
	out := []string{}
	if v.frames.isolation == junctor.IsolationOpaque {
		out = append(out, "There is no name for this View: it runs without an origin and cannot store anything, which some Apps do not expect. Open the console under its own name, or set --sandbox-url.")
	}
	switch v.approval.State {
	case junctor.ApprovalChanged:
		out = append(out, "The page has changed since it was approved: it runs under the strict policy until somebody approves it again.")
	case junctor.ApprovalGiven:
		out = append(out, "The page may make code of text (eval): "+v.approval.By+" approved it.")
	case junctor.ApprovalNone:
	}
	if err := v.page.Meta.CSP.Validate(); err != nil {
		out = append(out, "Some sources that the page declares are not sources, and are left out.")
	}
	return out
}
