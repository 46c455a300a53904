package catalog

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// IdleLimit ends a call after a time without a sign of its server.
type IdleLimit interface {
	// Restart begins the time anew. It may be called from any goroutine, also after the
	// call has ended.
	Restart()
}

// CallLimit is a limit of time of a call, and what set it. Zero sets none.
type CallLimit struct {
	Duration time.Duration
	SetBy    junctor.LimitSource
}

// CallLimits are the limits of the calls of a tool. A zero limit is that of the server or
// of the instance.
type CallLimits struct {
	Idle  CallLimit // without a sign of the server: call_timeout
	Total CallLimit // with progress, too: call_timeout_max
	Tool  string    // with a limit of LimitOfTool: the key of the tool in the overrides
}

// NewCallLimits returns the limits that one source sets. 0 sets none.
func NewCallLimits(setBy junctor.LimitSource, idle, total time.Duration) (l CallLimits) {
	if idle > 0 {
		l.Idle = CallLimit{idle, setBy}
	}
	if total > 0 {
		l.Total = CallLimit{total, setBy}
	}
	return l
}

// Or returns the limits with those of weaker in the place of those that are not set.
func (l CallLimits) Or(weaker CallLimits) CallLimits {
	if l.Idle.Duration == 0 {
		l.Idle = weaker.Idle
	}
	if l.Total.Duration == 0 {
		l.Total = weaker.Total
	}
	if l.Tool == "" {
		l.Tool = weaker.Tool
	}
	return l
}
