package rules

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// bound is a value that must be a number from least to most.
type bound struct {
	name        string
	least, most float64
}

// bounder makes numbers of values. What is none, or lies outside, is not known
// any more.
type bounder []bound

// plain is a number as programs write it: no thousands, no exponents, no words.
var plain = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)$`)

func (b bounder) work(vars values) {
	for _, one := range b {
		f, ok := plainNumber(vars[one.name])
		if !ok || f < one.least || f > one.most {
			delete(vars, one.name)
			continue
		}
		vars[one.name] = numeral(f)
	}
}

func plainNumber(v any) (float64, bool) {
	text := strings.TrimSpace(textOf(v))
	if !plain.MatchString(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// numeral is a number as JSON has it.
func numeral(f float64) json.Number {
	if f == 0 {
		f = 0 // never -0
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// between is the middle of two values.
type between struct{ name, least, most string }

// middler makes known the number in the middle of two. Where one is no number, or
// the first is above the second, nothing is.
type middler []between

func (m middler) work(vars values) {
	for _, one := range m {
		a, aok := plainNumber(vars[one.least])
		b, bok := plainNumber(vars[one.most])
		if aok && bok && a <= b {
			vars[one.name] = numeral(a + (b-a)/2)
		}
	}
}

// beside is a number at a distance from another.
type beside struct {
	name, of string
	by       float64
}

// arounder makes known what is not yet: numbers at a distance from known ones.
type arounder []beside

func (a arounder) work(vars values) {
	for _, one := range a {
		if _, known := vars[one.name]; known {
			continue
		}
		if f, ok := plainNumber(vars[one.of]); ok {
			vars[one.name] = numeral(f + one.by)
		}
	}
}
