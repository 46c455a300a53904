package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// serverSpec describes a server to add, as the admin API reads it.
type serverSpec struct {
	ID      string   `json:"id"`
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
}

// addServers adds servers to an instance, as its operator.
func (r *benchRun) addServers(ctx context.Context, in *instance, all []serverSpec) error {
	for _, s := range all {
		if err := in.requestAdmin(ctx, http.MethodPost, "servers", s); err != nil {
			return r.processError(Junctor, "did not take the server "+s.ID, err)
		}
	}
	return nil
}

// switchServer enables or disables a server of an instance.
func (in *instance) switchServer(ctx context.Context, id string, on bool) error {
	state := junctor.StateInactive
	if on {
		state = junctor.StateActive
	}
	return in.requestAdmin(ctx, http.MethodPatch, "servers/"+id, map[string]junctor.ServerState{"state": state})
}

// requestAdmin sends one request to the admin API, through the operator's socket.
// A status other than 2xx is an error.
func (in *instance) requestAdmin(ctx context.Context, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://junctor/api/v1/"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", in.socket)
	}}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return junctor.Errorf(junctor.CodeUpstream, "%s %s: status %s, %s", method, path, strconv.Itoa(res.StatusCode), said)
	}
	return nil
}
