package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Figures are what the dashboard shows.
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

// Slice is a part of the time.
type Slice struct {
	At      time.Time `json:"at" jsonschema:"its beginning"`
	Calls   int       `json:"calls"`
	Bad     int       `json:"bad" jsonschema:"failed or refused"`
	Seconds float64   `json:"seconds" jsonschema:"its length"`
	MeanMS  float64   `json:"mean_ms"`
}

// Server is a server and what it had to do.
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

// Recent is one call.
type Recent struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Name   string    `json:"name"`
	Door   string    `json:"door"`
	By     string    `json:"by"`
	Status string    `json:"status"`
	MS     float64   `json:"ms"`
	Reason string    `json:"reason,omitempty"`
}

const (
	parts      = 60 // parts of the time
	mostNewest = 12
)

// sum makes figures of calls, newest first. Where they are not all, the time
// that is summed up begins with the oldest of them.
func sum(p *junctor.Principal, calls []junctor.Call, since, now time.Time, all bool) Figures {
	if n := len(calls); n > 0 && !all && calls[n-1].Start.After(since) {
		since = calls[n-1].Start
	}
	length := max(now.Sub(since), time.Second)
	f := Figures{At: now.UTC(), Seconds: length.Seconds(), Series: make([]Slice, parts), Newest: []Recent{}, Servers: []Server{}}
	part := length / parts
	for i := range f.Series {
		f.Series[i] = Slice{At: since.Add(time.Duration(i) * part).UTC(), Seconds: part.Seconds()}
	}
	totals := make([]time.Duration, parts)
	ended := make([]int, parts)
	var took []time.Duration
	for i := range calls {
		c := &calls[i]
		at := min(max(int(c.Start.Sub(since)/part), 0), parts-1)
		f.Calls++
		f.Series[at].Calls++
		switch kindOf(c.Status) {
		case runs:
			f.Running++
		case failed:
			f.Failed++
			f.Series[at].Bad++
		case refused:
			f.Refused++
			f.Series[at].Bad++
		case fine:
		}
		if k := kindOf(c.Status); k == fine || k == failed {
			took = append(took, c.Duration)
			totals[at] += c.Duration
			ended[at]++
		}
		if i < mostNewest {
			f.Newest = append(f.Newest, recent(p, c))
		}
	}
	for i := range f.Series {
		f.Series[i].MeanMS = mean(totals[i], ended[i])
	}
	f.PerSecond = float64(f.Calls) / f.Seconds
	slices.Sort(took)
	if n := len(took); n > 0 {
		f.MedianMS, f.P95MS, f.MaxMS = millis(took[n/2]), millis(took[min(n*95/100, n-1)]), millis(took[n-1])
	}
	return f
}

// addServers adds what servers there are and what they had to do.
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
			k := kindOf(c.Status)
			if k == failed {
				line.Failed++
			}
			if k == fine || k == failed {
				total += c.Duration
				ended++
			}
		}
		line.MeanMS = mean(total, ended)
		f.Servers = append(f.Servers, line)
	}
}

// String is the figures for who reads and does not look.
func (f Figures) String() string {
	var b strings.Builder
	whose := "Calls"
	if !f.Everybody {
		whose = "Your calls"
	}
	fmt.Fprintf(&b, "%s of the last %s: %d (%.2f per second), %d failed, %d refused, %d running.", whose, span(f.Seconds), f.Calls, f.PerSecond, f.Failed, f.Refused, f.Running)
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

func span(seconds float64) string {
	return (time.Duration(seconds) * time.Second).String()
}

type kind int

const (
	runs kind = iota
	fine
	failed
	refused
)

func kindOf(s junctor.Status) kind {
	switch s {
	case junctor.StatusRunning:
		return runs
	case junctor.StatusSuccess:
		return fine
	case junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid:
		return refused
	default:
		return failed
	}
}

func recent(p *junctor.Principal, c *junctor.Call) Recent {
	by := c.Issuer + ":" + c.Subject
	switch {
	case isBy(p, c):
		by = "you"
	case c.Agent != "":
		by = c.Agent
	}
	return Recent{
		ID: c.ID, At: c.Start.UTC(), Server: c.Server, Name: c.Name, Door: string(c.Door), By: by,
		Status: string(c.Status), MS: millis(c.Duration), Reason: c.Reason,
	}
}

// isBy says whether a call is the principal's own.
func isBy(p *junctor.Principal, c *junctor.Call) bool {
	return c.Issuer == p.Issuer && c.Subject == p.Subject
}

func mean(total time.Duration, n int) float64 {
	if n == 0 {
		return 0
	}
	return millis(total / time.Duration(n))
}

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
