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
	maxEntries     = 1000
	maxDetailBytes = 16 << 10
	maxLogBytes    = 2 << 20 // bytes of details that one View keeps
)

// viewLog is the newest of what happened to a View.
type viewLog struct {
	entries []junctor.ViewEntry
	lastSeq uint64
	bytes   int
}

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

// addNote writes into a View's log.
func (h *Host) addNote(v *view, source, kind, method string, detail any) {
	text, err := json.Marshal(detail)
	if err != nil {
		text = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.log.addEntry(junctor.ViewEntry{At: h.opts.Now().UTC(), Source: source, Kind: kind, Method: clipText(method), Detail: text})
}

// AddLog notes what the console saw.
func (h *Host) AddLog(p *junctor.Principal, id string, entries []junctor.ViewEntry) error {
	v, err := h.findView(p, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Kind {
		case kindSent, kindReceived, kindBlocked, kindViolation, kindNote:
		default:
			return junctor.Errorf(junctor.CodeInvalid, "an entry is of the kind sent, received, blocked, violation or note, not %q", clipText(e.Kind))
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

// Log gives what happened to a View after an entry, oldest first.
func (h *Host) Log(p *junctor.Principal, id string, after uint64) ([]junctor.ViewEntry, error) {
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
