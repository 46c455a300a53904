package rules

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// numberRange is a variable that must be a number between two bounds, both
// included.
type numberRange struct {
	name        string
	least, most float64
}

// rangeStep converts variables to numbers. It unsets a variable that is not a
// number or is out of range, so that no call gets such a value:
//
//   - numbers: {lat: [-90, 90]}
type rangeStep []numberRange

// plainPattern describes a number as programs write it: without thousands
// separators, exponents or words.
var plainPattern = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)$`)

// apply implements localStep.
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

// parsePlainNumber parses a value that matches plainPattern.
func parsePlainNumber(v any) (float64, bool) {
	text := strings.TrimSpace(toText(v))
	if !plainPattern.MatchString(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// formatNumber returns a number in JSON form, without an exponent.
func formatNumber(f float64) json.Number {
	if f == 0 {
		f = 0 // turns -0 into 0
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// midpoint is a variable that becomes the midpoint of two others.
type midpoint struct{ name, least, most string }

// midpointStep sets variables to the midpoints of two numbers. It sets nothing if
// one is not a number or the first is greater than the second:
//
//   - middle: {lat: [south, north]}
type midpointStep []midpoint

// apply implements localStep.
func (m midpointStep) apply(vars variables) {
	for _, one := range m {
		a, aok := parsePlainNumber(vars[one.least])
		b, bok := parsePlainNumber(vars[one.most])
		if aok && bok && a <= b {
			vars[one.name] = formatNumber(a + (b-a)/2)
		}
	}
}

// numberOffset is a variable that becomes another one plus a distance.
type numberOffset struct {
	name, base string
	distance   float64
}

// offsetStep sets variables that are still unknown to numbers at a distance from
// known ones:
//
//   - around: {north: [lat, 0.01], south: [lat, -0.01]}
type offsetStep []numberOffset

// apply implements localStep.
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
