package model

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// TestStreams reads the event streams in testdata/streams and compares the pieces of
// each answer with the file of the same name. The streams follow the public
// documentation of both APIs. Every stream is also sent with CRLF line ends, and
// in single bytes.
func TestStreams(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join("testdata", "streams", string(kind), "*.sse"))
		if err != nil || len(files) < 20 {
			t.Fatalf("%d streams (%v)", len(files), err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".sse"), func(t *testing.T) {
				t.Parallel()
				stream, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				golden := strings.TrimSuffix(file, ".sse") + ".txt"
				got := readStream(t, kind, string(stream))
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff(string(want), readStream(t, kind, strings.ReplaceAll(string(stream), "\n", "\r\n"))); d != "" {
					t.Errorf("with CRLF: %s", d)
				}
				if d := cmp.Diff(string(want), readStream(t, kind, strings.Split(string(stream), "")...)); d != "" {
					t.Errorf("in single bytes: %s", d)
				}
			})
		}
	})
}

// readStream serves a stream in parts and returns the pieces of the answer, one per
// line, and its fault.
func readStream(t *testing.T, kind junctor.ModelKind, parts ...string) string {
	t.Helper()
	s := serve(t, kind, reply{events: parts})
	defer s.Close()
	lines, err := hear(t.Context(), s.provider(t, "sk-1"), question())
	var out bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&out, "%q\n", l)
	}
	if err != nil {
		fault, ok := errors.AsType[*agent.ProviderError](err)
		if !ok {
			t.Fatalf("%T is no fault: %v", err, err)
		}
		fmt.Fprintf(&out, "fault: %s (retry: %v)\n", strings.ReplaceAll(fault.Message, strings.TrimPrefix(s.URL, "http://"), "HOST"), fault.Retryable)
	}
	return out.String()
}
