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

// upstream is the MCP server that Junctor and the reverse proxy stand in front
// of: written by hand to cost next to nothing, so that what stands before it is
// what is measured. It speaks one era, and each of its tools answers with its
// text.
type upstream struct {
	modern   bool
	list     []byte // the result of tools/list, ready made
	sessions atomic.Uint64
	buffers  sync.Pool
}

// A tool is about as long as those of real servers, and a list of 5000 of them
// 2.6 MB.
const (
	toolEcho     = "echo"
	toolArgument = "text" // its argument
	toolSchema   = `{"type":"object","properties":{"text":{"type":"string","description":"What comes back, as it was sent."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many lines come back at most."},` +
		`"labels":{"type":"array","items":{"type":"string"},"description":"Words that the answer is filed under."}},"required":["text"]}`
	toolDescription = "Gives back the text that it was sent. This one stands for the tools of real servers, whose descriptions take a line or two as well."
)

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

// toolName names the tools of a server, from 0.
func toolName(i int) string {
	if i == 0 {
		return toolEcho
	}
	return fmt.Sprintf("tool_%04d", i)
}

// appendAnswer appends the answer to a message; nothing where none is wanted. A list
// is not copied: the answer to it is out, list and a brace. hello says that a
// session begins with it.
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

// exchangeBuffers is the buffers of one request.
type exchangeBuffers struct{ in, out []byte }

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

// serveStdio answers lines until r ends. Answers are written together as long as
// more requests are there already.
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
				_, _ = out.Write(append(answer, '\n')) // Flush tells
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

// runUpstream is the role: servers as specs say, such as legacy:10 for one of
// that era with ten tools, each at an address of its own; or the first of them on
// the standard input and output, which leaves a file in mark for each start.
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
