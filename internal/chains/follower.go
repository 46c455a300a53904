package chains

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/ipfs"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Options configures New. All fields but the lists are required.
type Options struct {
	Declared     []junctor.Chain // the chains to follow, from the settings
	IPFSGateways []string
	AgentDomains erc8004.DomainPolicy

	Store  *store.Store
	Queue  *queue.Queue
	Egress *egress.Egress
	// ReadSetting reads a reference of the settings, such as env:NAME.
	ReadSetting func(ctx context.Context, text string) (seal.Secret, error)
	// DeleteServer removes a server with its credentials.
	DeleteServer func(ctx context.Context, tenant junctor.TenantID, id string) error
	// IsLeader reports whether this replica follows the chains for all.
	IsLeader func() bool
	// BroadcastAgentChange makes the other replicas forget the registration of an agent.
	BroadcastAgentChange func(ctx context.Context, agent string)
	// CountFileFailure counts a file that could not be read or proved, by kind.
	CountFileFailure func(kind string)
	// KeepUnused is how long a discovered server stays after the last delivery to it.
	KeepUnused time.Duration
	Now        func() time.Time
	Log        *slog.Logger
}

// Follower follows the chains of the settings, and resolves agents and files there. It
// is safe for concurrent use.
type Follower struct {
	Options
	tenant   junctor.TenantID // whose chains these are
	watches  []*chainWatch
	records  *erc8004.Records
	files    *erc8004.Files
	resolver *erc8004.Resolver
	bound    map[erc8004.Agent]string // ids of the servers that the operator set up for agents
	changes  chan agentChange         // that wait for followChanges
	clients  []originClients          // to close
}

// chainWatch is one chain that is followed.
type chainWatch struct {
	junctor.Chain
	watcher *erc8004.Watcher
}

// maxChanges is how many changes of agents may wait. The next delivery to an agent
// makes up for a change that is dropped.
const maxChanges = 1024

// New makes a Follower. Run starts it, after SetRaiser; Close closes its connections.
func New(ctx context.Context, o Options) (*Follower, error) {
	f := &Follower{Options: o, tenant: junctor.DefaultTenant, bound: map[erc8004.Agent]string{}, changes: make(chan agentChange, maxChanges)}
	if err := f.open(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// open connects the parts of a Follower.
func (f *Follower) open(ctx context.Context) error {
	nodes, names := map[uint64]*erc8004.Node{}, map[uint64]string{}
	var all []erc8004.Chain
	for _, c := range f.Declared {
		node, err := f.openNode(ctx, c)
		if err != nil {
			return err
		}
		chain, err := convertChain(c)
		if err != nil {
			return err
		}
		nodes[c.ID], names[c.ID] = node, c.Name
		all = append(all, chain)
	}
	gateways, err := f.openGateways()
	if err != nil {
		return err
	}
	f.files = &erc8004.Files{
		// The addresses are strangers': nothing on this machine or its network.
		Web:  f.Egress.Client(egress.ClientOptions{Timeout: 10 * time.Second, MaxBytes: ipfs.MaxFile + 1}),
		IPFS: gateways,
	}
	f.resolver = erc8004.NewResolver(f.files, nodes, f.AgentDomains)
	f.records = &erc8004.Records{
		Tenant: f.tenant, DB: f.Store.Database(), Queue: f.Queue, Names: names, Storing: f.applyEvent, Notify: f.announceEvent, Now: f.Now,
	}
	for i, c := range all {
		if err := f.bindServers(f.Declared[i], c); err != nil {
			return err
		}
		f.watches = append(f.watches, &chainWatch{f.Declared[i], erc8004.NewWatcher(c, nodes[c.ID], f.records, f.IsLeader, f.Log)})
	}
	return nil
}

// SetRaiser sets the part that takes the events that come to count. It must be called
// before Run.
func (f *Follower) SetRaiser(r erc8004.Raiser) { f.records.Raiser = r }

// Close closes idle connections to nodes and gateways.
func (f *Follower) Close() {
	for _, c := range f.clients {
		c.close()
	}
}

// bindServers notes the servers that the operator set up for agents of a chain.
func (f *Follower) bindServers(declared junctor.Chain, chain erc8004.Chain) error {
	for name, server := range declared.Servers {
		at := chain.Registries[0].Identity
		registry, id, ok := strings.Cut(name, "/")
		if ok {
			var err error
			if at, err = erc8004.ParseAddress(registry); err != nil {
				return junctor.Errorf(junctor.CodeInvalid, "the chain %s: %w", declared.Name, err)
			}
		} else {
			id = name
		}
		f.bound[erc8004.Agent{Chain: chain.ID, Registry: at, ID: id}] = server
	}
	return nil
}

// convertChain returns a declared chain as package erc8004 describes it.
func convertChain(c junctor.Chain) (erc8004.Chain, error) {
	out := erc8004.Chain{ID: c.ID, Start: uint64(c.Start), Confirmations: uint64(c.Confirmations), Finalized: c.Finalized, Pause: c.Poll} //nolint:gosec // checked when the file was read
	for _, r := range c.Registries {
		var reg erc8004.Registry
		for text, to := range map[string]*erc8004.Address{r.Identity: &reg.Identity, r.Reputation: &reg.Reputation, r.Validation: &reg.Validation} {
			if text == "" {
				continue
			}
			at, err := erc8004.ParseAddress(text)
			if err != nil {
				return out, junctor.Errorf(junctor.CodeInvalid, "the chain %s: %w", c.Name, err)
			}
			*to = at
		}
		out.Registries = append(out.Registries, reg)
	}
	return out, nil
}

// Run follows all chains until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { f.followChanges(ctx) })
	for _, w := range f.watches {
		all.Go(func() { w.watcher.Run(ctx) })
	}
	all.Wait()
}

// CollectGauges sets the gauges of each chain.
func (f *Follower) CollectGauges(set func(name, help, label, value string, number float64)) {
	for _, w := range f.watches {
		s := w.watcher.Status()
		set("chain_head_lag_blocks", "Blocks between the head of a chain and the last block that was read.", "chain", w.Name, float64(s.Head-min(s.Read, s.Head)))
		set("reorgs_total", "Chain reorganizations that were seen since the start.", "chain", w.Name, float64(s.Reorgs))
	}
}

// applyEvent applies the effects of an event in the transaction that stores it. The
// cached registration of a changed agent is dropped, and the tokens of a transferred
// agent are suspended, before a delivery that the same blocks cause can begin.
func (f *Follower) applyEvent(ctx context.Context, tx *queue.Tx, e erc8004.Seen) error {
	switch e.Kind {
	case erc8004.KindRegistered, erc8004.KindURIUpdated, erc8004.KindMetadata:
		f.resolver.Forget(e.Of())
	case erc8004.KindTransfer:
		f.resolver.Forget(e.Of())
		if !e.From.IsZero() { // a token that was minted had nobody before
			return store.SuspendEndpoints(ctx, tx, f.tenant, e.Of().String(), "the agent was transferred to "+e.Owner.String())
		}
	case erc8004.KindFeedback, erc8004.KindFeedbackRevoked, erc8004.KindFeedbackResponse, erc8004.KindValidationRequest, erc8004.KindValidationResponse:
	}
	return nil
}

// announceEvent runs after an event was stored. It drops the cached registration of a
// changed agent, on this replica and on the others, and has its server updated.
func (f *Follower) announceEvent(e erc8004.Seen) {
	switch e.Kind {
	case erc8004.KindRegistered, erc8004.KindURIUpdated, erc8004.KindMetadata:
		f.forgetEverywhere(e.Of())
		f.addChange(agentChange{agent: e.Of()})
	case erc8004.KindTransfer:
		f.forgetEverywhere(e.Of())
		f.addChange(agentChange{agent: e.Of(), burned: e.Owner.IsZero()})
	case erc8004.KindFeedback, erc8004.KindFeedbackRevoked, erc8004.KindFeedbackResponse, erc8004.KindValidationRequest, erc8004.KindValidationResponse:
	}
}

// forgetEverywhere drops the cached registration of an agent, here and on the replicas
// that do not follow the chain.
func (f *Follower) forgetEverywhere(agent erc8004.Agent) {
	f.resolver.Forget(agent)
	f.BroadcastAgentChange(context.Background(), agent.String())
}

// ForgetRegistration drops the cached registration of the agent that a text names, so
// that the chain is asked for it again. A text that names no agent is ignored.
func (f *Follower) ForgetRegistration(text string) {
	if agent, err := erc8004.ParseAgent(text); err == nil {
		f.resolver.Forget(agent)
	}
}
