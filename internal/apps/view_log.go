package apps

import (
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Values of a log entry: the component that saw the event, and the kind of event. They
// are part of the API.
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

// Bounds of the log of one View.
const (
	maxEntries     = 1000
	maxDetailBytes = 16 << 10
	maxLogBytes    = 2 << 20 // bytes of details that one View keeps
)

// viewLog holds the newest entries about one View. The lock of the host guards it.
type viewLog struct {
	entries []junctor.ViewEntry
	// lastSeq is the number of the last entry, which clients continue from.
	lastSeq uint64
	bytes   int
}

// addEntry numbers an entry, cuts its detail, and drops the oldest entries that exceed
// the bounds.
func (l *viewLog) addEntry(e junctor.ViewEntry) {
	l.lastSeq++
	e.Seq = l.lastSeq
	if len(e.Detail) > maxDetailBytes {
		e.Detail = json.RawMessage(`{"cut":true}`)
	}
	l.entries = append(l.entries, e)
	l.bytes += len(e.Detail)
	for len(l.entries) > maxEntries || l.bytes > maxLogBytes {
		l.bytes -= len(l.entries[0].Detail)
		l.entries = l.entries[1:]
	}
}

// addNote writes an entry to a View's log. The caller must not hold the lock.
func (h *Host) addNote(v *view, source, kind, method string, detail any) {
	text, err := json.Marshal(detail)
	if err != nil {
		text = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.log.addEntry(junctor.ViewEntry{At: h.opts.Now().UTC(), Source: source, Kind: kind, Method: clipText(method), Detail: text})
}

// AddLogEntries adds the events that the console saw. The console cannot choose their source or
// time. If one entry has an unknown kind, none is added.
func (h *Host) AddLogEntries(p *junctor.Principal, id string, entries []junctor.ViewEntry) error {
	v, err := h.findView(p, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Kind {
		case kindSent, kindReceived, kindBlocked, kindViolation, kindNote:
		default:
			return junctor.Errorf(junctor.CodeInvalid, "kind must be sent, received, blocked, violation or note, not %q", clipText(e.Kind))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range entries {
		e.At, e.Source, e.Method = h.opts.Now().UTC(), sourceConsole, clipText(e.Method)
		v.log.addEntry(e)
	}
	return nil
}

// ReadLog gives the entries about a View with a number above after, oldest first.
func (h *Host) ReadLog(p *junctor.Principal, id string, after uint64) ([]junctor.ViewEntry, error) {
	v, err := h.findView(p, id)
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
