package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// judged are the members of a tool that say what it does, by the names under
// which the admin API shows them.
func judged() [5]struct{ member, shown string } {
	return [...]struct{ member, shown string }{
		{"title", "title"},
		{"description", "description"},
		{"inputSchema", "input_schema"},
		{"outputSchema", "output_schema"},
		{"annotations", "annotations"},
	}
}

// Compare finds the tools that a server offers otherwise than before: new ones,
// those that are gone, and those whose title, description, schemas or annotations
// differ. How the JSON is written, and what stands beside those members, does
// not count.
func Compare(server string, before, after *Offer, now time.Time) []junctor.ToolChange {
	former := map[string][]byte{}
	for _, t := range before.Tools {
		former[t.Name] = t.JSON // of several versions, the newest
	}
	var changes []junctor.ToolChange
	add := func(name string, what []string, was, is []byte) {
		c := junctor.ToolChange{Server: server, Tool: name, What: what, Before: was, After: is, SeenAt: now}
		if was != nil {
			c.BeforeDigest = meaning(was)
		}
		if is != nil {
			c.AfterDigest = meaning(is)
		}
		// One change has one id, whoever sees it and however often.
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

// Differs names the members that say what a tool does and are not the same in
// two definitions of it; none where one is missing.
func Differs(before, after []byte) []string {
	if before == nil || after == nil {
		return nil
	}
	var what []string
	for _, j := range judged() {
		if string(canonical(wire.Get(before, j.member))) != string(canonical(wire.Get(after, j.member))) {
			what = append(what, j.shown)
		}
	}
	return what
}

// meaning is the SHA-256 of what a definition says, hex.
func meaning(def []byte) string {
	h := sha256.New()
	for _, j := range judged() {
		h.Write([]byte(j.member))
		h.Write([]byte{0})
		h.Write(canonical(wire.Get(def, j.member)))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical writes a value in one way: members in the order of their names, and
// no space. What cannot be read stays as it is.
func canonical(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	value, err := wire.Value(raw)
	if err != nil {
		return raw
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return out
}
