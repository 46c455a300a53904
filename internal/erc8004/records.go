package erc8004

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
)

// maxCountedPerStep bounds the events that become final in one step; the next step
// continues.
const maxCountedPerStep = 1000

// Raiser stores an event in a transaction. Package intake implements it.
type Raiser interface {
	Raise(ctx context.Context, tx *queue.Tx, tenant junctor.TenantID, e junctor.RaisedEvent) error
}

// Records is the Ledger in the database. An event that becomes final is raised
// in the same transaction: none is lost in between, and none is raised twice.
type Records struct {
	Tenant junctor.TenantID
	DB     store.Database
	Queue  *queue.Queue
	Raiser Raiser
	Names  map[uint64]string // of the chains, by id; the source of an event is chain:NAME
	// Storing is called for each new event, in the transaction that stores the event and
	// before any event is raised. So its effects are visible to every delivery. It may be nil.
	Storing func(ctx context.Context, tx *queue.Tx, e Seen) error
	Notify  func(e Seen) // called for each new event after the transaction; may be nil
	Now     func() time.Time
}

// Retracted ends the type of events that retract others.
const Retracted = ".retracted"

// Blocks implements Ledger.
func (r *Records) Blocks(ctx context.Context, chain uint64, limit int) ([]Block, error) {
	return r.queryBlocks(ctx, readQuerier{r.DB}, chain, limit)
}

// querier runs queries, inside or outside a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readQuerier runs queries outside a transaction.
type readQuerier struct{ db store.Database }

// Query implements querier.
func (q readQuerier) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return q.db.Read.QueryContext(ctx, q.db.Dialect.Bind(query), args...)
}

// queryBlocks returns the newest remembered blocks, oldest first.
func (r *Records) queryBlocks(ctx context.Context, on querier, chain uint64, limit int) ([]Block, error) {
	rows, err := on.Query(ctx, `SELECT number, hash, parent, mined_at FROM chain_blocks WHERE tenant_id = ? AND chain = ? AND number >= 0 ORDER BY number DESC LIMIT ?`,
		string(r.Tenant), int64(chain), limit) //nolint:gosec // a chain's number is checked when it is declared
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Block
	for rows.Next() {
		var b Block
		var hash, parent string
		if err := rows.Scan(&b.Number, &hash, &parent, &b.Time); err != nil {
			return nil, err
		}
		if err := errors.Join(b.Hash.UnmarshalText([]byte(hash)), b.Parent.UnmarshalText([]byte(parent))); err != nil {
			return nil, err
		}
		out = append([]Block{b}, out...)
	}
	return out, rows.Err()
}

// errReadByReplica refuses a step: another replica has read further.
var errReadByReplica = errors.New("another process has read more blocks of this chain")

// Take implements Ledger.
func (r *Records) Take(ctx context.Context, s Step) error {
	var fresh []Seen
	err := r.Queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) error {
		top, err := r.queryBlocks(ctx, tx, s.Chain, 1)
		if err != nil {
			return err
		}
		// Compare and write in one transaction: two replicas cannot both apply
		// a step.
		if len(top) == 0 != (s.After == Block{}) || len(top) > 0 && top[0] != s.After {
			return errReadByReplica
		}
		if s.Forked || s.Rewound {
			if err := r.deleteBlocks(ctx, tx, s.Chain, s.Keep); err != nil {
				return err
			}
		}
		if s.Forked {
			if err := r.orphanForked(ctx, tx, s); err != nil {
				return err
			}
		}
		if err := r.orphanAbsent(ctx, tx, s); err != nil {
			return err
		}
		if fresh, err = r.addStep(ctx, tx, s); err != nil {
			return err
		}
		return r.countEvents(ctx, tx, s)
	})
	if err == nil && r.Notify != nil {
		for _, e := range fresh {
			r.Notify(e)
		}
	}
	return err
}

// Rewind makes a chain be read again above a block. Stored events stay as they
// are. Those that count are not raised again. Those that are not found again
// are orphaned once their blocks were read.
func (r *Records) Rewind(ctx context.Context, chain uint64, to Block) error {
	return r.Queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) error {
		top, err := r.queryBlocks(ctx, tx, chain, 1)
		if err != nil {
			return err
		}
		if len(top) == 0 || top[0].Number <= to.Number {
			return junctor.Errorf(junctor.CodeInvalid, "the chain was not read beyond block %d, so there is nothing to read again", to.Number)
		}
		if err := r.deleteBlocks(ctx, tx, chain, to.Number); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO chain_blocks (tenant_id, chain, number, hash, parent, mined_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant_id, chain, number) DO UPDATE SET hash = excluded.hash, parent = excluded.parent, mined_at = excluded.mined_at`,
			string(r.Tenant), int64(chain), int64(to.Number), to.Hash.String(), to.Parent.String(), int64(to.Time)) //nolint:gosec // numbers of blocks
		return err
	})
}

// deleteBlocks deletes the remembered blocks above a number, and those with a
// negative number, which no block has.
func (r *Records) deleteBlocks(ctx context.Context, tx *queue.Tx, chain, above uint64) error {
	_, err := tx.Exec(ctx, `DELETE FROM chain_blocks WHERE tenant_id = ? AND chain = ? AND (number > ? OR number < 0)`, string(r.Tenant), int64(chain), int64(above)) //nolint:gosec // numbers of blocks
	return err
}

// orphanAbsent orphans stored events of the blocks that were read if the step
// does not have them. There are such events only if blocks are read a second
// time.
func (r *Records) orphanAbsent(ctx context.Context, tx *queue.Tx, s Step) error {
	if s.From > s.To {
		return nil
	}
	stored, err := r.queryEvents(ctx, tx, `state <> 'orphaned' AND chain = ? AND number >= ? AND number <= ? ORDER BY number DESC, log_index DESC`, int64(s.Chain), int64(s.From), int64(s.To)) //nolint:gosec // numbers of blocks
	if err != nil || len(stored) == 0 {
		return err
	}
	there := map[string]bool{}
	for _, e := range s.Events {
		there[e.ID()] = true
	}
	for _, e := range stored {
		if there[e.ID()] {
			continue
		}
		if e.State == "counted" {
			if err := r.raiseEvent(ctx, tx, e, Retracted); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE chain_events SET retracted = retracted + CASE WHEN state = 'counted' THEN 1 ELSE 0 END, state = 'orphaned'
			WHERE tenant_id = ? AND chain = ? AND block_hash = ? AND log_index = ?`, string(r.Tenant), int64(s.Chain), e.BlockHash.String(), int64(e.LogIndex)) //nolint:gosec // numbers of blocks
		if err != nil {
			return err
		}
	}
	return nil
}

// orphanForked orphans the events above a fork, newest first, and raises a
// retraction for those that counted.
func (r *Records) orphanForked(ctx context.Context, tx *queue.Tx, s Step) error {
	gone, err := r.queryEvents(ctx, tx, `state = 'counted' AND chain = ? AND number > ? ORDER BY number DESC, log_index DESC`, int64(s.Chain), int64(s.Keep)) //nolint:gosec // numbers of blocks
	if err != nil {
		return err
	}
	for _, e := range gone {
		if err := r.raiseEvent(ctx, tx, e, Retracted); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE chain_events SET retracted = retracted + CASE WHEN state = 'counted' THEN 1 ELSE 0 END, state = 'orphaned'
		WHERE tenant_id = ? AND chain = ? AND number > ? AND state <> 'orphaned'`, string(r.Tenant), int64(s.Chain), int64(s.Keep)) //nolint:gosec // numbers of blocks
	return err
}

// addStep stores the blocks and events of a step, and returns the events that
// are new.
func (r *Records) addStep(ctx context.Context, tx *queue.Tx, s Step) (fresh []Seen, err error) {
	for _, b := range s.Blocks {
		_, err := tx.Exec(ctx, `INSERT INTO chain_blocks (tenant_id, chain, number, hash, parent, mined_at) VALUES (?, ?, ?, ?, ?, ?)`,
			string(r.Tenant), int64(s.Chain), int64(b.Number), b.Hash.String(), b.Parent.String(), int64(b.Time)) //nolint:gosec // numbers of blocks
		if err != nil {
			return nil, err
		}
	}
	if len(s.Blocks) > 0 {
		_, err := tx.Exec(ctx, `DELETE FROM chain_blocks WHERE tenant_id = ? AND chain = ? AND number < (
			SELECT number FROM chain_blocks WHERE tenant_id = ? AND chain = ? ORDER BY number DESC LIMIT 1 OFFSET ?)`,
			string(r.Tenant), int64(s.Chain), string(r.Tenant), int64(s.Chain), rememberedBlocks) //nolint:gosec // numbers of chains
		if err != nil {
			return nil, err
		}
	}
	now := r.Now().UnixMicro()
	for _, e := range s.Events {
		body, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		stored, err := tx.Exec(ctx, `INSERT INTO chain_events (tenant_id, chain, block_hash, log_index, number, kind, agent, body, state, counted, retracted, seen_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'seen', 0, 0, ?)
			ON CONFLICT (tenant_id, chain, block_hash, log_index) DO UPDATE SET state = 'seen' WHERE chain_events.state = 'orphaned'`,
			string(r.Tenant), int64(s.Chain), e.BlockHash.String(), int64(e.LogIndex), int64(e.Block), string(e.Kind), e.Of().String(), string(body), now) //nolint:gosec // numbers of blocks
		if err != nil {
			return nil, err
		}
		if stored == 0 {
			continue
		}
		fresh = append(fresh, e)
		if r.Storing == nil {
			continue
		}
		if err := r.Storing(ctx, tx, e); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// countEvents raises the events that are final now.
func (r *Records) countEvents(ctx context.Context, tx *queue.Tx, s Step) error {
	due, err := r.queryEvents(ctx, tx, fmt.Sprintf(`state = 'seen' AND chain = ? AND number <= ? ORDER BY number, log_index LIMIT %d`, maxCountedPerStep), int64(s.Chain), int64(s.Final)) //nolint:gosec // numbers of blocks
	if err != nil {
		return err
	}
	for _, e := range due {
		e.Counted++
		if err := r.raiseEvent(ctx, tx, e, ""); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE chain_events SET state = 'counted', counted = ? WHERE tenant_id = ? AND chain = ? AND block_hash = ? AND log_index = ?`,
			e.Counted, string(r.Tenant), int64(e.Chain), e.BlockHash.String(), int64(e.LogIndex)) //nolint:gosec // numbers of blocks
		if err != nil {
			return err
		}
	}
	return nil
}

// raiseEvent raises an event. Its dedupe key includes how often it became
// final, since a chain that goes back and forth makes the same log count again.
func (r *Records) raiseEvent(ctx context.Context, tx *queue.Tx, e Recorded, suffix string) error {
	data, err := e.Data()
	if err != nil {
		return err
	}
	return r.Raiser.Raise(ctx, tx, r.Tenant, junctor.RaisedEvent{
		Source: "chain:" + r.Names[e.Chain], Type: string(e.Kind) + suffix, Agent: e.Of().String(),
		Dedupe: fmt.Sprintf("%s/%d%s", e.ID(), e.Counted, suffix), Data: data,
	})
}

// Recorded is a stored event with its state: seen, counted or orphaned.
type Recorded struct {
	Seen
	State     string    `json:"state"`
	Counted   int       `json:"counted"`
	Retracted int       `json:"retracted"`
	SeenAt    time.Time `json:"seen_at"`
}

// queryEvents returns stored events. where is trusted SQL; values go into args.
func (r *Records) queryEvents(ctx context.Context, on querier, where string, args ...any) ([]Recorded, error) {
	rows, err := on.Query(ctx, `SELECT body, state, counted, retracted, seen_at FROM chain_events WHERE tenant_id = ? AND `+where, append([]any{string(r.Tenant)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []Recorded{}
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// scanEvent reads one row of queryEvents.
func scanEvent(rows *sql.Rows) (e Recorded, err error) {
	var body string
	var at int64
	if err := rows.Scan(&body, &e.State, &e.Counted, &e.Retracted, &at); err != nil {
		return e, err
	}
	e.SeenAt = time.UnixMicro(at).UTC()
	return e, json.Unmarshal([]byte(body), &e.Seen)
}

// Filter selects events for List. Empty fields do not filter.
type Filter struct {
	Chain uint64 // 0 means all
	Agent string // eip155:CHAIN:REGISTRY/ID; "" means all
	State string
	Limit int
}

// List returns events, newest first, at most f.Limit and never more than 1000.
func (r *Records) List(ctx context.Context, f Filter) ([]Recorded, error) {
	where, args := f.conditions()
	return r.queryEvents(ctx, readQuerier{r.DB}, strings.Join(where, " AND ")+fmt.Sprintf(" ORDER BY number DESC, log_index DESC LIMIT %d", min(max(f.Limit, 1), 1000)), args...)
}

// conditions returns the SQL conditions of the filter and their arguments.
func (f *Filter) conditions() (where []string, args []any) {
	where = []string{"1 = 1"}
	if f.Chain != 0 {
		where, args = append(where, "chain = ?"), append(args, int64(f.Chain)) //nolint:gosec // a chain's number
	}
	if f.Agent != "" {
		where, args = append(where, "agent = ?"), append(args, f.Agent)
	}
	if f.State != "" {
		where, args = append(where, "state = ?"), append(args, f.State)
	}
	return where, args
}

// Page returns a page of events, with one more if there is another page, and counts those of
// all pages. Words are searched in the kind, the agent and the hash of the block. A row's ID is
// number/log_index/block_hash.
func (r *Records) Page(ctx context.Context, f Filter, page *junctor.RowPage) ([]Recorded, junctor.RowTotal, error) {
	where, args := f.conditions()
	for _, pattern := range page.LikePatterns() {
		where, args = append(where, "LOWER(kind || ' ' || agent || ' ' || block_hash) LIKE ? ESCAPE '!'"), append(args, pattern)
	}
	var n int
	err := r.DB.Read.QueryRowContext(ctx, r.DB.Dialect.Bind(`SELECT COUNT(*) FROM (SELECT 1 AS one FROM chain_events WHERE tenant_id = ? AND `+strings.Join(where, " AND ")+` LIMIT ?) AS counted`),
		append(append([]any{string(r.Tenant)}, args...), junctor.MaxCounted+1)...).Scan(&n)
	total := junctor.NewRowTotal(n)
	if err != nil || page.Limit == 0 {
		return nil, total, err
	}
	before, direction := "<", " DESC"
	if page.Ascending {
		before, direction = ">", ""
	}
	if page.ID != "" {
		parts := strings.SplitN(page.ID, "/", 3)
		if len(parts) < 3 {
			return nil, total, junctor.Errorf(junctor.CodeInvalid, "the cursor does not belong to this list; omit it to read from the first page")
		}
		number, err1 := strconv.ParseInt(parts[0], 10, 64)
		index, err2 := strconv.ParseInt(parts[1], 10, 64)
		if errors.Join(err1, err2) != nil {
			return nil, total, junctor.Errorf(junctor.CodeInvalid, "the cursor does not belong to this list; omit it to read from the first page")
		}
		where, args = append(where, "(number, log_index, block_hash) "+before+" (?, ?, ?)"), append(args, number, index, parts[2])
	}
	list, err := r.queryEvents(ctx, readQuerier{r.DB}, strings.Join(where, " AND ")+
		fmt.Sprintf(" ORDER BY number%[1]s, log_index%[1]s, block_hash%[1]s LIMIT %[2]d", direction, page.Limit+1), args...)
	return list, total, err
}

// ByID returns an event by the dedupe key that it was raised with, which begins
// with its ID. ok is false if there is none.
func (r *Records) ByID(ctx context.Context, key string) (e Recorded, ok bool, err error) {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 3 {
		return e, false, nil
	}
	index, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return e, false, nil //nolint:nilerr // it is no key of ours
	}
	chain, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return e, false, nil //nolint:nilerr // it is no key of ours
	}
	found, err := r.queryEvents(ctx, readQuerier{r.DB}, "chain = ? AND block_hash = ? AND log_index = ?", chain, parts[1], index)
	if err != nil || len(found) == 0 {
		return e, false, err
	}
	return found[0], true, nil
}

// Agents returns the agents that have events, the most recent first, at most
// 1000.
func (r *Records) Agents(ctx context.Context) ([]string, error) {
	const most = 1000
	rows, err := readQuerier{r.DB}.Query(ctx, `SELECT agent FROM chain_events WHERE tenant_id = ? GROUP BY agent ORDER BY MAX(seen_at) DESC LIMIT ?`, string(r.Tenant), most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var agent string
		if err := rows.Scan(&agent); err != nil {
			return nil, err
		}
		out = append(out, agent)
	}
	return out, rows.Err()
}
