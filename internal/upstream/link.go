package upstream

import (
	"context"
	"net/http"
)

// link is one established way to a server: HTTP of either era, HTTP+SSE, or a
// child's stdio. It is safe for use by several goroutines.
type link interface {
	// roundTrip sends one request and gives its result object, which belongs to
	// the caller. What the server says or asks about it meanwhile goes to peer,
	// which may be nil. When ctx ends first the request is cancelled as the era
	// wants it. Errors are *wire.Error, the server's own, or *junctor.Error:
	// CodeUnreachable (nothing was sent), CodeUnavailable with RetryAfter (the
	// server refused before it ran), CodeUnauthenticated, CodeTimeout,
	// CodeCanceled, CodeTooLarge, CodeUpstream (it broke off, or made no sense:
	// the request may have run). Where the link itself is over and another is to
	// be opened, the cause is errGone if the request cannot have run and errLost
	// if it may have.
	roundTrip(ctx context.Context, method string, params []byte, peer messageHandler) (result []byte, err error)

	// notify sends a notification.
	notify(ctx context.Context, method string, params []byte) error

	// listen hands peer what the server says by itself until ctx ends or the
	// stream breaks. params are those of subscriptions/listen on a modern link
	// and nil on a legacy one, where notes that belong to no call come here too.
	// A server that never says anything by itself is errSilent. It runs once at
	// a time.
	listen(ctx context.Context, params []byte, peer messageHandler) error

	// answered waits until no question of the server is open, and says whether
	// there has ever been one.
	awaitServerRequests(ctx context.Context) (some bool, err error)

	isModern() bool
	protocolVersion() string    // the protocol version that is spoken
	serverCapabilities() []byte // of the server, a JSON object
	serverInfo() []byte         // serverInfo, a JSON object; nil when not given
	serverInstructions() string
	close() error
}

// messageHandler is the client's end of a link: who hears the notes and answers the
// questions of a server.
type messageHandler interface {
	// note takes a notification: progress, a log message, a changed list, an
	// updated resource. params are valid until it returns.
	handleNotification(method string, params []byte)
	// ask answers a request of a legacy server: elicitation, sampling, roots.
	// It may take long. An error is answered as a JSON-RPC error, a *wire.Error
	// as it is.
	answerRequest(ctx context.Context, method string, params []byte) (result []byte, err error)
}

// linkSettings is what a new link is to begin with.
type linkSettings struct {
	// declared are the client capabilities that a legacy handshake carries, a
	// JSON object. A modern link has them in the _meta of each request.
	capabilities []byte
	// credentials are sent with every HTTP request of the link; nil is none.
	credentials http.Header
	tokenNumber uint64 // of the token among them
	// client and stream are the HTTP clients of the link; nil are those of all.
	client, stream *http.Client
	// most is how many processes the server may have, this one included; 0 is
	// the usual number.
	maxProcesses int
	// ambiguous is told when the server asked something that could have been
	// any of several calls', and says whether any may answer. It may be nil.
	onAmbiguous func() bool
}

// optionsFrom are those of the server, with the link's own HTTP clients.
func (op *linkSettings) optionsFrom(o *Options) *Options {
	if op.client == nil {
		return o
	}
	own := *o
	own.Client, own.Stream = op.client, op.stream
	return &own
}
