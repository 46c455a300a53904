//go:build !linux

package proc_test

func playReaped(string) int { return 99 }
