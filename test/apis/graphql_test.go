package apis

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
	"github.com/junctor-mcp/junctor/test/program"
)

// executing starts a GraphQL server over a schema, which really runs what it is
// sent, and gives its address.
func executing(t *testing.T, node *program.Node, schema string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node.Bin(), filepath.Join(program.Root(t), "test", "node", "graphql.mjs"), node.Module(""), schema)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("no address: %v\n%s", err, complaints.String())
	}
	return strings.TrimSpace(address)
}

// done is what the server says of an operation.
type done struct {
	Data   map[string]json.RawMessage
	Errors []struct{ Message string }
	Ext    struct {
		Operation string
		Fields    int
		Ran       []string
	} `json:"extensions"`
}

// isRight says whether it was one operation on one field, and ran no mutation but
// the one that it is for.
func (d *done) isRight(mutation bool) bool {
	if len(d.Errors) > 0 || d.Ext.Fields != 1 || len(d.Data) != 1 {
		return false
	}
	if mutation {
		return d.Ext.Operation == "mutation" && len(d.Ext.Ran) == 1
	}
	return d.Ext.Operation == "query" && len(d.Ext.Ran) == 0
}

// TestGraphQL makes tools of what an endpoint says of itself, and of the text of
// its schema, and calls each of them there with required and with all arguments.
// A real executor takes each: it is one operation on one root field; queries run
// no mutation, and mutations exactly one.
func TestGraphQL(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	files := []string{node.Module("@octokit/graphql-schema/schema.graphql")}
	if dir := shared(t); dir != "" && program.Long() {
		files = append(files, dir+"/apollo-platform.graphql", dir+"/thespacedevs.graphql")
	}
	for _, f := range files {
		name := filepath.Base(filepath.Dir(f)) + "/" + filepath.Base(f)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := executing(t, node, f)
			told, err := apigen.Introspect(t.Context(), http.DefaultClient, address, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for from, text := range map[string][]byte{"its text": readFile(t, f), "what it says of itself": told} {
				callAll(t, address, name+", by "+from, text)
			}
		})
	}
}

func callAll(t *testing.T, address, name string, schema []byte) {
	t.Helper()
	d, err := apigen.ReadDocument(t.Context(), doc.Source{Name: "schema", Text: schema}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := tool.Build(d, tool.Options{Server: "bench", BaseURL: address})
	mutations, faults := 0, 0
	for i := range tools {
		x := &tools[i]
		mutation := strings.Contains(string(x.Annotations), `"destructiveHint"`)
		if mutation {
			mutations++
		}
		for _, all := range []bool{false, true} {
			var root object
			if err := decodeJSON(x.Input, &root); err != nil {
				t.Fatal(err)
			}
			args := (&maker{root: root, all: all}).arguments()
			delete(args, "_select") // which is text of a language of its own
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			said, err := executeTool(x, address, raw)
			if err != nil || !said.isRight(mutation) {
				if faults++; faults <= 10 {
					t.Errorf("%s, %s (all %t): %v, %+v\n%s", name, x.Key, all, err, said, raw)
				}
			}
		}
	}
	if len(tools) < 10 {
		t.Errorf("%s: %d tools", name, len(tools))
	}
	t.Logf("figure: %s: %d tools, %d of them mutations, each executed with required and with all arguments, %d wrong", name, len(tools), mutations, faults)
}

// executeTool sends a tool's call.
func executeTool(x *tool.Tool, at string, args []byte) (*done, error) {
	q, err := x.Plan.BuildRequest(at, args, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.Post(q.URL.String(), q.Header.Get("Content-Type"), strings.NewReader(string(q.Body)))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	said := &done{}
	return said, json.NewDecoder(resp.Body).Decode(said)
}
