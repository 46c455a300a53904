package catalog

import (
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Patterns of schemas run in Go's regexp, which takes time with the product of
// pattern and text and never goes back. That product is bounded as well.
const (
	maxPattern    = 20_000  // instructions
	leastPattern  = 50      // instructions that any pattern counts for: the smallest takes kilobytes when it is compiled
	quickMatching = 2 << 20 // instructions times bytes that are matched without looking at the context
)

// pattern is a regular expression of a schema, with its size.
type pattern struct {
	*regexp.Regexp
	size int
}

// compilePattern is the engine of the library too: no other expressions run.
func compilePattern(text string) (*pattern, error) {
	size, err := patternSize(text)
	if err != nil {
		return nil, err
	}
	if size > maxPattern {
		return nil, costErrorf("a pattern has more than %d instructions; use fewer or smaller repetitions", maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{Regexp: re, size: max(size, 1)}, nil
}

func patternEngine(text string) (jsonschema.Regexp, error) { return compilePattern(text) }

// patternSize is about how many instructions an expression is compiled to,
// found without compiling it.
func patternSize(text string) (int, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(tree), nil
}

func instructions(e *syntax.Regexp) int {
	sum := 1
	switch e.Op {
	case syntax.OpLiteral:
		sum = len(e.Rune)
	case syntax.OpCharClass:
		sum += len(e.Rune) / 16 // a class is searched
	case syntax.OpRepeat:
		times := max(e.Min, e.Max)
		if e.Max < 0 {
			times++
		}
		for _, sub := range e.Sub {
			sum += times * (instructions(sub) + 1)
			if sum > 100*maxPattern {
				return sum
			}
		}
		return sum
	default:
	}
	for _, sub := range e.Sub {
		if sum += instructions(sub) + 1; sum > 100*maxPattern {
			return sum
		}
	}
	return sum
}

// countClassRanges counts the bounds of ranges in all classes of characters: a
// short name such as \pL stands for hundreds, which are made each time it is parsed.
func countClassRanges(e *syntax.Regexp) (n int) {
	if e.Op == syntax.OpCharClass {
		n = len(e.Rune)
	}
	for _, sub := range e.Sub {
		n += countClassRanges(sub)
	}
	return n
}

// isQuick says whether a text of that length is matched in moments.
func (p *pattern) isQuick(length int) bool { return p.size*length <= quickMatching }

// matches matches a long text, until the context ends.
func (p *pattern) matches(ctx context.Context, text string) (bool, error) {
	if p.isQuick(len(text)) {
		return p.MatchString(text), nil
	}
	r := &contextRunes{ctx: ctx, text: text, every: max(1, quickMatching/p.size)}
	found := p.MatchReader(r)
	return found, r.err
}

// contextRunes gives the runes of a text and ends when the context does.
type contextRunes struct {
	ctx   context.Context //nolint:containedctx // it lives for one match
	text  string
	every int
	read  int
	err   error
}

// ReadRune implements io.RuneReader.
func (r *contextRunes) ReadRune() (rune, int, error) {
	if r.read++; r.read%r.every == 0 {
		if r.err = r.ctx.Err(); r.err != nil {
			return 0, 0, io.EOF
		}
	}
	if r.text == "" {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
	return c, size, nil
}
