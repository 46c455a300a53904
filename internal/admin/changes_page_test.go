package admin

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/config"
)

// startChanges are the changes that are made by no operation of the admin API: those of a
// start, and those of the pages for users.
func startChanges() [][3]string {
	return [][3]string{
		{"a start of an instance without an admin key, or with another `JUNCTOR_ADMIN_KEY`", "`set-admin-key`", "key"},
		{"the first start, which adds a user", "`create-user`", "user"},
		{"the first start of `junctor demo`, which adds servers, agents and a room", "`create-server`, `create-agent`, `create-room`", "server, agent, room"},
		{"a start with other settings than the last one (flags, environment or settings file)", "`change-settings`", "settings"},
		{"a user who lets an OAuth client act for them, at `/oauth/authorize`", "`grant-consent`", "consent"},
		{"a user who logs in to a server, at `/connect/`", "`finish-server-login`", "server-login"},
	}
}

// The part of the page that internal/cli writes.
const (
	commandsBegin = "<!-- commands: make generate -->\n"
	commandsEnd   = "<!-- end of commands -->\n"
)

// changesPage is docs/reference/changes.md: what record each change leaves. Its part about
// commands stays as it is in the stored page.
func changesPage(a *api, stored string) string {
	_, commands, _ := strings.Cut(stored, commandsBegin)
	commands, _, _ = strings.Cut(commands, commandsEnd)
	var b strings.Builder
	b.WriteString("# Changes and their records\n\nThis page lists every way to change an instance, with the record that it leaves. It is generated from the program, and tests fail for a route or a command that is in none of its tables. [The journal](../operate/audit.md#administrative-changes) shows how to read the records.\n\n" +
		"## Routes\n\nCommands of `junctor` and pages of the console change an instance by these routes. `entry_point` of the record tells them apart.\n\n| route | `action` | `object` | `object_id` | values |\n|---|---|---|---|---|\n")
	ops := operations(a)
	ids := slices.SortedFunc(maps.Keys(ops), func(x, y string) int {
		return cmp.Or(strings.Compare(ops[x].Path, ops[y].Path), strings.Compare(ops[x].Method, ops[y].Method))
	})
	var rest strings.Builder
	for _, id := range ids {
		op := ops[id]
		if op.Method == http.MethodGet {
			continue
		}
		route := fmt.Sprintf("`%s %s`", op.Method, Prefix+op.Path)
		spec, recorded := changeSpecs()[op.OperationID]
		switch {
		case !recorded:
			fmt.Fprintf(&rest, "| %s | %s |\n", route, unrecordedOperations()[op.OperationID])
		case spec.steps:
			fmt.Fprintf(&b, "| %s | one record for each object that it changes, as by the object's own route | | | |\n", route)
		default:
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", route, op.OperationID, spec.object, spec.describeID(), spec.describeValues())
		}
	}
	b.WriteString("\n`dry_run` leaves no record, and `POST /rooms/{id}/runs` leaves one only if it decides on waiting calls.\n\n" +
		"## Commands\n\n" + commandsBegin + commands + commandsEnd + "\n## The settings file\n\nFor each object that a settings file declares, changes or no longer declares, the record has the entry point `settings-file`.\n\n| object | added | changed | removed |\n|---|---|---|---|\n")
	for _, kind := range declaredKinds() {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | `%s` |\n", kind, declaredAction("create", kind), declaredAction("patch", kind), declaredAction("delete", kind))
	}
	b.WriteString("\n" +
		"A changed setting takes effect at the next start, and is recorded then.\n\n## Starts and pages\n\n| change | `action` | `object` |\n|---|---|---|\n")
	for _, c := range startChanges() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c[0], c[1], c[2])
	}
	b.WriteString("\n`junctor restore` leaves a record of the phase `restore` in the journal.\n\n## Requests without a record of a change\n\n| route | why |\n|---|---|\n")
	b.WriteString(rest.String())
	return b.String()
}

// declaredKinds returns the kinds of objects that a settings file declares.
func declaredKinds() (kinds []string) {
	for field := range reflect.TypeFor[config.Declared]().Fields() {
		kinds = append(kinds, strings.TrimSuffix(strings.Replace(strings.ToLower(field.Name), "policies", "policy", 1), "s"))
	}
	return kinds
}

// declaredAction returns the action of the record that a change of a settings file leaves. An
// object that has no route of its own to create and to change it is put.
func declaredAction(verb, kind string) string {
	if _, put := changeSpecs()["put-"+kind]; put && verb != "delete" {
		return "put-" + kind
	}
	return verb + "-" + kind
}

// TestDeclaredKindsHaveRecords checks that each change of a settings file has the action of an
// operation, and its object.
func TestDeclaredKindsHaveRecords(t *testing.T) {
	t.Parallel()
	kinds := declaredKinds()
	if len(kinds) < 5 {
		t.Errorf("only %q", kinds)
	}
	for _, kind := range kinds {
		for _, verb := range []string{"create", "patch", "delete"} {
			if spec := changeSpecs()[declaredAction(verb, kind)]; spec.object != kind {
				t.Errorf("%s of a settings file: the action %s has the object %q", kind, declaredAction(verb, kind), spec.object)
			}
		}
	}
}

// describeID says where the object's ID in a record comes from.
func (o *changeSpec) describeID() string {
	switch {
	case o.self:
		return "the user"
	case o.named != "":
		return "`" + o.named + "` of the request"
	case o.created != "":
		return "`" + o.created + "` of the response"
	case len(o.path) > 0:
		return "`" + strings.Join(o.path, "`, `") + "` of the path"
	}
	return ""
}

// describeValues says which values a record has.
func (o *changeSpec) describeValues() string {
	switch {
	case o.read != nil, o.readFor != nil:
		return "before and after"
	case o.requested != nil && o.only != nil:
		return "the decisions"
	case o.requested != nil:
		return "the request"
	}
	return ""
}
