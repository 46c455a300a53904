package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// auditShow returns `audit show`, which prints a change with the fields that it left
// different. The journal has only digests of the values, so they come from the instance.
func (c *cli) auditShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID|last", Short: "Show a change with its values before and after",
		Long: "Show a change of the instance by the id that junctor audit ls --changes prints; last is the newest. The table has " +
			"the fields of the object that are different after the change. Secrets are masked. The values are in the database of the " +
			"instance, which must be running; --format json prints the whole object before and after.",
		Example: "  junctor audit show last\n  junctor audit show 3VXRDQ7Q2QYZ3ZBZ5CNSJXJ6PV", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			change, err := c.fetchChange(cmd, args[0])
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(change)
			}
			return c.printChange(&change)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// fetchChange returns a change by its ID; last is the newest one that the caller may see.
func (c *cli) fetchChange(cmd *cobra.Command, id string) (change junctor.AdminChange, err error) {
	if id != "last" {
		return change, c.requestAPI(cmd, http.MethodGet, apiPath("changes", id), nil, &change)
	}
	var newest listPage[junctor.AdminChange]
	if err := c.requestAPI(cmd, http.MethodGet, "/changes?limit=1", nil, &newest); err != nil {
		return change, err
	}
	if len(newest.Items) == 0 {
		return change, junctor.Errorf(junctor.CodeNotFound, "the journal has no changes yet")
	}
	return newest.Items[0], nil
}

// printChange prints who changed what, and the fields that are different.
func (c *cli) printChange(change *junctor.AdminChange) error {
	record := ""
	if change.Seq > 0 {
		record = fmt.Sprintf("%d in the journal of %s", change.Seq, change.Replica)
	}
	err := c.printFacts("id", change.ID, "time", formatTime(change.At), "status", string(change.Status), "action", change.Action,
		"object", strings.TrimSuffix(change.Object+"/"+change.ObjectID, "/"), "by", cmp.Or(change.Actor, change.Subject),
		"by_id", change.Issuer+"/"+change.Subject, "user", change.User, "client", change.Client,
		"entry_point", string(change.EntryPoint), "address", change.Address, "record", record)
	if err != nil {
		return err
	}
	rows := changedFields(change.Before, change.After)
	if len(rows) == 0 {
		_, err := fmt.Fprintln(c.out, "\nno field that is shown is different")
		return err
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	return c.printTable([]string{"FIELD", "BEFORE", "AFTER"}, rows)
}

// noValue stands for the value of a field that an object does not have.
const noValue = "-"

// changedFields returns the fields that are different in two JSON values, each with its value
// before and after. A value may be empty: the object did not exist or cannot be read.
func changedFields(before, after json.RawMessage) (rows [][]string) {
	old, current := map[string]string{}, map[string]string{}
	addFields(old, "", before)
	addFields(current, "", after)
	all := maps.Clone(old)
	maps.Copy(all, current)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if old[field] != current[field] {
			rows = append(rows, []string{cmp.Or(field, "value"), cmp.Or(old[field], noValue), cmp.Or(current[field], noValue)})
		}
	}
	return rows
}

// addFields adds the fields of a JSON value to a map, by their path such as auth.method. A list
// of values is one field. Items of a list of objects are named by their ID or name, or by their
// position.
func addFields(fields map[string]string, path string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) == nil && len(members) > 0 {
		for name, member := range members {
			addFields(fields, strings.TrimPrefix(path+"."+name, "."), member)
		}
		return
	}
	var items []map[string]json.RawMessage
	if json.Unmarshal(value, &items) == nil && len(items) > 0 {
		names := itemNames(items)
		for i, item := range items {
			for name, member := range item {
				addFields(fields, path+"["+names[i]+"]."+name, member)
			}
		}
		return
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		fields[path] = string(value)
		return
	}
	fields[path] = b.String()
}

// itemNames returns a name for each object of a list: its ID or name if each has another one,
// or its position.
func itemNames(items []map[string]json.RawMessage) []string {
	names := make([]string, len(items))
	for _, member := range []string{"id", "name"} {
		seen := map[string]bool{}
		for i, item := range items {
			var text string
			if json.Unmarshal(item[member], &text) == nil && text != "" {
				seen[text] = true
			}
			names[i] = text
		}
		if len(seen) == len(items) {
			return names
		}
	}
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
