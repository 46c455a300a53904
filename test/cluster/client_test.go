package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/test/program"
)

const legacyVersion = "2025-11-25"

// client makes one call after the other through the balancer, and checks all that
// it hears.
type client struct {
	l       *load
	name    string
	key     string
	modern  bool
	steps   int    // of its calls' progress, over a stream; 0 is without
	session string // of a legacy one, for as long as the test lasts
	id      int    // of its last request: the same numbers as every other client's
	n       int    // calls so far
}

// loss is a call that was not answered.
type loss struct {
	replica    int // that it was sent to
	begun, end time.Time
	how        string
	event      string       // the last that came of its stream
	heard      streamReader // what came of it
	digest     string       // of its arguments
}

// The ways in which a call may be lost. Each says to the client that it may call
// again.
const (
	badGateway  = "502 of the balancer"
	nobody      = "503 of the balancer" // no replica is ready
	cut         = "a stream that breaks off"
	unavailable = "the error unavailable"
)

func (c *client) postMessage(ctx context.Context, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.l.c.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.setHeaders(req)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return c.l.http.Do(req)
}

func (c *client) setHeaders(req *http.Request) {
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set(wire.HeaderSessionID, c.session)
		req.Header.Set(wire.HeaderProtocolVersion, legacyVersion)
	}
}

// open makes the handshake of a legacy client.
func (c *client) open(ctx context.Context) error {
	if c.modern {
		return nil
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacyVersion + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		resp, err := c.postMessage(ctx, body)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if c.session == "" {
			c.session = resp.Header.Get(wire.HeaderSessionID)
		}
		if resp.StatusCode >= http.StatusMultipleChoices || c.session == "" {
			return fmt.Errorf("%s: %s", c.name, resp.Status)
		}
	}
	return nil
}

// call makes a call until it is answered. What is lost is noted, and made again.
func (c *client) call(ctx context.Context) {
	c.n++
	for attempt := 1; ; attempt++ {
		nonce := fmt.Sprintf("%s-%d-%d", c.name, c.n, attempt)
		lost, err := c.tryCall(ctx, nonce)
		if err != nil {
			c.l.reportWrong("%s: %v", nonce, err)
			return
		}
		if lost == nil {
			return
		}
		c.l.recordLoss(*lost)
		pauseFor(ctx, pace/4)
		if lost.how == cut && lost.event != "" {
			answered, err := c.resume(ctx, lost)
			if err != nil {
				c.l.reportWrong("%s, resumed: %v", nonce, err)
			}
			if answered {
				return
			}
		}
	}
}

// tryCall makes one call. An error is what no kill explains.
func (c *client) tryCall(ctx context.Context, nonce string) (*loss, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.id++
	server := servers()[c.n%len(servers())]
	meta, header := fmt.Sprintf(`"progressToken":%d`, c.id), []string{}
	if c.modern {
		meta += fmt.Sprintf(`,%q:%q,%q:{}`, wire.MetaProtocolVersion, wire.ModernVersion, wire.MetaClientCapabilities)
		header = []string{wire.HeaderProtocolVersion, wire.ModernVersion, wire.HeaderMethod, wire.MethodToolsCall, wire.HeaderName, server + "__tag"}
	}
	arguments := fmt.Sprintf(`{"nonce":%q,"steps":%d,"pause_ms":200}`, nonce, c.steps)
	lost := &loss{begun: time.Now()}
	resp, err := c.postMessage(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s__tag","arguments":%s,"_meta":{%s}}}`, c.id, server, arguments, meta), header...)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if lost.replica, err = strconv.Atoi(resp.Header.Get(program.HeaderReplica)); err != nil {
		return nil, err
	}
	h := streamReader{nonce: nonce, id: strconv.Itoa(c.id)}
	switch {
	case resp.StatusCode == http.StatusBadGateway:
		lost.how = badGateway
	case resp.StatusCode == http.StatusServiceUnavailable && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"):
		lost.how, lost.replica = nobody, -1
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable:
		b, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("replica %d: %s %s", lost.replica, resp.Status, b)
	default:
		if err = h.read(resp); err != nil {
			return nil, fmt.Errorf("replica %d: %w", lost.replica, err)
		}
		lost.heard, lost.digest = h, program.Digest(arguments)
		if lost.event = h.event; h.away {
			lost.how = unavailable
		} else if !h.answered {
			lost.how = cut
		}
	}
	if lost.end = time.Now(); lost.how != "" {
		return lost, nil
	}
	c.l.answer(program.Digest(arguments), lost.replica)
	return nil, nil
}

// streamReader is what a call has heard.
type streamReader struct {
	nonce, id string
	notes     int
	answered  bool
	away      bool   // it was told that something is away for now
	event     string // the last one's id
}

// read takes an answer as far as it comes. An error is about what it says.
func (h *streamReader) read(resp *http.Response) error {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil //nolint:nilerr // cut, which is judged elsewhere
		}
		return h.take(b)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s", resp.Status, b)
	}
	events := wire.NewEventReader(resp.Body, 1<<20)
	for {
		e, err := events.Next()
		if err != nil {
			return nil //nolint:nilerr // its end, or cut
		}
		h.event = cmp.Or(e.ID, h.event)
		if len(bytes.TrimSpace(e.Data)) > 0 {
			if err := h.take(e.Data); err != nil {
				return err
			}
		}
	}
}

// take checks one message: it is of this call, and right.
func (h *streamReader) take(b []byte) error {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProgressToken json.RawMessage
			Message       string
		}
		Result struct{ Content []struct{ Text string } }
		Error  *struct{ Data struct{ Code string } }
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("%q: %w", b, err)
	}
	switch {
	case h.answered:
		return fmt.Errorf("after the answer there was %s", b)
	case m.Method == wire.NotificationProgress:
		if string(m.Params.ProgressToken) != h.id || m.Params.Message != fmt.Sprintf("%s/%d", h.nonce, h.notes) {
			return fmt.Errorf("progress %d is %s", h.notes, b)
		}
		h.notes++
	case m.Error != nil && m.Error.Data.Code == "unavailable":
		h.away = true
	case m.Method != "" || string(m.ID) != h.id || m.Error != nil || len(m.Result.Content) != 1 || m.Result.Content[0].Text != h.nonce:
		return fmt.Errorf("heard %s", b)
	default:
		h.answered = true
	}
	return nil
}

// resume asks for the rest of a stream whose replica was killed, and says whether the
// answer was there: the client hears what it missed, nothing twice and nothing of
// others. Where the answer was never given it is told so, and where not all is kept
// it is told to send the request again.
func (c *client) resume(ctx context.Context, l *loss) (answered bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.l.c.URL+"/mcp", http.NoBody)
	if err != nil {
		return false, err
	}
	c.setHeaders(req)
	req.Header.Set("Last-Event-Id", l.event)
	resp, err := c.l.http.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		h := l.heard
		if err := h.read(resp); err != nil {
			return false, err
		}
		if h.answered {
			c.l.answer(l.digest, l.replica)
		}
		if h.answered || h.away {
			c.l.resumed(h.answered)
		}
		return h.answered, nil // or that one was killed, too
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case resp.StatusCode == http.StatusBadGateway, err != nil: // killed again
		return false, nil
	case resp.StatusCode == http.StatusBadRequest && strings.Contains(string(b), "send the request again"):
		c.l.eventCount()
		return false, nil
	}
	return false, fmt.Errorf("%s %s", resp.Status, b)
}
