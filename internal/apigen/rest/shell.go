package rest

import "strings"

// command is the words of one shell command, and the line it begins on.
type command struct {
	words []string
	line  int // from 0
	about string
}

// commands takes a shell text apart: quotes, escapes and joined lines. Comments
// before a command are what it is about.
func commands(text string) []command {
	l := &lexer{text: strings.ReplaceAll(text, "\r\n", "\n")}
	for l.pos < len(l.text) {
		l.next()
	}
	l.end()
	return l.all
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
		l.now.about = strings.Join(l.about, " ")
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
		l.end()
		l.line++
	case c == ' ' || c == '\t':
		l.flush()
	case c == ';' || c == '|' || c == '&' && l.pos < len(l.text) && l.text[l.pos] == '&':
		l.end()
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
