package redact

import (
	"bytes"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Result returns the result of a call without what the detectors find, and how many
// of its texts that changed. All texts are looked at: content, embedded resources,
// text in base64, structured content with the names of its members, and _meta. If
// nothing was found, out is body. Otherwise _meta says how many texts were changed.
//
// valid reports whether structured content is as the tool's output schema requires;
// nil if there is no schema. Structured content that was valid stays valid. If that is
// not possible, the result must not be sent, and the error has CodeDenied.
func (r *Redactor) Result(kind junctor.Kind, body []byte, valid func(structured []byte) bool) (out []byte, changed int, err error) {
	b := r.borrow()
	defer r.buffers.Put(b)
	w := walk{redactor: r, buffers: b, src: body}
	w.skipSpace()
	if !w.value(resultPlace, NotSecret, 0) {
		return nil, 0, junctor.Errorf(junctor.CodeUpstream, "the %s's result cannot be redacted: it is not JSON", kind)
	}
	edits := w.edits
	if len(w.structuredEdits) > 0 {
		from, to := w.structured[0], w.structured[1]
		shaped, ok := r.shapeStructured(b, body[from:to], from, w.structuredEdits, valid)
		if !ok {
			return nil, 0, junctor.Errorf(junctor.CodeDenied, "the %s's result was withheld: without what has to be redacted, its structured content does not match the output schema", kind)
		}
		edits = insertEdit(edits, edit{from: from, to: to, with: shaped})
		changed = countEdits(w.structuredEdits)
	}
	if len(edits) == 0 {
		return body, 0, nil
	}
	changed += countEdits(w.edits)
	return markResult(render(body, edits, wholeStyle, nil), wire.MetaJunctorRedacted, changed, w.hasMeta), changed, nil
}

// insertEdit adds an edit in the order of places.
func insertEdit(edits []edit, one edit) []edit {
	at := 0
	for at < len(edits) && edits[at].from < one.from {
		at++
	}
	out := make([]edit, 0, len(edits)+1)
	return append(append(append(out, edits[:at]...), one), edits[at:]...)
}

// countEdits returns the number of changed texts.
func countEdits(edits []edit) (n int) {
	for i := range edits {
		if !edits[i].inside {
			n++
		}
	}
	return n
}

// markResult adds to _meta of a result how much was changed. A number that is there
// already, of another rule, is added. A result that has no _meta is not searched again.
func markResult(result []byte, key string, changed int, hasMeta bool) []byte {
	if end := bytes.LastIndexByte(result, '}'); !hasMeta && end > 0 && !bytes.HasSuffix(bytes.TrimRight(result[:end], " \t\r\n"), []byte("{")) {
		out := append(make([]byte, 0, end+len(key)+40), result[:end]...)
		out = append(wire.AppendString(append(out, `,"_meta":{`...), key), ':')
		return append(strconv.AppendInt(out, int64(changed), 10), "}}"...)
	}
	meta := wire.Get(result, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		meta = nil
	}
	if before, ok := wire.Int(wire.Get(meta, key)); ok && before > 0 && before < 1<<30 {
		changed += int(before)
	}
	meta = wire.AppendObject(nil, meta, nil, wire.Member{Key: key, Value: strconv.AppendInt(nil, int64(changed), 10)})
	return wire.AppendObject(make([]byte, 0, len(result)+len(meta)+16), result, nil, wire.Member{Key: "_meta", Value: meta})
}
