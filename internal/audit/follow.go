package audit

import (
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// EndedCall is a call that ended or was refused, or a list of tools that was served: what its
// record says of it, as far as numbers are made of it.
type EndedCall struct {
	Time            time.Time // of the record
	Tenant          junctor.TenantID
	Kind            junctor.Kind
	EntryPoint      junctor.EntryPoint
	Server, Name    string
	Issuer, Subject string
	User, Agent     string
	Key             string // id of the key that the caller presented; "" if there was none
	Status          junctor.Status
	Duration        time.Duration
	BytesIn         int
	BytesOut        int
	Rules           string // the rules that matched, as the record has them; MatchedRules splits it
}

// endedCallOf returns the parts of a call that an EndedCall has. rules are those that
// matched it, as its record has them.
func endedCallOf(c *junctor.Call, rules string, at time.Time) EndedCall {
	return EndedCall{
		Time: at, Tenant: c.Tenant, Kind: c.Kind, EntryPoint: c.EntryPoint, Server: c.Server, Name: c.Name, Issuer: c.Issuer, Subject: c.Subject,
		User: c.User, Agent: c.Agent, Key: presentedKey(c), Status: c.Status, Duration: c.Duration, BytesIn: c.BytesIn, BytesOut: c.BytesOut, Rules: rules,
	}
}

// presentedKey returns the id of the key that the caller presented; "" if there was none.
// A service is its key.
func presentedKey(c *junctor.Call) string {
	if c.Issuer == junctor.IssuerKey {
		return c.Subject
	}
	return c.Facts.Key
}

// maxFeedCalls is how many ended calls wait in memory for a follower. A follower that is
// further behind reads them from the segments.
const maxFeedCalls = 4096

// followBatch is how many records a follower reads from the segments at once.
const followBatch = 512

// callFeed hands ended calls from the writer to a follower, in the order of their
// records. It keeps nothing until it is started.
type callFeed struct {
	mu      sync.Mutex
	started bool
	// All ended calls whose records follow completeAfter.
	calls         []EndedCall
	completeAfter uint64
	seq           uint64        // the last record that was written
	halfFull      chan struct{} // holds a value if half of maxFeedCalls wait
}

// addBatch notes the records of a batch that was written at a time. The caller holds
// Journal.mu, so batches arrive in the order of their records.
func (f *callFeed) addBatch(batch []*pendingRecord, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		return
	}
	for _, n := range batch {
		f.seq = n.seq
		switch {
		case n.call == nil, n.call.Status == junctor.StatusRunning:
		case len(f.calls) == maxFeedCalls: // the follower reads all of them from the segments
			clear(f.calls)
			f.calls, f.completeAfter = f.calls[:0], n.seq
		default:
			f.calls = append(f.calls, endedCallOf(n.call, matchedRulesOf(n.call), now))
		}
	}
	if len(f.calls) >= maxFeedCalls/2 {
		signalChannel(f.halfFull)
	}
}

// takeCalls returns all calls after a record, if none of them is missing, and keeps empty in
// their place. If some are missing, it returns false and the number of the record up to
// which they have to be read from the segments.
func (f *callFeed) takeCalls(empty []EndedCall, after uint64) (calls []EndedCall, upTo uint64, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after < f.completeAfter {
		return empty, f.completeAfter, false
	}
	calls, f.calls, f.completeAfter = f.calls, empty, f.seq
	return calls, f.seq, true
}

// Follower reads the calls of a journal that ended, in the order of their records and each
// once. It is for one goroutine, and a journal has one at a time.
type Follower struct {
	journal *Journal
	tail    *recordTail // nil while the follower reads from memory
	seq     uint64      // the last record that Next covered
	calls   []EndedCall
}

// Follow returns a follower of the calls whose records come after a number. The caller
// closes it. If the journal ends before that record, because a power cut took its last
// ones, the follower begins at the end.
func (j *Journal) Follow(after uint64) *Follower {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.feed.mu.Lock()
	defer j.feed.mu.Unlock()
	// All memory is allocated here: a call must not pay for it.
	j.feed.started, j.feed.seq, j.feed.completeAfter, j.feed.calls = true, j.seq, j.seq, make([]EndedCall, 0, maxFeedCalls)
	return &Follower{journal: j, seq: min(after, j.seq), calls: make([]EndedCall, 0, maxFeedCalls)}
}

// Close ends the follower.
func (f *Follower) Close() {
	f.tail.close()
	f.journal.feed.mu.Lock()
	defer f.journal.feed.mu.Unlock()
	f.journal.feed.started, f.journal.feed.calls = false, nil
}

// HalfFull receives a value when many calls wait in memory: Next should be called soon, or
// it has to read from the segments.
func (f *Follower) HalfFull() <-chan struct{} { return f.journal.feed.halfFull }

// Next returns the next calls that ended, and the number of the last record that they
// cover. It does not wait: there may be no calls, and the number grows even so, because half
// of the records begin a call. The calls are valid until the following Next.
func (f *Follower) Next() (calls []EndedCall, upTo uint64, err error) {
	clear(f.calls)
	var whole bool
	if f.calls, upTo, whole = f.journal.feed.takeCalls(f.calls[:0], f.seq); whole {
		f.tail.close()
		f.tail, f.seq = nil, upTo
		return f.calls, f.seq, nil
	}
	if err := f.readSegments(upTo); err != nil {
		return nil, f.seq, err
	}
	return f.calls, f.seq, nil
}

// readSegments reads one batch of records, none above upTo.
func (f *Follower) readSegments(upTo uint64) error {
	if f.tail == nil {
		f.tail = &recordTail{dir: f.journal.options.Dir, nextSeq: f.seq + 1, batch: make([]Record, 0, followBatch)}
	}
	records, err := f.tail.readBatch(upTo, followBatch)
	if err != nil {
		f.tail.close()
		f.tail = nil
		return err
	}
	for i := range records {
		// The texts of a record are reused; those of a call are not.
		l, err := parseLine([]byte(records[i].Hash + " " + records[i].JSON))
		if err == nil && (l.Phase == PhaseToolList || l.Call != "" && (l.Phase == PhaseEnd || l.Phase == PhaseRefuse)) {
			c := l.toCall()
			f.calls = append(f.calls, endedCallOf(&c, l.Rules, l.Time))
		}
	}
	f.seq = upTo // what is not there was removed, or is no record: nobody will read it
	if len(records) == followBatch {
		f.seq = records[len(records)-1].Seq
	}
	return nil
}
