package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Step is one step of a probe.
type Step string

// The steps of a probe, in their order.
const (
	StepAddress        Step = "address" // the name resolves and the port is open, or the command starts
	StepTLS            Step = "tls"
	StepHTTP           Step = "http"
	StepAuthentication Step = "authentication"
	StepProtocol       Step = "protocol"
	StepList           Step = "list"
)

// reportStep tells the observer of a probe, if the context has one, that a step has
// passed.
func reportStep(ctx context.Context, step Step) { junctor.StepPassed(ctx, string(step)) }

// Report is the result of a probe.
type Report struct {
	Passed []Step // in order
	Failed Step   // "" if all passed
	Reason string // what failed, with details for the server's owner
	Hint   string // what to do about it
	State  State
}

// Probe opens a new link, without the breaker and the existing sessions, and lists the
// server. The error is why that failed; the report says at which step and what to do.
//
// A failed probe changes nothing of the Server. After a successful one, the state says
// that the server answers, the breaker is closed, and a server whose last answer was a
// failure is followed again at once.
func (s *Server) Probe(ctx context.Context) (Report, error) {
	fresh := &linkOpener{opts: &s.opts, paramHeaders: s.linkOpener.paramHeaders}
	return s.runProbe(ctx, fresh, func(a linkAccess, l link, _ *listedOffer, took time.Duration) {
		hadFailed := s.State().LastError != ""
		s.breaker.recordSuccess(a.credentialsDigest)
		s.recordAnswer(l, took, nil)
		_ = l.close()
		if hadFailed {
			s.wakeUp()
		}
	})
}

// Connect is Probe for a server that nobody has used yet. It keeps the offer for the first
// caller, and a modern link as well.
func (s *Server) Connect(ctx context.Context) (Report, error) {
	return s.runProbe(ctx, s.linkOpener, s.adoptProbeLink)
}

// runProbe opens a link with how and lists the server. If both worked, it calls keep,
// which then owns the link; otherwise it closes the link. The steps before the failed one
// count as passed.
func (s *Server) runProbe(ctx context.Context, how *linkOpener, keep func(linkAccess, link, *listedOffer, time.Duration)) (Report, error) {
	// The HTTP client reports through reached how far the connection came. Errors alone
	// do not tell.
	var reached probeProgress
	begun := time.Now()
	a, l, err := s.openProbeLink(reached.withTrace(ctx), how)
	var report Report
	if err == nil {
		if s.opts.Transport != TransportStdio {
			reportStep(ctx, StepAuthentication)
		}
		reportStep(ctx, StepProtocol)
		report.State.addHandshake(l, &s.opts)
		report.State.Latency = time.Since(begun)
		listing, cancel := context.WithTimeout(ctx, s.opts.Timeouts.List)
		defer cancel()
		o, ttl, listErr := s.readOffer(listing, l)
		if err = listErr; err == nil {
			reportStep(ctx, StepList)
			report.State.Connected, report.State.LastSeen = true, s.opts.Now()
			report.State.countItems(o)
			if !l.isModern() {
				s.conditional.claimSearch(s.opts.Now(), 0)
				s.conditional.recordTools(o.Tools, true)
				if s.mergeConditionalTools(ctx) {
					s.publishEvent(catalog.Event{Kind: catalog.EventChanged})
				}
			}
			keep(a, l, newListedOffer(o, s.opts.Now(), ttl), report.State.Latency)
		} else {
			_ = l.close()
		}
		reached.hasHandshake = true
	}
	if report.State.Transport == "" {
		report.State.Transport = s.opts.Transport
	}
	steps := s.probeSteps()
	if err == nil {
		report.Passed = steps
		return report, nil
	}
	report.Failed = reached.failedStep(s.opts.Transport, err)
	if !slices.Contains(steps, report.Failed) {
		report.Failed = StepHTTP // a plain http server has no TLS step
	}
	report.Passed = steps[:slices.Index(steps, report.Failed)]
	// From here on the error is for the report: it quotes the server's
	// messages, with secrets removed.
	err = s.probeError(err)
	report.Reason, report.Hint = err.Error(), s.hintFor(report.Failed, err)
	report.State.LastError = report.Reason
	return report, err
}

// openProbeLink opens a link without a caller. It declares all capabilities, so that the
// server shows all its tools, and answers nothing.
func (s *Server) openProbeLink(ctx context.Context, how *linkOpener) (linkAccess, link, error) {
	a, err := s.resolveAccess(ctx, nil, &catalog.Caller{Capabilities: []byte(allCapabilities)})
	if err != nil {
		return a, nil, err
	}
	attempt, cancel := context.WithTimeout(ctx, s.opts.Timeouts.Connect)
	defer cancel()
	l, err := how.openLink(attempt, linkSettings{capabilities: a.capabilities, credentials: a.header, tokenNumber: a.login.TokenNumber, maxProcesses: math.MaxInt})
	return a, l, err
}

// adoptProbeLink keeps the link and offer of a probe. A modern link becomes the session
// of all callers, unless there is one by now. A legacy one has declared more than any
// caller may, so it is closed. Its tools are offered as conditional until the listing
// link shows which of them all clients see.
func (s *Server) adoptProbeLink(a linkAccess, l link, known *listedOffer, took time.Duration) {
	s.breaker.recordSuccess(a.credentialsDigest)
	s.recordAnswer(l, took, nil)
	if !l.isModern() {
		_ = l.close()
		known.offer.Tools = markConditional(known.offer.Tools)
		known.freshUntil = time.Time{}
		s.lastOffer.Store(known)
		return
	}
	s.lastOffer.Store(known)
	everybody := linkAccess{credentialsDigest: a.credentialsDigest, ownProcess: a.ownProcess}
	sess := &session{tableKeys: []string{everybody.linkKey(true)}, credentialsDigest: a.credentialsDigest, ready: make(chan struct{}), link: l, lastUsed: s.opts.Now()}
	close(sess.ready)
	s.mu.Lock()
	spare := s.closed || s.sessions[sess.tableKeys[0]] != nil
	if !spare {
		s.sessions[sess.tableKeys[0]] = sess
		s.live[sess] = struct{}{}
		s.scheduleCleanup()
	}
	s.mu.Unlock()
	if spare {
		_ = l.close()
	}
	s.wakeUp() // begin to follow changes
}

// probeError gives err with the server's own message and the output of its command. It is
// for users who may read the server's state.
func (s *Server) probeError(err error) error {
	if e, own := errors.AsType[*wire.Error](err); own {
		e = s.scrubError(e)
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + s.opts.ID + " answered: " + clipText(e.Message), Cause: e}
	}
	out := *junctor.AsError(err)
	out.Message = s.opts.Scrub(describeError(&out))
	return &out
}

// probeSteps gives the steps of a probe with this transport, in order.
func (s *Server) probeSteps() []Step {
	switch {
	case s.opts.Transport == TransportStdio:
		return []Step{StepAddress, StepProtocol, StepList}
	case s.opts.URL.Scheme == "https":
		return []Step{StepAddress, StepTLS, StepHTTP, StepAuthentication, StepProtocol, StepList}
	default:
		return []Step{StepAddress, StepHTTP, StepAuthentication, StepProtocol, StepList}
	}
}

// probeProgress records how far a probe came. The hooks of the HTTP client set it.
type probeProgress struct {
	hasConnected, hasTLS, hasAnswered atomic.Bool
	hasHandshake                      bool
}

// withTrace gives a context whose HTTP requests report their progress.
func (m *probeProgress) withTrace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil && !m.hasConnected.Swap(true) {
				reportStep(ctx, StepAddress)
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil && !m.hasTLS.Swap(true) {
				reportStep(ctx, StepTLS)
			}
		},
		GotFirstResponseByte: func() {
			if !m.hasAnswered.Swap(true) {
				reportStep(ctx, StepHTTP)
			}
		},
	})
}

// failedStep gives the step at which err happened.
func (m *probeProgress) failedStep(t Transport, err error) Step {
	if t == TransportStdio {
		if code := junctor.CodeOf(err); !m.hasHandshake && (code == junctor.CodeUnreachable || code == junctor.CodeNotFound || code == junctor.CodeInvalid) {
			return StepAddress
		}
		if m.hasHandshake {
			return StepList
		}
		return StepProtocol
	}
	code := junctor.CodeOf(err)
	switch {
	case code == junctor.CodeUnauthenticated:
		return StepAuthentication
	case m.hasHandshake:
		return StepList
	case code == junctor.CodeDenied || !m.hasConnected.Load() && !m.hasAnswered.Load():
		return StepAddress
	case code == junctor.CodeUnreachable && !m.hasAnswered.Load():
		return StepTLS
	case !m.hasAnswered.Load() || statusOf(err) >= 500:
		return StepHTTP
	default:
		return StepProtocol
	}
}

// hintFor returns what to do about a step that failed with err.
func (s *Server) hintFor(step Step, err error) string {
	code := junctor.CodeOf(err)
	switch step {
	case StepAddress:
		switch {
		case errors.Is(err, errExited):
			return "it ended by itself: run the command in a terminal to see why"
		case s.opts.Transport == TransportStdio:
			return "check that the program is installed and that command has its correct name"
		case code == junctor.CodeDenied:
			if egress.NamesLoopback(s.opts.URL.String()) {
				return "ask an admin to add it, who may add addresses of this machine if only this machine reaches Junctor; otherwise, allow the range with --egress-allow"
			}
			return "allow its address range with --egress-allow, or use a public https address"
		}
		return "check the host and port of the URL, and that the server is running"
	case StepTLS:
		return "check the scheme of the URL, and that the server's certificate is valid for " + s.opts.URL.Hostname()
	case StepHTTP:
		if code == junctor.CodeTimeout {
			return "the server accepted the connection, but does not answer: check its log"
		}
		return "the server returns errors: check its log, or try again later"
	case StepAuthentication:
		r := RefusalOf(err)
		if r != nil && r.Given {
			return "the credentials are wrong, have expired or were revoked: enter others"
		}
		if r != nil && strings.Contains(r.Challenge, "resource_metadata") {
			return "the server requires an OAuth login: add it with --oauth (auth type oauth), then run junctor server login " + s.opts.ID
		}
		return "set the credentials that the server requires: a bearer token, an API key header, or a user and password"
	case StepProtocol:
		if s.opts.Transport == TransportStdio {
			return "check that the command starts an MCP server, and that only MCP messages are written to its standard output"
		}
		if path := s.opts.URL.Path; path == "" || path == "/" {
			return "check the path of the URL: it is often /mcp or /sse"
		}
		return "check that an MCP server is at this URL: the path often ends in /mcp or /sse" + sseHint(s.opts.Transport)
	case StepList:
		return "the server connects, but cannot list its tools, resources or prompts: check its log"
	}
	return ""
}

// sseHint is an addition to a hint for a server that is set to the old transport.
func sseHint(t Transport) string {
	if t == TransportSSE {
		return "; newer servers require the transport http"
	}
	return ""
}
