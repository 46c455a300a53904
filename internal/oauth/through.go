package oauth

import (
	"context"
	"net/http"
)

// tries is how often a call is made that the server refuses for its token.
const tries = 3

// Through makes a call, and again where the server refused its token and there
// is another: a refused call cannot have run. refused reads the challenge of an
// error. wants is what the server wants a person to log in for; nil is nothing.
func (l *Login) Through(ctx context.Context, refused func(error) (Challenge, bool), call func() error) (wants *Challenge, err error) {
	for range tries {
		number := l.number()
		err = call()
		c, ok := refused(err)
		if !ok {
			return nil, err
		}
		wants = &c
		if c.Status != http.StatusUnauthorized {
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

func (l *Login) number() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}
