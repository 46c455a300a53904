package wire

import "encoding/json"

// Value decodes JSON strictly, as Check judges it, into map[string]any, []any,
// string, bool, nil and json.Number: numbers stay text, nothing is rounded.
// All strings of the result share one copy of raw, so holding on to one of them
// holds on to all: it is meant for values that are looked at and dropped.
func Value(raw []byte) (any, error) {
	d := decoder{text: string(raw)}
	d.reset(raw)
	d.allowDuplicates = true // the maps find duplicates themselves
	d.skipSpace()
	v := d.decodeValue(0)
	d.expectEnd()
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

type decoder struct {
	scanner
	text string // the same bytes
}

func (d *decoder) decodeValue(depth int) any {
	if d.i >= len(d.b) {
		d.failUnexpected("a value")
		return nil
	}
	start := d.i
	switch c := d.b[d.i]; c {
	case '{':
		return d.decodeObject(depth)
	case '[':
		return d.decodeArray(depth)
	case '"':
		return d.decodeString()
	case 't', 'f', 'n':
		d.scanner.scanValue(depth)
		if c == 'n' {
			return nil
		}
		return c == 't'
	default:
		d.scanner.scanValue(depth)
		if d.err != nil {
			return nil
		}
		return json.Number(d.text[start:d.i])
	}
}

func (d *decoder) decodeString() string {
	start := d.i
	escaped := d.scanString()
	if d.err != nil {
		return ""
	}
	if escaped {
		return Unescape(d.b[start+1 : d.i-1])
	}
	return d.text[start+1 : d.i-1]
}

func (d *decoder) decodeObject(depth int) any {
	o := d.beginObject(depth)
	m := map[string]any{}
	for d.nextMember(&o) {
		from, to := o.key.from, o.key.to
		key := d.text[from:to]
		if o.key.escaped {
			key = Unescape(d.b[from:to])
		}
		n := len(m)
		m[key] = nil
		if len(m) == n {
			d.failAt(int(from)-1, "this key occurs twice in its object")
			return nil
		}
		if v := d.decodeValue(depth + 1); v != nil {
			m[key] = v
		}
	}
	return m
}

func (d *decoder) decodeArray(depth int) any {
	a := []any{}
	if !d.enterContainer(depth) {
		return nil
	}
	first := true
	for d.nextElement(&first) {
		a = append(a, d.decodeValue(depth+1))
		if d.err != nil {
			return nil
		}
	}
	return a
}
