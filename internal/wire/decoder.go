package wire

import "encoding/json"

// DecodeValue decodes JSON strictly, as CheckJSON accepts it, into map[string]any, []any, string,
// bool, nil and json.Number. Numbers stay text, so nothing is rounded. All strings of the
// result share one copy of raw: a caller that keeps one of them keeps all of raw. It is
// meant for values that are inspected and dropped.
func DecodeValue(raw []byte) (any, error) {
	d := decoder{text: string(raw)}
	d.reset(raw)
	d.allowDuplicates = true // decodeObject finds duplicates in its map
	d.skipSpace()
	v := d.decodeValue(0)
	d.expectEnd()
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

// decoder is a scanner that also builds the values.
type decoder struct {
	scanner
	text string // the same bytes as a string, which all results share
}

// decodeValue decodes one value. After an error, the result is meaningless.
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
		d.scanValue(depth)
		if c == 'n' {
			return nil
		}
		return c == 't'
	default:
		d.scanValue(depth)
		if d.err != nil {
			return nil
		}
		return json.Number(d.text[start:d.i])
	}
}

// decodeString decodes a string.
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

// decodeObject decodes an object into a map[string]any.
func (d *decoder) decodeObject(depth int) any {
	o := d.beginObject(depth)
	m := map[string]any{}
	for d.nextMember(&o) {
		from, to := o.key.from, o.key.to
		key := d.text[from:to]
		if o.key.escaped {
			key = Unescape(d.b[from:to])
		}
		// Enter the key before its value is read: if the map does not grow, the
		// key was there.
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

// decodeArray decodes an array into a []any.
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
