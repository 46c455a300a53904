package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

//go:generate go test . -run ^TestCommandChanges$ -update

// commandChanges are the commands that change the instance, with the actions of the records
// that they leave. Each action is an operation of the admin API.
func commandChanges() map[string][]string {
	deliveries := []string{"change-deliveries"}
	return map[string][]string{
		"agent add": {"create-agent"}, "agent set": {"patch-agent"}, "agent rm": {"delete-agent"}, "agent key": {"create-key"},
		"agent token set": {"put-agent-token"}, "agent token rotate": {"put-agent-token"}, "agent token rm": {"delete-agent-token"},
		"app approve": {"approve-app"}, "app revoke": {"revoke-app"},
		"apply": {
			"create-server", "patch-server", "delete-server", "create-agent", "patch-agent", "delete-agent", "create-source", "patch-source", "delete-source",
			"create-trigger", "patch-trigger", "delete-trigger", "put-schedule", "delete-schedule", "put-policy", "delete-policy",
		},
		"chain rewind":          {"rewind-chain"},
		"component-catalog add": {"put-component-catalog"}, "component-catalog rm": {"delete-component-catalog"},
		"connect":        {"create-key", "delete-key", "create-agent"},
		"consent revoke": {"delete-consent"},
		"delivery drop":  deliveries, "delivery hold": deliveries, "delivery release": deliveries, "delivery replay": deliveries,
		"delivery start": {"start-endpoint"}, "delivery stop": {"stop-endpoint"},
		"event replay": {"replay-event"},
		"key create":   {"create-key"}, "key rotate": {"rotate-key"}, "key revoke": {"delete-key"},
		"limit set": {"patch-limits"}, "limit rm": {"patch-limits"},
		"login": {"create-user-link"}, "login revoke": {"delete-login"},
		"model add": {"create-model"}, "model set": {"patch-model"}, "model rm": {"delete-model"},
		"pack add":   {"create-server", "create-agent", "put-tool-tag", "delete-server", "delete-agent"},
		"policy set": {"put-policy", "replace-policies"}, "policy move": {"put-policy"}, "policy rm": {"delete-policy"},
		"role add": {"put-role"}, "role rm": {"delete-role"},
		"room add": {"create-room"}, "room rm": {"delete-room"},
		"schedule add": {"put-schedule"}, "schedule rm": {"delete-schedule"},
		"secret set": {"put-secret"}, "secret rm": {"delete-secret"}, "secret rotate": {"rotate-secret"},
		"server add": {"create-server"}, "server set": {"patch-server"}, "server enable": {"patch-server"}, "server disable": {"patch-server"},
		"server rm": {"delete-server"}, "server import": {"create-server"}, "server reimport": {"import-document"},
		"server credential set": {"put-my-credential"}, "server credential rm": {"delete-my-credential"},
		"server login": {"finish-server-login"}, "server logout": {"delete-server-login"},
		"server suggestions": {"approve-suggestions", "reject-suggestions"},
		"setup":              {"create-server", "delete-server", "create-key", "delete-key"},
		"source add":         {"create-source"}, "source rotate": {"patch-source"}, "source rm": {"delete-source"},
		"tenant add": {"create-tenant"}, "tenant key": {"replace-tenant-key"},
		"tool tag":    {"put-tool-tag", "delete-tool-tag"},
		"trigger add": {"create-trigger"}, "trigger enable": {"patch-trigger"}, "trigger disable": {"patch-trigger"}, "trigger rm": {"delete-trigger"},
		"user add": {"create-user", "create-user-link"}, "user set": {"patch-user"}, "user rm": {"delete-user"}, "user password": {"put-user-password"},
		"user link": {"create-user-link"}, "user sources": {"put-my-sources"},
	}
}

// commandsWithoutChange are the commands that leave no record of a change although they store
// something or send more than reads, with the reason and the operations that they request.
func commandsWithoutChange() map[string]commandWithoutChange {
	const (
		start  = "a start: see [Starts and pages](#starts-and-pages)"
		stored = "it stores nothing"
		files  = "files of this machine, outside the instance"
	)
	return map[string]commandWithoutChange{
		"":                  {reason: start, local: true},
		"up":                {reason: start, local: true},
		"demo":              {reason: start, local: true},
		"stdio":             {reason: start, local: true},
		"stop":              {reason: "the end of an instance", local: true},
		"restore":           {reason: "a record of the phase `restore` in the journal", local: true},
		"audit ship":        {reason: "it copies records that are in a journal", local: true},
		"backup":            {reason: files, local: true},
		"service install":   {reason: files, local: true},
		"service uninstall": {reason: files, local: true},
		"api":               {reason: "it runs without an instance", local: true},
		"bench":             {reason: "it runs an instance of its own and removes it", local: true},
		"agent run":         {reason: "a message: the journal has the calls that follow", sends: []string{"run-agent"}},
		"room say":          {reason: "a message: the room keeps it", sends: []string{"run-room"}},
		"tool call":         {reason: "a call: the journal has its records", sends: []string{"call-tool"}},
		"event send":        {reason: "an event: it is kept with its deliveries", sends: []string{"send-event"}},
		"chain find":        {reason: stored, sends: []string{"find-chain-agent"}},
		"model test":        {reason: stored, sends: []string{"test-model"}},
		"server probe":      {reason: stored, sends: []string{"probe-server"}},
		"server test":       {reason: stored, sends: []string{"test-server"}},
		"server suggest":    {reason: "a suggestion has no effect until it is approved", sends: []string{"make-suggestions"}},
		"policy check":      {reason: stored, sends: []string{"check-policies"}},
		"policy simulate":   {reason: stored, sends: []string{"simulate-policies"}},
		"policy test":       {reason: stored, sends: []string{"test-policies"}},
		"trigger test":      {reason: stored, sends: []string{"try-trigger"}},
		"doctor":            {reason: stored, sends: []string{"test-server"}, local: true},
	}
}

// commandWithoutChange says why a command leaves no record of a change.
type commandWithoutChange struct {
	reason string
	sends  []string // the operations that it requests, apart from reads
	local  bool     // its example is not run by the test: it acts on this machine
}

// readingCommands are the commands that only read.
func readingCommands() []string {
	return []string{
		"agent ls", "agent show", "agent token ls", "app ls", "attention", "audit export", "audit ls", "audit show", "audit verify", "backup verify",
		"call export", "call ls", "call show", "call tail", "chain agents", "chain events", "chain ls", "completion", "component-catalog ls", "component-catalog show",
		"config check", "config print", "consent ls", "delivery endpoints", "delivery ls", "delivery show", "event ls", "event show", "export",
		"help", "help settings", "key ls", "limit ls", "login ls", "model ls", "pack export", "pack ls", "policy explain", "policy ls", "policy show", "policy templates", "role ls", "room export", "room ls", "room show",
		"schedule ls", "secret ls", "server credential ls", "server ls", "server show", "server trace", "server validate", "source ls", "stats", "tenant ls",
		"tool changes", "tool ls", "tool search", "tool show", "trigger ls", "trigger show", "usage", "user ls", "user show", "version",
	}
}

// classifiedCommands returns the commands that do something themselves, by their words after
// junctor.
func classifiedCommands() (commands []*cobra.Command) {
	root := (&cli{}).newRootCommand()
	walkCommands(root, func(cmd *cobra.Command) {
		if isHidden(cmd) || cmd.HasSubCommands() && !slices.Contains([]string{"junctor", "login", "backup", "help"}, cmd.Name()) {
			return
		}
		commands = append(commands, cmd)
	})
	return commands
}

// isHidden reports whether a command is no part of the help, or below such a command.
func isHidden(cmd *cobra.Command) bool {
	return cmd != nil && (cmd.Hidden || isHidden(cmd.Parent()))
}

// wordsOf returns the words of a command after junctor.
func wordsOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "junctor"), " ")
}

const (
	commandsBegin = "<!-- commands: make generate -->\n"
	commandsEnd   = "<!-- end of commands -->\n"
)

// TestCommandChanges classifies every command: it reads, or changes the instance and leaves the
// records that docs/reference/changes.md lists. With -update it writes that part of the page.
func TestCommandChanges(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "reference", "changes.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]string{} // by action, as the table of routes has them
	for _, m := range regexp.MustCompile("(?m)^\\| `[A-Z]+ /api/[^|]* \\| `([a-z-]+)` \\| ([a-z-]+) \\|").FindAllStringSubmatch(string(page), -1) {
		objects[m[1]] = m[2]
	}
	changes, without, reading := commandChanges(), commandsWithoutChange(), readingCommands()
	var table, rest strings.Builder
	commands := map[string]bool{}
	for _, cmd := range classifiedCommands() {
		words := wordsOf(cmd)
		commands[words] = true
		actions, changesIt := changes[words]
		none, noRecord := without[words]
		classes := 0
		for _, is := range []bool{changesIt, noRecord, slices.Contains(reading, words)} {
			if is {
				classes++
			}
		}
		if classes != 1 {
			t.Errorf("junctor %s is in %d of commandChanges, commandsWithoutChange and readingCommands: each command is in one", words, classes)
		}
		if noRecord {
			fmt.Fprintf(&rest, "| `%s` | %s |\n", cmd.CommandPath(), none.reason)
		}
		if !changesIt {
			continue
		}
		cells := make([]string, len(actions))
		for i, action := range actions {
			if objects[action] == "" {
				t.Errorf("junctor %s: no route leaves the record %s", words, action)
			}
			cells[i] = fmt.Sprintf("`%s` (%s)", action, objects[action])
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", cmd.CommandPath(), strings.Join(cells, ", "))
	}
	for _, words := range slices.Concat(keysOf(changes), keysOf(without), reading) {
		if !commands[words] {
			t.Errorf("junctor %s is classified, and is no command", words)
		}
	}
	before, part, ok := strings.Cut(string(page), commandsBegin)
	part, after, ok2 := strings.Cut(part, commandsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no part between %q and %q", file, commandsBegin, commandsEnd)
	}
	want := "\n| command | records: `action` (`object`) |\n|---|---|\n" + table.String() +
		"\n`apply`, `connect`, `pack add` and `setup` leave one record for each object that they change. All other commands read, or are of these:\n\n| command | why it leaves no record of a change |\n|---|---|\n" + rest.String() + "\n"
	if part == want {
		return
	}
	if !*updateReference {
		t.Fatal("docs/reference/changes.md does not match the commands; run `make generate`")
	}
	if err := os.WriteFile(file, []byte(before+commandsBegin+want+commandsEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func keysOf[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// TestCommandsSendWhatTheyAreClassifiedFor runs the examples of the commands at an instance that
// answers everything with an empty object: a command that is classified as reading sends no
// other request, and the others send those of their row.
func TestCommandsSendWhatTheyAreClassifiedFor(t *testing.T) {
	t.Parallel()
	operations := readOperations(t)
	changes, without := commandChanges(), commandsWithoutChange()
	seen := 0
	for _, cmd := range classifiedCommands() {
		words := wordsOf(cmd)
		allowed := slices.Concat(changes[words], without[words].sends)
		switch words {
		case "connect", "setup", "server login", "login", "help", "completion", "config check", "config print":
			continue // they write files of this machine, wait for a browser, or send nothing
		case "apply":
			allowed = []string{"apply"}
		case "pack add":
			allowed = []string{"plan-pack", "add-pack"}
		case "server add":
			allowed = append(allowed, "preview-server")
		}
		if without[words].local {
			continue
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			for _, args := range junctorCommands(line) {
				if !strings.HasPrefix(strings.Join(args, " ")+" ", words+" ") {
					continue
				}
				for _, operation := range operationsSent(t, operations, args) {
					seen++
					if !slices.Contains(allowed, operation) {
						t.Errorf("%q sends %s, which is not in the row of junctor %s", strings.TrimSpace(line), operation, words)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d requests that are no reads: the search is broken", seen)
	}
}

// apiOperation is an operation that is no GET.
type apiOperation struct {
	method, id string
	path       *regexp.Regexp
}

// readOperations reads the operations that are no GET from the OpenAPI document.
func readOperations(t *testing.T) (all []apiOperation) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "admin", "testdata", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		pattern := regexp.MustCompile("^/api/v1" + regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "[^/]+") + "$")
		for method, body := range methods {
			var operation struct{ OperationID string }
			if method == "get" || json.Unmarshal(body, &operation) != nil || operation.OperationID == "" {
				continue
			}
			all = append(all, apiOperation{strings.ToUpper(method), operation.OperationID, pattern})
		}
	}
	return all
}

// operationsSent runs a command line, and returns the operations that it requests, apart from
// reads.
func operationsSent(t *testing.T, operations []apiOperation, args []string) (sent []string) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
		if r.Method == http.MethodGet {
			return
		}
		id := r.Method + " " + r.URL.Path // of no operation: in no row
		for _, o := range operations {
			if o.method == r.Method && o.path.MatchString(r.URL.EscapedPath()) {
				id = o.id
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, id)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	Main(ctx, args, []string{"HOME=" + t.TempDir(), "JUNCTOR_URL=" + server.URL, "JUNCTOR_KEY=jct_x"}, strings.NewReader(""), io.Discard, io.Discard)
	mu.Lock()
	defer mu.Unlock()
	return sent
}
