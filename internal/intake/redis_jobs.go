package intake

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

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
	first, err := r.redis.BLMove(ctx, r.key, r.processingKey(r.replica), "RIGHT", "LEFT", idleWait).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pieces := []*takenJob{{text: []byte(first)}}
	// A transaction: a move whose answer is lost would leave a job behind.
	pipe := r.redis.TxPipeline()
	more := make([]*redis.StringCmd, jobsPerBatch-1)
	for i := range more {
		more[i] = pipe.LMove(ctx, r.key, r.processingKey(r.replica), "RIGHT", "LEFT")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for _, cmd := range more {
		if text, err := cmd.Result(); err == nil {
			pieces = append(pieces, &takenJob{text: []byte(text)})
		}
	}
	return pieces, nil
}

// readStream reads entries that were delivered and never acknowledged, then new
// ones.
func (r *redisReader) readStream(ctx context.Context) ([]*takenJob, error) {
	left, _, err := r.redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: r.key, Group: groupName, Consumer: r.replica, Start: "0-0", Count: jobsPerBatch, MinIdle: 0, // no other replica reads
	}).Result()
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return parseEntries(left), nil
	}
	streams, err := r.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: groupName, Consumer: r.replica, Streams: []string{r.key, ">"}, Count: jobsPerBatch, Block: idleWait,
	}).Result()
	if errors.Is(err, redis.Nil) || err == nil && len(streams) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseEntries(streams[0].Messages), nil
}

// parseEntries reads the jobs of a stream's entries: the member job, data or
// payload, or the entry's members as those of the job.
func parseEntries(messages []redis.XMessage) []*takenJob {
	out := make([]*takenJob, len(messages))
	for i, m := range messages {
		out[i] = &takenJob{entryID: m.ID}
		for _, name := range []string{"job", "data", "payload"} {
			if text, ok := m.Values[name].(string); ok && out[i].text == nil {
				out[i].text = []byte(text)
			}
		}
		if out[i].text == nil {
			members := map[string]json.RawMessage{}
			for name, v := range m.Values {
				text, _ := v.(string)
				if !json.Valid([]byte(text)) {
					quoted, _ := json.Marshal(text) // strings never fail
					text = string(quoted)
				}
				members[name] = json.RawMessage(text)
			}
			out[i].text, _ = json.Marshal(members) // all members are valid JSON
		}
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
	_, err := r.redis.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, p := range pieces {
			if p.err != nil {
				r.in.Log.WarnContext(ctx, "a job was refused", "source", r.src.ID, "error", p.err.Error())
				pipe.LPush(ctx, r.key+deadSuffix, deadJob{Job: p.text, Error: p.err.Error(), FailedAt: r.in.Now().UTC()}.encodeJSON())
			} else {
				pipe.HSet(ctx, r.key+takenSuffix, p.event.DedupeKey, p.text)
			}
			if p.entryID != "" {
				pipe.XAck(ctx, r.key, groupName, p.entryID)
			} else {
				pipe.LRem(ctx, r.processingKey(r.replica), -1, p.text)
			}
		}
		return nil
	})
	return err
}

// settleJobs checks some of the jobs that have not ended. A job that was
// delivered is removed; one that failed permanently goes to the dead list.
func (r *redisReader) settleJobs(ctx context.Context) error {
	if r.in.Outcome == nil {
		return nil
	}
	fields, next, err := r.redis.HScan(ctx, r.key+takenSuffix, r.cursor, "", jobsPerBatch).Result()
	if err != nil {
		return err
	}
	r.cursor = next
	for i := 0; i+1 < len(fields); i += 2 {
		id, text := fields[i], fields[i+1]
		o, err := r.in.Outcome(ctx, r.src.Tenant, r.src.ID, id)
		if err != nil {
			return err
		}
		if o.Open {
			continue
		}
		if _, err := r.redis.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			if o.Dead {
				pipe.LPush(ctx, r.key+deadSuffix, deadJob{Job: []byte(text), Error: o.Error, Attempts: o.Attempts, FailedAt: o.At}.encodeJSON())
			}
			pipe.HDel(ctx, r.key+takenSuffix, id)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
