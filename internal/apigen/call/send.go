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

// Defaults and bounds of sending. firstBackoff is doubled for each further try.
// A Retry-After beyond maxRetryWait is left to the caller.
const (
	maxTries      = 3                      // sendings of one call
	firstBackoff  = 250 * time.Millisecond // before the second, twice that before the third
	maxRetryWait  = 15 * time.Second       // the longest wait for a Retry-After
	defaultAtOnce = 32                     // requests in flight to one API
)

// Credentials authenticate a request. They are valid for the origin of the API
// and are sent nowhere else.
type Credentials struct {
	Header http.Header
	// Query is an encoded query.
	Query string
	// Secret is the token itself, for arguments that carry it; empty if there
	// is none.
	Secret string
}

// Options are the options of a Sender.
type Options struct {
	// Base is the URL of the API.
	Base string
	// Client comes from internal/egress, which decides what may be dialed.
	Client *http.Client

	// Credentials returns the credentials of a caller. If it is nil, there are
	// none.
	Credentials func(ctx context.Context, p *junctor.Principal) (Credentials, error)
	// Refused is called if the API answered 401. Credentials should then return
	// others, such as a renewed token.
	OnUnauthorized func(p *junctor.Principal)

	// Login returns the error for an answer that asks for a login. It is set if
	// users log in to the API. If it is nil, such an answer is a result like
	// others.
	LoginError func(a *Answer) error

	// Bytes bounds the bytes of answers in flight; nil bounds nothing.
	ByteBudget *limit.ByteBudget
	// MaxBytes bounds one answer; 0 leaves the bound to the client.
	MaxBytes int64

	// Rate is the maximal number of requests per second to the API; 0 is no
	// bound.
	MaxPerSecond float64
	// AtOnce is the maximal number of requests in flight; 0 is 32.
	MaxInFlight int
	// Agent is the User-Agent.
	UserAgent string
	// PerUser is set if callers have credentials of their own. A 429 to one of
	// them then does not hold the others back.
	PerUser bool
}

// Sender sends the requests of one API. Slots and pacer belong to that API
// only, so that a slow or flooded API takes nothing from another. It is safe
// for concurrent use.
type Sender struct {
	options Options
	slots   chan struct{}
	pacer   pacer
}

// NewSender returns a Sender. Zero values of o get their defaults.
func NewSender(o Options) *Sender {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = defaultAtOnce
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 40
	}
	return &Sender{options: o, slots: make(chan struct{}, o.MaxInFlight), pacer: pacer{perSecond: o.MaxPerSecond}}
}

// Answer is the response of the API, read to its end.
type Answer struct {
	Method string
	// Path is the template of the plan, without the base and without values.
	Path   string
	Status int
	Header http.Header
	Body   []byte
}

// Send makes the request of a plan and its arguments and sends it, up to three
// times.
//
// It repeats a request that cannot have run: no connection was made, or the API
// answered 503 with Retry-After. If again is set, because the tool only reads
// or may run twice, it also repeats after a broken connection and after 429,
// 502, 503 and 504. After a 401 it asks for other credentials and tries once
// more with them.
//
// more are headers of the call itself, such as its trace. Headers of the plan
// and of credentials take precedence.
func (s *Sender) Send(ctx context.Context, plan *Plan, arguments []byte, p *junctor.Principal, again bool, more http.Header) (*Answer, error) {
	own, err := s.credentialsFor(ctx, plan, p)
	if err != nil {
		return nil, err
	}
	var req *Request
	prepare := func() error {
		req, err = plan.BuildRequest(s.options.Base, arguments, func(string) (string, bool) { return own.Secret, own.Secret != "" })
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
	// renewed is set after the first 401: other credentials are tried once.
	renewed := false
	for try := 1; ; try++ {
		answer, err := s.sendOnce(ctx, plan, req, limit.PartyOf(p))
		if s.options.LoginError != nil && answer.requiresLogin() {
			return nil, s.options.LoginError(answer)
		}
		if answer != nil && answer.Status == http.StatusUnauthorized && !renewed && own.Header != nil && s.options.OnUnauthorized != nil {
			// A token may have ended: with another it is tried once more.
			renewed = true
			former := own
			s.options.OnUnauthorized(p)
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

// requiresLogin reports whether the API rejected the caller's credentials, or
// requires more scopes.
func (a *Answer) requiresLogin() bool {
	return a != nil && (a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden && strings.Contains(a.Header.Get("WWW-Authenticate"), "insufficient_scope"))
}

// credentialsFor returns the credentials for a plan. There are none if the
// document says that none are required, if they are optional and missing, or if
// the request goes to another origin than the API: a document must not be able
// to send a credential elsewhere.
func (s *Sender) credentialsFor(ctx context.Context, plan *Plan, p *junctor.Principal) (Credentials, error) {
	open := len(plan.Security) > 0 && !slices.ContainsFunc(plan.Security, func(needs []SecurityRequirement) bool { return len(needs) > 0 })
	if s.options.Credentials == nil || open || plan.Base != "" && !sameOrigin(plan.Base, s.options.Base) {
		return Credentials{}, nil
	}
	own, err := s.options.Credentials(ctx, p)
	if junctor.CodeOf(err) == junctor.CodeUnauthenticated && slices.ContainsFunc(plan.Security, func(needs []SecurityRequirement) bool { return len(needs) == 0 }) {
		return Credentials{}, nil
	}
	return own, err
}

// sameOrigin reports whether two URLs have the same scheme and host.
func sameOrigin(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}

// applyTo adds the credentials to a request. They replace headers and query
// parameters that arguments set.
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

// removeKeys removes the pairs of a query whose keys the other query has.
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

// isSame reports whether two credentials are equal. If they are, another try
// would fail again.
func (c Credentials) isSame(d Credentials) bool {
	return c.Query == d.Query && c.Secret == d.Secret && maps.EqualFunc(c.Header, d.Header, slices.Equal)
}

// sendOnce waits for its turn and a free slot, sends a request and reads the
// answer.
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
		return nil, junctor.Errorf(junctor.CodeInvalid, "the request of this tool cannot be made: its method or address is invalid")
	}
	req.Header = r.Header.Clone()
	if s.options.UserAgent != "" && req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", s.options.UserAgent)
	}
	resp, err := s.options.Client.Do(req)
	if err != nil {
		return nil, sendError(ctx, err)
	}
	defer resp.Body.Close()
	a := &Answer{Method: r.Method, Path: plan.Path, Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = s.options.ByteBudget.ReadAll(ctx, who, nil, resp.Body, resp.ContentLength, s.options.MaxBytes); err != nil {
		return nil, readError(ctx, err, s.options.MaxBytes)
	}
	if a.Status == http.StatusTooManyRequests && !s.options.PerUser {
		s.pacer.holdBack(a.retryAfter())
	}
	return a, nil
}

// readError returns the error for an answer that was not read. The call ran, so
// the code must not be one after which callers repeat it.
func readError(ctx context.Context, err error, most int64) error {
	if errors.Is(err, limit.ErrTooLong) {
		return junctor.Errorf(junctor.CodeTooLarge, "the API's answer is larger than the limit of %d bytes; raise it with --max-result", most)
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok && (e.Code == junctor.CodeLimited || e.Code == junctor.CodeUnavailable) {
		return &junctor.Error{Code: junctor.CodeTooLarge, RetryAfter: e.RetryAfter, Message: "the API answered, but the answer could not be read: " + e.Message}
	}
	return sendError(ctx, err)
}

// sendError returns the error of egress without the URL that net/http puts
// before it: the URL may contain values of the caller.
func sendError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	return junctor.Errorf(junctor.CodeUpstream, "the API closed the connection before the end of its answer")
}

// retryAfter returns the time of a Retry-After header, at most a day; 0 if
// there is none.
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

// retryDelay decides whether to try again after the given try, and how long to
// wait first. a is nil if err is set.
func retryDelay(a *Answer, err error, try int, again bool) (wait time.Duration, ok bool) {
	if try >= maxTries {
		return 0, false
	}
	wait = firstBackoff<<(try-1) + rand.N(firstBackoff) //nolint:gosec // so that callers do not come back all at once
	if err != nil {
		code := junctor.CodeOf(err)
		return wait, code == junctor.CodeUnreachable || again && code == junctor.CodeUpstream
	}
	hasRetryAfter := a.Header.Get("Retry-After") != ""
	if hasRetryAfter {
		wait = max(a.retryAfter(), wait)
	}
	switch a.Status {
	case http.StatusServiceUnavailable:
		return wait, hasRetryAfter || again
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return wait, again
	}
	return 0, false
}

// waitBeforeRetry waits. It returns false, at once, if the wait would be longer
// than the bound or the deadline of the call.
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
