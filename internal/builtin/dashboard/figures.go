package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Figures are the numbers that the dashboard shows.
type Figures struct {
	At        time.Time `json:"at"`
	Seconds   float64   `json:"seconds" jsonschema:"the time that is summed up"`
	Everybody bool      `json:"everybody" jsonschema:"calls of everybody; otherwise the caller's own"`
	Calls     int       `json:"calls"`
	PerSecond float64   `json:"per_second"`
	Failed    int       `json:"failed" jsonschema:"calls that ran and failed, timed out, or were cancelled"`
	Refused   int       `json:"refused" jsonschema:"calls that were not let through"`
	Running   int       `json:"running"`
	MedianMS  float64   `json:"median_ms"`
	P95MS     float64   `json:"p95_ms"`
	MaxMS     float64   `json:"max_ms"`
	Series    []Slice   `json:"series" jsonschema:"the time in equal parts, oldest first"`
	Servers   []Server  `json:"servers"`
	Newest    []Recent  `json:"newest"`
}

// Slice is one part of the time series.
type Slice struct {
	At      time.Time `json:"at" jsonschema:"its beginning"`
	Calls   int       `json:"calls"`
	Bad     int       `json:"bad" jsonschema:"failed or refused"`
	Seconds float64   `json:"seconds" jsonschema:"its length"`
	MeanMS  float64   `json:"mean_ms"`
}

// Server is a server with the numbers of its calls.
type Server struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Mode   string  `json:"mode"`
	State  string  `json:"state"`
	Error  string  `json:"error,omitempty"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	MeanMS float64 `json:"mean_ms"`
}

// Recent is one call in the list of the newest.
type Recent struct {
	ID         string    `json:"id"`
	At         time.Time `json:"at"`
	Server     string    `json:"server"`
	Name       string    `json:"name"`
	EntryPoint string    `json:"entry_point"`
	By         string    `json:"by"`
	Status     string    `json:"status"`
	MS         float64   `json:"ms"`
	Reason     string    `json:"reason,omitempty"`
}

const (
	seriesSlices = 60 // length of the time series
	maxNewest    = 12
)

// summarizeCalls computes figures of calls, which are sorted newest first. If
// these are not all calls since the given time, the period begins with the
// oldest of them, so that the rates stay correct.
func summarizeCalls(p *junctor.Principal, calls []junctor.Call, since, now time.Time, all bool) Figures {
	if n := len(calls); n > 0 && !all && calls[n-1].Start.After(since) {
		since = calls[n-1].Start
	}
	length := max(now.Sub(since), time.Second)
	f := Figures{At: now.UTC(), Seconds: length.Seconds(), Series: make([]Slice, seriesSlices), Newest: []Recent{}, Servers: []Server{}}
	part := length / seriesSlices
	for i := range f.Series {
		f.Series[i] = Slice{At: since.Add(time.Duration(i) * part).UTC(), Seconds: part.Seconds()}
	}
	totals := make([]time.Duration, seriesSlices)
	ended := make([]int, seriesSlices)
	var took []time.Duration
	for i := range calls {
		c := &calls[i]
		// The clocks of replicas differ slightly: keep every call inside the
		// series.
		at := min(max(int(c.Start.Sub(since)/part), 0), seriesSlices-1)
		f.Calls++
		f.Series[at].Calls++
		switch outcomeOf(c.Status) {
		case outcomeRunning:
			f.Running++
		case outcomeFailed:
			f.Failed++
			f.Series[at].Bad++
		case outcomeRefused:
			f.Refused++
			f.Series[at].Bad++
		case outcomeSuccess:
		}
		if k := outcomeOf(c.Status); k == outcomeSuccess || k == outcomeFailed {
			took = append(took, c.Duration)
			totals[at] += c.Duration
			ended[at]++
		}
		if i < maxNewest {
			f.Newest = append(f.Newest, newRecent(p, c))
		}
	}
	for i := range f.Series {
		f.Series[i].MeanMS = meanMillis(totals[i], ended[i])
	}
	f.PerSecond = float64(f.Calls) / f.Seconds
	slices.Sort(took)
	if n := len(took); n > 0 {
		f.MedianMS, f.P95MS, f.MaxMS = toMillis(took[n/2]), toMillis(took[min(n*95/100, n-1)]), toMillis(took[n-1])
	}
	return f
}

// addServers adds the servers with the numbers of their calls.
func (f *Figures) addServers(servers []junctor.Server, calls []junctor.Call) {
	for _, s := range servers {
		line := Server{ID: s.ID, Title: s.Title, Mode: string(s.Mode), State: string(s.State), Error: s.LastError}
		var total time.Duration
		ended := 0
		for i := range calls {
			c := &calls[i]
			if c.Server != s.ID {
				continue
			}
			line.Calls++
			k := outcomeOf(c.Status)
			if k == outcomeFailed {
				line.Failed++
			}
			if k == outcomeSuccess || k == outcomeFailed {
				total += c.Duration
				ended++
			}
		}
		line.MeanMS = meanMillis(total, ended)
		f.Servers = append(f.Servers, line)
	}
}

// String describes the figures for a model.
func (f Figures) String() string {
	var b strings.Builder
	whose := "Calls"
	if !f.Everybody {
		whose = "Your calls"
	}
	fmt.Fprintf(&b, "%s of the last %s: %d (%.2f per second), %d failed, %d refused, %d running.", whose, formatSeconds(f.Seconds), f.Calls, f.PerSecond, f.Failed, f.Refused, f.Running)
	if f.MaxMS > 0 {
		fmt.Fprintf(&b, " They took %.1f ms in the median, %.1f ms at the 95th percentile, %.1f ms at most.", f.MedianMS, f.P95MS, f.MaxMS)
	}
	for _, s := range f.Servers {
		fmt.Fprintf(&b, "\nServer %s is %s: %d calls, %d failed.", s.ID, s.State, s.Calls, s.Failed)
		if s.Error != "" {
			fmt.Fprintf(&b, " %s", s.Error)
		}
	}
	return b.String()
}

// formatSeconds formats a duration.
func formatSeconds(seconds float64) string {
	return (time.Duration(seconds) * time.Second).String()
}

// outcome is the status of a call, as far as the figures distinguish it.
type outcome int

const (
	outcomeRunning outcome = iota
	outcomeSuccess
	outcomeFailed
	outcomeRefused
)

// outcomeOf classifies the status of a call.
func outcomeOf(s junctor.Status) outcome {
	switch s {
	case junctor.StatusRunning:
		return outcomeRunning
	case junctor.StatusSuccess:
		return outcomeSuccess
	case junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid:
		return outcomeRefused
	default:
		return outcomeFailed
	}
}

// newRecent converts a call. It calls the principal itself "you".
func newRecent(p *junctor.Principal, c *junctor.Call) Recent {
	by := c.Issuer + ":" + c.Subject
	switch {
	case isOwnCall(p, c):
		by = "you"
	case c.Agent != "":
		by = c.Agent
	}
	return Recent{
		ID: c.ID, At: c.Start.UTC(), Server: c.Server, Name: c.Name, EntryPoint: string(c.EntryPoint), By: by,
		Status: string(c.Status), MS: toMillis(c.Duration), Reason: c.Reason,
	}
}

// isOwnCall reports whether the principal made a call.
func isOwnCall(p *junctor.Principal, c *junctor.Call) bool {
	return c.Issuer == p.Issuer && c.Subject == p.Subject
}

// meanMillis returns a mean in milliseconds; 0 if n is 0.
func meanMillis(total time.Duration, n int) float64 {
	if n == 0 {
		return 0
	}
	return toMillis(total / time.Duration(n))
}

// toMillis converts a duration to milliseconds, with microseconds as decimals.
func toMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
