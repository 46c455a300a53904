package history

import (
	"cmp"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/sketch"
)

// batch holds what one transaction writes. Only the writer uses it, and fills it
// again and again, so that a call needs almost no new memory.
type batch struct {
	// The calls that are being added.
	entries []*queuedCall
	// Groups of calls that share columns.
	groups     []callGroup
	groupIndex map[sharedColumns]int // position of a group in groups
	// Redacts the calls of the batch, one after another.
	redactor *redactor

	callCount uint64
	// Rows of calls, group after group.
	callRows      jsonRows
	statementArgs []any // reused for each statement
	// The facts of a call, and then what rules did with it; reused for each call.
	jsonText []byte
	// Rows of sums; filled by closeUsage.
	usageRows jsonRows
	// Rows of merged sketches; filled by each attempt to store the batch.
	durationRows jsonRows
	// Of the first call, which shows whether a lost commit succeeded.
	firstTenant junctor.TenantID
	firstID     string // id of the first call
	// The transaction was tried before.
	attempted bool

	totalIndex map[usageKey]int // position of a key in totals
	// The sums of the batch, one per key.
	totals []usageTotal
	// Secret paths, looked up once per batch.
	pathsByTool map[toolKey]secretPaths
}

// sharedColumns are the values that calls of one server and one agent with the
// same outcome have in common, in the order of sharedColumnNames. They are
// parameters of the statement that inserts all these calls. That is cheaper than
// repeating them in every row, of which they would be the larger part.
type sharedColumns [14]string

// callGroup is a group of calls with the same shared columns.
type callGroup struct {
	sharedColumns
	// Number of row lists up to the end of this group.
	listCount int
}

// usageTotal is one row of the usage table.
type usageTotal struct {
	usageKey
	usageSums
	// The durations that the database had before this batch, as text.
	storedDurations string
}

// toolKey identifies one version of a tool.
type toolKey struct{ server, name, version string }

// newBatch returns an empty batch that keeps up to most bytes of each payload.
func newBatch(most int) *batch {
	return &batch{redactor: newRedactor(most), groupIndex: map[sharedColumns]int{}, totalIndex: map[usageKey]int{}, pathsByTool: map[toolKey]secretPaths{}}
}

// reset empties the batch and begins with the sums of the calls that were
// dropped.
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
	clear(b.pathsByTool) // a tool's schema may have changed
	for k, s := range missed {
		*b.sumsOf(k) = *s
	}
}

// sumsOf returns the sums of a key. The pointer is valid until the next call.
func (b *batch) sumsOf(k usageKey) *usageSums {
	i, ok := b.totalIndex[k]
	if !ok {
		i = len(b.totals)
		b.totalIndex[k] = i
		if i < cap(b.totals) { // use the memory of a former sketch again
			b.totals = b.totals[:i+1]
			durations := b.totals[i].durations
			durations.Reset()
			b.totals[i] = usageTotal{usageKey: k, usageSums: usageSums{durations: durations}}
		} else {
			b.totals = append(b.totals, usageTotal{usageKey: k})
		}
	}
	return &b.totals[i].usageSums
}

// groupEntries sorts the entries so that calls with the same shared columns
// follow each other.
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

// sharedColumnsOf returns the shared columns of a call, in the order of
// sharedColumnNames.
func sharedColumnsOf(c *junctor.Call) sharedColumns {
	return sharedColumns{
		string(c.Tenant), string(c.Kind), string(c.EntryPoint), storableText(c.Server), storableText(c.Version), storableText(c.Issuer), storableText(c.Subject),
		storableText(c.User), storableText(c.Agent), storableText(c.View), storableText(c.Room), string(c.Status), string(c.Code), encodeAttempts(c.Timing.Failed),
	}
}

// addEntry adds the row of a call. The calls of a group must be added one after
// another. Only strings of e are kept.
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
	if h.options.MaxPayload > 0 {
		secret := b.secretPathsOf(h.options.Paths, c)
		row.addBytes(r.redactParams(e.payloads[:e.paramsLen], e.paramsSize, secret.params))
		row.addBytes(r.redactResult(e.payloads[e.paramsLen:], e.resultSize, secret.result))
	} else {
		row.addText("")
		row.addText("")
	}
	row.addBytes(storableBytes(r.redactText(c.Name)))
	row.addBytes(storableBytes(r.redactText(c.Reason)))
	b.jsonText = appendFacts(b.jsonText[:0], &c.Facts)
	row.addBytes(b.jsonText)
	b.jsonText = appendHits(b.jsonText[:0], c.Policy, r)
	row.addBytes(b.jsonText)
	row.endRow()
}

// closeGroup ends the rows of a group.
func (b *batch) closeGroup(n int) {
	b.callRows.closeList()
	b.groups[n].listCount = len(b.callRows.listEnds)
}

// eachCallList calls use with each list of call rows and the shared columns of
// its calls. It stops at the first error.
func (b *batch) eachCallList(use func(c *sharedColumns, list string) error) error {
	n, lists := 0, 0
	return b.callRows.eachList(func(list string) error {
		if lists++; lists > b.groups[n].listCount {
			n++ // every group has at least one list
		}
		return use(&b.groups[n].sharedColumns, list)
	})
}

// encodeAttempts returns the failed attempts as JSON; "" if there are none, as
// for most calls.
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

// secretPathsOf returns the paths that a tool's own schemas mark as secret.
func (b *batch) secretPathsOf(paths SecretPathSource, c *junctor.Call) secretPaths {
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

// closeUsage writes the rows of usage and ends the batch. The rows are sorted,
// because two replicas that lock the same rows in a different order could
// deadlock.
func (b *batch) closeUsage() {
	slices.SortFunc(b.totals, func(x, y usageTotal) int { return x.compareTo(y.usageKey) })
	for i := range b.totals {
		t, row := &b.totals[i], &b.usageRows
		b.totalIndex[t.usageKey] = i
		row.addUsageKey(&t.usageKey)
		for _, n := range [...]int64{t.calls, t.errors, t.refused, t.duration, t.bytesIn, t.bytesOut} {
			row.addInt(n)
		}
		row.endRow()
	}
	b.usageRows.closeList()
}

// addUsageKey adds the columns of usageKeyColumns to the current row.
func (r *jsonRows) addUsageKey(k *usageKey) {
	r.addText(string(k.tenant))
	r.addInt(k.day)
	for _, s := range [...]string{k.server, k.name, k.entryPoint, k.issuer, k.subject, k.user, k.agent} {
		r.addText(s)
	}
}

// mergeStoredDurations fills durationRows: the sketches of the batch, merged with those
// that the database had. unreadable gets the error of a stored sketch that cannot be
// read; it is left as it is, because a later version may read it.
func (b *batch) mergeStoredDurations(unreadable func(error)) {
	b.durationRows.reset()
	for i := range b.totals {
		t := &b.totals[i]
		if t.durations.Count() == 0 {
			continue
		}
		var merged sketch.Sketch // the batch keeps its own for another attempt
		if err := mergeDurations(&merged, t.storedDurations); err != nil {
			unreadable(err)
			continue
		}
		merged.Merge(&t.durations)
		b.durationRows.addUsageKey(&t.usageKey)
		b.durationRows.addText(encodeDurations(&merged))
		b.durationRows.endRow()
	}
	b.durationRows.closeList()
}

// compareTo orders keys; every column counts.
func (k usageKey) compareTo(other usageKey) int {
	return cmp.Or(
		cmp.Compare(k.day, other.day), cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.server, other.server),
		cmp.Compare(k.name, other.name), cmp.Compare(k.entryPoint, other.entryPoint), cmp.Compare(k.issuer, other.issuer), cmp.Compare(k.subject, other.subject),
		cmp.Compare(k.user, other.user), cmp.Compare(k.agent, other.agent))
}
