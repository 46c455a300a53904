package app

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/ipfs"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
)

// chains follows the chains of the settings, and finds agents and files there.
type chains struct {
	list     []*chainWatch
	records  *erc8004.Records
	files    *erc8004.Files
	resolver *erc8004.Resolver
	bound    map[erc8004.Agent]string // servers that the operator set up for agents
	servers  foundServers
	news     chan news // agents to look at
	event    func(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Event, error)
	meter    func(kind string)
}

// chainWatch is one chain that is followed.
type chainWatch struct {
	junctor.Chain
	watcher *erc8004.Watcher
}

// openChains joins what is followed. openEvents says who takes what comes to
// count.
func (a *App) openChains(ctx context.Context) error {
	nodes, names := map[uint64]*erc8004.Node{}, map[uint64]string{}
	var all []erc8004.Chain
	for _, c := range a.cfg.Chains {
		node, err := a.chainNode(ctx, c)
		if err != nil {
			return err
		}
		chain, err := chainOf(c)
		if err != nil {
			return err
		}
		nodes[c.ID], names[c.ID] = node, c.Name
		all = append(all, chain)
	}
	gateways, err := a.ipfsReader()
	if err != nil {
		return err
	}
	files := &erc8004.Files{
		// The addresses are strangers': nothing on this machine or its network.
		Web:  a.egress.Client(egress.ClientOptions{Timeout: 10 * time.Second, MaxBytes: ipfs.MaxFile + 1}),
		IPFS: gateways,
	}
	a.chains = &chains{
		files: files, resolver: erc8004.NewResolver(files, nodes, erc8004.DomainPolicy(a.cfg.AgentDomains)), bound: map[erc8004.Agent]string{},
		event: func(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Event, error) {
			return a.store.For(tenant).Event(ctx, id)
		},
		meter: a.metrics.FileFailed, servers: foundServers{a, junctor.DefaultTenant}, news: make(chan news, 1024),
	}
	a.chains.records = &erc8004.Records{
		Tenant: junctor.DefaultTenant, DB: a.store.Database(), Queue: a.queue, Names: names, Storing: a.storeChainEvent, Told: a.chainTold, Now: a.clock.Now,
	}
	for i, c := range all {
		if err := a.chains.bind(a.cfg.Chains[i], c); err != nil {
			return err
		}
		a.chains.list = append(a.chains.list, &chainWatch{a.cfg.Chains[i], erc8004.NewWatcher(c, nodes[c.ID], a.chains.records, a.turns.chains.mine, a.log)})
	}
	return nil
}

// bind notes the servers that the operator set up for agents.
func (c *chains) bind(declared junctor.Chain, chain erc8004.Chain) error {
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
		c.bound[erc8004.Agent{Chain: chain.ID, Registry: at, ID: id}] = server
	}
	return nil
}

// chainOf is a chain in the watcher's words.
func chainOf(c junctor.Chain) (erc8004.Chain, error) {
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

// chainNode is the way to a chain's nodes. The operator named them.
func (a *App) chainNode(ctx context.Context, c junctor.Chain) (*erc8004.Node, error) {
	urls := make([]string, len(c.Nodes))
	named := origins{}
	for i, text := range c.Nodes {
		kind, _, _ := strings.Cut(text, ":")
		if kind == "env" || kind == "file" {
			secret, err := a.readSetting(ctx, text)
			if err != nil {
				return nil, junctor.Errorf(junctor.CodeInvalid, "the chain %s: %w", c.Name, err)
			}
			text = strings.TrimSpace(secret.Reveal())
		}
		if err := named.add(text); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the chain %s: %w", c.Name, err)
		}
		urls[i] = text
	}
	a.onClose(func(context.Context) { named.close() })
	return erc8004.NewNode(named, urls)
}

func (a *App) ipfsReader() (*ipfs.Reader, error) {
	named := origins{}
	for _, g := range a.cfg.IPFSGateways {
		if err := named.add(g); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "ipfs-gateways: %w", err)
		}
	}
	a.onClose(func(context.Context) { named.close() })
	return ipfs.New(named, a.cfg.IPFSGateways)
}

// origins are clients for places that the operator named, each for its own.
type origins map[string]*http.Client

func (o origins) add(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "an address is no URL")
	}
	if o[u.Scheme+"://"+u.Host] != nil {
		return nil
	}
	client, err := egress.Remote(u)
	if err != nil {
		return err
	}
	o[u.Scheme+"://"+u.Host] = client
	return nil
}

// Do implements erc8004.Doer and ipfs.Doer.
func (o origins) Do(r *http.Request) (*http.Response, error) {
	client := o[r.URL.Scheme+"://"+r.URL.Host]
	if client == nil {
		return nil, junctor.Errorf(junctor.CodeDenied, "%s is none of the addresses that the settings name", r.URL.Host)
	}
	return client.Do(r) //nolint:gosec // to an address of the settings alone
}

func (o origins) close() {
	for _, c := range o {
		c.CloseIdleConnections()
	}
}

// run follows all chains until ctx ends.
func (c *chains) run(ctx context.Context, log *slog.Logger) {
	var all sync.WaitGroup
	all.Go(func() { c.attend(ctx, log) })
	for _, f := range c.list {
		all.Go(func() { f.watcher.Run(ctx) })
	}
	all.Wait()
}

// gauges shows how chains are read.
func (c *chains) gauges(set func(name, help, label, value string, number float64)) {
	for _, f := range c.list {
		s := f.watcher.Status()
		set("chain_head_lag_blocks", "Blocks between a chain's newest and the newest that was read.", "chain", f.Name, float64(s.Head-min(s.Read, s.Head)))
		set("reorgs_total", "How often a chain was seen to be reorganised since the start.", "chain", f.Name, float64(s.Reorgs))
	}
}

// storeChainEvent applies the effects of an event in the transaction that stores it.
// The cached registration of a changed agent is dropped, and the tokens of a transferred
// agent are suspended, before a delivery that the same blocks cause can begin.
func (a *App) storeChainEvent(ctx context.Context, tx *queue.Tx, e erc8004.Seen) error {
	switch e.Kind {
	case erc8004.KindRegistered, erc8004.KindURIUpdated, erc8004.KindMetadata:
		a.chains.resolver.Forget(e.Of())
	case erc8004.KindTransfer:
		a.chains.resolver.Forget(e.Of())
		if !e.From.IsZero() { // a token that was minted had nobody before
			return store.SuspendEndpoints(ctx, tx, a.chains.records.Tenant, e.Of().String(), "the agent was transferred to "+e.Owner.String())
		}
	case erc8004.KindFeedback, erc8004.KindFeedbackRevoked, erc8004.KindFeedbackResponse, erc8004.KindValidationRequest, erc8004.KindValidationResponse:
	}
	return nil
}

// chainTold runs after an event was stored. It drops the cached registration of a changed
// agent, on this replica and on the others.
func (a *App) chainTold(e erc8004.Seen) {
	switch e.Kind {
	case erc8004.KindRegistered, erc8004.KindURIUpdated, erc8004.KindMetadata:
		a.forgetAgent(e.Of())
		a.chains.tell(news{agent: e.Of()})
	case erc8004.KindTransfer:
		a.forgetAgent(e.Of())
		a.chains.tell(news{agent: e.Of(), gone: e.Owner.IsZero()})
	case erc8004.KindFeedback, erc8004.KindFeedbackRevoked, erc8004.KindFeedbackResponse, erc8004.KindValidationRequest, erc8004.KindValidationResponse:
	}
}

// forgetAgent has an agent be asked for again, here and by the processes that do
// not follow the chain.
func (a *App) forgetAgent(agent erc8004.Agent) {
	a.chains.resolver.Forget(agent)
	if a.peers != nil {
		a.peers.tell(context.Background(), told{Agent: agent.String()})
	}
}

// Chains implements admin.Chains.
func (c *chains) Chains(_ context.Context, tenant junctor.TenantID) ([]junctor.ChainStatus, error) {
	if tenant != c.records.Tenant {
		return nil, nil
	}
	out := make([]junctor.ChainStatus, len(c.list))
	for i, f := range c.list {
		s := f.watcher.Status()
		out[i] = junctor.ChainStatus{
			Chain: f.Chain, Node: s.Node, Head: s.Head, Read: s.Read, Final: s.Final, Lag: s.Head - min(s.Read, s.Head), Reorgs: s.Reorgs, Deepest: s.Deepest,
			Skipped: s.Skipped, Error: s.Error, SeenAt: s.At,
		}
	}
	return out, nil
}

// ChainEvents implements admin.Chains.
func (c *chains) ChainEvents(ctx context.Context, tenant junctor.TenantID, f admin.ChainEventFilter) ([]junctor.ChainEvent, error) {
	if tenant != c.records.Tenant {
		return nil, nil
	}
	filter := erc8004.Filter{Agent: f.Agent, State: f.State, Limit: f.Limit}
	if f.Chain != "" {
		i := slices.IndexFunc(c.list, func(x *chainWatch) bool { return x.Name == f.Chain })
		if i < 0 {
			return nil, junctor.Errorf(junctor.CodeNotFound, "no chain %q is followed; junctor chain ls shows them", f.Chain)
		}
		filter.Chain = c.list[i].ID
	}
	found, err := c.records.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := make([]junctor.ChainEvent, len(found))
	for i, e := range found {
		data, err := e.Data()
		if err != nil {
			return nil, err
		}
		out[i] = junctor.ChainEvent{
			Chain: c.name(e.Chain), Type: string(e.Kind), Agent: e.Of().String(), Block: e.Block, BlockHash: e.BlockHash.String(), Transaction: e.Transaction.String(),
			LogIndex: e.LogIndex, State: e.State, Counted: e.Counted, Retracted: e.Retracted, Data: data, SeenAt: e.SeenAt,
		}
	}
	return out, nil
}

// RewindChain implements admin.Chains.
func (c *chains) RewindChain(ctx context.Context, tenant junctor.TenantID, name string, to uint64) error {
	i := slices.IndexFunc(c.list, func(x *chainWatch) bool { return x.Name == name })
	if tenant != c.records.Tenant || i < 0 {
		return junctor.Errorf(junctor.CodeNotFound, "no chain %q is followed; junctor chain ls shows them", name)
	}
	chain := c.list[i]
	if first := uint64(max(chain.Start, 1)) - 1; to < first {
		return junctor.Errorf(junctor.CodeInvalid, "to: the chain %s is read from block %d on: rewind it to %d or a later block", name, chain.Start, first)
	}
	block, err := chain.watcher.Block(ctx, to)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "the chain %s cannot be rewound: %w", name, err)
	}
	return c.records.Rewind(ctx, chain.ID, block)
}

// name is what the settings call a chain; its number for one that they no longer
// have.
func (c *chains) name(id uint64) string {
	return cmp.Or(c.records.Names[id], erc8004.Agent{Chain: id}.Network())
}

// ChainAgents implements admin.Chains.
func (c *chains) ChainAgents(ctx context.Context, tenant junctor.TenantID) ([]junctor.ChainAgent, error) {
	if tenant != c.records.Tenant {
		return nil, nil
	}
	servers, err := c.servers.app.store.For(tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for _, s := range servers {
		if s.Mode == junctor.ModeFound {
			made[s.Found] = s.ID
		}
	}
	known := map[string]junctor.ChainAgent{}
	for _, f := range c.resolver.Known() {
		known[f.Agent.String()] = c.shown(f, made[f.Agent.String()])
	}
	named, err := c.records.Agents(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range named {
		if _, ok := known[text]; ok {
			continue
		}
		agent, err := erc8004.ParseAgent(text)
		if err != nil {
			return nil, err
		}
		known[text] = junctor.ChainAgent{Server: cmp.Or(c.bound[agent], made[text]), Agent: text, Chain: c.name(agent.Chain), Blocked: []junctor.ChainAgentBlock{}, Problems: []string{}, Reason: "it was not looked for yet"}
	}
	out := make([]junctor.ChainAgent, 0, len(known))
	for _, one := range known {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b junctor.ChainAgent) int { return cmp.Compare(a.Agent, b.Agent) })
	return out, nil
}

// FindAgent implements admin.Chains.
func (c *chains) FindAgent(ctx context.Context, tenant junctor.TenantID, text string) (junctor.ChainAgent, error) {
	agent, err := erc8004.ParseAgent(text)
	if err != nil {
		return junctor.ChainAgent{}, junctor.Errorf(junctor.CodeInvalid, "%w", err)
	}
	if tenant != c.records.Tenant || c.records.Names[agent.Chain] == "" {
		return junctor.ChainAgent{}, junctor.Errorf(junctor.CodeNotFound, "the chain of %s is not followed; junctor chain ls shows those that are", agent)
	}
	c.resolver.Forget(agent)
	if c.bound[agent] != "" { // what the registration says is shown, and not used
		found, _ := c.resolver.Resolve(ctx, agent)
		return c.shown(found, ""), nil
	}
	found, row, err := c.locate(ctx, agent)
	if err != nil && found.Err() == nil {
		return junctor.ChainAgent{}, err
	}
	return c.shown(found, row.ID), nil // what stands in the way is part of what was found
}

// shown is what was found, and the server that was made of it.
func (c *chains) shown(f erc8004.Found, made string) junctor.ChainAgent {
	out := junctor.ChainAgent{
		Server: cmp.Or(c.bound[f.Agent], made), Agent: f.Agent.String(), Chain: c.name(f.Agent.Chain), Name: f.Registration.Name, Description: f.Registration.Description, URI: f.URI, Proof: string(f.Proof),
		Active: f.Registration.Active, Claimed: f.Registration.Claimed, Domain: f.Domain, Reason: f.Reason, FoundAt: f.At,
		Blocked: []junctor.ChainAgentBlock{}, Problems: append([]string{}, f.Registration.Problems...),
	}
	if f.Err() == nil {
		out.Endpoint = f.Endpoint.URL
	}
	for _, b := range f.Registration.Blocked {
		out.Blocked = append(out.Blocked, junctor.ChainAgentBlock(b))
	}
	return out
}
