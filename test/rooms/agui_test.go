package rooms

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

const keeper = `{"name":"keeper","tools":["memory/*"],"brain":{"rules":"intents:\n  - match: 'keep'\n    calls:\n      - tool: memory__create_entities\n        arguments: {entities: [{name: it, entityType: thing, observations: []}]}\n    say: 'It is kept.'\n    failed: 'It is not kept: {{error}}'\nfallback: 'Hm.'\n"}}`

// The official client of AG-UI takes part: an answer with a call, several agents, a
// call that a person denies and one that they allow, and a run that is stopped.
func TestOfficialClient(t *testing.T) {
	node := program.FindNode(t)
	i := &instance{T: t, Instance: program.Start(t, program.FreeAddr(t), t.TempDir(), "--allow-commands")}
	if _, errs, code := i.Operate(t, "server", "add", "memory", "--yes", "--env", "MEMORY_FILE_PATH="+t.TempDir()+"/memory.jsonl", "--", node.Bin(), node.Module("@modelcontextprotocol/server-memory/dist/index.js")); code != 0 {
		t.Fatal(errs)
	}
	i.ask(201, "POST", "/agents", keeper)
	i.make("addressed", "keeper")
	out, err := node.Run(t, 3*time.Minute, "agui.mjs", i.URL, program.AdminKey, i.room)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct{ Runs, Events int }
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("figure: the official AG-UI client reads %d runs of a room, %d events, each by its schema", got.Runs, got.Events)
}
