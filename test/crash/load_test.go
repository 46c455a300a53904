package crash

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
)

// callers are clients of both eras that call the built-in echo as fast as they
// can, and note what was answered.
type callers struct {
	t   *testing.T
	all []*caller

	mu       sync.Mutex
	answered []string // digests of the arguments of calls that were answered
	wrong    []string // answers that no kill explains
}

// caller is one of them. The era is what its requests look like.
type caller struct {
	name    string
	url     string
	key     string
	session string // of the legacy era
	http    http.Client
	n       int
}

// era is how a request of a caller differs from another's.
const (
	modern = "modern"
	legacy = "legacy"
	plain  = "plain"
)

func newCallers(t *testing.T, url, key string) *callers {
	t.Helper()
	c := &callers{t: t}
	for i, era := range []string{modern, legacy, plain, modern, legacy, modern, legacy, plain} {
		one := &caller{name: fmt.Sprintf("%s-%d", era, i), url: url + "/mcp", key: key}
		one.http.Transport = &http.Transport{} // connections of its own
		if era == plain {
			one.url += "/request"
		}
		if era == legacy {
			opened := &client{t: t, url: one.url, key: key}
			opened.open()
			one.session = opened.session
		}
		c.all = append(c.all, one)
	}
	return c
}

// run calls until ctx ends.
func (c *callers) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, one := range c.all {
		wg.Go(func() {
			defer one.http.CloseIdleConnections()
			for ctx.Err() == nil {
				arguments, wrong, err := one.echo(ctx)
				if err != nil { // killed
					<-ctx.Done()
					return
				}
				c.note(arguments, wrong)
			}
		})
	}
	wg.Wait()
}

// each calls once with every caller: all must be answered.
func (c *callers) each() {
	c.t.Helper()
	for _, one := range c.all {
		arguments, wrong, err := one.echo(c.t.Context())
		if err != nil {
			c.t.Errorf("%s: %v", one.name, err)
			continue
		}
		c.note(arguments, wrong)
		one.http.CloseIdleConnections()
	}
}

func (c *callers) note(arguments, wrong string) {
	sum := sha256.Sum256([]byte(arguments))
	c.mu.Lock()
	defer c.mu.Unlock()
	if wrong != "" {
		c.wrong = append(c.wrong, wrong)
		return
	}
	c.answered = append(c.answered, hex.EncodeToString(sum[:]))
}

// echo makes one call that nobody made before. err is set when there was no
// whole answer; wrong when there was one, and not the one that was due.
func (c *caller) echo(ctx context.Context) (arguments, wrong string, err error) {
	c.n++
	text := fmt.Sprintf("%s says %d", c.name, c.n)
	arguments = fmt.Sprintf(`{"text":%q}`, text)
	meta := ""
	if c.session == "" {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo__echo","arguments":%s%s}}`, c.n, arguments, meta)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader([]byte(body)))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	} else {
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "demo__echo")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return "", "", err
	}
	var msg struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if res.StatusCode != http.StatusOK || json.Unmarshal(answer, &msg) != nil || msg.Result.IsError ||
		len(msg.Result.Content) != 1 || msg.Result.Content[0].Text != text {
		wrong = fmt.Sprintf("%s was answered %d %s", text, res.StatusCode, answer)
	}
	return arguments, wrong, nil
}
