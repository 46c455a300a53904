package redact

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// style is a way to replace texts. The first that a schema accepts is used.
type style uint8

const (
	wholeStyle  style = iota // the mark; a container that has to go is replaced as a whole
	markStyle                // the mark in place of each text
	numberStyle              // the mark with a number, for items that must differ
	starStyle                // as many stars as there were characters
	shapeStyle               // zeros for digits and x for letters
	emptyStyle               // nothing
	styleCount
)

// maxChoices is the most texts for which a style is chosen one by one.
const maxChoices = 64

// render returns src with its edits. pick returns what replaces an edit that has a
// text; nil for the edits' own.
func render(src []byte, edits []edit, of style, pick func(i int) []byte) []byte {
	out := make([]byte, 0, len(src)+32*len(edits))
	copied := 0
	for i := range edits {
		e := &edits[i]
		if e.container && of != wholeStyle || e.inside && of == wholeStyle || e.from < copied {
			continue
		}
		with := e.with
		if pick != nil {
			with = pick(i)
		}
		out = append(append(out, src[copied:e.from]...), with...)
		copied = e.to
	}
	return append(out, src[copied:]...)
}

// shapeStructured returns structured content with its edits, whose places are offset.
// ok is false if the content was valid and cannot stay so.
func (r *Redactor) shapeStructured(b *buffers, content []byte, offset int, edits []edit, valid func([]byte) bool) (shaped []byte, ok bool) {
	for i := range edits {
		edits[i].from -= offset
		edits[i].to -= offset
	}
	shaped = render(content, edits, wholeStyle, nil)
	if valid == nil || valid(shaped) || !valid(content) {
		return shaped, true
	}
	for of := markStyle; of < styleCount; of++ {
		replaced := make([][]byte, len(edits))
		for i := range edits {
			replaced[i] = r.replaceEdit(b, &edits[i], of, i)
		}
		shaped = render(content, edits, of, func(i int) []byte { return replaced[i] })
		if valid(shaped) && r.isClean(b, shaped) {
			return shaped, true
		}
	}
	if len(edits) > maxChoices {
		return nil, false
	}
	// Each text by itself: the content was valid without any change.
	chosen := make([][]byte, len(edits))
	for i := range edits {
		if edits[i].container {
			continue
		}
		for of := markStyle; of < styleCount && chosen[i] == nil; of++ {
			with := r.replaceEdit(b, &edits[i], of, i)
			if alone := render(content, edits[i:i+1], markStyle, func(int) []byte { return with }); valid(alone) {
				chosen[i] = with
			}
		}
		if chosen[i] == nil {
			return nil, false
		}
	}
	shaped = render(content, edits, markStyle, func(i int) []byte { return chosen[i] })
	return shaped, valid(shaped) && r.isClean(b, shaped)
}

// isClean reports whether the detectors find nothing any more in structured content,
// whatever replaced it.
func (r *Redactor) isClean(b *buffers, content []byte) bool {
	w := walk{redactor: r, buffers: b, src: content}
	if !w.value(dataPlace, NotSecret, 0) {
		return false
	}
	for i := range w.edits {
		e := &w.edits[i]
		if e.text == nil && !e.container || e.text != nil && !e.whole { // what is hidden by its name has other replacements
			return false
		}
	}
	return true
}

// replaceEdit returns what replaces an edit in a style, as JSON.
func (r *Redactor) replaceEdit(b *buffers, e *edit, of style, n int) []byte {
	if e.text == nil {
		return e.with
	}
	replace := func(dst, found []byte) []byte { return of.appendReplacement(dst, found, n) }
	if e.whole {
		return wire.AppendString(nil, string(replace(nil, e.text)))
	}
	clean, _ := r.clean(b, e.text, replace)
	return wire.AppendString(nil, string(clean))
}

// appendReplacement appends what replaces a text.
func (of style) appendReplacement(dst, found []byte, n int) []byte {
	switch of {
	case numberStyle:
		return append(strconv.AppendInt(append(dst, Mark[:len(Mark)-1]+" "...), int64(n+1), 10), ']')
	case starStyle:
		for range utf8.RuneCount(found) {
			dst = append(dst, '*')
		}
		return dst
	case shapeStyle:
		for _, r := range string(found) {
			switch {
			case unicode.IsDigit(r):
				r = '0'
			case unicode.IsUpper(r):
				r = 'X'
			case unicode.IsLetter(r):
				r = 'x'
			}
			dst = utf8.AppendRune(dst, r)
		}
		return dst
	case emptyStyle:
		return dst
	default:
		return append(dst, Mark...)
	}
}
