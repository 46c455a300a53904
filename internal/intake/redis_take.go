package intake

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	junctor "github.com/junctor-mcp/junctor"
)

// piece is one job in hand.
type piece struct {
	text []byte
	id   string // of a stream's entry; "" in a list
	taking
	plan plan
	err  error // nothing can ever be done with it
}

// take takes some jobs, waiting a moment for the first. A job leaves Redis only
// when it is stored here.
func (r *reader) take(ctx context.Context) error {
	var pieces []*piece
	var err error
	if r.src.Style == junctor.StyleStream {
		pieces, err = r.fromStream(ctx)
	} else {
		pieces, err = r.fromList(ctx)
	}
	if err != nil || len(pieces) == 0 {
		return err
	}
	for _, p := range pieces {
		if err := r.understand(ctx, p); err != nil {
			return err
		}
	}
	if err := r.store(ctx, pieces); err != nil {
		return err
	}
	return r.release(ctx, pieces)
}

func (r *reader) fromList(ctx context.Context) ([]*piece, error) {
	first, err := r.redis.BLMove(ctx, r.key, r.hand(r.node), "RIGHT", "LEFT", wait).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pieces := []*piece{{text: []byte(first)}}
	// A transaction, so that none is moved that is not told of.
	pipe := r.redis.TxPipeline()
	more := make([]*redis.StringCmd, atOnce-1)
	for i := range more {
		more[i] = pipe.LMove(ctx, r.key, r.hand(r.node), "RIGHT", "LEFT")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for _, cmd := range more {
		if text, err := cmd.Result(); err == nil {
			pieces = append(pieces, &piece{text: []byte(text)})
		}
	}
	return pieces, nil
}

// fromStream takes entries that were handed out and never done with first, those
// of others after a while.
func (r *reader) fromStream(ctx context.Context) ([]*piece, error) {
	left, _, err := r.redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: r.key, Group: groupName, Consumer: r.node, Start: "0-0", Count: atOnce, MinIdle: 0, // who takes is alone
	}).Result()
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return entries(left), nil
	}
	streams, err := r.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: groupName, Consumer: r.node, Streams: []string{r.key, ">"}, Count: atOnce, Block: wait,
	}).Result()
	if errors.Is(err, redis.Nil) || err == nil && len(streams) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return entries(streams[0].Messages), nil
}

// entries reads a stream's entries: the job is the member job, data or payload, or
// the members are those of the job.
func entries(messages []redis.XMessage) []*piece {
	out := make([]*piece, len(messages))
	for i, m := range messages {
		out[i] = &piece{id: m.ID}
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
					quoted, _ := json.Marshal(text) // a string always can be
					text = string(quoted)
				}
				members[name] = json.RawMessage(text)
			}
			out[i].text, _ = json.Marshal(members) // valid by now
		}
	}
	return out
}

// understand makes a piece ready to be stored. Its error may pass; what makes no
// sense is noted in the piece.
func (r *reader) understand(ctx context.Context, p *piece) error {
	p.taking, p.err = readJob(r.src, p.text)
	if p.err != nil {
		return nil //nolint:nilerr // it is noted in the piece
	}
	if p.order == nil {
		plan, err := r.in.plan(ctx, &p.event)
		if junctor.CodeOf(err) == junctor.CodeInvalid {
			p.err, err = err, nil
		}
		p.plan = plan
		return err
	}
	p.event.ID, p.event.ReceivedAt = r.in.NewID(), r.in.Now().UTC().Truncate(time.Microsecond)
	if p.err = p.fill(p.text); p.err != nil {
		return nil //nolint:nilerr // it is noted in the piece
	}
	for _, t := range p.tokens {
		if r.in.SetToken == nil {
			return junctor.Errorf(junctor.CodeInternal, "intake cannot keep the tokens of jobs")
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

func (r *reader) store(ctx context.Context, pieces []*piece) error {
	return r.in.Write(ctx, func(ctx context.Context, on Booking) error {
		for _, p := range pieces {
			if p.err != nil {
				continue
			}
			if _, err := r.in.book(ctx, on, &p.event, p.plan); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeadJob is a job that failed for good, as those who made it expect it.
type deadJob struct {
	Job      json.RawMessage `json:"job"`
	Error    string          `json:"error"`
	Attempts int             `json:"attempts"`
	FailedAt time.Time       `json:"failed_at"`
}

func (d deadJob) text() []byte {
	if !json.Valid(d.Job) {
		d.Job, _ = json.Marshal(string(d.Job)) // a string always can be
	}
	b, _ := json.Marshal(d) // nothing in it that cannot
	return b
}

// release takes jobs that are stored out of this process' hand, and remembers
// those whose makers may have to be told.
func (r *reader) release(ctx context.Context, pieces []*piece) error {
	_, err := r.redis.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, p := range pieces {
			if p.err != nil {
				r.in.Log.WarnContext(ctx, "a job was refused", "source", r.src.ID, "error", p.err.Error())
				pipe.LPush(ctx, r.key+deadOnes, deadJob{Job: p.text, Error: p.err.Error(), FailedAt: r.in.Now().UTC()}.text())
			} else {
				pipe.HSet(ctx, r.key+taken, p.event.DedupeKey, p.text)
			}
			if p.id != "" {
				pipe.XAck(ctx, r.key, groupName, p.id)
			} else {
				pipe.LRem(ctx, r.hand(r.node), -1, p.text)
			}
		}
		return nil
	})
	return err
}

// settle looks at some of the jobs that are not over: one that was carried out is
// forgotten, one that failed for good goes where its makers look for it.
func (r *reader) settle(ctx context.Context) error {
	if r.in.Outcome == nil {
		return nil
	}
	fields, next, err := r.redis.HScan(ctx, r.key+taken, r.cursor, "", atOnce).Result()
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
				pipe.LPush(ctx, r.key+deadOnes, deadJob{Job: []byte(text), Error: o.Error, Attempts: o.Attempts, FailedAt: o.At}.text())
			}
			pipe.HDel(ctx, r.key+taken, id)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
