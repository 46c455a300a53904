package policy

import (
	"crypto/sha256"
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"
	"weak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ruleCache finds rules that are compiled already, by the digest of their definition. One rule
// of hundreds is changed at a time, and operators' rules are in the sets of all tenants. It
// keeps nothing alive: a rule stays as long as a set has it.
type ruleCache struct {
	mu    sync.Mutex
	rules map[[sha256.Size]byte]weak.Pointer[rule]
	sweep int // number of entries at which those of rules that are gone are removed
}

// minSweep is the least number of entries at which the cache is looked through.
const minSweep = 1000

// find returns the compiled rule with a digest; nil if there is none.
func (c *ruleCache) find(digest [sha256.Size]byte) *rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules[digest].Value()
}

// add enters a rule.
func (c *ruleCache) add(digest [sha256.Size]byte, r *rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rules == nil {
		c.rules = map[[sha256.Size]byte]weak.Pointer[rule]{}
	}
	if len(c.rules) >= max(c.sweep, minSweep) {
		for key, known := range c.rules {
			if known.Value() == nil {
				delete(c.rules, key)
			}
		}
		c.sweep = 2 * len(c.rules)
	}
	c.rules[digest] = weak.Make(r)
}

// digestOf returns the digest of a rule's definition. Rules with the same digest are the same.
func digestOf(r *junctor.PolicyRule) [sha256.Size]byte {
	text, _ := json.Marshal(r) // a rule has no member that cannot be marshaled
	return sha256.Sum256(text)
}

// maxKnownFits bounds the results of checks that a rule keeps. Definitions of tools change, and
// former ones are not forgotten one by one.
const maxKnownFits = 4000

// fitCache holds what the checks of a rule against tools came to.
type fitCache struct {
	mu    sync.Mutex
	known map[fitKey][]Problem
}

// fitKey identifies the schema of a tool's arguments, which is all that a check reads.
type fitKey struct {
	hash uint64
	size int
}

// checkTool returns why the condition of a rule does not fit a tool. types returns the types of
// the tool's arguments; they are read only if the result is not known.
func (r *rule) checkTool(c *Compiler, t *Tool, types func() *toolTypes) []Problem {
	schema := wire.Get(t.Definition, "inputSchema")
	key := fitKey{maphash.Bytes(c.seed, schema), len(schema)}
	r.fits.mu.Lock()
	found, ok := r.fits.known[key]
	r.fits.mu.Unlock()
	if ok {
		return slices.Clone(found) // callers complete the problems
	}
	found = types().check(c, r)
	r.fits.mu.Lock()
	defer r.fits.mu.Unlock()
	if r.fits.known == nil || len(r.fits.known) >= maxKnownFits {
		r.fits.known = map[fitKey][]Problem{}
	}
	r.fits.known[key] = slices.Clone(found)
	return found
}
