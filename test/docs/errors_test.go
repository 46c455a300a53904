package docs

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestErrorsPage$ -update

// errorText is what the page says about a code.
type errorText struct{ meaning, remedy string }

// errorTexts has a text for each code of package junctor.
func errorTexts() map[string]errorText {
	return map[string]errorText{
		"unauthenticated": {"At the admin API: no key or login, or one that is wrong, expired or revoked. In an answer of MCP: the upstream server requires a login or another credential; your own key is accepted.", "Send a valid key. For an upstream server, open the link in the message, or run `junctor server login NAME` or `junctor server credential set NAME`."},
		"denied":          {"The key, role or agent does not permit the request. The message names the missing scope, if one is missing.", "Ask an admin for a key with that scope, or use a role or an agent that has it."},
		"not_found":       {"The thing does not exist, or you may not see it.", "Check the name. List what you can see, for example with `junctor tool ls`."},
		"invalid":         {"The request or its arguments are wrong. `data.violations` (MCP) or `errors` (admin API) names each wrong part.", "Correct the named parts. The same request fails again."},
		"conflict":        {"The name is taken, the thing is in use, or the tool's definition differs from the version that you named.", "Read the current state, then choose another name or version."},
		"precondition":    {"The stored thing has changed since you read it (`If-Match`). Nothing was stored.", "Compare `current` with what you read, and send the change with the new `ETag`."},
		"limited":         {"A rate limit or daily limit is reached. `data.limit` (MCP) or `limit` (admin API) names it.", "Wait for `Retry-After` or `data.retryAfterMs`. An admin can raise the limit."},
		"too_large":       {"A request, a result or a check exceeds its size limit.", "Send or request less; see the `--max-…` settings in [settings.md](settings.md)."},
		"timeout":         {"The deadline passed, and the call was canceled. It may have had effects. `data.timeLimit` names the limit.", "Raise the named limit, or try again if repeating the call does no harm ([long calls](../guides/servers.md#long-calls))."},
		"canceled":        {"The caller disconnected or canceled the call.", "Nothing, if you canceled it. Otherwise look for a proxy or client that closes connections early."},
		"unreachable":     {"The upstream server, agent or model cannot be reached: no address, no connection, or a TLS failure.", "Run `junctor doctor`, and check the address, the network and `--egress-allow`."},
		"upstream":        {"The other side answered with an HTTP error, invalid JSON, or a result that does not fit its protocol.", "Look at the call with `junctor call show ID`, and report the fault to the operator of the server."},
		"unavailable":     {"The instance is starting or stopping, the call cannot be recorded, the database is unavailable, or the breaker of a server is open.", "Try again after `Retry-After` or `data.retryAfterMs`. If it goes on, see `/readyz` and the [log](log.md)."},
		"internal":        {"A fault of Junctor. The message has no details.", "Look for the call's ID or the request ID in the [log](log.md), and report the fault."},
	}
}

// protocolTexts has a text for each JSON-RPC code of the protocols.
func protocolTexts() map[string]errorText {
	return map[string]errorText{
		"CodeParse":              {"The body is not JSON.", "Send valid JSON."},
		"CodeInvalidRequest":     {"The body is JSON, but not a JSON-RPC message.", "Send an object with `jsonrpc`, `method` and, for a request, `id`."},
		"CodeMethodNotFound":     {"The method is unknown.", "Use a method that the server's capabilities announce."},
		"CodeInvalidParams":      {"The parameters are wrong, or the tool, prompt, resource, task or server is not found. `data.code` is `invalid` or `not_found`.", "Correct the parameters."},
		"CodeInternal":           {"A fault of Junctor. There is no `data`.", "Look for the call in the [log](log.md), and report the fault."},
		"CodeHeaderMismatch":     {"A header such as `Mcp-Method` differs from the body.", "Send the same value in both, or leave the header out if it is optional."},
		"CodeMissingCapability":  {"The call requires a capability that the client did not declare. `data.requiredCapabilities` names it.", "Declare the capability, or use a client that has it."},
		"CodeUnsupportedVersion": {"The protocol version is not supported without a handshake. `data.supported` lists the supported versions.", "Use one of those versions."},
		"CodeResourceNotFound":   {"Before 2026-07-28: the resource is not found. `data.uri` repeats its address.", "Check the address. List the resources that you can see."},
	}
}

// exitTexts has a text for each exit code of the command line.
func exitTexts() map[string]errorText {
	return map[string]errorText{
		"exitOK":          {"The command did what it was asked to do.", ""},
		"exitFailed":      {"The command failed. Standard error has the reason. `junctor doctor` and `junctor bench` exit with 1 if they find a problem.", "Follow the message."},
		"exitUsage":       {"A flag, an argument, a file or a value is wrong. Nothing was done.", "Correct it; `--help` shows the usage."},
		"exitNotFound":    {"The named thing does not exist, or you may not see it.", "Check the name with the `ls` command of the same group."},
		"exitDenied":      {"The key is missing or wrong, or it does not permit the request.", "Set `JUNCTOR_KEY`, or use a key with the scope that the message names."},
		"exitUnreachable": {"The instance, or the server that the command is about, cannot be reached.", "Check that the instance runs, and the address."},
		"exitChanged":     {"Somebody else changed the thing after the command read it. Nothing was stored.", "Run the command again."},
	}
}

// TestErrorsPage holds docs/reference/errors.md to the codes in the source: each code of
// package junctor, what the three edges make of it, the codes of the protocols and the exit
// codes. A code without a text fails.
func TestErrorsPage(t *testing.T) {
	t.Parallel()
	r, err := loadProgram(program.Root(t), ".", "./internal/gateway", "./internal/admin", "./internal/cli", "./internal/wire")
	if err != nil {
		t.Fatal(err)
	}
	jsonCodes := r.readSwitch(t, "/internal/gateway", "mapErrorCode")
	adminCodes := r.readSwitch(t, "/internal/admin", "statusOf")
	exitCodes := r.readSwitch(t, "/internal/cli", "exitCode")
	codes := r.constants("", func(name string, c *types.Const) bool { return strings.HasSuffix(c.Type().String(), ".Code") })
	if len(codes) < 14 {
		t.Fatalf("found %d codes: the search is broken", len(codes))
	}
	var b strings.Builder
	b.WriteString("\n## Codes\n\n| code | meaning | what to do |\n|---|---|---|\n")
	texts := errorTexts()
	for _, c := range codes {
		code := constant.StringVal(c.Val())
		text, ok := texts[code]
		if !ok {
			t.Errorf("errorTexts has no text for the code %s", code)
		}
		delete(texts, code)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", code, text.meaning, text.remedy)
	}
	for code := range texts {
		t.Errorf("errorTexts has a text for %s, which is no code", code)
	}
	b.WriteString("\n## What each interface answers\n\n| code | JSON-RPC code | HTTP status at `/mcp` (2026-07-28) | HTTP status of the admin API | exit code of `junctor` |\n|---|---|---|---|---|\n")
	for _, c := range codes {
		code := constant.StringVal(c.Val())
		rpc, admin, exit := lookUp(jsonCodes, code), lookUp(adminCodes, code), lookUp(exitCodes, code)
		if len(rpc) != 2 || len(admin) != 1 || len(exit) != 1 {
			t.Fatalf("%s: got %v, %v and %v from the source", code, rpc, admin, exit)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d %s | %d |\n", code, rpc[0], rpc[1], admin[0], cmp.Or(http.StatusText(int(admin[0])), "Client Closed Request"), exit[0])
	}
	wireCodes := r.constants("/internal/wire", func(name string, c *types.Const) bool { return strings.HasPrefix(name, "Code") })
	writeNumbers(t, &b, "JSON-RPC codes of the protocol", "JSON-RPC code", wireCodes, protocolTexts())
	exits := r.constants("/internal/cli", func(name string, c *types.Const) bool {
		return strings.HasPrefix(name, "exit") && c.Val().Kind() == constant.Int
	})
	writeNumbers(t, &b, "Exit codes", "exit code", exits, exitTexts())
	b.WriteString("\n")
	checkGenerated(t, "errors.md", "errors", b.String())
}

// writeNumbers writes a table of numeric constants with their texts.
func writeNumbers(t *testing.T, b *strings.Builder, title, column string, constants []*types.Const, texts map[string]errorText) {
	t.Helper()
	fmt.Fprintf(b, "\n## %s\n\n| %s | meaning | what to do |\n|---|---|---|\n", title, column)
	for _, c := range constants {
		text, ok := texts[c.Name()]
		if !ok {
			t.Errorf("%s: there is no text for %s", title, c.Name())
		}
		delete(texts, c.Name())
		fmt.Fprintf(b, "| %s | %s | %s |\n", c.Val(), text.meaning, text.remedy)
	}
	for name := range texts {
		t.Errorf("%s: %s is no constant", title, name)
	}
}

// lookUp gives what a switch returns for a code; "" is the end of the function.
func lookUp(codes map[string][]int64, code string) []int64 {
	if found, ok := codes[code]; ok {
		return found
	}
	return codes[""]
}

// loadProgram reads packages with their types.
func loadProgram(root string, patterns ...string) (*logReader, error) {
	r := newLogReader(root)
	if err := r.load(patterns); err != nil {
		return nil, err
	}
	return r, nil
}

// constants gives the constants of a package, in the order of the source. path is below
// the module.
func (r *logReader) constants(path string, use func(name string, c *types.Const) bool) []*types.Const {
	var found []*types.Const
	for _, p := range r.packages {
		if p.path != r.module+path {
			continue
		}
		for id, obj := range p.info.Defs {
			if c, ok := obj.(*types.Const); ok && c.Parent() == c.Pkg().Scope() && use(id.Name, c) {
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b *types.Const) int {
		return cmp.Or(cmp.Compare(r.fset.Position(a.Pos()).Filename, r.fset.Position(b.Pos()).Filename), cmp.Compare(a.Pos(), b.Pos()))
	})
	return found
}

// readSwitch gives what the last switch of a function returns for each code of package
// junctor. "" has what the function returns at its end.
func (r *logReader) readSwitch(t *testing.T, path, function string) map[string][]int64 {
	t.Helper()
	codes := map[string][]int64{}
	for _, p := range r.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || p.path != r.module+path || fn.Name.Name != function || len(fn.Body.List) == 0 {
					continue
				}
				codes[""] = returnedNumbers(p, fn.Body.List[len(fn.Body.List)-1:])
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					clause, ok := n.(*ast.CaseClause)
					if !ok || len(clause.Body) == 0 {
						return true
					}
					for _, e := range clause.List {
						if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
							codes[constant.StringVal(v)] = returnedNumbers(p, clause.Body)
						}
					}
					return true
				})
			}
		}
	}
	if len(codes) < 6 {
		t.Fatalf("%s in %s has %d codes: the search is broken", function, path, len(codes))
	}
	return codes
}

// returnedNumbers gives the constants that the one statement of a body returns.
func returnedNumbers(p checkedPackage, body []ast.Stmt) []int64 {
	ret, ok := body[len(body)-1].(*ast.ReturnStmt)
	if !ok {
		return nil
	}
	var numbers []int64
	for _, e := range ret.Results {
		v := p.info.Types[e].Value
		if v == nil {
			return nil
		}
		n, err := strconv.ParseInt(v.ExactString(), 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}
