package catalog

import (
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Patterns of schemas run in Go's regexp, which does not backtrack: its time grows
// with the product of pattern and text. These limits bound that product.
const (
	maxPatternSize = 20_000  // instructions
	minPatternSize = 50      // instructions that any pattern counts for: even the smallest takes kilobytes
	quickMatching  = 2 << 20 // instructions times bytes that are matched without checking the context
)

// pattern is a regular expression of a schema with its estimated size.
type pattern struct {
	*regexp.Regexp
	size int
}

// compilePattern compiles a pattern, or returns an error if it is too large.
func compilePattern(text string) (*pattern, error) {
	size, err := patternSize(text)
	if err != nil {
		return nil, err
	}
	if size > maxPatternSize {
		return nil, costErrorf("a pattern has more than %d instructions; use fewer or smaller repetitions", maxPatternSize)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{Regexp: re, size: max(size, 1)}, nil
}

// patternEngine makes the library use compilePattern, so that the limits hold
// for every pattern.
func patternEngine(text string) (jsonschema.Regexp, error) { return compilePattern(text) }

// patternSize estimates how many instructions an expression has, without
// compiling it.
func patternSize(text string) (int, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return countInstructions(tree), nil
}

// countInstructions estimates the instructions of a parsed expression. It stops
// early once the result is far beyond the limit: nested repetitions multiply.
func countInstructions(e *syntax.Regexp) int {
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
			sum += times * (countInstructions(sub) + 1)
			if sum > 100*maxPatternSize {
				return sum
			}
		}
		return sum
	default:
	}
	for _, sub := range e.Sub {
		if sum += countInstructions(sub) + 1; sum > 100*maxPatternSize {
			return sum
		}
	}
	return sum
}

// countClassRanges counts the bounds of ranges in all character classes. A
// short name such as \pL stands for hundreds of ranges, which are built each
// time it is parsed.
func countClassRanges(e *syntax.Regexp) (n int) {
	if e.Op == syntax.OpCharClass {
		n = len(e.Rune)
	}
	for _, sub := range e.Sub {
		n += countClassRanges(sub)
	}
	return n
}

// isQuick reports whether a text of that length is matched within milliseconds.
func (p *pattern) isQuick(length int) bool { return p.size*length <= quickMatching }

// matchText matches a text. For a long text it stops with an error when the
// context ends.
func (p *pattern) matchText(ctx context.Context, text string) (bool, error) {
	if p.isQuick(len(text)) {
		return p.MatchString(text), nil
	}
	r := &contextRuneReader{ctx: ctx, text: text, checkEvery: max(1, quickMatching/p.size)}
	found := p.MatchReader(r)
	return found, r.err
}

// contextRuneReader reads the runes of a text and ends when the context does.
// It is how a match of regexp is interrupted.
type contextRuneReader struct {
	ctx        context.Context //nolint:containedctx // it lives for one match
	text       string
	checkEvery int
	read       int
	err        error
}

// ReadRune implements io.RuneReader.
func (r *contextRuneReader) ReadRune() (rune, int, error) {
	if r.read++; r.read%r.checkEvery == 0 {
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
