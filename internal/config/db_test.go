package config

import (
	"strings"
	"testing"
)

func TestDB(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, shown string
		ok        bool
	}{
		{"postgres://junctor@127.0.0.1/junctor", "postgres://junctor@127.0.0.1/junctor", true},
		{"postgres://junctor:s3cret@127.0.0.1:5433/junctor?sslmode=disable", "postgres://junctor:xxxxx@127.0.0.1:5433/junctor?sslmode=disable", true},
		{"postgresql:///junctor?host=%2Frun%2Fpg&password=s3cret", "postgresql:///junctor?host=%2Frun%2Fpg&password=%2A%2A%2A", true},
		{"mysql://s3cret@h/db", "", false},
		{"postgres://s3cret@h", "", false},
		{"postgres://s3cret@h:port/x", "", false},
	} {
		u, err := parseDB(tt.in)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.in, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows a secret: %v", err)
		}
		if got := showDB(u); tt.ok && got != tt.shown {
			t.Errorf("%s is shown as %s, want %s", tt.in, got, tt.shown)
		}
	}
}
