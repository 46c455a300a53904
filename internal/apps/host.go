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

// Pipeline is the part of guard that Views need. Every request of a View passes it.
type Pipeline interface {
	// Do checks one operation, runs it, and records it.
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	// List gives a rendered list of the items that p may use within v.
	List(p *junctor.Principal, v catalog.Scope, kind catalog.ListKind) ([]byte, error)
	// GiveUp ends a call that asked its client for input and will not get any. Without it
	// the call would stay parked until its time is over.
	AbandonCall(ctx context.Context, op *guard.Op, why error)
}

// Approvals stores which pages may have the compatible profile, which allows eval.
type Approvals interface {
	// Approval gives the approval of a page. The error has CodeNotFound if there is none.
	Approval(ctx context.Context, tenant junctor.TenantID, server, resource string) (junctor.AppApproval, error)
	// AppApprovals gives all approvals of a tenant.
	AppApprovals(ctx context.Context, tenant junctor.TenantID) ([]junctor.AppApproval, error)
	// PutApproval stores an approval, in place of an older one of the same page.
	PutApproval(ctx context.Context, tenant junctor.TenantID, a junctor.AppApproval) error
	// DeleteApproval removes the approval of a page.
	DeleteApproval(ctx context.Context, tenant junctor.TenantID, server, resource string) error
}

// Options of a Host. All fields but Replica must be set.
type Options struct {
	Pipeline  Pipeline
	Catalog   *catalog.Catalog
	Approvals Approvals
	// Stands reports whether the session that a principal authenticated with is still
	// valid. A View ends with its session.
	IsSessionActive func(*junctor.Principal) bool
	// MayChange returns nil if p may change a server, and so approve its pages. Otherwise
	// the error says why not.
	MayChange func(ctx context.Context, p *junctor.Principal, server string) error
	// Sandbox gives the addresses of the listener that serves pages. The Host calls it
	// for each View, since settings may change.
	Sandbox func() Sandbox
	// Replica is the id of this replica. The ids of its Views begin with it, so that other
	// replicas can forward requests to it. It has replicaIDLength letters of base32, or
	// is empty for a single replica.
	Replica string
	Logger  *slog.Logger
	Now     func() time.Time
}

// Bounds of the memory and time that Views take.
const (
	// maxPageBytes bounds one page.
	maxPageBytes = 16 << 20
	// maxHeldBytes bounds the pages of all open Views together. Pages with the same text
	// count once for each View.
	maxHeldBytes = 256 << 20
	// maxViews bounds the open Views of one session. Opening one more closes the one that
	// was not used for longest.
	maxViews = 40
	// maxIdleTime is how long a View stays open without a request.
	maxIdleTime = time.Hour
	// maxLifetime is how long a View stays open at most, whether it is used or not.
	maxLifetime = 12 * time.Hour
	// maxContextBytes bounds the context that a View gives the model.
	maxContextBytes = 256 << 10
	// replicaIDLength is the number of letters in a replica's id, which begins the ids of
	// its Views.
	replicaIDLength = 10
)

// Host runs Views: it reads their pages, serves the sandbox listener, and does what Views
// ask for. All methods are safe for use by several goroutines.
type Host struct {
	opts  Options
	proxy *proxyPage

	mu    sync.Mutex
	views map[string]*view
	// heldBytes is the sum of the page sizes of all open Views.
	heldBytes int
	// lastMailSeq numbers the mail of all Views together, so that one request can fetch
	// it for all Views of a session.
	lastMailSeq uint64
	// mailAdded is closed, and replaced, whenever mail is added. Requests for mail wait
	// on it.
	mailAdded chan struct{}
	// openRequests are the requests to Views without an answer, by request id.
	openRequests map[string]*viewRequest
}

// New checks the options and makes a Host. It fails if the embedded proxy page has no
// script or style to allow.
func New(o Options) (*Host, error) {
	if o.Pipeline == nil || o.Catalog == nil || o.Approvals == nil || o.IsSessionActive == nil || o.MayChange == nil || o.Sandbox == nil || o.Logger == nil || o.Now == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "apps: a part of Options is missing")
	}
	if o.Replica != "" && len(o.Replica) != replicaIDLength {
		return nil, junctor.Errorf(junctor.CodeInternal, "apps: a process is named by %d letters, not by %q", replicaIDLength, o.Replica)
	}
	proxy, err := newProxyPage()
	if err != nil {
		return nil, err
	}
	return &Host{opts: o, proxy: proxy, views: map[string]*view{}, mailAdded: make(chan struct{}), openRequests: map[string]*viewRequest{}}, nil
}
