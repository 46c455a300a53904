package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// ruleRetry is how often AnnounceRules asks a replica again that has not answered.
const ruleRetry = 250 * time.Millisecond

// AnnounceRules tells the other replicas that rules about calls were changed. When it
// returns, each of them has read the change, has ended, or no longer relies on what it
// read before: without an answer of the database, a replica does so for less than
// ExpiryAfter.
func (p *Replicas) AnnounceRules(ctx context.Context) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ExpiryAfter)
	defer cancel()
	text, err := p.encodeMessage(message{Rules: true})
	if err != nil {
		p.Log.Error("cannot announce rules", telemetry.ErrorAttr(err))
	}
	confirmed := map[string]bool{}
	for {
		// A replica that is not on the list yet reads the rules once it is.
		all, err := p.Store.Replicas(ctx)
		if err == nil {
			p.updateReplicas(all)
			if p.tellRules(ctx, text, all, confirmed) {
				return
			}
		}
		if !sleep(ctx, ruleRetry) {
			p.Log.Warn("a replica did not confirm changed rules; it refuses calls until it has read them")
			return
		}
	}
}

// tellRules sends the message to each live replica that has not confirmed it. It reports
// whether all have.
func (p *Replicas) tellRules(ctx context.Context, text []byte, all []store.Replica, confirmed map[string]bool) bool {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	var (
		mu   sync.Mutex
		work sync.WaitGroup
	)
	others, done := *p.others.Load(), true
	for _, n := range all {
		if n.ID == p.self.ID || n.Silent > ExpiryAfter || confirmed[n.ID] {
			continue
		}
		one := others[n.ID]
		work.Go(func() {
			ok := one != nil && one.notify(ctx, text) == nil
			mu.Lock()
			defer mu.Unlock()
			if confirmed[n.ID] = ok; !ok {
				done = false
			}
		})
	}
	work.Wait()
	return done
}
