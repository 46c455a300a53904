package telemetry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/telemetry"
)

func TestPanicShowsNoValues(t *testing.T) {
	t.Parallel()
	for _, p := range []any{"s3cret", errors.New("s3cret"), struct{ V string }{"s3cret"}} {
		if got := telemetry.PanicAttr(p).String(); strings.Contains(got, "s3cret") {
			t.Errorf("shown: %s", got)
		}
	}
	defer func() {
		if got := telemetry.PanicAttr(recover()).String(); !strings.Contains(got, "index out of range") {
			t.Errorf("Go's own fault is not shown: %s", got)
		}
	}()
	first := func(of []int) int { return of[0] }
	first(nil)
}
