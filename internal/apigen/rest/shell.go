package rest

import "strings"

// command is the words of one shell command, and the line it begins on.
type command struct {
	words []string
	line  int // from 0
	end   int // its last line
	about string
	input string // of a here-document
	piped bool   // it takes what the command before it answers

	assigns bool // it gives variables their values, and does nothing else
}

// commands takes a shell text apart: quotes, escapes and joined lines. Comments
// before a command are what it is about.
func commands(text string) []command {
	text = strings.NewReplacer("\r\n", "\n", "\ufeff", "", "“", `"`, "”", `"`, "‘", "'", "’", "'", "\u00a0", " ").Replace(text)
	l := &lexer{text: text}
	for l.pos < len(l.text) {
		l.next()
	}
	l.end()
	return fillAddresses(joinOptions(l.all))
}

// fillAddresses puts the address that a script gives a variable, as BASE=https://…
// does, in its place. Other variables stay: they stand for values that a caller gives.
func fillAddresses(all []command) []command {
	known := map[string]string{}
	fill := func(word string) string {
		return pattern().shell.ReplaceAllStringFunc(word, func(variable string) string {
			if value, found := known[strings.Trim(variable, "${}")]; found {
				return value
			}
			return variable
		})
	}
	for i := range all {
		c := &all[i]
		words := c.words
		if len(words) > 1 && words[0] == "export" {
			words = words[1:]
		}
		c.assigns = true
		for _, w := range words {
			c.assigns = c.assigns && pattern().assignment.MatchString(w)
		}
		for j, w := range words {
			if len(known) > 0 {
				words[j] = fill(w)
			}
			if name, value, _ := strings.Cut(words[j], "="); c.assigns && pattern().opening.MatchString(value) {
				known[name] = strings.TrimRight(value, "/")
			}
		}
	}
	return all
}

// joinOptions brings the options of curl back to their command where the
// backslash at the end of its line was forgotten.
func joinOptions(all []command) []command {
	var joined []command
	for _, c := range all {
		if last := len(joined) - 1; last >= 0 && len(c.words) > 1 && strings.HasPrefix(c.words[0], "-") && isCurl(joined[last]) && c.line == joined[last].end+1 {
			joined[last].words = append(joined[last].words, c.words...)
			joined[last].end = c.end
			continue
		}
		joined = append(joined, c)
	}
	return joined
}

type lexer struct {
	text  string
	pos   int
	line  int
	word  strings.Builder
	open  bool // a word has begun, perhaps an empty one
	now   command
	about []string
	all   []command
}

func (l *lexer) flush() {
	if l.open {
		if len(l.now.words) == 0 {
			l.now.line = l.line
		}
		l.now.words = append(l.now.words, l.word.String())
		l.word.Reset()
		l.open = false
	}
}

func (l *lexer) end() {
	l.flush()
	if len(l.now.words) > 0 {
		l.now.about, l.now.end = strings.Join(l.about, " "), l.line
		l.all = append(l.all, l.now)
		l.about = nil
	}
	l.now = command{}
}

func (l *lexer) next() {
	c := l.text[l.pos]
	l.pos++
	switch {
	case c == '\n':
		l.flush()
		l.hereDocument()
		l.end()
		l.line++
	case c == ' ' || c == '\t':
		l.flush()
	case (c == '^' || c == '`') && l.pos < len(l.text) && l.text[l.pos] == '\n' && !l.open: // the command goes on, on Windows
		l.pos++
		l.line++
	case c == ';' || c == '|' || c == '&' && (!l.open || l.pos < len(l.text) && l.text[l.pos] == '&'): // ; | || && and & behind a command
		l.end()
		if c == '&' && l.pos < len(l.text) && l.text[l.pos] == '&' {
			l.pos++
		}
		l.now.piped = c == '|'
	case c == '#' && !l.open:
		to := strings.IndexByte(l.text[l.pos:], '\n')
		if to < 0 {
			to = len(l.text) - l.pos
		}
		if len(l.now.words) == 0 {
			if s := strings.TrimSpace(strings.TrimLeft(l.text[l.pos:l.pos+to], "# ")); s != "" {
				l.about = append(l.about, s)
			}
		}
		l.pos += to
	case c == '\\':
		l.escape()
	case c == '\'':
		l.quoted('\'')
	case c == '"':
		l.quoted('"')
	case c == '$' && l.pos < len(l.text) && l.text[l.pos] == '\'':
		l.pos++
		l.quoted('$')
	default:
		l.begin()
		l.word.WriteByte(c)
	}
}

// hereDocument takes the lines up to the word that <<WORD names.
func (l *lexer) hereDocument() {
	for i, w := range l.now.words {
		word, found := strings.CutPrefix(w, "<<")
		if word = strings.TrimPrefix(word, "-"); word == "" && i+1 < len(l.now.words) {
			word = l.now.words[i+1]
		}
		if !found || word == "" {
			continue
		}
		var body []string
		for rest := l.text[l.pos:]; rest != ""; {
			line, more, _ := strings.Cut(rest, "\n")
			if strings.TrimSpace(line) == word {
				l.line += len(body) + 1
				l.pos = min(len(l.text), len(l.text)-len(rest)+len(line))
				if l.pos < len(l.text) {
					l.pos++
				}
				l.now.words, l.now.input = l.now.words[:i], strings.Join(body, "\n")
				return
			}
			body, rest = append(body, line), more
		}
	}
}

func (l *lexer) begin() {
	if !l.open && len(l.now.words) == 0 {
		l.now.line = l.line
	}
	l.open = true
}

func (l *lexer) escape() {
	if l.pos >= len(l.text) {
		return
	}
	c := l.text[l.pos]
	l.pos++
	if c == '\n' { // the command goes on
		l.line++
		l.flush()
		return
	}
	l.begin()
	l.word.WriteByte(c)
}

// quoted reads to the closing quote; '$' is $'…'.
func (l *lexer) quoted(quote byte) {
	l.begin()
	closing := quote
	if quote == '$' {
		closing = '\''
	}
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		l.pos++
		switch {
		case c == closing:
			return
		case c == '\\' && quote != '\'' && l.pos < len(l.text):
			c = l.text[l.pos]
			l.pos++
			switch {
			case c == '\n':
				l.line++
			case quote == '$' && c == 'n':
				l.word.WriteByte('\n')
			case quote == '$' && c == 't':
				l.word.WriteByte('\t')
			case quote == '"' && !strings.ContainsRune("\"\\$`", rune(c)):
				l.word.WriteString(`\` + string(c))
			default:
				l.word.WriteByte(c)
			}
		default:
			if c == '\n' {
				l.line++
			}
			l.word.WriteByte(c)
		}
	}
}
