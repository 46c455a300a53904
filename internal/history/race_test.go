//go:build race

package history_test

const raceOn = true
