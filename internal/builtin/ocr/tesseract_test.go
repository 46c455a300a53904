package ocr

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
)

// needEngine skips where there is no tesseract, except where nothing may be.
func needEngine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short no other program is started")
	}
	if _, err := exec.LookPath("tesseract"); err == nil {
		return
	}
	const hint = "tesseract is not installed: apt-get install tesseract-ocr"
	if os.Getenv("CI") != "" {
		t.Fatal(hint)
	}
	t.Skip(hint)
}

func inline(image []byte) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString(image)
}

func TestTesseractReads(t *testing.T) {
	t.Parallel()
	needEngine(t)
	root := t.TempDir()
	file := write(t, filepath.Join(root, "note.png"), draw(t, 10, "HELLO", "TOTAL 42"))
	r := newRig(t, Options{Roots: []string{root}})
	for _, arguments := range []map[string]any{{"image_path": file}, {"image_path": "note.png", "language": "eng"}} {
		res, err := r.do(t.Context(), "tesseract_ocr", arguments)
		if err != nil || res.IsError {
			t.Fatalf("%s, %v", res.Body, err)
		}
		var body struct{ StructuredContent Text }
		if err := json.Unmarshal(res.Body, &body); err != nil {
			t.Fatal(err)
		}
		got := body.StructuredContent
		if diff := cmp.Diff([]string{"HELLO", "TOTAL 42"}, got.Lines); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if words := bytes.Fields([]byte(got.Text)); len(words) != 3 || got.Confidence < 0.5 || got.Confidence > 1 {
			t.Errorf("%+v", got)
		}
	}
}

func TestTesseractFindsNoText(t *testing.T) {
	t.Parallel()
	needEngine(t)
	res, err := newRig(t, Options{}).do(t.Context(), "tesseract_ocr", map[string]any{"image_path": inline(draw(t, 10, "    "))})
	wantText(t, res, err, `{"text":"","confidence":0,"formatted_text_lines":[]}`)
}

func TestTesseractRefuses(t *testing.T) {
	t.Parallel()
	needEngine(t)
	r := newRig(t, Options{})
	good := inline(draw(t, 4, "A"))
	for _, language := range []string{"e", "../eng", "-v", "eng+", "eng;id", "ENG", "+eng", "eng\n"} {
		res, err := r.do(t.Context(), "tesseract_ocr", map[string]any{"image_path": good, "language": language})
		wantRefused(t, res, err, junctor.CodeInvalid, "language", "chi_sim")
	}
	for _, language := range []string{"xx_yy", "eng+xx_yy"} {
		res, err := r.do(t.Context(), "tesseract_ocr", map[string]any{"image_path": good, "language": language})
		wantRefused(t, res, err, junctor.CodeInvalid, "language", "tesseract-ocr-xx-yy")
	}
	res, err := r.do(t.Context(), "tesseract_ocr", map[string]any{"image_path": "/etc/passwd"})
	wantRefused(t, res, err, junctor.CodeDenied, "image_path")
	res, err = r.do(t.Context(), "tesseract_ocr", map[string]any{"image_path": inline(draw(t, 10, "A")[:60])})
	wantFailed(t, res, err, "damaged")
}

// An image that needs more memory than there is ends the engine alone.
func TestTesseractRunsOutOfMemory(t *testing.T) {
	t.Parallel()
	needEngine(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux bounds another process")
	}
	r := newRig(t, Options{})
	e, err := newTesseractEngine(t.Context(), &imageLoader{}, r.slog())
	if err != nil {
		t.Fatal(err)
	}
	in := tesseractInput{ImagePath: inline(draw(t, 10, "HELLO"))}
	if got, err := e.readImage(t.Context(), nil, in); err != nil || got.Text != "HELLO" {
		t.Fatalf("with room: %+v, %v", got, err)
	}
	e.memoryLimit = 48 << 20
	if got, err := e.readImage(t.Context(), nil, in); junctor.CodeOf(err) != junctor.CodeUpstream || !strings.Contains(err.Error(), "too large when unpacked") {
		t.Errorf("without: %+v, %v", got, err)
	}
	if !strings.Contains(r.log.String(), "tesseract failed to read an image") {
		t.Errorf("the log does not say so: %s", r.log)
	}
}

func TestTesseractEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	needEngine(t)
	r := newRig(t, Options{})
	if _, err := r.do(t.Context(), "tesseract_ocr", map[string]any{"image_path": ""}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Fatal(err) // the tool is made by now
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.do(ctx, "tesseract_ocr", map[string]any{"image_path": inline(draw(t, 10, "HELLO"))})
	if junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("%v", err)
	}
}

func TestTesseractAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := newRig(t, Options{})
	for range 2 {
		res, err := r.do(t.Context(), "tesseract_ocr", map[string]any{"image_path": dataURI})
		wantRefused(t, res, err, junctor.CodeUnavailable, "", "apt-get install tesseract-ocr")
	}
}
