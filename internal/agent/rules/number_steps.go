package rules

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// numberRange is a value that must be a number from least to most.
type numberRange struct {
	name        string
	least, most float64
}

// rangeStep makes numbers of values. What is none, or lies outside, is not known
// any more.
type rangeStep []numberRange

// plainPattern is a number as programs write it: no thousands, no exponents, no words.
var plainPattern = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)$`)

func (b rangeStep) apply(vars variables) {
	for _, one := range b {
		f, ok := parsePlainNumber(vars[one.name])
		if !ok || f < one.least || f > one.most {
			delete(vars, one.name)
			continue
		}
		vars[one.name] = formatNumber(f)
	}
}

func parsePlainNumber(v any) (float64, bool) {
	text := strings.TrimSpace(toText(v))
	if !plainPattern.MatchString(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// formatNumber is a number as JSON has it.
func formatNumber(f float64) json.Number {
	if f == 0 {
		f = 0 // never -0
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// midpoint is the middle of two values.
type midpoint struct{ name, least, most string }

// midpointStep makes known the number in the middle of two. Where one is no number, or
// the first is above the second, nothing is.
type midpointStep []midpoint

func (m midpointStep) apply(vars variables) {
	for _, one := range m {
		a, aok := parsePlainNumber(vars[one.least])
		b, bok := parsePlainNumber(vars[one.most])
		if aok && bok && a <= b {
			vars[one.name] = formatNumber(a + (b-a)/2)
		}
	}
}

// numberOffset is a number at a distance from another.
type numberOffset struct {
	name, base string
	distance   float64
}

// offsetStep makes known what is not yet: numbers at a distance from known ones.
type offsetStep []numberOffset

func (a offsetStep) apply(vars variables) {
	for _, one := range a {
		if _, known := vars[one.name]; known {
			continue
		}
		if f, ok := parsePlainNumber(vars[one.base]); ok {
			vars[one.name] = formatNumber(f + one.distance)
		}
	}
}
