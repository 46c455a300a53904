package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// tellPath is where a process hears what another tells it.
	tellPath    = "/peer/tell"
	purposeTell = "peer tell"
	// heardWithin is how long another process is waited for.
	heardWithin = time.Second
	// maxTold is what PostgreSQL carries in one notification (8000 bytes), and a little
	// less, before it is sealed: that takes a third more.
	maxTold = 5800
)

// told is what one process says to all others.
type told struct {
	From    string           `json:"from"`   // whose name is of one run
	Number  uint64           `json:"number"` // counts what that run says
	Sent    int64            `json:"sent"`   // when, in milliseconds since 1970, by its clock
	Session *gateway.News    `json:"session,omitempty"`
	Changes []catalog.Change `json:"changes,omitempty"`
	Agent   string           `json:"agent,omitempty"`  // of a chain, whose registration may be another now
	Listed  *listed          `json:"listed,omitempty"` // that this process runs for all, and that offers something else now
}

// listed names a server.
type listed struct {
	Tenant junctor.TenantID `json:"tenant"`
	Server string           `json:"server"`
}

// Tell implements gateway.Peers. Each replica that can be reached has acted on it when
// Tell returns, so that a client that is answered finds the same state at every replica.
// A replica that cannot be reached, or has just started, receives the same message by
// way of the database.
func (p *peers) Tell(ctx context.Context, n gateway.News) {
	text, err := p.say(told{Session: &n})
	if err == nil {
		p.tellEach(ctx, text)
	}
	p.publish(ctx, text, err)
}

// tellEach sends a message to each live replica and waits for all of them.
func (p *peers) tellEach(ctx context.Context, text []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heardWithin)
	defer cancel()
	var all sync.WaitGroup
	for _, one := range *p.others.Load() {
		all.Go(func() {
			if err := one.tell(ctx, text); err != nil {
				p.app.log.Debug("another process did not hear at once", telemetry.Err(err))
			}
		})
	}
	all.Wait()
}

func (p *peer) tell(ctx context.Context, text []byte) error {
	resp, err := p.post(ctx, tellPath, text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return junctor.Errorf(junctor.CodeUnavailable, "it answers %d", resp.StatusCode)
	}
	return nil
}

// told hears another process.
func (p *peers) told(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTold))
	if err != nil {
		http.Error(w, "this is too long", http.StatusRequestEntityTooLarge)
		return
	}
	if err := p.act(r.Context(), body, true); err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// say puts what is told into words.
func (p *peers) say(what told) ([]byte, error) {
	what.From, what.Number, what.Sent = p.self.ID, p.spoken.Add(1), time.Now().UnixMilli()
	text, err := json.Marshal(what)
	if err == nil && len(text) > maxTold {
		err = junctor.Errorf(junctor.CodeTooLarge, "it has %d bytes", len(text))
	}
	return text, err
}

// tell sends a message to all other replicas by way of the database.
func (p *peers) tell(ctx context.Context, what told) {
	text, err := p.say(what)
	p.publish(ctx, text, err)
}

// publish sends a message by way of the database, sealed and numbered: every user of a
// PostgreSQL may listen to its notifications and send some, copies included. A message
// that cannot be sent is logged, err included: the caller can do nothing about it.
func (p *peers) publish(ctx context.Context, text []byte, err error) {
	if len(*p.others.Load()) == 0 {
		return
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
		defer cancel()
		err = p.app.store.Tell(ctx, sealer{p.app.ring}.Seal(purposeTell, text))
	}
	if err != nil {
		p.app.log.Warn("other processes could not be told of something", telemetry.Err(err))
	}
}

// said takes what another process says; false where too much waits.
func (p *peers) said(text string) bool {
	select {
	case p.heard <- text:
		return true
	default:
		return false
	}
}

// hear acts on what others say until ctx ends.
func (p *peers) hear(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case sealed := <-p.heard:
			text, err := sealer{p.app.ring}.Open(purposeTell, sealed) //nolint:contextcheck // a key that is not known yet is looked for in a time of its own
			if err != nil {
				p.app.log.Debug("a notification of the database is not a replica's", telemetry.Err(err))
				continue
			}
			if err := p.act(ctx, text, false); err != nil && ctx.Err() == nil {
				p.app.log.Warn("what another process says of a session could not be followed", telemetry.Err(err))
			}
		}
	}
}

// act does what follows from a message of another replica, once: the copy in a channel
// or the copy in the database, whichever is first. A copy that comes later could mean
// something else by then, such as a request id that is in use again.
func (p *peers) act(ctx context.Context, text []byte, channel bool) error {
	var what told
	if err := json.Unmarshal(text, &what); err != nil || what.From == p.self.ID {
		return nil //nolint:nilerr // of a newer version, or our own
	}
	now := time.Now()
	if channel && !p.replays.confirm(what.From, what.Number, now) {
		return nil
	}
	if !channel && !p.replays.accept(what.From, what.Number, time.UnixMilli(what.Sent), now) {
		p.app.log.Debug("a notification of the database was received before, or is too old", "from", what.From)
		return nil
	}
	var err error
	if what.Session != nil {
		err = p.app.gateway.Hear(ctx, *what.Session)
	}
	for _, ch := range what.Changes {
		p.app.catalog.Tell(ch)
	}
	if what.Listed != nil {
		p.app.servers.RefreshRemote(what.Listed.Tenant, what.Listed.Server)
	}
	if agent, bad := erc8004.ParseAgent(what.Agent); bad == nil {
		p.app.chains.resolver.Forget(agent)
	}
	if channel && err == nil {
		p.replays.accept(what.From, what.Number, now, now)
	}
	return err
}
