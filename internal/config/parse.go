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

// The parsers' errors continue a sentence that begins with the setting's name.
// They show a value only where it cannot hold a credential.

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func parseInt(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
	}
	return n, nil
}

func parseFloat(s string, least, most float64) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n < least || n > most {
		return 0, fmt.Errorf("must be a number from %s to %s", plainFloat(least), plainFloat(most))
	}
	return n, nil
}

func plainFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func parseDuration(s string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("must be a time with its unit, such as 30s or 2m")
	}
	if d < least || d > most {
		return 0, fmt.Errorf("must be from %v to %v", least, most)
	}
	return d, nil
}

// unit is a suffix of sizes. B stands last, since the others end with it.
type unit struct {
	name  string
	bytes int64
}

func units() []unit {
	return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1}}
}

func parseSize(s string, least, most int64) (int64, error) {
	number, factor := s, int64(1)
	for _, u := range units() {
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

func showSize(n int64) string {
	for _, u := range units()[:3] {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// showUnlessZero shows a size that depends on the machine where it is not set.
func showUnlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return showSize(n)
}

func parsePath(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", errors.New("must be a path")
	}
	if s == "~" || strings.HasPrefix(s, "~/") {
		return "", errors.New("begins with ~, which only a shell reads as your home: write the whole path")
	}
	return filepath.Clean(s), nil
}

// oneOf takes one of the choices, and names the nearest for anything else.
func oneOf(choices []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(choices, s) {
			return s, nil
		}
		return "", fmt.Errorf("must be one of %s, not %q%s", strings.Join(choices, ", "), short(s), didYouMean(s, choices))
	}
}

// parseList takes the items of a,b,c. Empty ones are left out, and an item
// that is there twice counts once.
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
