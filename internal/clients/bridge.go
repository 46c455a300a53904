package clients

import (
	"net/url"
	"path"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// unwrapBridge replaces a command that only connects a client without HTTP to a server at
// a URL (mcp-remote, supergateway) by that URL and its headers: Junctor connects to the
// server directly, and the headers can be sealed. A command with an option that is not
// known here stays as it is, since the option may matter.
func unwrapBridge(s *Server) {
	words := s.Command
	for len(words) > 0 && isRunner(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	name := path.Base(strings.ReplaceAll(words[0], `\`, "/"))
	if at := strings.LastIndex(name, "@"); at > 0 {
		name = name[:at]
	}
	var b bridge
	var ok bool
	switch name {
	case "mcp-remote":
		b, ok = readMCPRemote(words[1:])
	case "supergateway":
		b, ok = readSupergateway(words[1:])
	}
	if !ok {
		return
	}
	headers := map[string]string{}
	for _, line := range b.headers {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return
		}
		// mcp-remote reads ${NAME} from the environment that the client gives it.
		for variable, text := range s.Env {
			value = strings.ReplaceAll(value, "${"+variable+"}", text)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if u, err := url.Parse(b.url); err != nil || u.Host == "" {
		return
	}
	s.Hidden = append(s.Hidden, b.hidden...)
	s.Transport, s.URL, s.Command, s.Env, s.Cwd, s.Headers = b.transport, b.url, nil, map[string]string{}, "", headers
}

// isRunner reports whether a word only starts the program that follows it.
func isRunner(word string) bool {
	words := []string{"npx", "npx.cmd", "bunx", "bun", "x", "pnpm", "yarn", "dlx", "-y", "--yes", "cmd", "/c"}
	return slices.Contains(words, word) || slices.Contains(words, path.Base(strings.ReplaceAll(word, `\`, "/")))
}

// bridge is where a bridge connects to.
type bridge struct {
	url       string
	transport junctor.Transport
	headers   []string // as NAME: value
	hidden    []string // tools that the bridge leaves out
}

// readMCPRemote reads the arguments of mcp-remote. The result is false if one of them is
// not known.
func readMCPRemote(args []string) (b bridge, ok bool) {
	b.transport = junctor.TransportHTTP
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--header" && i+1 < len(args):
			i++
			b.headers = append(b.headers, args[i])
		case word == "--transport" && i+1 < len(args):
			i++
			if args[i] == "sse-only" {
				b.transport = junctor.TransportSSE
			}
		case word == "--ignore-tool" && i+1 < len(args) && !strings.Contains(args[i+1], "*"):
			i++
			b.hidden = append(b.hidden, args[i])
		// These say how a person logs in to the server in the bridge; Junctor does it itself.
		case slices.Contains([]string{"--host", "--auth-timeout"}, word) && i+1 < len(args):
			i++
		case slices.Contains([]string{"--allow-http", "--debug", "--silent", "--enable-proxy"}, word):
		case strings.HasPrefix(word, "-"):
			return b, false
		case b.url == "":
			b.url = word
		case strings.Trim(word, "0123456789") == "": // the port that the bridge listens on for a login
		default:
			return b, false
		}
	}
	return b, b.url != ""
}

// readSupergateway reads the arguments of supergateway. The result is false if it does
// not connect to a URL, or if one of the arguments is not known.
func readSupergateway(args []string) (b bridge, ok bool) {
	for i := 0; i < len(args); i++ {
		if i+1 == len(args) {
			return b, false
		}
		switch args[i] {
		case "--sse":
			b.url, b.transport = args[i+1], junctor.TransportSSE
		case "--streamableHttp":
			b.url, b.transport = args[i+1], junctor.TransportHTTP
		case "--header":
			b.headers = append(b.headers, args[i+1])
		case "--oauth2Bearer":
			b.headers = append(b.headers, "Authorization: Bearer "+args[i+1])
		case "--outputTransport", "--logLevel":
		default:
			return b, false
		}
		i++
	}
	return b, b.url != ""
}
