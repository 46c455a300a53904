package upstream

import (
	"context"
	"net/http"
)

// link is one established connection to a server: HTTP of either era, HTTP+SSE, or the
// stdio of a child process. It is safe for use by several goroutines. Its owner must call
// close.
type link interface {
	// roundTrip sends one request and gives its result object, which belongs to the
	// caller. Notifications and requests of the server about it go to handler, which may
	// be nil. If ctx ends first, the request is cancelled in the way of the era.
	//
	// Errors are *wire.Error, the server's own, or *junctor.Error with one of these
	// codes:
	//   - CodeUnreachable: nothing was sent.
	//   - CodeUnavailable with RetryAfter: the server refused before it ran the request.
	//   - CodeUnauthenticated, CodeTimeout, CodeCanceled, CodeTooLarge.
	//   - CodeUpstream: the connection broke, or the answer makes no sense. The request
	//     may have run.
	//
	// If the link itself has ended and another must be opened, the cause is errNotBegun
	// if the request cannot have run, and errInterrupted if it may have.
	roundTrip(ctx context.Context, method string, params []byte, handler messageHandler) (result []byte, err error)

	// notify sends a notification.
	notify(ctx context.Context, method string, params []byte) error

	// listen hands notifications that belong to no call to handler, until ctx ends or the
	// stream breaks. params are those of subscriptions/listen on a modern link, and nil
	// on a legacy one. The error is errNoStream if the server never sends anything by
	// itself. A legacy link takes one listen at a time, since a session has one stream.
	listen(ctx context.Context, params []byte, handler messageHandler) error

	// awaitServerRequests waits until no request of the server is open, and reports
	// whether there has ever been one.
	awaitServerRequests(ctx context.Context) (some bool, err error)

	isModern() bool
	protocolVersion() string    // in use
	serverCapabilities() []byte // a JSON object
	serverInfo() []byte         // a JSON object; nil if not given
	serverInstructions() string
	// close ends the link and the calls on it, and waits for its goroutines.
	close() error
}

// messageHandler is the client's end of a link: it receives the notifications of a server
// and answers its requests. Calls come from the goroutine that reads the link, so
// handleNotification must not block for long.
type messageHandler interface {
	// handleNotification takes a notification: progress, a log message, a changed list,
	// an updated resource. params are valid until it returns.
	handleNotification(method string, params []byte)
	// answerRequest answers a request of a legacy server: elicitation, sampling, roots.
	// It may take long. A *wire.Error is sent as it is, other errors as an internal
	// error.
	answerRequest(ctx context.Context, method string, params []byte) (result []byte, err error)
}

// linkSettings are the settings of a new link.
type linkSettings struct {
	// capabilities are the client capabilities of a legacy handshake, a JSON object. On a
	// modern link they are in the _meta of each request.
	capabilities []byte
	// credentials are sent with every HTTP request of the link; nil for none.
	credentials http.Header
	tokenNumber uint64 // of the token among the credentials, see Login
	// client and stream are the HTTP clients of the link; nil means those of the server.
	client, stream *http.Client
	// maxProcesses is how many processes the server may have, this one included; 0 means
	// the default.
	maxProcesses int
	// onAmbiguous is called when the server asked something that could belong to any of
	// several calls. It reports whether any of them may answer. It may be nil.
	onAmbiguous func() bool
}

// optionsFrom gives the options of the server, with the link's own HTTP clients.
func (op *linkSettings) optionsFrom(o *Options) *Options {
	if op.client == nil {
		return o
	}
	own := *o
	own.Client, own.StreamClient = op.client, op.stream
	return &own
}
