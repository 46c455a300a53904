package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// maxNameBytes is the length that clients accept, including the id of the
// server and two underscores.
const maxNameBytes = 64

// A name that clients accept, and a segment of a path that is a version, such
// as v2.
var (
	plainNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	versionSegment   = regexp.MustCompile(`^v\d+(\.\d+)*$`)
)

// assignNames gives each operation a unique name, by Key. former are the names
// of the last import: an operation keeps its name. Operations that want the
// same name all get a hash, so that the result does not depend on their order.
func assignNames(ops []*doc.Operation, server string, former map[string]string) map[string]string {
	room := maxNameBytes
	if server != "" {
		room -= len(server) + 2
	}
	given := map[string]string{}
	taken := map[string]bool{}
	for _, op := range ops {
		// Former names come first: a new operation never takes the name of an
		// old one.
		if name := former[op.Key]; name != "" && len(name) <= room && isPlainName(name) && !taken[name] {
			given[op.Key], taken[name] = name, true
		}
	}
	// wanted maps each name to the Keys of the operations that want it.
	wanted := map[string][]string{}
	for _, op := range ops {
		if _, ok := given[op.Key]; !ok {
			name := fitName(operationName(op), room, op.Key)
			if !slices.Contains(wanted[name], op.Key) {
				wanted[name] = append(wanted[name], op.Key)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		keys := wanted[name]
		if len(keys) == 1 && !taken[name] {
			given[keys[0]], taken[name] = name, true
			continue
		}
		// All of them get a hash, so that the result does not depend on their
		// order.
		for _, key := range keys {
			unique := appendHash(name, room, key)
			given[key], taken[unique] = unique, true
		}
	}
	return given
}

// isPlainName reports whether clients accept a name.
func isPlainName(s string) bool { return plainNamePattern.MatchString(s) }

// fitName shortens a name that is longer than room: it abbreviates known words
// first, and then cuts the name and appends a hash of the key.
func fitName(name string, room int, key string) string {
	if len(name) <= room {
		return name
	}
	parts := strings.Split(name, "_")
	for i, w := range parts {
		if short := knownAbbreviations()[w]; short != "" {
			parts[i] = short
		}
	}
	if name = strings.Join(parts, "_"); len(name) <= room {
		return name
	}
	return appendHash(name, room, key)
}

// appendHash appends a hash of the key to a name, within room bytes.
func appendHash(name string, room int, key string) string {
	sum := sha256.Sum256([]byte(key))
	if most := room - 9; len(name) > most {
		name = strings.TrimRight(name[:max(most, 1)], "_")
	}
	return name + "_" + hex.EncodeToString(sum[:4])
}

// knownAbbreviations are the words that fitName shortens.
func knownAbbreviations() map[string]string {
	return map[string]string{
		"administrator": "admin", "administration": "admin", "application": "app", "applications": "apps", "attribute": "attr", "attributes": "attrs",
		"authentication": "auth", "authorization": "authz", "certificate": "cert", "certificates": "certs", "collaborator": "collab", "collaborators": "collabs",
		"configuration": "config", "configurations": "configs", "credential": "cred", "credentials": "creds", "database": "db", "databases": "dbs",
		"definition": "def", "definitions": "defs", "deployment": "deploy", "deployments": "deploys", "description": "desc", "directory": "dir",
		"document": "doc", "documents": "docs", "environment": "env", "environments": "envs", "identifier": "id", "identifiers": "ids",
		"information": "info", "management": "mgmt", "message": "msg", "messages": "msgs", "namespace": "ns", "namespaced": "ns",
		"notification": "notif", "notifications": "notifs", "organization": "org", "organizations": "orgs", "organisation": "org", "organisations": "orgs",
		"parameter": "param", "parameters": "params", "permission": "perm", "permissions": "perms", "production": "prod", "reference": "ref",
		"references": "refs", "repository": "repo", "repositories": "repos", "request": "req", "requests": "reqs", "response": "resp",
		"subscription": "sub", "subscriptions": "subs", "temporary": "temp", "transaction": "txn", "transactions": "txns", "version": "ver", "versions": "vers",
	}
}

// operationName returns the name of an operation if it were alone: its id in
// snake case, or else words of its method and path.
func operationName(op *doc.Operation) string {
	if w := splitWords(op.ID); len(w) > 0 {
		return strings.Join(w, "_")
	}
	if w := nameFromPath(op); len(w) > 0 {
		return strings.Join(w, "_")
	}
	return "call"
}

// nameFromPath returns the words of a name for an operation without an id, such
// as get_pet_by_id or list_pets.
func nameFromPath(op *doc.Operation) []string {
	var nouns, by []string
	segments := strings.Split(strings.Trim(op.Path, "/"), "/")
	for i, s := range segments {
		isVar := strings.HasPrefix(s, "{")
		last := i == len(segments)-1
		switch {
		case isVar && last:
			by = splitWords(s)
		case isVar || s == "api" || s == "rest" || versionSegment.MatchString(s):
		default:
			w := splitWords(s)
			if !last && strings.HasPrefix(segments[i+1], "{") && len(w) > 0 {
				w[len(w)-1] = toSingular(w[len(w)-1])
			}
			nouns = append(nouns, w...)
		}
	}
	verb := map[string]string{"GET": "get", "HEAD": "head", "POST": "create", "PUT": "replace", "PATCH": "update", "DELETE": "delete", "QUERY": "query"}[op.Method]
	if verb == "" {
		verb = strings.Join(splitWords(op.Method), "_")
	}
	if op.Method == http.MethodGet && len(by) == 0 && len(nouns) > 0 && toSingular(nouns[len(nouns)-1]) != nouns[len(nouns)-1] {
		verb = "list"
	}
	name := append([]string{verb}, nouns...)
	if len(by) > 0 {
		if len(by) > 1 && slices.Contains(nouns, by[0]) {
			by = by[1:] // get_pet_by_id, not get_pet_by_pet_id
		}
		name = append(append(name, "by"), by...)
	}
	if len(nouns) == 0 && len(by) == 0 {
		name = append(name, "root")
	}
	return name
}

// toSingular returns the singular of an English plural. It leaves unknown forms
// unchanged.
func toSingular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") && len(w) > 3:
		return w[:len(w)-1]
	}
	return w
}
