package bank

import (
	"fmt"
	"strconv"
	"strings"
)

// parsePence parses an amount such as -12.34 into pence. It uses integers, because
// floating point cannot represent most amounts.
func parsePence(amount string) (int, error) {
	digits, negative := strings.CutPrefix(amount, "-")
	whole, part, ok := strings.Cut(digits, ".")
	n, err := strconv.ParseUint(whole+part, 10, 48)
	if err != nil || !ok || len(part) != 2 || whole == "" {
		return 0, fmt.Errorf("%q is no amount of money", amount)
	}
	if negative {
		return -int(n), nil
	}
	return int(n), nil
}

// formatPounds formats pence as an amount.
func formatPounds(n int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}
