package crosstalk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// client is an MCP client of one of the eras, which checks all that it hears.
type client struct {
	url     string
	key     string
	http    *http.Client
	modern  bool
	session string // of a legacy one
	sums    *sums
}

const legacyVersion = "2025-11-25"

// order is one call to make.
type order struct {
	id     int // of the request, and its progress token
	server string
	nonce  string
	steps  int
	pause  int  // after each of them, in milliseconds
	cancel bool // once the first progress is there
	json   bool // the server answers with JSON, so that progress may come late or not at all
}

// open makes the handshake of a legacy client.
func (c *client) open(ctx context.Context) error {
	if c.modern {
		return nil
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacyVersion + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	resp, err := c.post(ctx, hello, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if c.session = resp.Header.Get(wire.HeaderSessionID); c.session == "" {
		return fmt.Errorf("initialize: %s", resp.Status)
	}
	return c.notify(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *client) notify(ctx context.Context, body string) error {
	resp, err := c.post(ctx, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("a notification: %s", resp.Status)
	}
	return nil
}

func (c *client) post(ctx context.Context, body string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set(wire.HeaderSessionID, c.session)
		req.Header.Set(wire.HeaderProtocolVersion, legacyVersion)
	}
	return c.http.Do(req)
}

// run makes a call, and says what was wrong with what came back.
func (c *client) run(ctx context.Context, o order) error {
	meta := fmt.Sprintf(`"progressToken":%d`, o.id)
	header := http.Header{}
	if c.modern {
		meta += fmt.Sprintf(`,%q:%q,%q:{}`, wire.MetaProtocolVersion, wire.ModernVersion, wire.MetaClientCapabilities)
		header.Set(wire.HeaderProtocolVersion, wire.ModernVersion)
		header.Set(wire.HeaderMethod, wire.MethodToolsCall)
		header.Set(wire.HeaderName, o.server+"__tag")
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s__tag","arguments":{"nonce":%q,"steps":%d,"pause_ms":%d,"hold":%t},"_meta":{%s}}}`,
		o.id, o.server, o.nonce, o.steps, o.pause, o.cancel, meta)
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.post(calling, body, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	h := streamReader{c: c, o: o, stop: func() error {
		if c.modern {
			cancel() // closing the stream is how a modern client cancels
			return nil
		}
		return c.notify(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, o.id))
	}}
	if resp.Header.Get("Content-Type") == "application/json" {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		return errors.Join(h.take(b), h.complete())
	}
	events := wire.NewEventReader(resp.Body, 1<<20)
	for {
		e, err := events.Next()
		switch {
		case errors.Is(err, io.EOF), h.stopped && calling.Err() != nil && ctx.Err() == nil:
			return h.complete()
		case err != nil:
			return err
		}
		if len(bytes.TrimSpace(e.Data)) == 0 {
			continue
		}
		if err := h.take(e.Data); err != nil {
			return err
		}
	}
}

// streamReader is what a call has heard so far.
type streamReader struct {
	c        *client
	o        order
	stop     func() error
	notes    int
	answered bool
	stopped  bool
}

// take checks one message.
func (h *streamReader) take(b []byte) error {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProgressToken json.RawMessage
			Message       string
			Progress      float64
		}
		Result struct{ Content []struct{ Text string } }
		Error  json.RawMessage
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("%q: %w", b, err)
	}
	id := fmt.Sprint(h.o.id)
	switch {
	case h.answered:
		return fmt.Errorf("after the answer there was %s", b)
	case m.Method == wire.NotificationProgress:
		if string(m.Params.ProgressToken) != id || m.Params.Message != fmt.Sprintf("%s/%d", h.o.nonce, h.notes) || m.Params.Progress != float64(h.notes+1) {
			return fmt.Errorf("progress %d is %s", h.notes, b)
		}
		h.notes++
		h.c.sums.notes.Add(1)
		if h.o.cancel && !h.stopped {
			h.stopped = true
			return h.stop()
		}
	case m.Method != "" || string(m.ID) != id:
		return fmt.Errorf("heard %s", b)
	case h.stopped: // what is answered to a call that was cancelled says nothing else
		if m.Error == nil {
			return fmt.Errorf("a cancelled call was answered: %s", b)
		}
	case m.Error != nil || len(m.Result.Content) != 1 || m.Result.Content[0].Text != h.o.nonce:
		return fmt.Errorf("answered with %s", b)
	default:
		h.answered = true
		h.c.sums.answers.Add(1)
	}
	return nil
}

// complete says what is missing at the end.
func (h *streamReader) complete() error {
	switch {
	case h.o.cancel && !h.stopped:
		return errors.New("it ended before it could be cancelled")
	case h.o.cancel:
		h.c.sums.cancelled.Add(1)
	case !h.answered:
		return errors.New("there was no answer")
	case h.notes != h.o.steps && !h.o.json:
		return fmt.Errorf("%d of %d progress notes", h.notes, h.o.steps)
	}
	return nil
}
