package call

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

const (
	maxTries      = 3                      // of one call
	firstBackoff  = 250 * time.Millisecond // before the second, twice that before the third
	maxRetryWait  = 15 * time.Second       // that a Retry-After is waited for
	defaultAtOnce = 32                     // requests that one API has under way
)

// Credentials are what a request proves with who calls. They are for the origin
// of the API, and go nowhere else.
type Credentials struct {
	Header http.Header
	Query  string // encoded
	Secret string // the token itself, for arguments that are bound to it; "" is none
}

// Options of a Sender.
type Options struct {
	Base   string       // URL of the API
	Client *http.Client // of internal/egress

	// Credentials gives those of a caller; nil is that there are none. Refused
	// hears that the API did not take them.
	Credentials func(ctx context.Context, p *junctor.Principal) (Credentials, error)
	Refused     func(p *junctor.Principal)

	// Login, where people log in to the API, is the error of an answer that wants
	// a login, or another; nil is that such an answer is a result like others.
	Login func(a *Answer) error

	Bytes    *limit.ByteBudget // bounds the bytes of answers in flight; nil does not
	MaxBytes int64             // of one answer; 0 is no bound but the client's

	Rate    float64 // requests a second that the API is sent at most; 0 is no bound
	AtOnce  int     // requests that are under way at a time; 0 is 32
	Agent   string  // what User-Agent says
	PerUser bool    // callers have credentials of their own: what the API refuses one does not hold the others back
}

// Sender sends the requests of one API. What it holds is for that API alone, so
// that one that is slow or flooded takes nothing from another.
type Sender struct {
	options Options
	slots   chan struct{}
	pacer   pacer
}

// NewSender makes one.
func NewSender(o Options) *Sender {
	if o.AtOnce <= 0 {
		o.AtOnce = defaultAtOnce
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 40
	}
	return &Sender{options: o, slots: make(chan struct{}, o.AtOnce), pacer: pacer{perSecond: o.Rate}}
}

// Answer is what the API said.
type Answer struct {
	Method string
	Path   string // without the base
	Status int
	Header http.Header
	Body   []byte
}

// Send makes a request of a plan and its arguments and sends it. Only what
// cannot have run is sent again: where no connection came about, or the API says
// 503 and when to come back; and, where again is set, since the tool only reads
// or may run twice, what broke off, was refused for now (429) or failed on the
// way (502, 503, 504). more are headers of the call itself, such as its trace: what
// the plan or a credential says stands before them.
func (s *Sender) Send(ctx context.Context, plan *Plan, arguments []byte, p *junctor.Principal, again bool, more http.Header) (*Answer, error) {
	own, err := s.credentialsFor(ctx, plan, p)
	if err != nil {
		return nil, err
	}
	var req *Request
	prepare := func() error {
		req, err = plan.Build(s.options.Base, arguments, func(string) (string, bool) { return own.Secret, own.Secret != "" })
		if err == nil {
			own.applyTo(req)
			for name, values := range more {
				if req.Header[name] == nil {
					req.Header[name] = values
				}
			}
		}
		return err
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	renewed := false
	for try := 1; ; try++ {
		answer, err := s.sendOnce(ctx, plan, req, limit.PartyOf(p))
		if s.options.Login != nil && answer.requiresLogin() {
			return nil, s.options.Login(answer)
		}
		if answer != nil && answer.Status == http.StatusUnauthorized && !renewed && own.Header != nil && s.options.Refused != nil {
			// A token may have ended: with another it is tried once more.
			renewed = true
			former := own
			s.options.Refused(p)
			if own, err = s.credentialsFor(ctx, plan, p); err != nil {
				return nil, err
			}
			if !own.isSame(former) {
				if err := prepare(); err != nil {
					return nil, err
				}
				continue
			}
			return answer, nil
		}
		wait, ok := retryDelay(answer, err, try, again)
		if !ok || !s.waitBeforeRetry(ctx, wait) {
			return answer, err
		}
	}
}

// requiresLogin says whether the API did not take who called, or wants more rights.
func (a *Answer) requiresLogin() bool {
	return a != nil && (a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden && strings.Contains(a.Header.Get("WWW-Authenticate"), "insufficient_scope"))
}

// credentialsFor are those for a plan: none where the document says that none are
// needed, or need not be there and are not, or where the request leaves the API's
// origin.
func (s *Sender) credentialsFor(ctx context.Context, plan *Plan, p *junctor.Principal) (Credentials, error) {
	open := len(plan.Security) > 0 && !slices.ContainsFunc(plan.Security, func(needs []Need) bool { return len(needs) > 0 })
	if s.options.Credentials == nil || open || plan.Base != "" && !sameOrigin(plan.Base, s.options.Base) {
		return Credentials{}, nil
	}
	own, err := s.options.Credentials(ctx, p)
	if junctor.CodeOf(err) == junctor.CodeUnauthenticated && slices.ContainsFunc(plan.Security, func(needs []Need) bool { return len(needs) == 0 }) {
		return Credentials{}, nil
	}
	return own, err
}

func sameOrigin(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}

// applyTo adds the credentials to a request; nothing that an argument says stands in
// their place.
func (c Credentials) applyTo(r *Request) {
	for name, values := range c.Header {
		if name == "Cookie" && r.Header.Get("Cookie") != "" {
			values = []string{r.Header.Get("Cookie") + "; " + values[0]}
		}
		r.Header[name] = values
	}
	if c.Query != "" {
		r.URL.RawQuery = strings.Trim(removeKeys(r.URL.RawQuery, c.Query)+"&"+c.Query, "&")
	}
}

// removeKeys takes the pairs out of a query whose keys another has.
func removeKeys(query, other string) string {
	taken := map[string]bool{}
	for pair := range strings.SplitSeq(other, "&") {
		key, _, _ := strings.Cut(pair, "=")
		taken[key] = true
	}
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(pair, "="); !taken[key] {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

func (c Credentials) isSame(d Credentials) bool {
	return c.Query == d.Query && c.Secret == d.Secret && maps.EqualFunc(c.Header, d.Header, slices.Equal)
}

// sendOnce sends a request and reads its answer, when it is its turn.
func (s *Sender) sendOnce(ctx context.Context, plan *Plan, r *Request, who limit.Party) (*Answer, error) {
	if err := s.pacer.waitTurn(ctx); err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), body)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the request of this tool cannot be made: its method or address is none")
	}
	req.Header = r.Header.Clone()
	if s.options.Agent != "" && req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", s.options.Agent)
	}
	resp, err := s.options.Client.Do(req)
	if err != nil {
		return nil, sendError(ctx, err)
	}
	defer resp.Body.Close()
	a := &Answer{Method: r.Method, Path: plan.Path, Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = s.options.Bytes.ReadAll(ctx, who, nil, resp.Body, resp.ContentLength, s.options.MaxBytes); err != nil {
		return nil, readError(ctx, err, s.options.MaxBytes)
	}
	if a.Status == http.StatusTooManyRequests && !s.options.PerUser {
		s.pacer.holdBack(a.retryAfter())
	}
	return a, nil
}

// readError is why an answer was not read. The call ran: nobody may take the error
// for one after which it is made again.
func readError(ctx context.Context, err error, most int64) error {
	if errors.Is(err, limit.ErrTooLong) {
		return junctor.Errorf(junctor.CodeTooLarge, "the API's answer is larger than the %d bytes that are taken; --max-result sets the limit", most)
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok && (e.Code == junctor.CodeLimited || e.Code == junctor.CodeUnavailable) {
		return &junctor.Error{Code: junctor.CodeTooLarge, RetryAfter: e.RetryAfter, Message: "the API answered, but the answer was not read: " + e.Message}
	}
	return sendError(ctx, err)
}

// sendError is what egress says, without the URL that http puts before it: it
// may hold what a caller gave.
func sendError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	return junctor.Errorf(junctor.CodeUpstream, "the API broke off its answer")
}

// retryAfter is when the API says to come back; 0 where it does not.
func (a *Answer) retryAfter() time.Duration {
	text := strings.TrimSpace(a.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil {
		return junctor.BoundDuration(float64(seconds), time.Second, 24*time.Hour)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), 24*time.Hour)
	}
	return 0
}

// retryDelay says whether to try again, and when.
func retryDelay(a *Answer, err error, try int, again bool) (wait time.Duration, ok bool) {
	if try >= maxTries {
		return 0, false
	}
	wait = firstBackoff<<(try-1) + rand.N(firstBackoff) //nolint:gosec // so that callers do not come back all at once
	if err != nil {
		code := junctor.CodeOf(err)
		return wait, code == junctor.CodeUnreachable || again && code == junctor.CodeUpstream
	}
	said := a.Header.Get("Retry-After") != ""
	if said {
		wait = max(a.retryAfter(), wait)
	}
	switch a.Status {
	case http.StatusServiceUnavailable:
		return wait, said || again
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return wait, again
	}
	return 0, false
}

// waitBeforeRetry sleeps, unless that would take longer than anybody waits.
func (s *Sender) waitBeforeRetry(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); wait > maxRetryWait || ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
