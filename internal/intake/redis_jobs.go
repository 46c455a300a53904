package intake

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// takenJob is a job between Redis and the database.
type takenJob struct {
	text    []byte
	entryID string // of a stream's entry; "" for a list
	parsedJob
	plan eventPlan
	err  error // permanent reason why the job is refused
}

// takeJobs stores the next jobs, and waits briefly for the first. A job leaves
// Redis only after it is stored here, so a crash repeats it and loses nothing.
func (r *redisReader) takeJobs(ctx context.Context) error {
	var pieces []*takenJob
	var err error
	if r.src.Style == junctor.StyleStream {
		pieces, err = r.readStream(ctx)
	} else {
		pieces, err = r.readList(ctx)
	}
	if err != nil || len(pieces) == 0 {
		return err
	}
	for _, p := range pieces {
		if err := r.prepareJob(ctx, p); err != nil {
			return err
		}
	}
	if err := r.storeJobs(ctx, pieces); err != nil {
		return err
	}
	return r.releaseJobs(ctx, pieces)
}

// readList moves jobs of a list to this replica's processing list.
func (r *redisReader) readList(ctx context.Context) ([]*takenJob, error) {
	first, err := r.redis.DoBlocking(ctx, idleWait, "BLMOVE", r.key, r.processingKey(r.replica), "RIGHT", "LEFT", idleSeconds)
	if err != nil || first == nil {
		return nil, err
	}
	// A transaction: a move whose answer is lost would leave a job behind.
	moves := make([][]any, jobsPerBatch-1)
	for i := range moves {
		moves[i] = []any{"LMOVE", r.key, r.processingKey(r.replica), "RIGHT", "LEFT"}
	}
	more, err := r.redis.Transaction(ctx, moves)
	if err != nil {
		return nil, err
	}
	var pieces []*takenJob
	for _, text := range readStrings(append([]any{first}, more...)) {
		pieces = append(pieces, &takenJob{text: []byte(text)})
	}
	return pieces, nil
}

// readStream reads entries that were delivered and never acknowledged, then new
// ones.
func (r *redisReader) readStream(ctx context.Context) ([]*takenJob, error) {
	// No other replica reads, so every entry that is not acknowledged is claimed.
	claimed, err := r.redis.Do(ctx, "XAUTOCLAIM", r.key, groupName, r.replica, 0, "0-0", "COUNT", jobsPerBatch)
	if err != nil {
		return nil, err
	}
	if parts, _ := claimed.([]any); len(parts) > 1 { // the next id, the entries, and since Redis 7 deleted ids
		if left := parseEntries(parts[1]); len(left) > 0 {
			return left, nil
		}
	}
	reply, err := r.redis.DoBlocking(ctx, idleWait, "XREADGROUP", "GROUP", groupName, r.replica, "COUNT", jobsPerBatch, "BLOCK", idleWait.Milliseconds(), "STREAMS", r.key, ">")
	if err != nil {
		return nil, err
	}
	streams, _ := reply.([]any) // nil if nothing came
	if len(streams) == 0 {
		return nil, nil
	}
	if named, _ := streams[0].([]any); len(named) > 1 { // the name of the stream, and its entries
		return parseEntries(named[1]), nil
	}
	return nil, nil
}

// parseEntries reads the jobs of a stream's entries: the member job, data or
// payload, or the entry's members as those of the job. An entry that was deleted
// from the stream is left out.
func parseEntries(reply any) []*takenJob {
	entries, _ := reply.([]any)
	out := make([]*takenJob, 0, len(entries))
	for _, e := range entries {
		entry, _ := e.([]any) // its id, and names and values in turn
		if len(entry) != 2 || entry[1] == nil {
			continue
		}
		id, _ := entry[0].(string)
		fields := readStrings(entry[1])
		values := make(map[string]string, len(fields)/2)
		for i := 0; i+1 < len(fields); i += 2 {
			values[fields[i]] = fields[i+1]
		}
		job := &takenJob{entryID: id}
		for _, name := range []string{"job", "data", "payload"} {
			if text, ok := values[name]; ok && job.text == nil {
				job.text = []byte(text)
			}
		}
		if job.text == nil {
			members := map[string]json.RawMessage{}
			for name, text := range values {
				if !json.Valid([]byte(text)) {
					quoted, _ := json.Marshal(text) // strings never fail
					text = string(quoted)
				}
				members[name] = json.RawMessage(text)
			}
			job.text, _ = json.Marshal(members) // all members are valid JSON
		}
		out = append(out, job)
	}
	return out
}

// prepareJob parses a job and stores its tokens. An error that it returns is
// temporary; a permanent one is noted in the job.
func (r *redisReader) prepareJob(ctx context.Context, p *takenJob) error {
	p.parsedJob, p.err = parseJob(r.src, p.text)
	if p.err != nil {
		return nil //nolint:nilerr // it is noted in the job
	}
	if p.order == nil {
		plan, err := r.in.planEvent(ctx, &p.event)
		if junctor.CodeOf(err) == junctor.CodeInvalid {
			p.err, err = err, nil
		}
		p.plan = plan
		return err
	}
	p.event.ID, p.event.ReceivedAt = r.in.NewID(), r.in.Now().UTC().Truncate(time.Microsecond)
	if p.err = p.fillArguments(p.text); p.err != nil {
		return nil //nolint:nilerr // it is noted in the job
	}
	for _, t := range p.tokens {
		if r.in.SetToken == nil {
			return junctor.Errorf(junctor.CodeInternal, "intake: SetToken is missing")
		}
		err := r.in.SetToken(ctx, r.src.Tenant, p.event.Agent, t.url, t.header, t.secret)
		if junctor.CodeOf(err) == junctor.CodeInvalid {
			p.err, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	p.event.Raised, p.plan.orders = 1, []junctor.Order{*p.order}
	return nil
}

// storeJobs stores the events of jobs in one transaction.
func (r *redisReader) storeJobs(ctx context.Context, pieces []*takenJob) error {
	return r.in.Write(ctx, func(ctx context.Context, on Booking) error {
		for _, p := range pieces {
			if p.err != nil {
				continue
			}
			if _, err := r.in.storeEvent(ctx, on, &p.event, p.plan); err != nil {
				return err
			}
		}
		return nil
	})
}

// deadJob is a job that failed permanently, in the form that its producers
// expect.
type deadJob struct {
	Job      json.RawMessage `json:"job"`
	Error    string          `json:"error"`
	Attempts int             `json:"attempts"`
	FailedAt time.Time       `json:"failed_at"`
}

// encodeJSON encodes the entry. A job that is not JSON becomes a string.
func (d deadJob) encodeJSON() []byte {
	if !json.Valid(d.Job) {
		d.Job, _ = json.Marshal(string(d.Job)) // strings never fail
	}
	b, _ := json.Marshal(d) // Job is valid JSON
	return b
}

// releaseJobs removes stored jobs from Redis. Refused jobs go to the dead list;
// the others are remembered until settleJobs knows their outcome.
func (r *redisReader) releaseJobs(ctx context.Context, pieces []*takenJob) error {
	var commands [][]any
	for _, p := range pieces {
		if p.err != nil {
			r.in.Log.WarnContext(ctx, "queue job rejected and moved to the dead list", "source", r.src.ID, "error", p.err.Error())
			commands = append(commands, []any{"LPUSH", r.key + deadSuffix, deadJob{Job: p.text, Error: p.err.Error(), FailedAt: r.in.Now().UTC()}.encodeJSON()})
		} else {
			commands = append(commands, []any{"HSET", r.key + takenSuffix, p.event.DedupeKey, p.text})
		}
		if p.entryID != "" {
			commands = append(commands, []any{"XACK", r.key, groupName, p.entryID})
		} else {
			commands = append(commands, []any{"LREM", r.processingKey(r.replica), -1, p.text})
		}
	}
	_, err := r.redis.Transaction(ctx, commands)
	return err
}

// settleJobs checks some of the jobs that have not ended. A job that was
// delivered is removed; one that failed permanently goes to the dead list.
func (r *redisReader) settleJobs(ctx context.Context) error {
	if r.in.Outcome == nil {
		return nil
	}
	reply, err := r.redis.Do(ctx, "HSCAN", r.key+takenSuffix, r.cursor, "COUNT", jobsPerBatch)
	if err != nil {
		return err
	}
	scanned, _ := reply.([]any)
	if len(scanned) != 2 {
		return junctor.Errorf(junctor.CodeUpstream, "the Redis returned an invalid reply to HSCAN")
	}
	next, _ := scanned[0].(string)
	if r.cursor, err = strconv.ParseUint(next, 10, 64); err != nil {
		return junctor.Errorf(junctor.CodeUpstream, "the Redis returned an invalid cursor")
	}
	fields := readStrings(scanned[1])
	for i := 0; i+1 < len(fields); i += 2 {
		id, text := fields[i], fields[i+1]
		o, err := r.in.Outcome(ctx, r.src.Tenant, r.src.ID, id)
		if err != nil {
			return err
		}
		if o.Open {
			continue
		}
		var commands [][]any
		if o.Dead {
			commands = append(commands, []any{"LPUSH", r.key + deadSuffix, deadJob{Job: []byte(text), Error: o.Error, Attempts: o.Attempts, FailedAt: o.At}.encodeJSON()})
		}
		commands = append(commands, []any{"HDEL", r.key + takenSuffix, id})
		if _, err := r.redis.Transaction(ctx, commands); err != nil {
			return err
		}
	}
	return nil
}
