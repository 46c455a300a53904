package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// messagePath is where a replica receives messages of others.
	messagePath    = "/replica/message"
	purposeMessage = "replica message"
	// notifyTimeout is how long to wait for another replica.
	notifyTimeout = time.Second
	// maxMessage bounds a message before it is sealed, which adds a third. PostgreSQL
	// carries less than 8000 bytes in one notification.
	maxMessage = 5800
)

// message is what one replica sends to all others.
type message struct {
	From    string                `json:"from"`   // id of the sender, which is of one run
	Number  uint64                `json:"number"` // counts the messages of that run
	Sent    int64                 `json:"sent"`   // in milliseconds since 1970, by the sender's clock
	Session *gateway.SessionEvent `json:"session,omitempty"`
	Changes []catalog.Change      `json:"changes,omitempty"`
	Agent   string                `json:"agent,omitempty"`  // an on-chain agent whose registration may have changed
	Listed  *serverName           `json:"listed,omitempty"` // a server that the sender runs for all, whose lists changed
	Rules   bool                  `json:"rules,omitempty"`  // rules about calls were changed
}

// serverName names a server of a tenant.
type serverName struct {
	Tenant junctor.TenantID `json:"tenant"`
	Server string           `json:"server"`
}

// BroadcastAgentChange tells the other replicas that the registration of an on-chain
// agent may have changed.
func (p *Replicas) BroadcastAgentChange(ctx context.Context, agent string) {
	if p != nil {
		p.broadcast(ctx, message{Agent: agent})
	}
}

// NotifyAll implements gateway.Replicas. Each replica that can be reached has acted on it when
// NotifyAll returns, so that a client that is answered finds the same state at every replica.
// A replica that cannot be reached, or has just started, receives the same message by
// way of the database.
func (p *Replicas) NotifyAll(ctx context.Context, n gateway.SessionEvent) {
	text, err := p.encodeMessage(message{Session: &n})
	if err == nil {
		p.notifyEach(ctx, text)
	}
	p.publish(ctx, text, err)
}

// notifyEach sends a message to each live replica and waits for all of them.
func (p *Replicas) notifyEach(ctx context.Context, text []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, one := range *p.others.Load() {
		all.Go(func() {
			if err := one.notify(ctx, text); err != nil {
				p.Log.Debug("cannot notify another replica directly; it reads the change from the database", telemetry.ErrorAttr(err))
			}
		})
	}
	all.Wait()
}

func (p *remoteReplica) notify(ctx context.Context, text []byte) error {
	resp, err := p.post(ctx, messagePath, text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return junctor.Errorf(junctor.CodeUnavailable, "it responds with HTTP %d", resp.StatusCode)
	}
	return nil
}

// receiveMessage serves messagePath.
func (p *Replicas) receiveMessage(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
		return
	}
	if err := p.handleMessage(r.Context(), body, true); err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// encodeMessage numbers a message and encodes it.
func (p *Replicas) encodeMessage(what message) ([]byte, error) {
	what.From, what.Number, what.Sent = p.self.ID, p.sent.Add(1), time.Now().UnixMilli()
	text, err := json.Marshal(what)
	if err == nil && len(text) > maxMessage {
		err = junctor.Errorf(junctor.CodeTooLarge, "it has %d bytes", len(text))
	}
	return text, err
}

// broadcast sends a message to all other replicas through the database.
func (p *Replicas) broadcast(ctx context.Context, what message) {
	text, err := p.encodeMessage(what)
	p.publish(ctx, text, err)
}

// publish sends a message by way of the database, sealed and numbered: every user of a
// PostgreSQL may listen to its notifications and send some, copies included. A message
// that cannot be sent is logged, err included: the caller can do nothing about it.
func (p *Replicas) publish(ctx context.Context, text []byte, err error) {
	if len(*p.others.Load()) == 0 {
		return
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), HeartbeatInterval)
		defer cancel()
		err = p.Store.Tell(ctx, p.Ring.Seal(purposeMessage, text))
	}
	if err != nil {
		p.Log.Warn("cannot notify the other replicas", telemetry.ErrorAttr(err))
	}
}

// Receive takes a notification of the database. It returns false if too many wait:
// then the caller must reload everything.
func (p *Replicas) Receive(text string) bool {
	select {
	case p.received <- text:
		return true
	default:
		return false
	}
}

// HandleReceived handles the notifications that Receive took until ctx ends.
func (p *Replicas) HandleReceived(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case sealed := <-p.received:
			text, err := p.Ring.Open(purposeMessage, sealed) //nolint:contextcheck // an unknown key is read with its own timeout
			if err != nil {
				p.Log.Debug("database notification ignored: it is from no replica", telemetry.ErrorAttr(err))
				continue
			}
			if err := p.handleMessage(ctx, text, false); err != nil && ctx.Err() == nil {
				p.Log.Warn("cannot apply another replica's change of a session", telemetry.ErrorAttr(err))
			}
		}
	}
}

// handleMessage acts on a message of another replica once: the copy in a channel
// or the copy in the database, whichever is first. A copy that comes later could mean
// something else by then, such as a request id that is in use again.
func (p *Replicas) handleMessage(ctx context.Context, text []byte, channel bool) error {
	var what message
	if err := json.Unmarshal(text, &what); err != nil || what.From == p.self.ID {
		return nil //nolint:nilerr // from a newer version, or our own
	}
	now := time.Now()
	if channel && !p.replays.confirm(what.From, what.Number, now) {
		return nil
	}
	if !channel && !p.replays.accept(what.From, what.Number, time.UnixMilli(what.Sent), now) {
		p.Log.Debug("database notification ignored: it is a duplicate or too old", "from", what.From)
		return nil
	}
	var err error
	if what.Session != nil {
		err = p.parts.HandleSessionEvent(ctx, *what.Session)
	}
	for _, ch := range what.Changes {
		p.parts.Catalog.Tell(ch)
	}
	if what.Listed != nil {
		p.parts.Servers.RefreshRemote(what.Listed.Tenant, what.Listed.Server)
	}
	if what.Rules {
		err = errors.Join(err, p.parts.ReloadRules(ctx))
	}
	if what.Agent != "" {
		p.parts.ForgetRegistration(what.Agent)
	}
	if channel && err == nil {
		p.replays.accept(what.From, what.Number, now, now)
	}
	return err
}
