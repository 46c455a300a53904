package realservers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/test/program"
)

// listMethods are the methods that list, the member that holds the items, and the one
// that names them.
func listMethods() [][3]string {
	return [][3]string{
		{"tools/list", "tools", "name"},
		{"resources/list", "resources", "uri"},
		{"resources/templates/list", "resourceTemplates", "uriTemplate"},
		{"prompts/list", "prompts", "name"},
	}
}

// TestLists compares what servers list with what Junctor lists for them, byte
// for byte: at the server's own endpoint nothing differs, at /mcp only the names.
// The same server twice lists the same twice.
func TestLists(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := start(t)
	dir := t.TempDir()
	for name, argv := range map[string][]string{
		"everything": command(node, everything, "stdio"),
		"memory":     command(node, memory),
		"files":      command(node, filesystem, dir),
		"map":        command(node, mapServer, "--stdio"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := "MEMORY_FILE_PATH=" + folder(t, t.TempDir(), "memory", "") + "/graph.jsonl"
			want := listDirectly(t, argv, file)
			add(t, in, name, argv, "--env", file)
			add(t, in, name+"-too", argv, "--env", file)
			at := map[string]map[string]map[string]string{}
			for _, endpoint := range []string{"/mcp/s/" + name, "/mcp/s/" + name + "-too", "/mcp"} {
				at[endpoint] = listThrough(t, in, endpoint)
			}
			for _, list := range listMethods() {
				method := list[0]
				checkSame(t, method+" at its own endpoint", want[method], at["/mcp/s/"+name][method])
				checkSame(t, method+" of its twin", want[method], at["/mcp/s/"+name+"-too"][method])
				for _, id := range []string{name, name + "-too"} {
					prefixed(t, id, list, want[method], at["/mcp"][method])
				}
			}
			t.Logf("figure: server-%s: %d tools, %d resources, %d templates, %d prompts, byte by byte as the server lists them",
				name, len(want["tools/list"]), len(want["resources/list"]), len(want["resources/templates/list"]), len(want["prompts/list"]))
		})
	}
}

func checkSame(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d items, want %d", what, len(got), len(want))
	}
	for name, raw := range want {
		if got[name] != raw {
			t.Errorf("%s: %s\n%s\nwant\n%s", what, name, got[name], raw)
		}
	}
}

// prefixed compares a server's list with what /mcp shows of it: every member is
// as the server wrote it but for its name or URI, and the pages that _meta names.
func prefixed(t *testing.T, id string, list [3]string, want, shown map[string]string) {
	t.Helper()
	for item := range shown {
		if own, ok := ownName(id, item); ok && want[own] == "" {
			t.Errorf("%s at /mcp: %s is not the server's", list[0], item)
		}
	}
	for item, raw := range want {
		name := id + "__" + item
		if list[2] != "name" {
			name = strings.Replace(id+"+"+item, id+"+ui://", "ui://"+id+"/", 1)
		}
		is, got := members(t, raw), members(t, shown[name])
		is[list[2]] = strconv.Quote(name)
		if meta := is["_meta"]; meta != "" {
			is["_meta"], got["_meta"] = sorted(t, strings.ReplaceAll(meta, `"ui://`, `"ui://`+id+"/")), sorted(t, got["_meta"])
		}
		if diff := cmp.Diff(is, got); diff != "" {
			t.Errorf("%s at /mcp: %s (-server +Junctor)\n%s", list[0], name, diff)
		}
	}
}

// ownName is the server's name of what /mcp shows; false where it is another's.
func ownName(id, item string) (string, bool) {
	for prefix, own := range map[string]string{id + "__": "", id + "+": "", "ui://" + id + "/": "ui://"} {
		if rest, ok := strings.CutPrefix(item, prefix); ok {
			return own + rest, true
		}
	}
	return "", false
}

// members are the members of an object as they were written.
func members(t *testing.T, raw string) map[string]string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &m); raw != "" && err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	all := map[string]string{}
	for key, value := range m {
		all[key] = string(value)
	}
	return all
}

// sorted writes an object with its keys in order.
func sorted(t *testing.T, raw string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); raw != "" && err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// namedItems gives the items of a list's result, as they were written.
func namedItems(t *testing.T, list [3]string, result json.RawMessage) map[string]string {
	t.Helper()
	var r map[string]json.RawMessage
	var items []json.RawMessage
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatalf("%s: %v\n%s", list[0], err, result)
	}
	if r["nextCursor"] != nil {
		t.Fatalf("%s has more than one page", list[0])
	}
	if err := json.Unmarshal(r[list[1]], &items); err != nil {
		t.Fatalf("%s: %v\n%s", list[0], err, result)
	}
	all := map[string]string{}
	for _, raw := range items {
		var item map[string]any
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprint(item[list[2]])] = string(raw)
	}
	return all
}

// listDirectly lists all that a server has to offer to a client that can be asked
// anything, over its pipes and by hand.
func listDirectly(t *testing.T, argv []string, env ...string) map[string]map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = program.Env(env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(out)
	ask := func(id int, message string) json.RawMessage {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatalf("%s: %v", message, err)
			}
			var m struct {
				ID     any
				Result json.RawMessage
				Error  json.RawMessage
			}
			if json.Unmarshal(line, &m) != nil || m.ID != float64(id) || m.Result == nil && m.Error == nil {
				continue // a note, or a question
			}
			return m.Result
		}
	}
	ask(0, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"t","version":"1"}}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for i, list := range listMethods() {
		all[list[0]] = map[string]string{}
		if result := ask(i+100, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i+100, list[0])); result != nil {
			all[list[0]] = namedItems(t, list, result)
		}
	}
	return all
}

// listThrough lists all at an endpoint of Junctor, as a modern client does.
func listThrough(t *testing.T, in *program.Instance, endpoint string) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, list := range listMethods() {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + list[0] + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		a, err := in.Request(t.Context(), http.MethodPost, endpoint, body, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+list[0])
		if err != nil || a.Status != http.StatusOK {
			t.Fatalf("%s: %d %v\n%s", list[0], a.Status, err, a.Body)
		}
		var m struct{ Result json.RawMessage }
		if err := json.NewDecoder(bytes.NewReader([]byte(a.Body))).Decode(&m); err != nil {
			t.Fatal(err)
		}
		all[list[0]] = namedItems(t, list, m.Result)
	}
	return all
}
