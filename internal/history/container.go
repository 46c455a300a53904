package history

import "bytes"

func (w *walk) array(paths []path, depth int) {
	w.out = append(w.out, '[')
	w.pos++
	w.open++
	for n := 0; ; n++ {
		if w.space(); w.pos >= len(w.src) {
			w.end()
			break
		}
		if w.src[w.pos] == ']' {
			w.pos++
			break
		}
		begin := len(w.out)
		if n > 0 {
			if w.src[w.pos] != ',' {
				w.fail()
				break
			}
			w.pos++
			w.out = append(w.out, ',')
		}
		if !w.below(w.r.item(paths, n), depth) {
			w.out = w.out[:begin]
		}
		if w.stopped {
			break
		}
	}
	w.close(']', `"`, `"`)
}

// close ends a container, and says so where it is not all.
func (w *walk) close(bracket byte, before, after string) {
	w.open--
	if w.stopped && !w.marked {
		if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
			w.out = append(w.out, ',')
		}
		w.mark(before, after)
	}
	w.out = append(w.out, bracket)
}

func (w *walk) object(paths []path, depth int) {
	start := w.pos
	w.out = append(w.out, '{')
	w.pos++
	w.open++
	for n := 0; ; n++ {
		if w.space(); w.pos >= len(w.src) {
			w.end()
			break
		}
		if w.src[w.pos] == '}' {
			w.pos++
			break
		}
		begin := len(w.out)
		if n > 0 {
			if w.src[w.pos] != ',' {
				w.fail()
				break
			}
			w.pos++
			w.space()
			w.out = append(w.out, ',')
		}
		if !w.member(start, paths, depth) {
			w.out = w.out[:begin]
		}
		if w.stopped {
			break
		}
	}
	w.close('}', `"…":"`, `"`)
}

// member copies one member of the object that begins at start.
func (w *walk) member(start int, paths []path, depth int) bool {
	if w.pos >= len(w.src) {
		return w.end()
	}
	if w.src[w.pos] != '"' {
		return w.fail()
	}
	raw, whole, ok := w.str()
	if !ok {
		return false
	}
	if !whole {
		return w.end()
	}
	defer w.r.release(len(w.r.scratch))
	name, ok := w.r.unquote(raw)
	if !ok {
		return w.fail()
	}
	if w.space(); w.pos >= len(w.src) {
		return w.end()
	}
	if w.src[w.pos] != ':' {
		return w.fail()
	}
	w.pos++
	shown, changed := w.r.clean(name)
	w.changed = w.changed || changed
	if !w.fits(len(shown) + 3) {
		return w.full()
	}
	var fit bool
	w.out = append(w.out, '"')
	if w.out, fit = quote(w.out, shown, w.max-reserve-w.open-len(w.out)-2); !fit {
		return w.full()
	}
	w.out = append(w.out, '"', ':')
	if how := w.r.sensitive(name); how != plain {
		return w.hide(how == soft)
	}
	if isValue(name) && w.named(start) {
		return w.hide(false)
	}
	return w.below(w.r.into(paths, name), depth)
}

// below copies a value of a container, and takes its paths from the stack.
func (w *walk) below(paths []path, depth int) bool {
	defer func(length int) { w.r.rests = w.r.rests[:length] }(len(w.r.rests) - len(paths))
	return w.value(paths, depth+1)
}

// isValue says that a member's name is of a pair such as {"name": "Cookie",
// "value": "..."}.
func isValue(name []byte) bool { return isOne(name, "value", "values", "val", "content", "data") }

// named says that a sibling, in the object that begins at start, gives its
// value a secret's name.
func (w *walk) named(start int) bool {
	defer w.r.release(len(w.r.scratch))
	in := walk{r: w.r, src: w.src, pos: start + 1, cut: true}
	for !in.stopped {
		if in.space(); in.pos >= len(in.src) || in.src[in.pos] != '"' {
			return false
		}
		raw, whole, ok := in.str()
		name, fine := w.r.unquote(raw)
		if in.space(); !ok || !whole || !fine || in.pos >= len(in.src) || in.src[in.pos] != ':' {
			return false
		}
		in.pos++
		in.space()
		if isNaming(name) && in.pos < len(in.src) && in.src[in.pos] == '"' {
			raw, whole, ok := in.str()
			if value, fine := w.r.unquote(raw); ok && whole && fine && w.r.sensitive(value) != plain {
				return true
			}
		} else if !in.pass() {
			return false
		}
		if in.space(); in.pos >= len(in.src) || in.src[in.pos] != ',' {
			return false
		}
		in.pos++
	}
	return false
}

func isNaming(name []byte) bool {
	return isOne(name, "name", "key", "header", "field", "variable", "id", "label")
}

// isOne says that a name is one of some, in any case.
func isOne(name []byte, of ...string) bool {
	for _, n := range of {
		if len(n) == len(name) && bytes.EqualFold(name, []byte(n)) {
			return true
		}
	}
	return false
}
