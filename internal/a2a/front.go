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

// Versions of the protocol.
const (
	v10 = "1.0"
	v03 = "0.3"
)

// caller is who asks, and of which agent.
type caller struct {
	p          *junctor.Principal
	agent      junctor.Agent
	address    string // by which it was found
	version    string
	extensions []string // that the client activates, by their URIs
}

type callerKey struct{}

func callerOf(ctx context.Context) (*caller, error) {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, problem(a2a.ErrUnauthenticated, "who is asking is not known")
	}
	return c, nil
}

// admit names who asks and finds the agent, which is one of their own tenant. A
// party of another tenant is told the same as where there is none.
func (s *Server) admit(r *http.Request) (*caller, error) {
	p, err := s.Authenticate(r)
	if err != nil {
		return nil, protocolError(err)
	}
	address := r.PathValue("agent")
	name := strings.TrimPrefix(address, string(p.Tenant)+".")
	a, err := s.Store.For(p.Tenant).PublishedAgent(r.Context(), name)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return nil, problem(a2a.ErrMethodNotFound, fmt.Sprintf("there is no published agent %q here", address))
	case err != nil:
		return nil, protocolError(err)
	case !p.Has(junctor.ScopeToolsCall):
		return nil, problem(a2a.ErrUnauthorized, "talking to an agent needs the scope "+string(junctor.ScopeToolsCall))
	}
	return &caller{p: p, agent: a, address: address}, nil
}

// within is the request as the desk sees it: who asks is in its context, which
// ends with the server, and extensions go by their name of today.
func (s *Server) within(r *http.Request, c *caller) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), callerKey{}, c))
	stop := context.AfterFunc(s.whole, cancel) //nolint:contextcheck // ends with the server too
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

// body reads what was sent, strictly: the bytes that are judged are those that
// are handed on.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" && kind != "application/a2a+json" {
		return nil, http.StatusUnsupportedMediaType, problem(a2a.ErrUnsupportedContentType, "the body is to be sent as application/json")
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBody))
	if refusal, ok := errors.AsType[*junctor.Error](err); ok && refusal.Code != junctor.CodeTooLarge { // too many bytes are in flight
		return nil, http.StatusServiceUnavailable, problem(a2a.ErrInternalError, refusal.Message)
	}
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, problem(a2a.ErrInvalidRequest, fmt.Sprintf("the body cannot be read, or is longer than %d bytes", s.MaxBody))
	}
	if err := wire.Check(body); err != nil {
		return nil, 0, problem(a2a.ErrParseError, "the body is not JSON as it is taken here: "+err.Error())
	}
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return nil, 0, problem(a2a.ErrInvalidRequest, "the body is to be one JSON object; batches are not taken")
	}
	return bytes.TrimSpace(body), 0, nil
}

// versionOf is the version that a request speaks: none is 0.3.
func versionOf(r *http.Request) (string, error) {
	said := r.Header.Values(a2a.SvcParamVersion)
	if len(said) == 0 {
		said = r.URL.Query()[a2a.SvcParamVersion]
	}
	switch {
	case len(said) > 1:
		return "", problem(a2a.ErrVersionNotSupported, "the version is said twice")
	case len(said) == 0 || said[0] == "" || said[0] == v03:
		return v03, nil
	case said[0] == v10:
		return v10, nil
	}
	return "", problem(a2a.ErrVersionNotSupported, fmt.Sprintf("A2A-Version %q is not spoken here: 1.0 and 0.3 are", said[0]))
}

// serveRPC is the door for JSON-RPC.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	c, err := s.admit(r)
	if err != nil {
		refuseRPC(w, meaningOf(err).status, nil, err)
		return
	}
	body, status, err := s.body(w, r)
	if err != nil {
		if status == 0 {
			status = http.StatusOK
		}
		refuseRPC(w, status, nil, err)
		return
	}
	q, err := readRPC(body)
	if err == nil {
		c.version, err = versionOf(r)
	}
	if err == nil && c.version == v10 {
		body, err = q.rename(body)
	}
	r, end := s.within(r, c)
	defer end()
	if err == nil && q.watches() {
		id, _ := wire.String(wire.Get(q.params, "id"))
		err = (&desk{s}).mayWatch(r.Context(), id) //nolint:contextcheck // that of the request, as within made it
	}
	if err != nil {
		refuseRPC(w, http.StatusOK, q.id, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if q.method == "DeleteTaskPushNotificationConfig" && c.version == v10 || q.method == "tasks/pushNotificationConfig/delete" && c.version == v03 {
		s.forget(w, r, q, c.version)
		return
	}
	if c.version == v03 {
		s.rpc03.ServeHTTP(w, r)
		return
	}
	s.rpc10.ServeHTTP(w, r)
}

// forget answers the one method whose answer holds nothing: the library leaves
// its result out, which makes it no answer at all.
func (s *Server) forget(w http.ResponseWriter, r *http.Request, q request, version string) {
	var in a2a.DeleteTaskPushConfigRequest
	task, config, result := "taskId", "id", json.RawMessage("{}")
	if version == v03 {
		task, config, result = "id", "pushNotificationConfigId", json.RawMessage("null")
	}
	id, _ := wire.String(wire.Get(q.params, task))
	in.TaskID = a2a.TaskID(id)
	in.ID, _ = wire.String(wire.Get(q.params, config))
	if err := (&desk{s}).DeleteTaskPushConfig(r.Context(), &in); err != nil {
		refuseRPC(w, http.StatusOK, q.id, err)
		return
	}
	write(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": q.id, "result": result})
}

// request is the envelope of a JSON-RPC request.
type request struct {
	id, params json.RawMessage
	method     string
}

// rename has the parameters under the names that JSON has for them, in the body
// too.
func (q *request) rename(body []byte) ([]byte, error) {
	params, err := named(q.params, "params")
	if err != nil {
		return nil, err
	}
	body = wire.AppendReplaced(nil, body, q.params, params)
	q.params = params
	return body, nil
}

func (q *request) watches() bool {
	return q.method == "SubscribeToTask" || q.method == "tasks/resubscribe"
}

// readRPC reads an envelope: every member by its name, and no other.
func readRPC(body []byte) (q request, err error) {
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
			err = problem(a2a.ErrInvalidRequest, fmt.Sprintf("a request has jsonrpc, id, method and params, and no %q", name))
		}
	}
	number := len(q.id) > 0 && (q.id[0] == '-' || q.id[0] >= '0' && q.id[0] <= '9')
	if text := len(q.id) > 0 && q.id[0] == '"'; !text && !number {
		q.id = nil
		return q, problem(a2a.ErrInvalidRequest, "id is to be a text or a number")
	}
	switch {
	case err != nil:
		return q, err
	case version != "2.0":
		return q, problem(a2a.ErrInvalidRequest, `jsonrpc is to be "2.0"`)
	case q.method == "":
		return q, problem(a2a.ErrInvalidRequest, "method is missing, or no text")
	case len(q.params) > 0 && q.params[0] != '{':
		return q, problem(a2a.ErrInvalidParams, "params is to be an object")
	}
	return q, spelled(q.params, "params")
}

// serveREST is the door for plain HTTP. The former version has its paths under
// /v1.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	c, err := s.admit(r)
	if err != nil {
		refuseREST(w, 0, err)
		return
	}
	path := "/" + r.PathValue("path")
	c.version, err = versionOf(r)
	old := path == "/v1" || strings.HasPrefix(path, "/v1/")
	switch {
	case err != nil:
	case old && c.version != v03:
		err = problem(a2a.ErrVersionNotSupported, "what is under /v1 is of version 0.3")
	case !old && c.version != v10:
		err = problem(a2a.ErrVersionNotSupported, "say A2A-Version: 1.0; version 0.3 is under /v1")
	}
	status := 0
	var body []byte
	if err == nil && r.Method != http.MethodGet && r.Method != http.MethodDelete && r.ContentLength != 0 {
		if body, status, err = s.body(w, r); err == nil && !old { // that one is read by other rules
			if err = spelled(body, "the body"); err == nil {
				body, err = named(body, "the body")
			}
		}
	}
	r, end := s.within(r, c)
	defer end()
	if id, watches := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/tasks/"), ":subscribe"); err == nil && watches {
		err = (&desk{s}).mayWatch(r.Context(), id) //nolint:contextcheck // that of the request, as within made it
	}
	if err != nil {
		refuseREST(w, status, err)
		return
	}
	r.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if old {
		s.rest03.ServeHTTP(w, r)
		return
	}
	s.rest10.ServeHTTP(w, r)
}
