package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
)

// upstream is the MCP server behind Junctor and the reverse proxy. It is written
// by hand to cost almost nothing, so that the measurement shows what is in front
// of it. It speaks one era, and each of its tools returns its text argument.
type upstream struct {
	// The era that it speaks.
	modern bool
	// The result of tools/list, encoded in advance.
	list     []byte
	sessions atomic.Uint64
	buffers  sync.Pool
}

// A tool is about as long as a tool of a real server. A list of 5000 of them has
// 2.6 MB.
const (
	toolEcho     = "echo"
	toolArgument = "text" // name of its argument
	toolSchema   = `{"type":"object","properties":{"text":{"type":"string","description":"What comes back, as it was sent."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many lines come back at most."},` +
		`"labels":{"type":"array","items":{"type":"string"},"description":"Words that the answer is filed under."}},"required":["text"]}`
	toolDescription = "Gives back the text that it was sent. This one stands for the tools of real servers, whose descriptions take a line or two as well."
)

// newUpstream returns a server of an era with a number of tools.
func newUpstream(modern bool, tools int) *upstream {
	var b bytes.Buffer
	b.WriteByte('{')
	if modern {
		b.WriteString(`"resultType":"complete","ttlMs":600000,"cacheScope":"public",`)
	}
	b.WriteString(`"tools":[`)
	for i := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"description":%q,"inputSchema":%s}`, toolName(i), toolDescription, toolSchema)
	}
	b.WriteString(`]}`)
	return &upstream{modern: modern, list: b.Bytes()}
}

// toolName returns the name of the tool with a number, from 0.
func toolName(i int) string {
	if i == 0 {
		return toolEcho
	}
	return fmt.Sprintf("tool_%04d", i)
}

// appendAnswer appends the answer to a message, or nothing for a notification.
// A list is not copied: the complete answer is then out, list and a closing
// brace. hello is set if a session begins.
func (u *upstream) appendAnswer(dst, msg []byte) (out, list []byte, hello bool) {
	var id, method, params []byte
	err := scanMembers(msg, func(k, v []byte) bool {
		switch string(k) {
		case "id":
			id = v
		case "method":
			method = v
		case "params":
			params = v
		}
		return true
	})
	if err != nil {
		return append(dst, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`...), nil, false
	}
	if id == nil || method == nil {
		return dst, nil, false
	}
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	switch name := string(method); {
	case name == `"tools/call"`:
		text := findMember(findMember(params, "arguments"), toolArgument)
		if text == nil {
			text = []byte(`""`)
		}
		dst = append(dst, `,"result":{`...)
		if u.modern {
			dst = append(dst, `"resultType":"complete",`...)
		}
		dst = append(append(append(dst, `"content":[{"type":"text","text":`...), text...), `}]}}`...)
	case name == `"tools/list"`:
		return append(dst, `,"result":`...), u.list, false
	case name == `"server/discover"` && u.modern:
		dst = append(dst, `,"result":{"resultType":"complete","supportedVersions":["`+versionModern+`"],"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}}`...)
	case name == `"initialize"` && !u.modern:
		hello = true
		dst = append(dst, `,"result":{"protocolVersion":"`+versionLegacy+`","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}}`...)
	case name == `"ping"` && !u.modern:
		dst = append(dst, `,"result":{}}`...)
	default:
		dst = append(dst, `,"error":{"code":-32601,"message":"method not found"}}`...)
	}
	return dst, nil, hello
}

// exchangeBuffers are the buffers of one request.
type exchangeBuffers struct{ in, out []byte }

// ServeHTTP answers one POST request.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	x, _ := u.buffers.Get().(*exchangeBuffers)
	if x == nil {
		x = &exchangeBuffers{}
	}
	defer u.buffers.Put(x)
	var err error
	if x.in, err = readInto(x.in[:0], w, r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var list []byte
	var hello bool
	if x.out, list, hello = u.appendAnswer(x.out[:0], x.in); len(x.out) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if hello {
		w.Header().Set("Mcp-Session-Id", strconv.FormatUint(u.sessions.Add(1), 10))
	}
	if list == nil {
		sendJSON(w, x.out)
	} else {
		sendJSON(w, x.out, list, []byte{'}'})
	}
}

// serveStdio answers lines until r ends. While more requests are buffered,
// answers are collected and written together.
func (u *upstream) serveStdio(r io.Reader, w io.Writer) error {
	in, out := bufio.NewReaderSize(r, 256<<10), bufio.NewWriterSize(w, 256<<10)
	var line, answer []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var list []byte
			if answer, list, _ = u.appendAnswer(answer[:0], line); list != nil {
				answer = append(append(answer, list...), '}')
			}
			if len(answer) > 0 {
				_, _ = out.Write(append(answer, '\n')) // Flush reports errors
			}
		}
		line = line[:0]
		if in.Buffered() == 0 || err != nil {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// runUpstream is the role "upstream". A spec such as legacy:10 stands for a
// server of that era with ten tools. Each server has its own address. With stdio,
// the first server uses the standard input and output, and leaves a file in mark
// for each start.
func runUpstream(ctx context.Context, specs []string, stdio bool, mark string, in io.Reader, out io.Writer) error {
	var handlers []http.Handler
	for _, spec := range specs {
		era, count, _ := strings.Cut(spec, ":")
		tools, err := strconv.Atoi(count)
		if err != nil || tools < 1 || era != eraLegacy && era != eraModern {
			return junctor.Errorf(junctor.CodeInvalid, "unknown server %q: use %s:TOOLS or %s:TOOLS", spec, eraLegacy, eraModern)
		}
		handlers = append(handlers, newUpstream(era == eraModern, tools))
	}
	if len(handlers) == 0 {
		return junctor.Errorf(junctor.CodeInvalid, "upstream needs a server, such as %s:10", eraLegacy)
	}
	if !stdio {
		return serveHandlers(ctx, handlers, in, out)
	}
	if mark != "" {
		if err := os.WriteFile(filepath.Join(mark, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "cannot leave a mark of this start: %w", err)
		}
	}
	u, _ := handlers[0].(*upstream)
	return u.serveStdio(in, out)
}
