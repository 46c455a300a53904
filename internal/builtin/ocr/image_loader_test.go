package ocr

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// loaded gives what load makes of a path, through the tool that sends it on.
func loaded(t *testing.T, g *google, o Options, path string) ([]byte, error) {
	t.Helper()
	o.VisionURL = g.url
	res, err := newRig(t, o).vision(path, canaryKey)
	switch {
	case err != nil:
		return nil, err
	case res.IsError:
		return nil, errors.New(string(res.Body))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.image, nil
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, second := filepath.Join(dir, "open"), filepath.Join(dir, "more")
	secret := write(t, filepath.Join(dir, "secret.png"), pixel(t))
	sibling := write(t, filepath.Join(dir, "open-not", "a.png"), pixel(t))
	file := write(t, filepath.Join(root, "in", "a.png"), pixel(t))
	write(t, filepath.Join(second, "b.png"), pixel(t))
	link := func(to, name string) string {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.Symlink(to, name); err != nil {
			t.Skip("links cannot be made here: ", err)
		}
		return name
	}
	through := link(root, "../alias")
	o := Options{Roots: []string{root, second + "/"}}
	tests := map[string]struct {
		path string
		code junctor.Code // "" is read
		word string
	}{
		"absolute":            {file, "", ""},
		"relative":            {"in/a.png", "", ""},
		"relative, second":    {"b.png", "", ""},
		"dots inside":         {root + "/in/../in/a.png", "", ""},
		"link inside":         {link(file, "here.png"), "", ""},
		"link to other root":  {link(filepath.Join(second, "b.png"), "there.png"), "", ""},
		"link to a folder in": {link("in", "folder") + "/a.png", "", ""},
		"missing":             {root + "/none.png", junctor.CodeInvalid, "no file"},
		"missing, relative":   {"none.png", junctor.CodeInvalid, "no file"},
		"file as a folder":    {file + "/x", junctor.CodeInvalid, "no file"},
		"directory":           {root + "/in", junctor.CodeInvalid, "directory"},
		"root itself":         {root, junctor.CodeInvalid, "directory"},
		"outside":             {secret, junctor.CodeDenied, root},
		"outside, missing":    {filepath.Join(dir, "none"), junctor.CodeDenied, root},
		"outside by dots":     {root + "/../secret.png", junctor.CodeDenied, root},
		"relative by dots":    {"../secret.png", junctor.CodeDenied, root},
		"dots, missing":       {"../none.png", junctor.CodeDenied, root},
		"name begins alike":   {sibling, junctor.CodeDenied, root},
		"link out":            {link(secret, "out.png"), junctor.CodeDenied, root},
		"relative link out":   {link("../secret.png", "out2.png"), junctor.CodeDenied, root},
		"folder link out":     {link(dir, "up") + "/secret.png", junctor.CodeDenied, root},
		"link to a link out":  {link("out.png", "again.png"), junctor.CodeDenied, root},
		"link to itself":      {link("self.png", "self.png"), junctor.CodeInvalid, "cannot be read"},
		"link around":         {through + "/in/a.png", junctor.CodeDenied, root},
		"device":              {"/dev/zero", junctor.CodeDenied, root},
		"link to a device":    {link("/dev/zero", "zero"), junctor.CodeDenied, root},
		"zero byte":           {root + "/in/a.png\x00", junctor.CodeInvalid, "zero byte"},
		"nothing":             {"", junctor.CodeInvalid, "empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := loaded(t, newGoogle(t), o, tt.path)
			if tt.code == "" {
				if err != nil || !bytes.Equal(got, pixel(t)) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				return
			}
			wantRefused(t, resultOf(nil), err, tt.code, "image_path", tt.word)
		})
	}
	t.Run("root is a link", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{through + "/in/a.png", file} {
			if got, err := loaded(t, newGoogle(t), Options{Roots: []string{through}}, path); err != nil || !bytes.Equal(got, pixel(t)) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	t.Run("no roots", func(t *testing.T) {
		t.Parallel()
		_, err := loaded(t, newGoogle(t), Options{}, file)
		wantRefused(t, resultOf(nil), err, junctor.CodeDenied, "image_path", "ocr-roots")
	})
	t.Run("root is not there", func(t *testing.T) {
		t.Parallel()
		_, err := loaded(t, newGoogle(t), Options{Roots: []string{dir + "/later"}}, dir+"/later/a.png")
		wantRefused(t, resultOf(nil), err, junctor.CodeInvalid, "image_path", "no file")
	})
}

func TestFileWithoutTheRight(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("the user that runs this test may read everything")
	}
	root := t.TempDir()
	file := write(t, filepath.Join(root, "a.png"), pixel(t))
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	_, err := loaded(t, newGoogle(t), Options{Roots: []string{root}}, file)
	wantRefused(t, resultOf(nil), err, junctor.CodeDenied, "image_path", "may not read")
}

// Everything that can be given is taken up to the limit and not above it.
func TestSizes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := MaxImage
		if r.URL.Path != "/most" {
			size++
		}
		if r.URL.Path == "/unsaid" {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(padded(t, size))
	}))
	t.Cleanup(web.Close)
	encode := func(size int) string {
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString(padded(t, size))
	}
	most := []string{write(t, root+"/most.png", padded(t, MaxImage)), encode(MaxImage), web.URL + "/most"}
	more := []string{write(t, root+"/more.png", padded(t, MaxImage+1)), encode(MaxImage + 1), web.URL + "/said", web.URL + "/unsaid"}
	im := &imageLoader{roots: []string{root}, client: web.Client()}
	for _, path := range most {
		if data, err := im.loadImage(t.Context(), path); err != nil || len(data) != MaxImage {
			t.Errorf("%.60s: %d bytes, %v", path, len(data), err)
		}
	}
	for _, path := range more {
		_, err := im.loadImage(t.Context(), path)
		wantRefused(t, resultOf(nil), err, junctor.CodeTooLarge, "image_path", "20 MiB")
		if len(err.Error()) > 1000 {
			t.Errorf("the error repeats the image: %.60s", err)
		}
	}
}

func padded(t testing.TB, size int) []byte {
	t.Helper()
	return append(pixel(t), make([]byte, size-len(pixel(t)))...)
}

func TestDataURI(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{dataURI, "DATA:;BASE64," + onePixel, "data:image/png;name=a;base64," + strings.TrimRight(onePixel, "="), "data:text/plain;base64," + onePixel + "\n"} {
		if got, err := loaded(t, newGoogle(t), Options{}, uri); err != nil || !bytes.Equal(got, pixel(t)) {
			t.Errorf("%.40s: %v", uri, err)
		}
	}
	for uri, word := range map[string]string{
		"data:":                                 "base64",
		"data:image/png," + onePixel:            "base64",
		"data:image/png;base64":                 "base64",
		"data:image/png;base64,%%%%":            "damaged",
		"data:image/png;base64,":                "empty",
		"data:image/png;base64,aGVsbG8gd29ybGQ": "text",
	} {
		_, err := loaded(t, newGoogle(t), Options{}, uri)
		wantRefused(t, resultOf(nil), err, junctor.CodeInvalid, "image_path", word)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	bmp := append([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), make([]byte, 40)...)
	for _, image := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff\xe0", "GIF87a", "GIF89a", string(bmp), "II*\x00", "MM\x00*", "RIFF\x00\x00\x00\x00WEBPVP8 "} {
		if err := checkKind([]byte(image)); err != nil {
			t.Errorf("%q: %v", image, err)
		}
	}
	for image, word := range map[string]string{
		"":                              "empty",
		"%PDF-1.7\n":                    "PDF",
		"/etc/passwd\n":                 "text",
		"BM /etc/passwd, and then some": "text", // tesseract would take a list of files for what it is
		"<svg/>":                        "text",
		"RIFF\x00\x00\x00\x00WAVE":      "its format is not supported",
		"\x89PNG":                       "its format is not supported",
		"GIF88a\x00":                    "its format is not supported",
		"\x7fELF\x00":                   "its format is not supported",
	} {
		wantRefused(t, resultOf(nil), checkKind([]byte(image)), junctor.CodeInvalid, "image_path", word)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.png":
			if r.Header.Get("Authorization") != "" || r.Header.Get("X-Goog-Api-Key") != "" {
				t.Error("the host of the image is sent a credential")
			}
			_, _ = w.Write(pixel(t))
		case "/page":
			_, _ = w.Write([]byte("<html>"))
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write(pixel(t)[:10])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	o := Options{Client: web.Client()}
	g := newGoogle(t)
	got, err := loaded(t, g, o, web.URL+"/a.png?sig=CANARY#part")
	if err != nil || !bytes.Equal(got, pixel(t)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for path, want := range map[string]struct {
		code junctor.Code
		word string
	}{
		web.URL + "/page?sig=CANARY": {junctor.CodeInvalid, "text"},
		"http://example.com/a.png":   {junctor.CodeInvalid, "only https"},
		"file:///etc/passwd":         {junctor.CodeInvalid, "only https"},
		"https://":                   {junctor.CodeInvalid, "host"},
		"https://u:CANARY@x/a.png":   {junctor.CodeInvalid, "password"},
		"https://%zz/CANARY":         {junctor.CodeInvalid, "host"},
	} {
		_, err := loaded(t, g, o, path)
		wantRefused(t, resultOf(nil), err, want.code, "image_path", want.word)
	}
	res, err := newRig(t, Options{Client: web.Client()}).vision(web.URL+"/none?sig=CANARY", canaryKey)
	wantFailed(t, res, err, "404")
	res, err = newRig(t, Options{Client: web.Client()}).vision(web.URL+"/broken?sig=CANARY", canaryKey)
	wantFailed(t, res, err, "was interrupted")

	// The client that app gives judges where it goes.
	r := newRig(t, Options{})
	_, err = loaded(t, g, Options{Client: outward(t, r.slog())}, web.URL+"/a.png")
	wantRefused(t, resultOf(nil), err, junctor.CodeDenied, "image_path", "egress-allow")

	// A signed address is a secret too, down to the cause that a log would show.
	_, err = (&imageLoader{client: web.Client()}).loadImage(t.Context(), "https://127.0.0.1:1/a.png?sig=CANARY")
	if junctor.CodeOf(err) != junctor.CodeUpstream {
		t.Errorf("no connection: %v", err)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		r.silent("error", err.Error())
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&imageLoader{client: web.Client()}).loadImage(ctx, web.URL+"/a.png")
	if junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	if root, rel := findRoot([]string{"/b", "/"}, "/a/b"); root != "/" || rel != "a/b" {
		t.Errorf("%q %q", root, rel)
	}
	if root, rel := findRoot([]string{"/a"}, "/a"); root != "/a" || rel != "." || !fs.ValidPath(rel) {
		t.Errorf("%q %q", root, rel)
	}
}
