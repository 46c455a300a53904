package redact

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Cut returns the result of a call with at most so many bytes of text, and how many
// texts that changed. Images, audio and other binary data are no text. Structured
// content counts by itself: it may have as many bytes again. If nothing is too long,
// out is body. Otherwise _meta says how many texts were shortened.
//
// valid is as for Redactor.Result. Cut after redacting: the rest of a text that was cut
// off may be what a detector needs.
func Cut(kind junctor.Kind, body []byte, maxBytes int, valid func(structured []byte) bool) (out []byte, changed int, err error) {
	if len(body) <= maxBytes {
		return body, 0, nil
	}
	if wire.CheckJSON(body) != nil {
		return nil, 0, junctor.Errorf(junctor.CodeUpstream, "the %s's result cannot be shortened: it is not JSON", kind)
	}
	c := cutter{body: body, room: maxBytes, maxBytes: maxBytes}
	for key, value := range wire.Members(body) {
		switch string(key) {
		case "structuredContent":
			if len(value) <= maxBytes {
				continue
			}
			shorter, ok := cutStructured(value, maxBytes, valid)
			if !ok {
				return nil, 0, junctor.Errorf(junctor.CodeDenied, "the %s's result was withheld: its structured content cannot be cut to %d bytes and still match the output schema", kind, maxBytes)
			}
			c.replace(value, shorter)
		case "_meta":
			c.meta(value)
		case "requestState", "resultType", "taskId", "nextCursor":
		default:
			c.value(body, key, value)
		}
	}
	if len(c.edits) == 0 {
		return body, 0, nil
	}
	return markResult(render(body, c.edits, wholeStyle, nil), wire.MetaJunctorCut, len(c.edits), true), len(c.edits), nil
}

// cutter shortens the texts of a result in their order.
type cutter struct {
	body     []byte
	room     int // bytes of text that are still possible
	maxBytes int
	marked   bool
	edits    []edit
}

func (c *cutter) replace(value, with []byte) {
	at := wire.Offset(c.body, value)
	c.edits = append(c.edits, edit{from: at, to: at + len(value), with: with})
}

// meta drops the members of a long _meta that are the server's.
func (c *cutter) meta(value []byte) {
	if len(value) <= c.maxBytes {
		return
	}
	var keep []wire.Member
	for key, member := range wire.Members(value) {
		if name := wire.Unescape(key); isKnownMeta([]byte(name)) && len(member) <= c.maxBytes {
			keep = append(keep, wire.Member{Key: name, Value: member})
		}
	}
	c.replace(value, wire.AppendObject(nil, nil, nil, keep...))
}

// value shortens the texts of a member of an object of the protocol.
func (c *cutter) value(object, key, value []byte) {
	switch value[0] {
	case '{':
		for k, v := range wire.Members(value) {
			if string(k) == "_meta" {
				c.meta(v)
			} else {
				c.value(value, k, v)
			}
		}
	case '[':
		for v := range wire.Elements(value) {
			c.value(object, key, v)
		}
	case '"':
		switch string(key) {
		case "type", "role", "method", "status", "audience", "theme", "taskId", "uri", "src", "mimeType", "lastModified":
			return
		case "blob", "data":
			if encoded, _ := wire.String(value); c.blob(value, []byte(encoded)) {
				return
			}
		}
		text := value[1 : len(value)-1]
		if bytes.IndexByte(text, '\\') >= 0 {
			text = []byte(wire.Unescape(text))
		}
		if shorter, changed := c.shorten(text); changed {
			c.replace(value, wire.AppendString(nil, string(shorter)))
		}
	}
}

// blob shortens text in base64. It returns false if the value is no base64.
func (c *cutter) blob(value, encoded []byte) bool {
	if text, is := decodeText(encoded); is {
		if shorter, changed := c.shorten(text); changed {
			c.replace(value, wire.AppendString(nil, base64.StdEncoding.EncodeToString(shorter)))
		}
		return true
	}
	_, ok := decodeBase64(encoded[:min(len(encoded), sniffed)])
	return ok
}

// shorten returns as much of a text as there is room for. The first text that is
// shortened says so at its end.
func (c *cutter) shorten(text []byte) ([]byte, bool) {
	if len(text) <= c.room {
		c.room -= len(text)
		return text, false
	}
	marker := ""
	if !c.marked {
		marker = "[cut: " + strconv.Itoa(len(text)) + " bytes in all]"
	}
	c.marked = true
	if len(marker) > c.room {
		marker = ""
	}
	kept := cutText(text, c.room-len(marker))
	c.room = 0
	return append(kept, marker...), true
}

// cutText returns at most so many bytes of a text. It ends before the word that would
// be cut in two, if that begins close before.
func cutText(text []byte, most int) []byte {
	if len(text) <= most {
		return bytes.Clone(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	if at := bytes.LastIndexAny(text[:most], " \t\r\n"); at >= 0 && most-at <= 64 {
		most = at + 1
	}
	return bytes.Clone(text[:most])
}

// cutStructured returns structured content of at most so many bytes: with shorter texts
// and fewer items. ok is false if it was valid and cannot stay so.
func cutStructured(content []byte, maxBytes int, valid func([]byte) bool) (shorter []byte, ok bool) {
	must := valid != nil && valid(content)
	const all = 1 << 40
	for _, way := range []struct{ texts, items bool }{{true, true}, {false, true}, {true, false}} {
		for most := maxBytes; ; most /= 2 {
			texts, items := all, all
			if way.texts {
				texts = most
			}
			if way.items {
				items = most / 16
			}
			shorter = appendShorter(nil, content, texts, items)
			if len(shorter) <= maxBytes && (!must || valid(shorter)) {
				return shorter, true
			}
			if most == 0 {
				break
			}
		}
	}
	if !must {
		return []byte("{}"), true
	}
	return nil, false
}

// appendShorter appends a value whose texts have at most a number of bytes, and whose
// arrays at most a number of items.
func appendShorter(dst, value []byte, texts, items int) []byte {
	switch value[0] {
	case '{':
		dst = append(dst, '{')
		n := 0
		for key, member := range wire.Members(value) {
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), key...), '"', ':')
			dst = appendShorter(dst, member, texts, items)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		n := 0
		for item := range wire.Elements(value) {
			if n++; n > items {
				break
			}
			if n > 1 {
				dst = append(dst, ',')
			}
			dst = appendShorter(dst, item, texts, items)
		}
		return append(dst, ']')
	case '"':
		if len(value)-2 > texts {
			return wire.AppendString(dst, string(cutText([]byte(wire.Unescape(value[1:len(value)-1])), texts)))
		}
	}
	return append(dst, value...)
}
