package redact

import "bytes"

// secretScan goes through a text from one place that can begin a secret to the
// next. What it jumps over cannot match: every rule of findSecret needs a colon,
// an equals sign, two hyphens, the word bearer or basic, or a long run of bytes
// of keys.
type secretScan struct {
	secrets *Secrets
	s       []byte
	pos     int // everything before it was judged

	// The next places of each kind, at or after pos. They are searched again when
	// pos has passed them.
	colon, equals, hyphens, lowerB, upperB nextPlace
	run, runEnd                            int
	runKnown                               bool
	// The end of the run that is being judged, word by word.
	within int

	base64 wordStats
}

// nextPlace is the next place of something in a text.
type nextPlace struct {
	at    int
	known bool
}

// find returns the next place at or after pos; len(s) if there is none.
func (p *nextPlace) find(s []byte, pos int, what byte) int {
	if p.known && p.at >= pos {
		return p.at
	}
	p.known, p.at = true, len(s)
	if pos >= len(s) {
		return p.at
	}
	var n int
	switch what {
	case '-':
		n = bytes.Index(s[pos:], []byte("--"))
	case 'b', 'B':
		n = indexScheme(s[pos:], what)
	default:
		n = bytes.IndexByte(s[pos:], what)
	}
	if n >= 0 {
		p.at = pos + n
	}
	return p.at
}

// indexScheme returns the first place of a letter that may begin the word bearer
// or basic.
func indexScheme(s []byte, letter byte) int {
	for at := 0; ; at++ {
		n := bytes.IndexByte(s[at:], letter)
		if n < 0 {
			return -1
		}
		at += n
		if at+5 > len(s) {
			return -1
		}
		if isScheme(s[at:]) {
			return at
		}
	}
}

// isScheme reports whether a text that begins with a b may begin with the word bearer or
// basic.
func isScheme(s []byte) bool {
	return len(s) >= 5 && (bytes.EqualFold(s[1:5], []byte("eare")) || bytes.EqualFold(s[1:5], []byte("asic")))
}

// next returns the bounds of the next secret at or after pos; equal bounds if
// there is none. The caller sets pos to its end.
func (c *secretScan) next(classify func([]byte) Secrecy) (from, to int) {
	for c.pos < len(c.s) {
		if c.pos < c.within {
			if a, b := c.judgeNextWord(classify); b > a {
				return a, b
			}
			continue
		}
		if !c.runKnown || c.run < c.pos {
			c.run, c.runEnd = c.findRun()
			c.runKnown = true
		}
		colon := c.colon.find(c.s, c.pos, ':')
		equals := c.equals.find(c.s, c.pos, '=')
		hyphens := c.hyphens.find(c.s, c.pos, '-')
		lowerB := c.lowerB.find(c.s, c.pos, 'b')
		upperB := c.upperB.find(c.s, c.pos, 'B')
		at := min(colon, equals, hyphens, lowerB, upperB)
		if c.run <= at && c.run < len(c.s) {
			c.pos, c.within = c.run, c.runEnd
			continue
		}
		if at == len(c.s) {
			break
		}
		var a, b int
		switch at {
		case colon, equals:
			a, b = c.judgeNamed(at, classify)
		case hyphens:
			a, b = c.judgeWordAt(at, classify)
		default: // bearer or basic
			a, b = c.judgeWordAt(at, classify)
		}
		if b > a {
			return a, b
		}
	}
	c.pos = len(c.s)
	return 0, 0
}

// findRun returns the bounds of the next long run at or after pos. It looks at the
// last byte that a run must have, and so jumps over most of a text of short words.
func (c *secretScan) findRun() (from, to int) {
	s, classes := c.s, &c.secrets.classes
	from = c.pos
	known := from // the bytes from from to known belong to the run
	for {
		last := from + minRun - 1
		if last >= len(s) {
			return len(s), len(s)
		}
		k := last
		for k >= known && classes[s[k]]&runByte != 0 {
			k--
		}
		if k < known {
			to = last + 1
			for to < len(s) && classes[s[to]]&runByte != 0 {
				to++
			}
			return from, to
		}
		from, known = k+1, last+1
	}
}

// wordEnd returns the end of the word that begins at i.
func (c *secretScan) wordEnd(i int) int {
	for i < len(c.s) && c.secrets.classes[c.s[i]]&wordByte != 0 {
		i++
	}
	return i
}

// wordStart returns the start of the word that ends at j, at or after pos.
func (c *secretScan) wordStart(j int) int {
	for j > c.pos && c.secrets.classes[c.s[j-1]]&wordByte != 0 {
		j--
	}
	return j
}

// judgeNextWord judges the next word of a run.
func (c *secretScan) judgeNextWord(classify func([]byte) Secrecy) (from, to int) {
	for c.pos < c.within && c.secrets.classes[c.s[c.pos]]&wordByte == 0 {
		c.pos++
	}
	if c.pos >= c.within {
		return 0, 0
	}
	return c.judgeWord(c.pos, c.wordEnd(c.pos), classify)
}

// judgeWord judges the word s[i:j]. If it is none, pos is behind it.
func (c *secretScan) judgeWord(i, j int, classify func([]byte) Secrecy) (from, to int) {
	from, to = c.secrets.findSecret(c.s, i, j, classify, &c.base64)
	if to <= from {
		c.pos = max(j, to)
	}
	return from, to
}

// judgeWordAt judges the word that has the byte at a place.
func (c *secretScan) judgeWordAt(at int, classify func([]byte) Secrecy) (from, to int) {
	return c.judgeWord(c.wordStart(at), c.wordEnd(at), classify)
}

// judgeNamed judges the name before a colon or an equals sign and, at a colon, the
// user of a URL.
func (c *secretScan) judgeNamed(at int, classify func([]byte) Secrecy) (from, to int) {
	j := at
	for j > c.pos && j > at-6 && isSpace(c.s[j-1]) {
		j--
	}
	for j > c.pos && isQuoting(c.s[j-1]) {
		j--
	}
	if i := c.wordStart(j); i < j && classify(c.s[i:j]) != NotSecret {
		if from, to = c.judgeWord(i, j, classify); to > from {
			return from, to
		}
	}
	c.pos = max(c.pos, at+1)
	if c.s[at] == ':' {
		return findUserInfo(c.s, at)
	}
	return 0, 0
}

// isQuoting reports whether c may stand between a name and the sign behind it.
func isQuoting(c byte) bool { return c == '\\' || c == '"' || c == '\'' || c == ']' }
