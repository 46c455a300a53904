// Package apps is the host of MCP Apps: the pages that tools bring, each running
// View of one on an origin of its own, and everything that a View asks for. It
// stands beside gateway, behind admin, whose API the console opens Views with, and
// before guard: a View's request passes the same pipeline as everybody's. It also
// serves the second listener, where pages are shown under the policy that mcpapps
// makes of what they declare. What a page declares, and how its address is written
// where servers are joined, is known to mcpapps and catalog.
package apps

import (
	"context"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// Pipeline is what Views need of guard.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	List(p *junctor.Principal, v catalog.View, kind catalog.ListKind) ([]byte, error)
	// GiveUp ends a call whose client was asked for input and will not give it.
	GiveUp(ctx context.Context, op *guard.Op, why error)
}

// Approvals keeps which pages may have the compatible profile.
type Approvals interface {
	// Approval gives that of a page; not_found where there is none.
	Approval(ctx context.Context, tenant junctor.TenantID, server, resource string) (junctor.AppApproval, error)
	PutApproval(ctx context.Context, tenant junctor.TenantID, a junctor.AppApproval) error
	DeleteApproval(ctx context.Context, tenant junctor.TenantID, server, resource string) error
}

// Options of a Host. All but Node must be set.
type Options struct {
	Pipeline  Pipeline
	Catalog   *catalog.Catalog
	Approvals Approvals
	// Stands says whether the session that a principal came by goes on.
	Stands func(*junctor.Principal) bool
	// MayChange says whether a principal may change a server, and so approve its
	// pages; nil, or why not.
	MayChange func(ctx context.Context, p *junctor.Principal, server string) error
	// Sandbox says where pages are shown.
	Sandbox func() Sandbox
	// Node is the process, of those that share a database: the ids of its Views
	// begin with it. It has nodeLength of the letters that ids have, or none.
	Node   string
	Logger *slog.Logger
	Now    func() time.Time
}

// Bounds of what is held.
const (
	maxPageBytes    = 16 << 20       // bytes of one page
	maxHeldBytes    = 256 << 20      // bytes of all pages of open Views
	maxViews        = 40             // of one session
	maxIdleTime     = time.Hour      // a View that nothing is heard of is closed
	maxLifetime     = 12 * time.Hour // and every View after this
	maxContextBytes = 256 << 10      // bytes of what a View tells the model
	replicaIDLength = 10             // of the id of a process
)

// Host runs Views.
type Host struct {
	opts  Options
	proxy *proxyPage

	mu           sync.Mutex
	views        map[string]*view
	heldBytes    int
	lastMailSeq  uint64                  // of the last mail
	mailAdded    chan struct{}           // closed when there is more
	openRequests map[string]*viewRequest // by what its answer is known by
}

// New makes a Host.
func New(o Options) (*Host, error) {
	if o.Pipeline == nil || o.Catalog == nil || o.Approvals == nil || o.Stands == nil || o.MayChange == nil || o.Sandbox == nil || o.Logger == nil || o.Now == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "apps: a part of Options is missing")
	}
	if o.Node != "" && len(o.Node) != replicaIDLength {
		return nil, junctor.Errorf(junctor.CodeInternal, "apps: a process is named by %d letters, not by %q", replicaIDLength, o.Node)
	}
	proxy, err := newProxyPage()
	if err != nil {
		return nil, err
	}
	return &Host{opts: o, proxy: proxy, views: map[string]*view{}, mailAdded: make(chan struct{}), openRequests: map[string]*viewRequest{}}, nil
}
