package cli

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// callerNames are the names of keys and users by id, as far as the caller of a command may
// know them. Records have ids, because names may change.
type callerNames struct{ keys, users map[string]string }

// fetchCallerNames returns the names of keys and users. What the caller may not list stays
// without a name.
func (c *cli) fetchCallerNames(cmd *cobra.Command) (*callerNames, error) {
	var keys listPage[junctor.Key]
	var users listPage[junctor.User]
	err := allowDenied(c.requestAPI(cmd, http.MethodGet, "/keys", nil, &keys))
	if err = errors.Join(err, allowDenied(c.requestAPI(cmd, http.MethodGet, "/users", nil, &users))); err != nil {
		return nil, err
	}
	n := &callerNames{keys: map[string]string{}, users: map[string]string{}}
	for _, k := range keys.Items {
		n.keys[k.ID] = k.Name
		isSame := func(o junctor.Key) bool { return o.Name == k.Name && o.ID != k.ID }
		if slices.ContainsFunc(keys.Items, isSame) {
			n.keys[k.ID] = k.Name + " (" + k.ID + ")"
		}
	}
	for _, u := range users.Items {
		n.users[u.ID] = u.Name
	}
	return n, nil
}

// allowDenied returns nil for the error of somebody who may not list something.
func allowDenied(err error) error {
	if junctor.CodeOf(err) == junctor.CodeDenied {
		return nil
	}
	return err
}

// printNamedList is printList for rows with users and callers, which a table shows by
// name. JSON keeps the ids.
func printNamedList[T any](c *cli, cmd *cobra.Command, path string, heading []string, row func(T, *callerNames) []string) error {
	var names *callerNames
	if !c.wantsJSON() {
		var err error
		if names, err = c.fetchCallerNames(cmd); err != nil {
			return err
		}
	}
	return printList(c, cmd, path, heading, func(item T) []string { return row(item, names) })
}

// principal returns the name of a principal with an ID, or the ID if the name is unknown.
func (n *callerNames) principal(id string) string {
	issuer, subject, ok := strings.Cut(id, ":")
	if !ok {
		return id
	}
	return n.caller(issuer, subject)
}

// ownerName returns the owner of something by name. It asks only if there is an owner.
func (c *cli) ownerName(cmd *cobra.Command, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	names, err := c.fetchCallerNames(cmd)
	if err != nil {
		return "", err
	}
	return names.principal(id), nil
}

// user returns the name of a user, or the id if the name is unknown.
func (n *callerNames) user(id string) string { return cmp.Or(n.users[id], id) }

// caller returns the issuer and the name of a caller, or the id if the name is unknown.
func (n *callerNames) caller(issuer, subject string) string {
	name := ""
	switch issuer {
	case junctor.IssuerKey:
		name = n.keys[subject]
	case junctor.IssuerUser:
		name = n.users[subject]
	}
	return issuer + ":" + cmp.Or(name, subject)
}

// describe returns who made a call, and as which agent if the caller is somebody else.
func (n *callerNames) describe(call *junctor.Call) string {
	by := n.caller(call.Issuer, call.Subject)
	if call.Agent != "" && call.Issuer != junctor.IssuerAgent {
		by += " as " + call.Agent
	}
	return by
}

// shortIDLength is the least number of characters of a short id. The beginning of an id is
// its time: 13 digits tell calls apart that are 4 µs or more from each other, also if the
// other one is not in the list.
const shortIDLength = 13

// shortenIDs returns the beginning of each id, as long as it must be so that no other id of
// the list begins so.
func shortenIDs(ids []string) map[string]string {
	sorted := slices.Sorted(slices.Values(ids))
	short := make(map[string]string, len(ids))
	for i, id := range sorted {
		n := shortIDLength
		if i > 0 {
			n = max(n, commonPrefix(sorted[i-1], id)+1)
		}
		if i+1 < len(sorted) {
			n = max(n, commonPrefix(id, sorted[i+1])+1)
		}
		short[id] = id[:min(n, len(id))]
	}
	return short
}

// commonPrefix returns the number of bytes with which both texts begin.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
