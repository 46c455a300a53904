// Package ocr is the built-in server that reads text from images, with Google
// Cloud Vision or with the tesseract engine of this machine. It uses package
// builtin, and app attaches it to the catalog like any other server. Its HTTP
// client comes from egress, and it starts the engine through proc.
//
// For both engines, images come in the same ways (a file under the configured
// roots, a data URI, or https), and results have the same form. A credential is
// held only while a call needs it. The cache holds only short-lived tokens. No
// message, log line or result contains either.
//
// Read the files in this order: ocr.go and tools.go (the server),
// image_loader.go, file.go and image_kind.go (images), then tesseract.go and
// tsv.go, or vision.go, vision_response.go, credential.go and token_cache.go.
package ocr

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
)

const (
	// ID is the server's id.
	ID = "ocr"
	// VisionCredential is the name of this server's stored credential for Cloud
	// Vision, for calls without one.
	VisionCredential = "google_vision"
	// MaxImage is the largest image, in bytes.
	MaxImage = 20 << 20
	// MaxAnswer is the largest response of Cloud Vision, in bytes. A response has the
	// position of every letter. The HTTP client must allow as much.
	MaxAnswer = 32 << 20

	defaultVisionURL = "https://vision.googleapis.com"
	callTimeout      = time.Minute
)

const instructions = `Reads the text in an image. tesseract_ocr runs on this machine and costs nothing; google_vision_ocr sends the image to Google Cloud Vision, which reads photographs and handwriting better.
Give image_path as a file under the folders that the operator opened, as a data: URI, or as an https URL. The answer has the text, how sure the engine is (0 to 1), and the lines one by one.`

// Credentials loads a server's stored credential. ok is false if there is none.
type Credentials interface {
	Credential(ctx context.Context, tenant junctor.TenantID, server, name string) (credential string, ok bool, err error)
}

// Options of the server. Client is required.
type Options struct {
	Roots       []string     // folders whose files may be read, as absolute paths; if empty, no files are read
	VisionURL   string       // base URL of Cloud Vision; "" means Google's own
	Client      *http.Client // for images and for Cloud Vision
	Credentials Credentials  // nil: each call must have its own credential
	Logger      *slog.Logger // nil discards
}

// Text is the result of both tools.
type Text struct {
	Text       string   `json:"text"`
	Confidence float64  `json:"confidence"`
	Lines      []string `json:"formatted_text_lines"`
}

// New makes the server. Its engines are built when they are first called.
func New(o Options) (*builtin.Server, error) {
	if o.Client == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "ocr needs an HTTP client")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	base, err := parseVisionURL(o.VisionURL)
	if err != nil {
		return nil, err
	}
	roots := make([]string, len(o.Roots))
	for i, r := range o.Roots {
		if !filepath.IsAbs(r) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "ocr-roots has %q: write each folder as an absolute path", r)
		}
		roots[i] = filepath.Clean(r)
	}
	s, err := builtin.New(ID, "Text recognition", builtin.Options{Instructions: instructions, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	images := &imageLoader{roots: roots, client: o.Client}
	return s, errors.Join(
		builtin.AddLazyTool(s, visionTool(), func(context.Context) (builtin.Handler[visionInput, Text], error) {
			return newVisionClient(base, o.Client, images, o.Credentials).readImage, nil
		}),
		builtin.AddLazyTool(s, tesseractTool(), func(ctx context.Context) (builtin.Handler[tesseractInput, Text], error) {
			e, err := newTesseractEngine(ctx, images, o.Logger)
			if err != nil {
				return nil, err
			}
			return e.readImage, nil
		}),
	)
}

// parseVisionURL checks the base URL of Cloud Vision.
func parseVisionURL(raw string) (*url.URL, error) {
	if raw == "" {
		raw = defaultVisionURL
	}
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "ocr-vision-url must be an https URL with nothing but a host and a path, such as %s", defaultVisionURL)
	}
	return u, nil
}

// newArgumentError refuses an argument, and says why. Because it has a
// violation, a model gets it as something to read and correct.
func newArgumentError(code junctor.Code, argument, message string) *junctor.Error {
	return &junctor.Error{
		Code: code, Message: argument + ": " + message,
		Violations: []junctor.Violation{{Pointer: "/" + argument, Message: message}},
	}
}
