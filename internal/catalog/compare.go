package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// comparedMembers are the members of a tool that say what it does, each with
// its name in the admin API.
func comparedMembers() [5]struct{ member, shown string } {
	return [...]struct{ member, shown string }{
		{"title", "title"},
		{"description", "description"},
		{"inputSchema", "input_schema"},
		{"outputSchema", "output_schema"},
		{"annotations", "annotations"},
	}
}

// Compare returns the differences between the tools of two offers: new tools,
// removed tools, and tools with another title, description, schema or
// annotation. The formatting of the JSON and all other members do not count. Of
// several versions of a tool, the newest is compared.
func Compare(server string, before, after *Offer, now time.Time) []junctor.ToolChange {
	former := map[string][]byte{}
	for _, t := range before.Tools {
		former[t.Name] = t.JSON // of several versions, the newest
	}
	var changes []junctor.ToolChange
	add := func(name string, what []string, was, is []byte) {
		c := junctor.ToolChange{Server: server, Tool: name, What: what, Before: was, After: is, SeenAt: now}
		if was != nil {
			c.BeforeDigest = digestMeaning(was)
		}
		if is != nil {
			c.AfterDigest = digestMeaning(is)
		}
		// The id depends on the change alone: several replicas that see it store it once.
		sum := sha256.Sum256([]byte(server + "\x00" + name + "\x00" + c.BeforeDigest + "\x00" + c.AfterDigest))
		c.ID = hex.EncodeToString(sum[:12])
		changes = append(changes, c)
	}
	newest := map[string][]byte{}
	for _, t := range after.Tools {
		newest[t.Name] = t.JSON
	}
	for i, t := range after.Tools {
		if i+1 < len(after.Tools) && after.Tools[i+1].Name == t.Name {
			continue // an older version
		}
		was := former[t.Name]
		if what := Differs(was, t.JSON); was == nil || len(what) > 0 {
			add(t.Name, what, was, t.JSON)
		}
	}
	for i, t := range before.Tools {
		if newest[t.Name] == nil && (i+1 == len(before.Tools) || before.Tools[i+1].Name != t.Name) {
			add(t.Name, nil, t.JSON, nil)
		}
	}
	return changes
}

// Differs returns the names, as in the admin API, of the members that say what
// a tool does and are not equal in two definitions. It is empty if a definition
// is nil.
func Differs(before, after []byte) []string {
	if before == nil || after == nil {
		return nil
	}
	var what []string
	for _, j := range comparedMembers() {
		if string(canonicalJSON(wire.Get(before, j.member))) != string(canonicalJSON(wire.Get(after, j.member))) {
			what = append(what, j.shown)
		}
	}
	return what
}

// digestMeaning returns the SHA-256, in hex, of the members that say what a
// tool does.
func digestMeaning(def []byte) string {
	h := sha256.New()
	for _, j := range comparedMembers() {
		h.Write([]byte(j.member))
		h.Write([]byte{0})
		h.Write(canonicalJSON(wire.Get(def, j.member)))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonicalJSON writes a value with sorted members and without space. A value
// that cannot be decoded stays as it is.
func canonicalJSON(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	value, err := wire.DecodeValue(raw)
	if err != nil {
		return raw
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return out
}
