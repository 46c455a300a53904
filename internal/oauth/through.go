package oauth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// tries is how often a call is made that the server refuses for its token: with
// the one there is, and with the one that it is renewed to.
const tries = 2

// Through makes a call, and again where the server refused its token and there
// is another: a refused call cannot have run. refused reads the challenge of an
// error. wants is what the server wants a person to log in for; nil is nothing.
func (l *Login) Through(ctx context.Context, refused func(error) (Challenge, bool), call func() error) (wants *Challenge, err error) {
	for try := 1; ; try++ {
		number := l.number()
		err = call()
		c, ok := refused(err)
		if !ok {
			return nil, err
		}
		wants = &c
		if c.Status != http.StatusUnauthorized || try == tries {
			break
		}
		again, rerr := l.Renew(ctx, number)
		if rerr != nil {
			return nil, rerr
		}
		if !again {
			break
		}
	}
	if wants.Status == http.StatusForbidden && !wants.More() {
		return nil, err // no login helps
	}
	return wants, err
}

// Rejected is the trace of a call that the server refused although its token was
// got a moment ago: no login helps against what is wrong there. It is nil where
// the token is older.
func (c *Client) Rejected(g *Grant, wants Challenge) *junctor.Trace {
	now := c.Now()
	if !g.Live() || wants.Status != http.StatusUnauthorized || now.Sub(g.Token.Got) > skewed {
		return nil
	}
	r := c.run(junctor.TraceCall)
	s := r.step(stepUse)
	s.Status = wants.Status
	verdict, remedy := "the server refuses a token that "+g.Endpoints.Issuer+" gave for it a moment ago", "tell the server's operator: it has to accept tokens of the authorization server that it names, for "+g.Resource
	if skew := wants.Date.Sub(now).Round(time.Second); !wants.Date.IsZero() && skew.Abs() > skewed {
		verdict += fmt.Sprintf(", and its clock is %s %s ours: it takes new tokens for too old or too new", skew.Abs(), beside(skew))
		remedy = "have the clock of the server set, or set that of this machine"
	}
	_ = r.failed(s, junctor.CodeUpstream, verdict, remedy)
	return r.trace
}

func (l *Login) number() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}
