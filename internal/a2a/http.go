package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Versions of the protocol, as the A2A-Version header names them.
const (
	version10 = "1.0"
	version03 = "0.3"
)

// caller is the principal of a request, and the agent to which the request goes.
type caller struct {
	principal  *junctor.Principal
	agent      junctor.Agent
	address    string // the agent's name in the URL, possibly with the tenant before it
	version    string
	extensions []string // URIs of the extensions that the client activates
}

// callerKey is the context key of the caller.
type callerKey struct{}

// callerFrom returns the caller of a request that bindRequest prepared.
func callerFrom(ctx context.Context) (*caller, error) {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, newProblem(a2a.ErrUnauthenticated, "authentication is required: send a key as a Bearer token")
	}
	return c, nil
}

// authenticateCaller authenticates a request and finds the agent in its path, which
// must be a published agent of the principal's tenant. For an agent of another
// tenant the error is the same as for one that does not exist.
func (s *Server) authenticateCaller(r *http.Request) (*caller, error) {
	p, err := s.Authenticate(r)
	if err != nil {
		return nil, toProtocolError(err)
	}
	address := r.PathValue("agent")
	// The URL has the name alone, or TENANT.NAME if tenants have agents of one
	// name.
	name := strings.TrimPrefix(address, string(p.Tenant)+".")
	a, err := s.Store.For(p.Tenant).PublishedAgent(r.Context(), name)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return nil, newProblem(a2a.ErrMethodNotFound, fmt.Sprintf("unknown published agent %q", address))
	case err != nil:
		return nil, toProtocolError(err)
	case !p.Has(junctor.ScopeToolsCall):
		return nil, newProblem(a2a.ErrUnauthorized, "messages to an agent require the scope "+string(junctor.ScopeToolsCall))
	}
	return &caller{principal: p, agent: a, address: address}, nil
}

// bindRequest prepares a request for the library. Its context carries the caller
// and ends with the server too. Extensions are read from the headers of both
// versions and passed on in the current one. The caller calls the returned function
// in the end.
func (s *Server) bindRequest(r *http.Request, c *caller) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), callerKey{}, c))
	// Close must end streams, which otherwise last as long as their clients want.
	stop := context.AfterFunc(s.lifetime, cancel) //nolint:contextcheck // the request ends with the server too
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	var wanted []string
	for _, line := range slices.Concat(r.Header.Values(a2a.SvcParamExtensions), r.Header.Values("X-"+a2a.SvcParamExtensions)) {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one != "" && !slices.Contains(wanted, one) {
				wanted = append(wanted, one)
			}
		}
	}
	r.Header.Del("X-" + a2a.SvcParamExtensions)
	r.Header[http.CanonicalHeaderKey(a2a.SvcParamExtensions)] = wanted
	c.extensions = wanted
	return r, func() { stop(); cancel() }
}

// readBody reads a request body and checks that every JSON parser reads it in the
// same way: the library parses the same bytes again later. A status of 0 leaves the
// choice to the caller.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	// A browser cannot send this type to another origin without a preflight
	// request.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" && kind != "application/a2a+json" {
		return nil, http.StatusUnsupportedMediaType, newProblem(a2a.ErrUnsupportedContentType, "Content-Type must be application/json")
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBody))
	if refusal, ok := errors.AsType[*junctor.Error](err); ok && refusal.Code != junctor.CodeTooLarge { // the limit on request bytes in flight was reached
		return nil, http.StatusServiceUnavailable, newProblem(a2a.ErrInternalError, refusal.Message)
	}
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, newProblem(a2a.ErrInvalidRequest, fmt.Sprintf("the body cannot be read, or is larger than %d bytes", s.MaxBody))
	}
	if err := wire.CheckJSON(body); err != nil {
		return nil, 0, newProblem(a2a.ErrParseError, "the body is not valid JSON: "+err.Error())
	}
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return nil, 0, newProblem(a2a.ErrInvalidRequest, "the body must be one JSON object; batches are not supported")
	}
	return bytes.TrimSpace(body), 0, nil
}

// parseVersion returns the protocol version of a request. A request without a
// version is one of 0.3, whose clients do not send it.
func parseVersion(r *http.Request) (string, error) {
	versions := r.Header.Values(a2a.SvcParamVersion)
	if len(versions) == 0 {
		versions = r.URL.Query()[a2a.SvcParamVersion]
	}
	switch {
	case len(versions) > 1:
		return "", newProblem(a2a.ErrVersionNotSupported, "A2A-Version is given twice")
	case len(versions) == 0 || versions[0] == "" || versions[0] == version03:
		return version03, nil
	case versions[0] == version10:
		return version10, nil
	}
	return "", newProblem(a2a.ErrVersionNotSupported, fmt.Sprintf("A2A-Version %q is not supported: use 1.0 or 0.3", versions[0]))
}

// serveRPC serves JSON-RPC, of either version. An error before the method is known
// has an HTTP status; later ones are JSON-RPC errors with status 200.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	c, err := s.authenticateCaller(r)
	if err != nil {
		writeRPCError(w, findMapping(err).httpStatus, nil, err)
		return
	}
	body, status, err := s.readBody(w, r)
	if err != nil {
		if status == 0 {
			status = http.StatusOK
		}
		writeRPCError(w, status, nil, err)
		return
	}
	q, err := parseRPC(body)
	if err == nil {
		c.version, err = parseVersion(r)
	}
	// Version 0.3 has no second style of names.
	if err == nil && c.version == version10 {
		body, err = q.normalizeNames(body)
	}
	r, end := s.bindRequest(r, c)
	defer end()
	if err == nil && q.isSubscription() {
		id, _ := wire.String(wire.Get(q.params, "id"))
		err = (&requestHandler{s}).checkSubscribable(r.Context(), id) //nolint:contextcheck // the context of the request, as bindRequest made it
	}
	if err != nil {
		writeRPCError(w, http.StatusOK, q.id, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	// The result of this method needs a special answer, see there.
	if q.method == "DeleteTaskPushNotificationConfig" && c.version == version10 || q.method == "tasks/pushNotificationConfig/delete" && c.version == version03 {
		s.serveDeletePushConfig(w, r, q, c.version)
		return
	}
	if c.version == version03 {
		s.rpc03.ServeHTTP(w, r)
		return
	}
	s.rpc10.ServeHTTP(w, r)
}

// serveDeletePushConfig answers the one method whose result is empty. The library
// omits the member result there, which makes the response invalid JSON-RPC.
func (s *Server) serveDeletePushConfig(w http.ResponseWriter, r *http.Request, q rpcRequest, version string) {
	var in a2a.DeleteTaskPushConfigRequest
	task, config, result := "taskId", "id", json.RawMessage("{}")
	if version == version03 {
		task, config, result = "id", "pushNotificationConfigId", json.RawMessage("null")
	}
	id, _ := wire.String(wire.Get(q.params, task))
	in.TaskID = a2a.TaskID(id)
	in.ID, _ = wire.String(wire.Get(q.params, config))
	if err := (&requestHandler{s}).DeleteTaskPushConfig(r.Context(), &in); err != nil {
		writeRPCError(w, http.StatusOK, q.id, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": q.id, "result": result})
}

// rpcRequest is the envelope of a JSON-RPC request.
type rpcRequest struct {
	id, params json.RawMessage
	method     string
}

// normalizeNames changes the names of parameters to their JSON form, and returns
// the body with the changed parameters.
func (q *rpcRequest) normalizeNames(body []byte) ([]byte, error) {
	params, err := normalizeMemberNames(q.params, "params")
	if err != nil {
		return nil, err
	}
	body = wire.AppendReplaced(nil, body, q.params, params)
	q.params = params
	return body, nil
}

// isSubscription reports whether the method subscribes to a task, in either
// version.
func (q *rpcRequest) isSubscription() bool {
	return q.method == "SubscribeToTask" || q.method == "tasks/resubscribe"
}

// parseRPC parses an envelope. Unknown members are errors: another parser could
// take them for known ones. If the id is valid, it is set even with an error, for
// the response.
func parseRPC(body []byte) (q rpcRequest, err error) {
	var version string
	for key, value := range wire.Members(body) {
		switch name := wire.Unescape(key); name {
		case "jsonrpc":
			version, _ = wire.String(value)
		case "id":
			q.id = json.RawMessage(value)
		case "method":
			q.method, _ = wire.String(value)
		case "params":
			q.params = json.RawMessage(value)
		default:
			err = newProblem(a2a.ErrInvalidRequest, fmt.Sprintf("a request has only jsonrpc, id, method and params, not %q", name))
		}
	}
	// An id of null would be a notification, which the protocol does not have.
	number := len(q.id) > 0 && (q.id[0] == '-' || q.id[0] >= '0' && q.id[0] <= '9')
	if text := len(q.id) > 0 && q.id[0] == '"'; !text && !number {
		q.id = nil
		return q, newProblem(a2a.ErrInvalidRequest, "id must be a string or a number")
	}
	switch {
	case err != nil:
		return q, err
	case version != "2.0":
		return q, newProblem(a2a.ErrInvalidRequest, `jsonrpc must be "2.0"`)
	case q.method == "":
		return q, newProblem(a2a.ErrInvalidRequest, "method is missing, or is not a string")
	case len(q.params) > 0 && q.params[0] != '{':
		return q, newProblem(a2a.ErrInvalidParams, "params must be an object")
	}
	return q, checkSpelling(q.params, "params")
}

// serveREST serves HTTP+JSON. Version 0.3 has its paths below /v1.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	c, err := s.authenticateCaller(r)
	if err != nil {
		writeRESTError(w, 0, err)
		return
	}
	path := "/" + r.PathValue("path")
	c.version, err = parseVersion(r)
	// A version that does not fit the path is an error, because the library would
	// answer in the wrong format.
	old := path == "/v1" || strings.HasPrefix(path, "/v1/")
	switch {
	case err != nil:
	case old && c.version != version03:
		err = newProblem(a2a.ErrVersionNotSupported, "paths under /v1 support only version 0.3")
	case !old && c.version != version10:
		err = newProblem(a2a.ErrVersionNotSupported, "send A2A-Version: 1.0; version 0.3 is served under /v1")
	}
	status := 0
	var body []byte
	if err == nil && r.Method != http.MethodGet && r.Method != http.MethodDelete && r.ContentLength != 0 {
		if body, status, err = s.readBody(w, r); err == nil && !old { // version 0.3 uses other names
			if err = checkSpelling(body, "the body"); err == nil {
				body, err = normalizeMemberNames(body, "the body")
			}
		}
	}
	r, end := s.bindRequest(r, c)
	defer end()
	if id, watches := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/tasks/"), ":subscribe"); err == nil && watches {
		err = (&requestHandler{s}).checkSubscribable(r.Context(), id) //nolint:contextcheck // the context of the request, as bindRequest made it
	}
	if err != nil {
		writeRESTError(w, status, err)
		return
	}
	// The library routes by the path below the agent's base URL.
	r.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if old {
		s.rest03.ServeHTTP(w, r)
		return
	}
	s.rest10.ServeHTTP(w, r)
}
