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
	entries []*entry // that are being added
	groups  []group  // of calls that are written together
	grouped map[common]int
	redact  *redactor

	calls  uint64
	rows   rows  // of calls
	args   []any // of a statement
	sums   rows  // of usage, once it is closed
	tenant junctor.TenantID
	id     string // of the first call
	tried  bool

	usage map[usageKey]int // where in total
	total []total
	ways  map[toolKey]ways
}

// common is what calls have in common that are of one server and one agent, and
// ended alike, in the order of commonColumns. It is parameters of the statement that
// writes them all: every column that a row brings of its own costs, and these would
// be most of it.
type common [14]string

// group is calls that have much in common.
type group struct {
	common
	lists int // of rows, with those of the groups before
}

// total is a row of usage.
type total struct {
	usageKey
	sums
}

// toolKey names one version of a tool.
type toolKey struct{ server, name, version string }

func newBatch(most int) *batch {
	return &batch{redact: newRedactor(most), grouped: map[common]int{}, usage: map[usageKey]int{}, ways: map[toolKey]ways{}}
}

// begin empties the batch, but for what was summed up of calls that are lost.
func (b *batch) begin(missed map[usageKey]*sums) {
	if cap(b.total) > 2*batchSize {
		b.total, b.usage = nil, map[usageKey]int{}
	}
	b.rows.reset()
	b.sums.reset()
	b.calls, b.tried, b.total = 0, false, b.total[:0]
	b.groups = b.groups[:0]
	clear(b.grouped)
	clear(b.usage)
	clear(b.ways) // a tool may have come to have another schema
	for k, s := range missed {
		*b.at(k) = *s
	}
}

// at gives the sums of a key.
func (b *batch) at(k usageKey) *sums {
	i, ok := b.usage[k]
	if !ok {
		i = len(b.total)
		b.usage[k] = i
		b.total = append(b.total, total{usageKey: k})
	}
	return &b.total[i].sums
}

// group brings together the calls that have much in common.
func (b *batch) group() {
	last := -1
	for _, e := range b.entries {
		k := commonOf(&e.call)
		if last < 0 || b.groups[last].common != k {
			var ok bool
			if last, ok = b.grouped[k]; !ok {
				last = len(b.groups)
				b.grouped[k] = last
				b.groups = append(b.groups, group{common: k})
			}
		}
		e.group = last
	}
	slices.SortStableFunc(b.entries, func(x, y *entry) int { return cmp.Compare(x.group, y.group) })
}

func commonOf(c *junctor.Call) common {
	return common{
		string(c.Tenant), string(c.Kind), string(c.Door), keep(c.Server), keep(c.Version), keep(c.Issuer), keep(c.Subject),
		keep(c.User), keep(c.Agent), keep(c.View), keep(c.Room), string(c.Status), string(c.Code), attempts(c.Timing.Failed),
	}
}

// add makes a row of a call, those of a group one after another. Nothing of e is
// kept but strings.
func (b *batch) add(h *History, e *entry) {
	c, r := &e.call, b.redact
	b.at(keyOf(c)).add(c)
	if b.calls++; b.calls == 1 {
		b.tenant, b.id = c.Tenant, keep(c.ID)
	}
	row := &b.rows
	row.text(keep(c.ID))
	row.int(c.Start.UnixMicro())
	row.int(c.Duration.Microseconds())
	row.int(int64(c.BytesIn))
	row.int(int64(c.BytesOut))
	row.int(c.Timing.Admitted.Microseconds())
	row.int(c.Timing.Connected.Microseconds())
	row.int(c.Timing.Answered.Microseconds())
	r.begin()
	if c.Keeper != nil {
		for _, secret := range c.Keeper.Secrets() {
			r.rememberText(secret)
		}
	}
	if h.o.Max > 0 {
		secret := b.waysTo(h.o.Paths, c)
		row.bytes(r.params(e.buf[:e.params], e.sizeP, secret.params))
		row.bytes(r.result(e.buf[e.params:], e.sizeR, secret.result))
	} else {
		row.text("")
		row.text("")
	}
	row.bytes(keepBytes(r.text(c.Name)))
	row.bytes(keepBytes(r.text(c.Reason)))
	row.end()
}

// closeGroup ends the rows of a group.
func (b *batch) closeGroup(n int) {
	b.rows.close()
	b.groups[n].lists = len(b.rows.ends)
}

// each gives the lists of rows of calls, and what the calls of each have in common,
// until one fails.
func (b *batch) each(use func(c *common, list string) error) error {
	n, lists := 0, 0
	return b.rows.each(func(list string) error {
		if lists++; lists > b.groups[n].lists {
			n++ // no group is without a list
		}
		return use(&b.groups[n].common, list)
	})
}

// attempts are those that failed, as JSON; most calls have none.
func attempts(failed []junctor.Attempt) string {
	if len(failed) == 0 {
		return ""
	}
	text, err := json.Marshal(failed)
	if err != nil {
		return ""
	}
	return string(text)
}

// waysTo gives the paths to what a tool's own schemas call secret.
func (b *batch) waysTo(paths Paths, c *junctor.Call) ways {
	if paths == nil || c.Kind != junctor.KindTool || c.Server == "" {
		return ways{}
	}
	k := toolKey{c.Server, c.Name, c.Version}
	w, ok := b.ways[k]
	if !ok {
		w = waysOf(paths.SecretPaths(c.Server, c.Name, c.Version))
		b.ways[k] = w
	}
	return w
}

// close makes the rows of usage, in one order, so that no two instances wait for
// each other, and ends the batch.
func (b *batch) close() {
	slices.SortFunc(b.total, func(x, y total) int { return x.compare(y.usageKey) })
	for i := range b.total {
		t, row := &b.total[i], &b.sums
		row.text(string(t.tenant))
		row.int(t.day)
		for _, s := range [...]string{t.server, t.name, t.door, t.issuer, t.subject, t.user, t.agent} {
			row.text(s)
		}
		for _, n := range [...]int64{t.calls, t.errors, t.refused, t.duration, t.in, t.out} {
			row.int(n)
		}
		for _, n := range t.counts {
			row.int(n)
		}
		row.end()
	}
	b.sums.close()
}

func (k usageKey) compare(other usageKey) int {
	return cmp.Or(
		cmp.Compare(k.day, other.day), cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.server, other.server),
		cmp.Compare(k.name, other.name), cmp.Compare(k.door, other.door), cmp.Compare(k.issuer, other.issuer), cmp.Compare(k.subject, other.subject),
		cmp.Compare(k.user, other.user), cmp.Compare(k.agent, other.agent))
}
