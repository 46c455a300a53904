package series

import (
	"slices"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/sketch"
)

// Dimension is a property of calls by which they are counted, or a pair of two.
type Dimension string

// The dimensions. A series of one is identified by up to two keys: that of ByTool by a
// server and a tool, that of ByAgentTool by an agent and a tool's exposed form
// "server/tool".
const (
	ByAll        Dimension = "all"
	ByServer     Dimension = "server"
	ByTool       Dimension = "tool"
	ByAgent      Dimension = "agent"
	ByUser       Dimension = "user"
	ByCaller     Dimension = "caller" // users, agents and keys
	ByEntryPoint Dimension = "entry_point"
	ByAgentTool  Dimension = "agent_tool"
	ByUserTool   Dimension = "user_tool"
)

// Dimensions returns all dimensions.
func Dimensions() []Dimension {
	return []Dimension{ByAll, ByServer, ByTool, ByAgent, ByUser, ByCaller, ByEntryPoint, ByAgentTool, ByUserTool}
}

// Step is the length of a period of which sums are kept.
type Step time.Duration

// The steps, and for how long the sums of each are kept. Sums of days are kept for good.
const (
	Minute = Step(time.Minute)
	Hour   = Step(time.Hour)
	Day    = Step(24 * time.Hour)

	keepMinutes = 48 * time.Hour
	keepHours   = 90 * 24 * time.Hour
)

// Steps returns all steps, the shortest first.
func Steps() []Step { return []Step{Minute, Hour, Day} }

// begin returns the beginning of the period that contains a time, in Unix seconds.
func (s Step) begin(t time.Time) int64 {
	length := int64(time.Duration(s) / time.Second)
	at := t.Unix()
	return at - (at%length+length)%length
}

// keep returns for how long sums of a step are kept; 0 is for good.
func (s Step) keep() time.Duration {
	switch s {
	case Minute:
		return keepMinutes
	case Hour:
		return keepHours
	default:
		return 0
	}
}

// Key identifies a series: its dimension and up to two values.
type Key struct {
	By            Dimension
	First, Second string
}

// otherKey is the series of a dimension to which calls are added once too many series have
// had calls in one minute.
func otherKey(by Dimension) Key { return Key{By: by, First: "(other)"} }

// maxKey bounds the values of a key, in bytes.
const maxKey = 256

// keysOf appends the keys of all series that count a call. Names that callers choose freely
// are no keys: there is no end of them.
func keysOf(keys []Key, c *audit.EndedCall) []Key {
	tool := c.Name
	switch {
	case c.Kind != junctor.KindTool:
		tool = "(" + string(c.Kind) + ")"
	case c.Server == "":
		tool = "(unknown)"
	}
	tool = clip(tool)
	path := tool
	if c.Server != "" {
		path = clip(c.Server + "/" + tool)
	}
	keys = append(keys, Key{By: ByAll}, Key{ByServer, clip(c.Server), ""}, Key{ByTool, clip(c.Server), tool},
		Key{ByCaller, clip(c.Issuer), clip(c.Subject)}, Key{ByEntryPoint, string(c.EntryPoint), ""})
	if c.Agent != "" {
		keys = append(keys, Key{ByAgent, clip(c.Agent), ""}, Key{ByAgentTool, clip(c.Agent), path})
	}
	if c.User != "" {
		keys = append(keys, Key{ByUser, clip(c.User), ""}, Key{ByUserTool, clip(c.User), path})
	}
	return keys
}

// clip cuts a text to maxKey bytes, before a character.
func clip(text string) string {
	if len(text) <= maxKey {
		return text
	}
	end := maxKey
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Sums are the numbers of a series in one period.
type Sums struct {
	Calls    int64 `json:"calls" doc:"All calls that ended or were rejected."`
	Errors   int64 `json:"errors" doc:"Calls that ran and failed."`
	Timeouts int64 `json:"timeouts" doc:"Calls that exceeded a time limit."`
	Canceled int64 `json:"canceled" doc:"Calls that the client canceled, or whose request for input was not answered."`
	Denied   int64 `json:"denied" doc:"Calls that were denied."`
	Limited  int64 `json:"limited" doc:"Calls over a limit."`
	Invalid  int64 `json:"invalid" doc:"Calls with invalid arguments or an unknown name."`
	// Microseconds, of the calls that ran.
	Duration int64 `json:"duration_us" doc:"Total duration of the calls, in microseconds."`
	BytesIn  int64 `json:"bytes_in" doc:"Bytes of parameters."`
	BytesOut int64 `json:"bytes_out" doc:"Bytes of results."`

	// Microseconds, of each call that ran.
	durations sketch.Sketch
}

// addCall counts a call. A refused call has no duration, because it never ran.
func (s *Sums) addCall(c *audit.EndedCall) {
	s.Calls++
	s.BytesIn += int64(c.BytesIn)
	s.BytesOut += int64(c.BytesOut)
	switch c.Status {
	case junctor.StatusDenied:
		s.Denied++
		return
	case junctor.StatusLimited:
		s.Limited++
		return
	case junctor.StatusInvalid:
		s.Invalid++
		return
	case junctor.StatusTimeout:
		s.Timeouts++
	case junctor.StatusCanceled, junctor.StatusLapsed:
		s.Canceled++
	case junctor.StatusError:
		s.Errors++
	case junctor.StatusSuccess, junctor.StatusRunning:
	}
	us := c.Duration.Microseconds()
	s.Duration += us
	s.durations.Add(us)
}

// add adds other sums.
func (s *Sums) add(o *Sums) {
	for i, n := range o.Counts() {
		*s.fields()[i] += n
	}
	s.durations.Merge(&o.durations)
}

// fields returns the counts in the order of their columns.
func (s *Sums) fields() [10]*int64 {
	return [10]*int64{&s.Calls, &s.Errors, &s.Timeouts, &s.Canceled, &s.Denied, &s.Limited, &s.Invalid, &s.Duration, &s.BytesIn, &s.BytesOut}
}

// Counts returns all counts, in the order of their columns.
func (s *Sums) Counts() (list [10]int64) {
	for i, p := range s.fields() {
		list[i] = *p
	}
	return list
}

// columns are the columns of fields.
func columns() []string {
	return []string{"calls", "errors", "timeouts", "canceled", "denied", "limited", "invalid", "duration", "bytes_in", "bytes_out"}
}

// rowKey identifies a row: a series of a tenant in one period.
type rowKey struct {
	tenant junctor.TenantID
	step   Step
	begin  int64 // Unix seconds
	Key
}

// maxSeries is how many series of a tenant may have calls in one minute. Further ones are
// counted as other.
const maxSeries = 10_000

// tally sums calls up until they are stored.
type tally struct {
	rows map[rowKey]*Sums
	// How many series of a tenant have rows of a minute.
	counts map[seriesMinute]int
	other  int64 // how often a call was counted as other
	keys   []Key // kept to reuse its memory
}

type seriesMinute struct {
	tenant junctor.TenantID
	minute int64
}

func newTally() *tally { return &tally{rows: map[rowKey]*Sums{}, counts: map[seriesMinute]int{}} }

// addCall counts a call.
func (t *tally) addCall(c *audit.EndedCall) {
	at := c.Time
	minute := seriesMinute{c.Tenant, Minute.begin(at)}
	t.keys = keysOf(t.keys[:0], c)
	for _, key := range t.keys {
		row := rowKey{c.Tenant, Minute, minute.minute, key}
		if t.rows[row] == nil {
			if t.counts[minute] >= maxSeries && key.By != ByAll {
				row.Key = otherKey(key.By)
				t.other++
			} else {
				t.counts[minute]++
			}
		}
		for _, step := range Steps() {
			row.step, row.begin = step, step.begin(at)
			sums := t.rows[row]
			if sums == nil {
				sums = &Sums{}
				t.rows[row] = sums
			}
			sums.addCall(c)
		}
	}
}

// sortedRows returns the rows in one order for all replicas: two that lock the same rows in
// different orders could deadlock.
func (t *tally) sortedRows() []rowKey {
	rows := make([]rowKey, 0, len(t.rows))
	for row := range t.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// Failed returns how many calls ran and did not succeed.
func (s *Sums) Failed() int64 { return s.Errors + s.Timeouts + s.Canceled }

// Refused returns how many calls were refused before they ran.
func (s *Sums) Refused() int64 { return s.Denied + s.Limited + s.Invalid }
