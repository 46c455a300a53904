package apps

import (
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Who saw what is in the log of a View, and what kind of thing it is.
const (
	sourceConsole = "console"
	sourceSandbox = "sandbox"
	sourceGateway = "gateway"

	kindSent      = "sent"
	kindReceived  = "received"
	kindBlocked   = "blocked"
	kindViolation = "violation"
	kindNote      = "note"
	kindRPC       = "rpc"
)

const (
	maxEntries = 1000
	maxDetail  = 16 << 10
	maxLog     = 2 << 20 // bytes of details that one View keeps
)

// log is the newest of what happened to a View.
type log struct {
	entries []junctor.ViewEntry
	last    uint64
	bytes   int
}

func (l *log) add(e junctor.ViewEntry) {
	l.last++
	e.Seq = l.last
	if len(e.Detail) > maxDetail {
		e.Detail = json.RawMessage(`{"cut":true}`)
	}
	l.entries = append(l.entries, e)
	l.bytes += len(e.Detail)
	for len(l.entries) > maxEntries || l.bytes > maxLog {
		l.bytes -= len(l.entries[0].Detail)
		l.entries = l.entries[1:]
	}
}

// note writes into a View's log.
func (h *Host) note(v *view, source, kind, method string, detail any) {
	text, err := json.Marshal(detail)
	if err != nil {
		text = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.log.add(junctor.ViewEntry{At: h.o.Now().UTC(), Source: source, Kind: kind, Method: clip(method), Detail: text})
}

// AddLog notes what the console saw.
func (h *Host) AddLog(p *junctor.Principal, id string, entries []junctor.ViewEntry) error {
	v, err := h.find(p, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Kind {
		case kindSent, kindReceived, kindBlocked, kindViolation, kindNote:
		default:
			return junctor.Errorf(junctor.CodeInvalid, "an entry is of the kind sent, received, blocked, violation or note, not %q", clip(e.Kind))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range entries {
		e.At, e.Source, e.Method = h.o.Now().UTC(), sourceConsole, clip(e.Method)
		v.log.add(e)
	}
	return nil
}

// Log gives what happened to a View after an entry, oldest first.
func (h *Host) Log(p *junctor.Principal, id string, after uint64) ([]junctor.ViewEntry, error) {
	v, err := h.find(p, id)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, e := range v.log.entries {
		if e.Seq > after {
			return append([]junctor.ViewEntry(nil), v.log.entries[i:]...), nil
		}
	}
	return nil, nil
}
