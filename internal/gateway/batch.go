package gateway

import (
	"context"
	"net/http"
	"net/netip"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxBatchMessages bounds how many messages one batch may hold.
const maxBatchMessages = 100

// postBatch serves a batch. Only version 2025-03-26 has batches.
func (g *Gateway) postBatch(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope, in *inboundMessage) {
	version := r.Header.Get(wire.HeaderProtocolVersion)
	if version != "" && !wire.HasBatches(version) {
		g.writeError(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "batches are not part of this protocol version; send one message at a time"})
		return
	}
	s := g.findSession(w, r, p, view, nil)
	if s == nil {
		return
	}
	if !wire.HasBatches(s.version) {
		g.writeError(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "batches are not part of this session's protocol version; send one message at a time"})
		return
	}
	ctx, address := r.Context(), g.clientAddress(r)
	g.serveBatch(w, http.StatusBadRequest, in.body, func(m *wire.Message) []byte {
		return g.answerBatchMessage(ctx, p, junctor.EntryMCP, view, address, s, m)
	})
}

// answerBatchMessage handles one message of a legacy batch. It returns nil if the message
// has no response.
func (g *Gateway) answerBatchMessage(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, view catalog.Scope, address netip.Addr, s *session, m *wire.Message) []byte {
	if m.Kind != wire.Request {
		g.handleOneWay(ctx, p, s, m)
		return nil
	}
	// The specification forbids it, since the other messages would need its session.
	if m.Method == wire.MethodInitialize {
		return wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "initialize must not be part of a batch"})
	}
	message := g.newLegacyExchange(p, entryPoint, view, address, m, s).answerLegacy(ctx, nil)
	return message
}

// serveBatch answers a batch over HTTP. bad is the status for an invalid batch.
func (g *Gateway) serveBatch(w http.ResponseWriter, bad int, body []byte, handle func(*wire.Message) []byte) {
	answer, err := answerBatch(body, handle)
	switch {
	case err != nil:
		g.writeError(w, bad, nil, toClientError(err, false, "").rpcError)
	case answer == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		(&postResponse{gateway: g, w: w}).writeFinal(http.StatusOK, answer)
	}
}

// answerBatch answers the messages of a batch one after the other. handle returns the
// response to a message, or nil if it has none. The result is an array of all responses,
// or nil if there are none.
func answerBatch(body []byte, handle func(*wire.Message) []byte) ([]byte, error) {
	messages, errs, err := wire.ParseBatch(body)
	if err == nil && len(messages) > maxBatchMessages {
		err = &wire.Error{Code: wire.CodeInvalidRequest, Message: "a batch holds at most 100 messages"}
	}
	if err != nil {
		return nil, err
	}
	out := []byte{'['}
	for i := range messages {
		var answer []byte
		if errs[i] != nil {
			answer = wire.AppendError(nil, messages[i].ID, toClientError(errs[i], false, "").rpcError)
		} else {
			answer = handle(&messages[i])
		}
		if answer == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, answer...)
	}
	if len(out) == 1 {
		return nil, nil
	}
	return append(out, ']'), nil
}
