package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The errors of the parsers continue a sentence that begins with the name of
// the setting. They repeat a value only if it cannot contain a credential.
//
// parseBool parses the forms of a boolean that flags accept.
func parseBool(s string) (bool, error) {
	switch s {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// parseInt parses a whole number within bounds.
func parseInt(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
	}
	return n, nil
}

// parseFloat parses a number within bounds.
func parseFloat(s string, least, most float64) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n < least || n > most {
		return 0, fmt.Errorf("must be a number from %s to %s", plainFloat(least), plainFloat(most))
	}
	return n, nil
}

// plainFloat formats a number without an exponent.
func plainFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// parseDuration parses a duration with its unit, within bounds.
func parseDuration(s string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("must be a duration with a unit, such as 30s or 2m")
	}
	if d < least || d > most {
		return 0, fmt.Errorf("must be from %v to %v", least, most)
	}
	return d, nil
}

// sizeUnit is a suffix of sizes and its number of bytes.
type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits returns the suffixes of sizes. The first three are used for showing
// a size. B is last, because the others end with it.
func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1}}
}

// parseSize parses a number of bytes, or a size such as 4MiB, within bounds. It
// divides before it compares, so that a large number cannot overflow.
func parseSize(s string, least, most int64) (int64, error) {
	number, factor := s, int64(1)
	for _, u := range sizeUnits() {
		if head, ok := strings.CutSuffix(s, u.name); ok {
			number, factor = strings.TrimSpace(head), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("must be a number of bytes, or a size such as 512KiB or 4MiB")
	}
	if n > most/factor || n*factor < least {
		return 0, fmt.Errorf("must be from %s to %s", showSize(least), showSize(most))
	}
	return n * factor, nil
}

// showSize returns a size in the largest unit that divides it, in a form that
// parseSize accepts.
func showSize(n int64) string {
	for _, u := range sizeUnits()[:3] {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// showUnlessZero is showSize for a setting whose default depends on the machine
// and is stored as 0.
func showUnlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return showSize(n)
}

// parsePath parses the path of a file or folder. It refuses ~, which would
// create a folder of that name.
func parsePath(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", errors.New("must be the path of a file or folder")
	}
	if s == "~" || strings.HasPrefix(s, "~/") {
		return "", errors.New("begins with ~, which only a shell expands: write the whole path")
	}
	return filepath.Clean(s), nil
}

// parseChoice returns a parser of one of the choices. For any other value the
// error suggests the nearest one.
func parseChoice(choices []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(choices, s) {
			return s, nil
		}
		return "", fmt.Errorf("must be one of %s, not %q%s", strings.Join(choices, ", "), shortenText(s), didYouMean(s, choices))
	}
}

// parseList parses the items of a,b,c. Empty items are left out, and repeated
// ones count once.
func parseList[T comparable](s string, parse func(string) (T, error)) ([]T, error) {
	var out []T
	for item := range strings.SplitSeq(s, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		v, err := parse(item)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out, nil
}
