//go:build race

package apigen_test

const raceEnabled = true
