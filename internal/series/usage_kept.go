package series

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// keptSums is a question about usage that the sums per day of one dimension answer. They are
// kept for each value of the dimension, so they are far fewer than the combinations of all
// values, which would have to be summed up again for every answer.
type keptSums struct {
	filter *UsageFilter
	group  UsageGroup
	by     Dimension
	// The condition on the keys of the series, if the filter selects some.
	where string
	args  []any
	// Calls that are in no series of the dimension are a group, too: those of no user or no
	// agent. They are all calls less those that are in one.
	withRest bool
}

// findKeptSums returns the sums that answer the filter by a group; false if there are none,
// because the filter and the group have more properties than a series.
func (f *UsageFilter) findKeptSums(group UsageGroup) (*keptSums, bool) {
	k := &keptSums{filter: f, group: group}
	all, perTool := UsageFilter{Since: f.Since, Until: f.Until}, []UsageGroup{UsageByTool, UsageByServer}
	only := func(set func(*UsageFilter)) bool {
		one := all
		set(&one)
		return *f == one
	}
	switch {
	case *f == all:
		k.by = map[UsageGroup]Dimension{
			UsageByTool: ByTool, UsageByServer: ByServer, UsageByUser: ByUser, UsageByAgent: ByAgent, UsageByCaller: ByCaller, UsageByEntryPoint: ByEntryPoint, UsageByDay: ByAll,
		}[group]
		k.withRest = k.by == ByUser || k.by == ByAgent
		return k, true
	case only(func(one *UsageFilter) { one.Server = f.Server }):
		k.where, k.args = "first_key = ?", []any{f.Server}
		return k.choose(ByServer, ByTool, UsageByServer, []UsageGroup{UsageByTool})
	case only(func(one *UsageFilter) { one.Tool = f.Tool }):
		k.where, k.args = "second_key = ?", []any{f.Tool}
		if server, name, ok := strings.Cut(f.Tool, "__"); ok && server != "" && name != "" {
			k.where, k.args = "(second_key = ? OR first_key = ? AND second_key = ?)", []any{f.Tool, server, name}
		}
		return k.choose(ByTool, ByTool, UsageByTool, perTool)
	case only(func(one *UsageFilter) { one.User = f.User }):
		k.where, k.args = "first_key = ?", []any{f.User}
		return k.choose(ByUser, ByUserTool, UsageByUser, perTool)
	case only(func(one *UsageFilter) { one.Agent = f.Agent }):
		k.where, k.args = "first_key = ?", []any{f.Agent}
		return k.choose(ByAgent, ByAgentTool, UsageByAgent, perTool)
	case only(func(one *UsageFilter) { one.Caller = f.Caller }):
		k.where, k.args = "second_key = ?", []any{f.Caller}
		return k.choose(ByCaller, "", UsageByCaller, nil)
	case only(func(one *UsageFilter) { one.EntryPoint = f.EntryPoint }):
		k.where, k.args = "first_key = ?", []any{string(f.EntryPoint)}
		return k.choose(ByEntryPoint, "", UsageByEntryPoint, nil)
	}
	return nil, false
}

// choose sets the dimension: single for the group own and for days, and pair for other groups.
func (k *keptSums) choose(single, pair Dimension, own UsageGroup, others []UsageGroup) (*keptSums, bool) {
	switch {
	case k.group == own, k.group == UsageByDay:
		k.by = single
	case slices.Contains(others, k.group):
		k.by = pair
	default:
		return nil, false
	}
	return k, true
}

// read adds up the sums of the days by their group. One statement reads everything, so that
// the rest and what it is taken from are of one moment.
func (k *keptSums) read(ctx context.Context, db store.Database, tenant junctor.TenantID) (map[Usage]*Sums, error) {
	where, args := `tenant_id = ? AND step = ? AND calls > 0 AND dimension IN (?, ?)`, []any{string(tenant), int64(Day), string(k.by), string(k.by)}
	if k.withRest {
		args[len(args)-1] = string(ByAll)
	}
	if k.where != "" {
		where, args = where+" AND "+k.where, append(args, k.args...)
	}
	if since := k.filter.Since; !since.IsZero() {
		where, args = where+" AND begins >= ?", append(args, Day.beginOf(since))
	}
	if until := k.filter.Until; !until.IsZero() {
		where, args = where+" AND begins <= ?", append(args, Day.beginOf(until))
	}
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(`SELECT dimension, begins, first_key, second_key, `+strings.Join(callColumns(), ", ")+`, durations FROM series WHERE `+where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found, all := map[Usage]*Sums{}, &Sums{}
	for rows.Next() {
		var key Key
		var begins int64
		sums, err := scanSums(rows, len(callColumns()), &key.By, &begins, &key.First, &key.Second)
		if err != nil {
			return nil, fmt.Errorf("a sum of usage: %w", err)
		}
		if k.withRest && key.By == ByAll {
			all.addSums(sums)
			continue
		}
		findOrAddSums(found, k.groupOf(key, begins)).addSums(sums)
	}
	if err := rows.Err(); err != nil || !k.withRest {
		return found, err
	}
	for _, sums := range found {
		all.removeSums(sums)
	}
	if all.Calls > 0 {
		found[Usage{}] = all
	}
	return found, nil
}

// groupOf returns the group of a series, with the fields of the group only.
func (k *keptSums) groupOf(key Key, begins int64) Usage {
	server, name := key.First, key.Second
	if key.By == ByUserTool || key.By == ByAgentTool {
		if path, tool, ok := strings.Cut(key.Second, "/"); ok {
			server, name = path, tool
		} else {
			server, name = "", key.Second
		}
	}
	switch k.group {
	case UsageByTool:
		return Usage{Server: server, Name: name}
	case UsageByServer:
		return Usage{Server: server}
	case UsageByUser:
		return Usage{User: key.First}
	case UsageByAgent:
		return Usage{Agent: key.First}
	case UsageByCaller:
		return Usage{Issuer: key.First, Subject: key.Second}
	case UsageByEntryPoint:
		return Usage{EntryPoint: junctor.EntryPoint(key.First)}
	case UsageByDay:
	}
	return Usage{Day: time.Unix(begins, 0).UTC()}
}
