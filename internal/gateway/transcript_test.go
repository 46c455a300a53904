package gateway_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

var update = flag.Bool("update", false, "write the answers of the transcripts anew")

// A transcript is a conversation as bytes: "> METHOD /path" is a request (header
// lines, an empty line, the body) and "< status" the answer to it, with the
// headers below. {session} and {state} stand for what an answer gave before;
// what differs from run to run is masked. Requests carry the admin key, and the
// Content-Type and Accept that clients send, unless they say otherwise.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			play(t, startDemo(t, nil), file)
		})
	}
}

func play(t *testing.T, i *testkit.Instance, file string) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(before)
	mask := masks{}
	var files []txtar.File
	for _, f := range archive.Files {
		verb, path, _ := strings.Cut(strings.TrimPrefix(f.Name, "> "), " ")
		if !strings.HasPrefix(f.Name, ">") {
			continue
		}
		head, body, _ := strings.Cut(string(f.Data), "\n\n")
		if strings.HasPrefix(string(f.Data), "\n") {
			head, body = "", string(f.Data[1:])
		}
		var lines []string
		if head = strings.TrimSpace(head); head != "" {
			lines = strings.Split(mask.fill(head), "\n")
		}
		r := i.Do(t, verb, path, mask.fill(strings.TrimSuffix(body, "\n")), lines...)
		files = append(files, f, txtar.File{Name: "< " + strconv.Itoa(r.Status), Data: mask.show(r)})
	}
	archive.Files = files
	after := txtar.Format(archive)
	if *update {
		if err := os.WriteFile(file, after, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("%s (-want +got), accept with -update:\n%s", file, diff)
	}
}

// masks holds what an answer gave, by the name it has in the transcript.
type masks map[string]string

func (m masks) fill(s string) string {
	for name, value := range m {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

func (m masks) show(r testkit.Reply) []byte {
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		m["session"] = id
	}
	if state := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(r.Body); state != nil {
		m["state"] = state[1]
	}
	var b bytes.Buffer
	for _, name := range []string{"Allow", "Cache-Control", "Content-Type", "Mcp-Session-Id", "Retry-After", "Www-Authenticate", "X-Accel-Buffering", "X-Content-Type-Options"} {
		for _, v := range r.Header.Values(name) {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	b.WriteString("\n" + r.Body)
	if !strings.HasSuffix(r.Body, "\n") && r.Body != "" {
		b.WriteString("\n")
	}
	out := b.String()
	for name, value := range m {
		out = strings.ReplaceAll(out, value, "{"+name+"}")
	}
	return []byte(regexp.MustCompile(`(?m)^id: ([pn])[0-9a-f]{8}\.`).ReplaceAllString(out, "id: $1{boot}."))
}
