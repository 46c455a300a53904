package main

import (
	"strings"
	"testing"
)

// The events are those of go1.26: a message is an output of its test, before the
// line with the result.
const sample = `{"Action":"start","Package":"example.org/junctor/internal/a"}
{"Action":"run","Package":"example.org/junctor/internal/a","Test":"TestRoot"}
{"Action":"output","Package":"example.org/junctor/internal/a","Test":"TestRoot","Output":"=== RUN   TestRoot\n"}
{"Action":"output","Package":"example.org/junctor/internal/a","Test":"TestRoot","Output":"    a_test.go:9: looked around\n"}
{"Action":"output","Package":"example.org/junctor/internal/a","Test":"TestRoot","Output":"    a_test.go:10: a mount\n"}
{"Action":"output","Package":"example.org/junctor/internal/a","Test":"TestRoot","Output":"        needs root\n"}
{"Action":"output","Package":"example.org/junctor/internal/a","Test":"TestRoot","Output":"--- SKIP: TestRoot (0.00s)\n"}
{"Action":"skip","Package":"example.org/junctor/internal/a","Test":"TestRoot","Elapsed":0}
written by a child process
{"Action":"run","Package":"example.org/junctor/internal/a","Test":"TestSilent"}
{"Action":"skip","Package":"example.org/junctor/internal/a","Test":"TestSilent"}
{"Action":"run","Package":"example.org/junctor/internal/a","Test":"TestFlaky"}
{"Action":"fail","Package":"example.org/junctor/internal/a","Test":"TestFlaky"}
{"Action":"fail","Package":"example.org/junctor/internal/a"}
{"Action":"fail","Package":"example.org/junctor/test/b"}
{"Action":"skip","Package":"example.org/junctor/test/none"}
`

const rerun = `{"Action":"run","Package":"example.org/junctor/internal/a","Test":"TestFlaky"}
{"Action":"pass","Package":"example.org/junctor/internal/a","Test":"TestFlaky"}
{"Action":"pass","Package":"example.org/junctor/internal/a"}
`

func TestReport(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, counts string }{
		"once":  {sample, "0 2 2\ninternal/a TestFlaky\ntest/b\n"},
		"rerun": {sample + rerun, "1 1 2\ntest/b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newTestRun()
			if err := run.readEvents(strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			var counts, skipped strings.Builder
			run.printCounts(&counts)
			run.printSkipped(&skipped)
			if counts.String() != tt.counts {
				t.Errorf("counts: %q, want %q", counts.String(), tt.counts)
			}
			const want = "skipped: 2\n  a mount needs root: internal/a TestRoot\n  no reason given: internal/a TestSilent\n"
			if skipped.String() != want {
				t.Errorf("skipped: %q, want %q", skipped.String(), want)
			}
		})
	}
}
