package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxAttempts is how often a call is made whose token the server refuses: with the
// current token, and with the renewed one.
const maxAttempts = 2

// CallWithRetry makes a call, and repeats it once with another token if the server
// refused the first one. Repeating is safe, since a refused call did not run.
// refused extracts the challenge from an error of call. If only a new login can
// help, CallWithRetry returns the challenge as wants; else wants is nil.
func (l *Login) CallWithRetry(ctx context.Context, refused func(error) (Challenge, bool), call func() error) (wants *Challenge, err error) {
	for try := 1; ; try++ {
		number := l.currentGeneration()
		err = call()
		c, ok := refused(err)
		if !ok {
			return nil, err
		}
		wants = &c
		if c.Status != http.StatusUnauthorized || try == maxAttempts {
			break
		}
		again, rerr := l.RenewToken(ctx, number)
		if rerr != nil {
			return nil, rerr
		}
		if !again {
			break
		}
	}
	if wants.Status == http.StatusForbidden && !wants.NeedsMoreScopes() {
		return nil, err // forbidden for another reason: a login does not help
	}
	return wants, err
}

// TraceRejectedToken returns the trace of a call that the server refused although
// its token is new. Another login would not help then: the server does not accept
// its authorization server's tokens, or its clock is wrong. It returns nil if the
// token is older.
func (c *Client) TraceRejectedToken(g *Grant, wants Challenge) *junctor.Trace {
	now := c.Now()
	if !g.IsLive() || wants.Status != http.StatusUnauthorized || now.Sub(g.Token.ObtainedAt) > maxClockSkew {
		return nil
	}
	f := c.newFlow(junctor.TraceCall)
	s := f.beginStep(stepCall)
	s.Status = wants.Status
	verdict, remedy := "the server rejects a token that "+g.Endpoints.Issuer+" issued for it a moment ago", "report this to the server's operator: the server must accept tokens of the authorization server that it names, with the audience "+g.Resource
	if skew := wants.Date.Sub(now).Round(time.Second); !wants.Date.IsZero() && skew.Abs() > maxClockSkew {
		verdict += fmt.Sprintf(", and the clock of the server is %s %s ours: new tokens look expired or not yet valid to it", skew.Abs(), skewDirection(skew))
		remedy = "synchronize the clocks of the server and of this machine"
	}
	_ = f.failStep(s, junctor.CodeUpstream, verdict, remedy)
	return f.trace
}

// currentGeneration returns the number of the current token without loading the
// grant.
func (l *Login) currentGeneration() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}
