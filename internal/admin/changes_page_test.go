package admin

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// startChanges are the changes that are made by no operation of the admin API: those of a
// start, and those of the pages for users.
func startChanges() [][3]string {
	return [][3]string{
		{"a start of an instance without an admin key, or with another `JUNCTOR_ADMIN_KEY`", "`set-admin-key`", "key"},
		{"the first start, which adds a user", "`create-user`", "user"},
		{"a start with other settings than the last one (flags, environment or settings file)", "`change-settings`", "settings"},
		{"a user who lets an OAuth client act for them, at `/oauth/authorize`", "`grant-consent`", "consent"},
		{"a user who logs in to a server, at `/connect/`", "`finish-server-login`", "server-login"},
	}
}

// changesPage is docs/reference/changes.md: what record each change leaves.
func changesPage(a *api) string {
	var b strings.Builder
	b.WriteString("# Changes and their records\n\nThis page lists every way to change an instance, with the record that it leaves. It is generated from the program, and a test fails for a route that is in none of its tables. [The journal](../operate/audit.md#administrative-changes) shows how to read the records.\n\n" +
		"## Routes and commands\n\nCommands of `junctor` and pages of the console change an instance by these routes. `entry_point` of the record tells them apart.\n\n| route | `action` | `object` | `object_id` | values |\n|---|---|---|---|---|\n")
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
		"## The settings file\n\nFor each object that a settings file declares, changes or no longer declares, the record has the entry point `settings-file`.\n\n| object | added | changed | removed |\n|---|---|---|---|\n")
	for _, kind := range []string{"server", "agent", "source", "trigger"} {
		fmt.Fprintf(&b, "| %[1]s | `create-%[1]s` | `patch-%[1]s` | `delete-%[1]s` |\n", kind)
	}
	b.WriteString("| schedule | `put-schedule` | `put-schedule` | `delete-schedule` |\n\n" +
		"A changed setting takes effect at the next start, and is recorded then.\n\n## Starts and pages\n\n| change | `action` | `object` |\n|---|---|---|\n")
	for _, c := range startChanges() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c[0], c[1], c[2])
	}
	b.WriteString("\n`junctor restore` leaves a record of the phase `restore` in the journal.\n\n## Requests without a record of a change\n\n| route | why |\n|---|---|\n")
	b.WriteString(rest.String())
	return b.String()
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
	case o.requested:
		return "the request"
	case o.read != nil:
		return "before and after"
	}
	return ""
}
