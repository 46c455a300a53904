//go:build !unix

package upstream

// The children of the tests need signals.
func play(string) int { return 1 }
