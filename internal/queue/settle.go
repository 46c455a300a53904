package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// AttemptResult is the result of an attempt.
type AttemptResult struct {
	Outcome Outcome
	Attempt Attempt // the queue sets its number
	// Earliest next attempt, if the other side named one.
	After      time.Duration
	HoldReason string // reason of OutcomeHold
	// Also runs in the transaction that stores the result. It does not run if the
	// lease was lost.
	InTransaction func(ctx context.Context, tx *Tx) error
}

// settlement is the result of an attempt that waits to be written.
type settlement struct {
	lease *Lease
	end   AttemptResult
	also  func(ctx context.Context, tx *Tx) error
	// Of the job afterwards; "" if the lease was lost.
	state State
}

// Settle stores the result of an attempt and returns the job's new state, once
// that is on disk. The error is CodeConflict if the lease was lost: nothing was
// changed then, and another process has the job. The result is written even if
// ctx has ended.
func (q *Queue) Settle(ctx context.Context, l *Lease, e AttemptResult) (State, error) {
	s := &settlement{lease: l, end: e, also: e.InTransaction}
	err := q.submit(ctx, q.writes, &pendingWrite{settle: s, done: make(chan error, 1)})
	return s.state, err
}

// lostLeaseError is the answer to a process that lost its lease.
func lostLeaseError(id string) error {
	return junctor.Errorf(junctor.CodeConflict, "the lease of the job %s is over: another has it, or it was ended", id)
}

// settleAll stores the results of many attempts, each only if its lease is still
// valid. It sets the state of each settlement.
func (tx *Tx) settleAll(ctx context.Context, all []*settlement) error {
	if len(all) == 0 {
		return nil
	}
	byID := make(map[string]*settlement, len(all))
	var finished finishedRows
	var others unfinishedRows
	for _, s := range all {
		s.state = ""
		if byID[s.lease.ID] != nil {
			continue
		}
		byID[s.lease.ID] = s
		add := others.addRow
		if s.end.Outcome == OutcomeFinished {
			add = finished.addRow
		}
		if err := add(s, tx); err != nil {
			return err
		}
	}
	lines, err := tx.writeFinished(ctx, &finished, byID)
	if err != nil {
		return err
	}
	more, err := tx.writeUnfinished(ctx, &others, byID)
	if err != nil {
		return err
	}
	return tx.advanceLines(ctx, append(lines, more...))
}

// finishedRows are the finished jobs of a batch, column by column. Most results
// are of this kind and differ little, so their statement has fewer columns.
type finishedRows struct {
	tenants, ids, attempts []string
	tokens                 []int64
}

// addRow adds a finished job.
func (d *finishedRows) addRow(s *settlement, _ *Tx) error {
	l := s.lease
	line, err := encodeAttempt(l.Attempts+1, &s.end.Attempt)
	if err != nil {
		return err
	}
	d.tenants, d.ids, d.tokens, d.attempts = append(d.tenants, string(l.Tenant)), append(d.ids, l.ID), append(d.tokens, l.lease), append(d.attempts, line)
	return nil
}

// writeFinished stores that jobs are done, and returns the lines that may
// advance.
func (tx *Tx) writeFinished(ctx context.Context, d *finishedRows, byID map[string]*settlement) ([]orderLine, error) {
	if len(d.ids) == 0 {
		return nil, nil
	}
	rows, args, err := tx.dialect.Zip(d.tenants, d.ids, d.tokens, d.attempts)
	if err != nil {
		return nil, err
	}
	now := toMicros(tx.now)
	found, err := tx.Query(ctx, `WITH r(whose, job, token, said) AS (`+rows+`)
		UPDATE jobs SET state = 'done', held = '', run_at = ?, error = '', attempt = attempt + 1, tried = tried || said, lease_until = 0, owner = '', ended_at = ?, blocks = 0
		FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+hasLeaseCondition+`
		RETURNING id`, append(args, now, now)...)
	if err != nil {
		return nil, err
	}
	defer found.Close() // rows.Err reports errors
	var lines []orderLine
	for found.Next() {
		var id string
		if err := found.Scan(&id); err != nil {
			return nil, err
		}
		lines = tx.noteSettled(lines, byID[id], StateDone, 0)
	}
	return lines, found.Err()
}

// unfinishedRows are the new values of all other jobs of a batch, column by
// column.
type unfinishedRows struct {
	tenants, ids, states, held, errors, attempts []string
	tokens, runAt, attemptCounts                 []int64
}

// addRow decides what happens to a job after its attempt, and adds the new
// values.
func (b *unfinishedRows) addRow(s *settlement, tx *Tx) error {
	l := s.lease
	state, runAt, held, problem := StateReady, tx.now, "", s.end.Attempt.Error
	switch s.end.Outcome {
	case OutcomeFinished:
		return errors.New("queue: what is finished becomes nothing else")
	case OutcomeRetry:
		wait, again := RetryDelay(l.Attempts+1-l.AttemptsBeforeReplay, l.MaxAttempts, s.end.After, tx.q.options.Jitter())
		if !again {
			state = StateDead
		}
		runAt = tx.now.Add(wait)
	case OutcomeHold:
		state, held = StateHeld, s.end.HoldReason
	case OutcomeFatal:
		state = StateDead
	case OutcomeNotStarted:
		runAt, problem = l.RunAt, l.Error
		if s.end.After > 0 {
			runAt = tx.now.Add(s.end.After)
		}
	}
	tried, counted := "", int64(0)
	if s.end.Outcome != OutcomeNotStarted {
		line, err := encodeAttempt(l.Attempts+1, &s.end.Attempt)
		if err != nil {
			return err
		}
		tried, counted = line, 1
	}
	b.tenants, b.ids, b.tokens = append(b.tenants, string(l.Tenant)), append(b.ids, l.ID), append(b.tokens, l.lease)
	b.states, b.runAt, b.held = append(b.states, string(state)), append(b.runAt, toMicros(runAt)), append(b.held, storableText(held))
	b.errors, b.attemptCounts, b.attempts = append(b.errors, storableText(problem)), append(b.attemptCounts, counted), append(b.attempts, tried)
	return nil
}

// writeUnfinished stores the new values of jobs that are not finished, and
// returns the lines that may advance.
func (tx *Tx) writeUnfinished(ctx context.Context, b *unfinishedRows, byID map[string]*settlement) ([]orderLine, error) {
	if len(b.ids) == 0 {
		return nil, nil
	}
	rows, args, err := tx.dialect.Zip(b.tenants, b.ids, b.tokens, b.states, b.runAt, b.held, b.errors, b.attemptCounts, b.attempts)
	if err != nil {
		return nil, err
	}
	found, err := tx.Query(ctx, `WITH r(whose, job, token, became, at, why, problem, counted, said) AS (`+rows+`)
		UPDATE jobs SET
			state = CASE WHEN became = 'ready' AND held <> '' THEN 'held' ELSE became END,
			held = CASE became WHEN 'held' THEN why WHEN 'ready' THEN held ELSE '' END,
			run_at = at, error = problem, attempt = attempt + counted, tried = tried || said, lease_until = 0, owner = '',
			ended_at = CASE WHEN became = 'dead' THEN CAST(? AS BIGINT) END,
			blocks = CASE WHEN became = 'dead' OR skip_after > 0 AND attempt - base + counted >= skip_after THEN 0 ELSE blocks END
		FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+hasLeaseCondition+`
		RETURNING id, state, blocks`, append(args, toMicros(tx.now))...)
	if err != nil {
		return nil, err
	}
	defer found.Close() // rows.Err reports errors
	var lines []orderLine
	for found.Next() {
		var id, state string
		var blocks int
		if err := found.Scan(&id, &state, &blocks); err != nil {
			return nil, err
		}
		lines = tx.noteSettled(lines, byID[id], State(state), blocks)
	}
	return lines, found.Err()
}

// noteSettled sets the state of a settlement. It adds the job's line to lines if
// the line may advance.
func (tx *Tx) noteSettled(lines []orderLine, s *settlement, state State, blocks int) []orderLine {
	s.state = state
	if s.lease.OrderKey == "" || blocks != 0 {
		return lines
	}
	tx.wakesWorkers = true
	return append(lines, orderLine{s.lease.Tenant, s.lease.Queue, s.lease.OrderKey})
}

// settleWithHook stores one result and then runs AttemptResult.InTransaction in the same
// transaction.
func (tx *Tx) settleWithHook(ctx context.Context, s *settlement) error {
	if err := tx.settleAll(ctx, []*settlement{s}); err != nil {
		return err
	}
	if s.state == "" {
		return lostLeaseError(s.lease.ID)
	}
	return s.also(ctx, tx)
}

// storableText removes characters that a database cannot store in a text.
func storableText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
