package wire

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestTranscripts reads testdata/*.txtar. A file x.json in an archive is a
// message as it comes in, x.quoted the same as a Go string, for bytes that no
// text file should hold, and x.out after it is what is found in it. With -update
// the .out files are written anew.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			transcript(t, path)
		})
	}
}

func transcript(t *testing.T, path string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now := &txtar.Archive{Comment: archive.Comment}
	for i, file := range archive.Files {
		name, isOut := strings.CutSuffix(file.Name, ".out")
		if isOut {
			if i == 0 || strings.TrimSuffix(archive.Files[i-1].Name, filepath.Ext(archive.Files[i-1].Name)) != name {
				t.Errorf("%s does not follow its message", file.Name)
			}
			continue
		}
		body := file.Data
		if strings.HasSuffix(file.Name, ".quoted") {
			s, err := strconv.Unquote(string(bytes.TrimSpace(body)))
			if err != nil {
				t.Fatalf("%s: %v", file.Name, err)
			}
			body = []byte(s)
		}
		name = strings.TrimSuffix(file.Name, filepath.Ext(file.Name)) + ".out"
		got := describe(body)
		now.Files = append(now.Files, file, txtar.File{Name: name, Data: []byte(got)})
		want := "nothing: run with -update"
		if i+1 < len(archive.Files) && archive.Files[i+1].Name == name {
			want = string(archive.Files[i+1].Data)
		}
		if got != want && !updating() {
			t.Errorf("%s: got\n%s\nwant\n%s", file.Name, got, want)
		}
	}
	if updating() {
		if err := os.WriteFile(path, txtar.Format(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var update = flag.Bool("update", false, "write the expected side of testdata/*.txtar anew")

func updating() bool { return *update }

// describe says what Parse, or ParseBatch, finds in body.
func describe(body []byte) string {
	if !IsBatch(body) {
		var m Message
		return describeMessage(&m, m.Parse(body))
	}
	messages, errs, err := ParseBatch(body)
	if err != nil {
		return "batch: " + err.Error() + "\n"
	}
	var b strings.Builder
	for i := range messages {
		fmt.Fprintf(&b, "batch[%d]\n%s", i, describeMessage(&messages[i], errs[i]))
	}
	return b.String()
}

func describeMessage(m *Message, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "refused: %v\n", err)
	}
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if field := v.Field(i); !field.IsZero() {
			switch value := field.Interface().(type) {
			case []byte:
				fmt.Fprintf(&b, "%s: %s\n", v.Type().Field(i).Name, bytes.ReplaceAll(value, []byte("\n"), []byte("⏎")))
			case string:
				fmt.Fprintf(&b, "%s: %q\n", v.Type().Field(i).Name, value)
			default:
				fmt.Fprintf(&b, "%s: %v\n", v.Type().Field(i).Name, value)
			}
		}
	}
	return b.String()
}
