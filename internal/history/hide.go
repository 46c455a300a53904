package history

// hide passes over a value and writes that it was there. Values that say nothing
// stay: null and booleans, and numbers where the name is a weak reason.
func (w *walk) hide(soft bool) bool {
	w.space()
	if w.pos >= len(w.src) {
		return w.end()
	}
	if c := w.src[w.pos]; c != '"' && c != '{' && c != '[' {
		token, ok := w.token()
		if !ok {
			return false
		}
		if c == 't' || c == 'f' || c == 'n' || soft {
			if !w.fits(len(token)) {
				return w.full()
			}
			w.out = append(w.out, token...)
			return true
		}
		w.r.remember(token)
	} else {
		w.skip()
		if w.bad {
			return false
		}
	}
	w.changed = true
	if len(w.out)+len(redacted)+2 > w.max-w.open-reserve {
		return w.full()
	}
	w.out = append(w.out, `"`+redacted+`"`...)
	return true
}

// skip passes over a string or container and remembers the texts in it.
func (w *walk) skip() {
	for depth := 0; ; {
		if w.space(); w.pos >= len(w.src) {
			w.end()
			return
		}
		switch w.src[w.pos] {
		case '{', '[':
			depth++
			w.pos++
		case '}', ']':
			depth--
			w.pos++
		case '"':
			raw, whole, ok := w.str()
			if !ok {
				return
			}
			begin := len(w.r.scratch)
			if s, ok := w.r.unquote(raw); ok && whole && !w.isName() {
				w.rememberAll(s)
			}
			w.r.release(begin)
			w.stopped = w.stopped || !whole
		default:
			w.pos++
		}
		if depth <= 0 || w.stopped {
			return
		}
	}
}

// isName says that a colon follows: the string was a member's name.
func (w *walk) isName() bool {
	w.space()
	return w.pos < len(w.src) && w.src[w.pos] == ':'
}

// rememberAll notes a secret text, and where it is JSON the texts in it.
func (w *walk) rememberAll(s []byte) {
	w.r.remember(s)
	if w.nested < mostNested && container(s) {
		in := walk{r: w.r, src: s, size: len(s), nested: w.nested + 1}
		in.skip()
	}
}

// pass passes over a value without remembering anything of it.
func (w *walk) pass() bool {
	for depth := 0; w.pos < len(w.src); {
		switch w.src[w.pos] {
		case '{', '[':
			depth++
			w.pos++
		case '}', ']':
			if depth == 0 {
				return true
			}
			depth--
			w.pos++
		case '"':
			if _, whole, ok := w.str(); !ok || !whole {
				return false
			}
		case ',':
			if depth == 0 {
				return true
			}
			w.pos++
		default:
			w.pos++
		}
	}
	return false
}
