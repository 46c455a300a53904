package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// bridgeAnswer is all that a worker reads of an answer of the bridge.
type bridgeAnswer struct {
	Success *bool            `json:"success"`
	Result  *json.RawMessage `json:"result"`
	Error   *string          `json:"error"`
}

// TestBridgeContract holds every status and every shape that callers of the
// bridge may rely on.
func TestBridgeContract(t *testing.T) {
	t.Parallel()
	i, p := start(t, testkit.Settings{"max-body": "64KiB"}), newPeer(t)
	add(t, i, "notes", p, "")
	both := key(t, i, "bridge:call,tools:call")
	bearer := as(both)
	endpoint := func(more string) string { return fmt.Sprintf(`{"url":%q%s}`, p.URL, more) }
	call := func(endpoint, more string) string {
		return `{"endpoint":` + endpoint + `,"tool_name":"echo","arguments":{"text":"hi"}` + more + `}`
	}
	stalled := fmt.Sprintf(`{"url":%q,"transport":"http"}`, p.URL)
	for name, tt := range map[string]struct {
		body   string
		header []string
		status int
		error  string // its beginning; "" is a success
	}{
		// The form of workers that leave nothing out.
		"whole":           {call(endpoint(`,"transport":"http","command":null,"args":null,"headers":null`), `,"timeout_ms":30000`), nil, 200, ""},
		"whole, a header": {call(endpoint(`,"transport":"http","command":null,"args":null,"headers":{"X-Agent-Token":"t"}`), `,"timeout_ms":30000`), nil, 200, ""},
		"a server":        {call(`{"server":"notes"}`, ""), nil, 200, ""},
		"a server, with all members": {
			call(`{"server":"notes","url":null,"transport":null,"command":null,"args":null,"headers":null}`, `,"timeout_ms":null`), nil, 200, "",
		},
		"unknown members": {call(endpoint(`,"x":1`), `,"y":2`), nil, 200, ""},
		"no arguments":    {`{"endpoint":{"server":"notes"},"tool_name":"echo","arguments":null}`, nil, 400, "the arguments do not match"},
		// timeout_ms
		"no time-out":         {call(endpoint(""), ""), nil, 200, ""},
		"0 is the usual":      {call(endpoint(""), `,"timeout_ms":0`), nil, 200, ""},
		"the most":            {call(endpoint(""), `,"timeout_ms":300000`), nil, 200, ""},
		"more than the most":  {call(endpoint(""), `,"timeout_ms":300001`), nil, 400, "timeout_ms must be an integer of at most 300000"},
		"less than nothing":   {call(endpoint(""), `,"timeout_ms":-1`), nil, 400, "timeout_ms must be"},
		"a fraction":          {call(endpoint(""), `,"timeout_ms":1.5`), nil, 400, "timeout_ms must be"},
		"a text":              {call(endpoint(""), `,"timeout_ms":"30000"`), nil, 400, "timeout_ms must be"},
		"passed":              {`{"endpoint":` + stalled + `,"tool_name":"wait","timeout_ms":40}`, nil, 500, "the call was cancelled: no answer within 40ms (timeout_ms of the request; raise it there)"},
		"passed, on a server": {`{"endpoint":{"server":"notes"},"tool_name":"wait","timeout_ms":40}`, nil, 500, "the call was cancelled: no answer within 40ms (timeout_ms of the request; raise it there)"},
		// transport
		"http":                 {call(endpoint(`,"transport":"http"`), ""), nil, 200, ""},
		"sse, which it is not": {call(endpoint(`,"transport":"sse"`), `,"timeout_ms":5000`), nil, 500, "server adhoc"},
		"stdio":                {call(endpoint(`,"transport":"stdio"`), ""), nil, 400, "a server with a command is called by its ID"},
		"a command":            {call(`{"transport":"stdio","command":"touch","args":["x"]}`, ""), nil, 400, "a call must not contain a command"},
		"arguments of one":     {call(endpoint(`,"args":["x"]`), ""), nil, 400, "a call must not contain a command"},
		"unsupported":          {call(endpoint(`,"transport":"websocket"`), ""), nil, 400, "endpoint.transport must be http or sse"},
		"no text":              {call(endpoint(`,"transport":5`), ""), nil, 400, "endpoint.transport must be http or sse"},
		// what is wrong with the request
		"no endpoint":            {`{"tool_name":"echo"}`, nil, 400, "endpoint is required"},
		"endpoint a text":        {`{"endpoint":"notes","tool_name":"echo"}`, nil, 400, "endpoint is required"},
		"endpoint of both":       {call(`{"server":"notes","url":"https://x"}`, ""), nil, 400, "endpoint.server must be the ID of a server, without url and headers"},
		"no tool":                {`{"endpoint":{"server":"notes"}}`, nil, 400, "tool_name"},
		"tool a number":          {`{"endpoint":{"server":"notes"},"tool_name":5}`, nil, 400, "tool_name"},
		"arguments a list":       {`{"endpoint":{"server":"notes"},"tool_name":"echo","arguments":[]}`, nil, 400, "arguments must be an object"},
		"no URL":                 {call(`{"url":"nonsense"}`, ""), nil, 400, ""},
		"a URL of a file":        {call(`{"url":"file:///etc/passwd"}`, ""), nil, 400, ""},
		"a password in it":       {call(`{"url":"https://u:p@example.com/"}`, ""), nil, 400, ""},
		"headers a list":         {call(endpoint(`,"headers":[]`), ""), nil, 400, "endpoint.headers must be an object"},
		"a header a number":      {call(endpoint(`,"headers":{"X":1}`), ""), nil, 400, "the values of endpoint.headers must be strings"},
		"a header of ours":       {call(endpoint(`,"headers":{"Mcp-Session-Id":"x"}`), ""), nil, 400, ""},
		"a line break":           {call(endpoint(`,"headers":{"X-A":"a\r\nB: c"}`), ""), nil, 400, ""},
		"no JSON":                {`hello`, nil, 400, "the body must be a JSON object"},
		"empty":                  {``, nil, 400, ""},
		"a list":                 {`[]`, nil, 400, "the body must be a JSON object"},
		"twice":                  {`{"tool_name":"a","tool_name":"b"}`, nil, 400, "the body must be a JSON object without duplicate members"},
		"too large":              {call(endpoint(""), `,"x":"`+strings.Repeat("x", 70<<10)+`"`), nil, 400, ""},
		"another type":           {call(endpoint(""), ""), []string{"Content-Type: text/plain"}, 400, ""},
		"an unknown server":      {call(`{"server":"nope"}`, ""), nil, 400, ""},
		"an unknown tool":        {`{"endpoint":{"server":"notes"},"tool_name":"nope"}`, nil, 400, "unknown tool"},
		"an unknown tool, there": {`{"endpoint":` + endpoint("") + `,"tool_name":"nope"}`, nil, 500, "server adhoc answered: "},
		// who asks
		"no credential":       {call(endpoint(""), ""), []string{"Authorization:"}, 401, ""},
		"a wrong one":         {call(endpoint(""), ""), []string{"Authorization: Bearer nonsense"}, 401, ""},
		"a wrong password":    {call(endpoint(""), ""), []string{"Authorization: Basic eDpub25zZW5zZQ=="}, 401, ""},
		"no scope":            {call(endpoint(""), ""), []string{as(key(t, i, "tools:call"))}, 403, "this key or token lacks the scope bridge:call"},
		"a forbidden address": {call(`{"url":"http://10.0.0.1/"}`, ""), nil, 403, ""},
		"nobody there":        {call(`{"url":"http://127.0.0.1:1/"}`, ""), nil, 500, ""},
	} {
		r := i.Do(t, http.MethodPost, "/mcp/call", tt.body, append([]string{bearer, "Content-Type: application/json"}, tt.header...)...)
		var a bridgeAnswer
		if err := json.Unmarshal([]byte(r.Body), &a); err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s: %v", name, r.Status, r.Body, err)
			continue
		}
		fine := tt.status == http.StatusOK
		if r.Status != tt.status || a.Success == nil || *a.Success != fine || (a.Result != nil) != fine || (a.Error != nil) == fine {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
			continue
		}
		if fine && !strings.Contains(string(*a.Result), `"content":[{"type":"text","text":"hi"}]`) {
			t.Errorf("%s: %s", name, r.Body)
		}
		if !fine && (*a.Error == "" || !strings.HasPrefix(*a.Error, tt.error)) {
			t.Errorf("%s: the error is %q", name, *a.Error)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		if r := i.Do(t, method, "/mcp/call", ""); r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: %d %v", method, r.Status, r.Header)
		}
	}
	// A worker that is given a URL and nothing else, with any user.
	for _, user := range []string{"x", "", "key"} {
		at := &testkit.Instance{URL: strings.Replace(i.URL, "http://", "http://"+user+":"+both+"@", 1)}
		if r := at.Do(t, http.MethodPost, "/mcp/call", call(endpoint(""), ""), "Authorization:"); r.Status != http.StatusOK {
			t.Errorf("as the password of %q: %d %s", user, r.Status, r.Body)
		}
		// That is this endpoint's alone.
		if r := at.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization:"); r.Status != http.StatusUnauthorized {
			t.Errorf("another endpoint takes it: %d", r.Status)
		}
	}
}

// Over the limit is said with when to come back, and nothing is called.
func TestBridgeOverTheLimit(t *testing.T) {
	t.Parallel()
	i, p := start(t, testkit.Settings{"rate-limit": "0.01", "rate-burst": "2"}), newPeer(t)
	bridge := key(t, i, "bridge:call")
	body := fmt.Sprintf(`{"endpoint":{"url":%q},"tool_name":"echo","arguments":{"text":"hi"}}`, p.URL)
	var statuses []int
	var last testkit.Reply
	for range 3 {
		p.seen.Store(nil)
		last = i.Do(t, http.MethodPost, "/mcp/call", body, as(bridge))
		statuses = append(statuses, last.Status)
	}
	seconds, err := strconv.Atoi(last.Header.Get("Retry-After"))
	if fmt.Sprint(statuses) != "[200 200 429]" || err != nil || seconds < 1 || !strings.HasPrefix(last.Body, `{"success":false,"error":"too many calls`) || p.seen.Load() != nil {
		t.Errorf("%v, Retry-After %q, %s", statuses, last.Header.Get("Retry-After"), last.Body)
	}
	if time.Duration(seconds)*time.Second > 3*time.Minute {
		t.Errorf("come back in %d s", seconds)
	}
}
