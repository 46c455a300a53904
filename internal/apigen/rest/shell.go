package rest

import "strings"

// shellCommand is one shell command, split into words.
type shellCommand struct {
	words []string
	// line is its first line, from 0.
	line int
	// lastLine is its last line.
	lastLine int
	comment  string
	// stdin is the text of a here-document.
	stdin string
	// isPiped is set if it reads the output of the command before it.
	isPiped bool
	// isAssignment is set if it only gives variables their values.
	isAssignment bool
}

// splitCommands splits a shell text into commands. It understands quotes,
// escapes, continued lines and here-documents, and expands nothing. Comments
// before a command describe it.
func splitCommands(text string) []shellCommand {
	// Word processors replace quotes by typographic ones.
	text = strings.NewReplacer("\r\n", "\n", "\ufeff", "", "“", `"`, "”", `"`, "‘", "'", "’", "'", "\u00a0", " ").Replace(text)
	l := &shellLexer{text: text}
	for l.pos < len(l.text) {
		l.readNext()
	}
	l.endCommand()
	return fillAddresses(joinOptions(l.commands))
}

// fillAddresses puts the address that a script gives a variable, as BASE=https://…
// does, in its place. Other variables stay: they stand for values that a caller gives.
func fillAddresses(all []shellCommand) []shellCommand {
	known := map[string]string{}
	fill := func(word string) string {
		return patterns().shellParam.ReplaceAllStringFunc(word, func(variable string) string {
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
		c.isAssignment = true
		for _, w := range words {
			c.isAssignment = c.isAssignment && patterns().assignment.MatchString(w)
		}
		for j, w := range words {
			if len(known) > 0 {
				words[j] = fill(w)
			}
			if name, value, _ := strings.Cut(words[j], "="); c.isAssignment && patterns().urlScheme.MatchString(value) {
				known[name] = strings.TrimRight(value, "/")
			}
		}
	}
	return all
}

// joinOptions appends lines that begin with an option to the curl command
// before them: the backslash at the end of a line is often forgotten.
func joinOptions(all []shellCommand) []shellCommand {
	var joined []shellCommand
	for _, c := range all {
		if last := len(joined) - 1; last >= 0 && len(c.words) > 1 && strings.HasPrefix(c.words[0], "-") && isCurl(joined[last]) && c.line == joined[last].lastLine+1 {
			joined[last].words = append(joined[last].words, c.words...)
			joined[last].lastLine = c.lastLine
			continue
		}
		joined = append(joined, c)
	}
	return joined
}

// shellLexer is the state of splitCommands.
type shellLexer struct {
	text string
	pos  int
	// line is the current line, from 0.
	line int
	word strings.Builder
	// inWord is set if a word has begun, perhaps an empty one.
	inWord  bool
	current shellCommand
	// comments are the comments since the last command.
	comments []string
	commands []shellCommand
}

// endWord adds the open word to the command.
func (l *shellLexer) endWord() {
	if l.inWord {
		if len(l.current.words) == 0 {
			l.current.line = l.line
		}
		l.current.words = append(l.current.words, l.word.String())
		l.word.Reset()
		l.inWord = false
	}
}

// endCommand adds the open command to the list, with the comments before it.
func (l *shellLexer) endCommand() {
	l.endWord()
	if len(l.current.words) > 0 {
		l.current.comment, l.current.lastLine = strings.Join(l.comments, " "), l.line
		l.commands = append(l.commands, l.current)
		l.comments = nil
	}
	l.current = shellCommand{}
}

// readNext reads the next character, or the quoted or escaped text that it
// begins.
func (l *shellLexer) readNext() {
	c := l.text[l.pos]
	l.pos++
	switch {
	case c == '\n':
		l.endWord()
		l.readHereDocument()
		l.endCommand()
		l.line++
	case c == ' ' || c == '\t':
		l.endWord()
	// The command continues on the next line, in the notation of Windows.
	case (c == '^' || c == '`') && l.pos < len(l.text) && l.text[l.pos] == '\n' && !l.inWord:
		l.pos++
		l.line++
	case c == ';' || c == '|' || c == '&' && (!l.inWord || l.pos < len(l.text) && l.text[l.pos] == '&'): // ; | || && and & behind a command
		l.endCommand()
		if c == '&' && l.pos < len(l.text) && l.text[l.pos] == '&' {
			l.pos++
		}
		l.current.isPiped = c == '|'
	case c == '#' && !l.inWord:
		to := strings.IndexByte(l.text[l.pos:], '\n')
		if to < 0 {
			to = len(l.text) - l.pos
		}
		if len(l.current.words) == 0 {
			if s := strings.TrimSpace(strings.TrimLeft(l.text[l.pos:l.pos+to], "# ")); s != "" {
				l.comments = append(l.comments, s)
			}
		}
		l.pos += to
	case c == '\\':
		l.readEscape()
	case c == '\'':
		l.readQuoted('\'')
	case c == '"':
		l.readQuoted('"')
	case c == '$' && l.pos < len(l.text) && l.text[l.pos] == '\'':
		l.pos++
		l.readQuoted('$')
	default:
		l.beginWord()
		l.word.WriteByte(c)
	}
}

// readHereDocument reads the lines up to the word that <<WORD names. Without
// such a line it reads nothing.
func (l *shellLexer) readHereDocument() {
	for i, w := range l.current.words {
		word, found := strings.CutPrefix(w, "<<")
		if word = strings.TrimPrefix(word, "-"); word == "" && i+1 < len(l.current.words) {
			word = l.current.words[i+1]
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
				l.current.words, l.current.stdin = l.current.words[:i], strings.Join(body, "\n")
				return
			}
			body, rest = append(body, line), more
		}
	}
}

// beginWord begins a word, unless one is open.
func (l *shellLexer) beginWord() {
	if !l.inWord && len(l.current.words) == 0 {
		l.current.line = l.line
	}
	l.inWord = true
}

// readEscape reads the character after a backslash. A line break continues the
// command.
func (l *shellLexer) readEscape() {
	if l.pos >= len(l.text) {
		return
	}
	c := l.text[l.pos]
	l.pos++
	// The command continues on the next line.
	if c == '\n' {
		l.line++
		l.endWord()
		return
	}
	l.beginWord()
	l.word.WriteByte(c)
}

// readQuoted reads up to the closing quote. quote is ' or ", or $ for $'…'.
func (l *shellLexer) readQuoted(quote byte) {
	l.beginWord()
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
