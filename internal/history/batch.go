package history

import (
	"cmp"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// batch is what one transaction writes. There is one, the writer's, which fills
// it again and again: a call costs next to no memory here.
type batch struct {
	entries    []*queuedCall // that are being added
	groups     []callGroup   // of calls that are written together
	groupIndex map[sharedColumns]int
	redactor   *redactor

	callCount     uint64
	callRows      jsonRows // of calls
	statementArgs []any    // of a statement
	usageRows     jsonRows // of usage, once it is closed
	firstTenant   junctor.TenantID
	firstID       string // of the first call
	attempted     bool

	totalIndex  map[usageKey]int // where in total
	totals      []usageTotal
	pathsByTool map[toolKey]secretPaths
}

// sharedColumns is what calls have in common that are of one server and one agent, and
// ended alike, in the order of commonColumns. It is parameters of the statement that
// writes them all: every column that a row brings of its own costs, and these would
// be most of it.
type sharedColumns [14]string

// callGroup is calls that have much in common.
type callGroup struct {
	sharedColumns
	listCount int // of rows, with those of the groups before
}

// usageTotal is a row of usage.
type usageTotal struct {
	usageKey
	usageSums
}

// toolKey names one version of a tool.
type toolKey struct{ server, name, version string }

func newBatch(most int) *batch {
	return &batch{redactor: newRedactor(most), groupIndex: map[sharedColumns]int{}, totalIndex: map[usageKey]int{}, pathsByTool: map[toolKey]secretPaths{}}
}

// reset empties the batch, but for what was summed up of calls that are lost.
func (b *batch) reset(missed map[usageKey]*usageSums) {
	if cap(b.totals) > 2*batchSize {
		b.totals, b.totalIndex = nil, map[usageKey]int{}
	}
	b.callRows.reset()
	b.usageRows.reset()
	b.callCount, b.attempted, b.totals = 0, false, b.totals[:0]
	b.groups = b.groups[:0]
	clear(b.groupIndex)
	clear(b.totalIndex)
	clear(b.pathsByTool) // a tool may have come to have another schema
	for k, s := range missed {
		*b.sumsOf(k) = *s
	}
}

// sumsOf gives the sums of a key.
func (b *batch) sumsOf(k usageKey) *usageSums {
	i, ok := b.totalIndex[k]
	if !ok {
		i = len(b.totals)
		b.totalIndex[k] = i
		b.totals = append(b.totals, usageTotal{usageKey: k})
	}
	return &b.totals[i].usageSums
}

// groupEntries brings together the calls that have much in common.
func (b *batch) groupEntries() {
	last := -1
	for _, e := range b.entries {
		k := sharedColumnsOf(&e.call)
		if last < 0 || b.groups[last].sharedColumns != k {
			var ok bool
			if last, ok = b.groupIndex[k]; !ok {
				last = len(b.groups)
				b.groupIndex[k] = last
				b.groups = append(b.groups, callGroup{sharedColumns: k})
			}
		}
		e.groupNumber = last
	}
	slices.SortStableFunc(b.entries, func(x, y *queuedCall) int { return cmp.Compare(x.groupNumber, y.groupNumber) })
}

func sharedColumnsOf(c *junctor.Call) sharedColumns {
	return sharedColumns{
		string(c.Tenant), string(c.Kind), string(c.Door), storableText(c.Server), storableText(c.Version), storableText(c.Issuer), storableText(c.Subject),
		storableText(c.User), storableText(c.Agent), storableText(c.View), storableText(c.Room), string(c.Status), string(c.Code), encodeAttempts(c.Timing.Failed),
	}
}

// addEntry makes a row of a call, those of a group one after another. Nothing of e is
// kept but strings.
func (b *batch) addEntry(h *History, e *queuedCall) {
	c, r := &e.call, b.redactor
	b.sumsOf(usageKeyOf(c)).addCall(c)
	if b.callCount++; b.callCount == 1 {
		b.firstTenant, b.firstID = c.Tenant, storableText(c.ID)
	}
	row := &b.callRows
	row.addText(storableText(c.ID))
	row.addInt(c.Start.UnixMicro())
	row.addInt(c.Duration.Microseconds())
	row.addInt(int64(c.BytesIn))
	row.addInt(int64(c.BytesOut))
	row.addInt(c.Timing.Admitted.Microseconds())
	row.addInt(c.Timing.Connected.Microseconds())
	row.addInt(c.Timing.Answered.Microseconds())
	r.reset()
	if c.Keeper != nil {
		for _, secret := range c.Keeper.Secrets() {
			r.rememberSecretText(secret)
		}
	}
	if h.options.Max > 0 {
		secret := b.secretPathsOf(h.options.Paths, c)
		row.addBytes(r.redactParams(e.payloads[:e.paramsLen], e.paramsSize, secret.params))
		row.addBytes(r.redactResult(e.payloads[e.paramsLen:], e.resultSize, secret.result))
	} else {
		row.addText("")
		row.addText("")
	}
	row.addBytes(storableBytes(r.redactText(c.Name)))
	row.addBytes(storableBytes(r.redactText(c.Reason)))
	row.endRow()
}

// closeGroup ends the rows of a group.
func (b *batch) closeGroup(n int) {
	b.callRows.closeList()
	b.groups[n].listCount = len(b.callRows.listEnds)
}

// eachCallList gives the lists of rows of calls, and what the calls of each have in common,
// until one fails.
func (b *batch) eachCallList(use func(c *sharedColumns, list string) error) error {
	n, lists := 0, 0
	return b.callRows.eachList(func(list string) error {
		if lists++; lists > b.groups[n].listCount {
			n++ // no group is without a list
		}
		return use(&b.groups[n].sharedColumns, list)
	})
}

// encodeAttempts are those that failed, as JSON; most calls have none.
func encodeAttempts(failed []junctor.Attempt) string {
	if len(failed) == 0 {
		return ""
	}
	text, err := json.Marshal(failed)
	if err != nil {
		return ""
	}
	return string(text)
}

// secretPathsOf gives the paths to what a tool's own schemas call secret.
func (b *batch) secretPathsOf(paths Paths, c *junctor.Call) secretPaths {
	if paths == nil || c.Kind != junctor.KindTool || c.Server == "" {
		return secretPaths{}
	}
	k := toolKey{c.Server, c.Name, c.Version}
	w, ok := b.pathsByTool[k]
	if !ok {
		w = newSecretPaths(paths.SecretPaths(c.Server, c.Name, c.Version))
		b.pathsByTool[k] = w
	}
	return w
}

// closeUsage makes the rows of usage, in one order, so that no two instances wait for
// each other, and ends the batch.
func (b *batch) closeUsage() {
	slices.SortFunc(b.totals, func(x, y usageTotal) int { return x.compareTo(y.usageKey) })
	for i := range b.totals {
		t, row := &b.totals[i], &b.usageRows
		row.addText(string(t.tenant))
		row.addInt(t.day)
		for _, s := range [...]string{t.server, t.name, t.door, t.issuer, t.subject, t.user, t.agent} {
			row.addText(s)
		}
		for _, n := range [...]int64{t.calls, t.errors, t.refused, t.duration, t.bytesIn, t.bytesOut} {
			row.addInt(n)
		}
		for _, n := range t.bucketCounts {
			row.addInt(n)
		}
		row.endRow()
	}
	b.usageRows.closeList()
}

func (k usageKey) compareTo(other usageKey) int {
	return cmp.Or(
		cmp.Compare(k.day, other.day), cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.server, other.server),
		cmp.Compare(k.name, other.name), cmp.Compare(k.door, other.door), cmp.Compare(k.issuer, other.issuer), cmp.Compare(k.subject, other.subject),
		cmp.Compare(k.user, other.user), cmp.Compare(k.agent, other.agent))
}
