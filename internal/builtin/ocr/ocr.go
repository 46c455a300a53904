// Package ocr is the built-in server that reads text from images: with Google
// Cloud Vision, and with the tesseract engine of this machine. It stands on
// package builtin, and app attaches it to the catalog like any other server. It
// goes out through the client it is given, which egress made, and starts the
// engine through proc.
//
// Whatever engine reads, the image comes in the same way (a file under the
// configured roots, a data URI, or https) and the answer has the same shape. A
// credential is held only while a call needs it; what is cached is the
// short-lived token that was got for it. No message, log line or result holds
// either.
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
	// VisionCredential is the name under which this server's credential for
	// Cloud Vision is kept, for calls that bring none.
	VisionCredential = "google_vision"
	// MaxImage is how large an image may be, in bytes.
	MaxImage = 20 << 20
	// MaxAnswer is how large an answer of Cloud Vision may be, in bytes: it
	// places every single letter. The client must let as much through.
	MaxAnswer = 32 << 20

	defaultVision = "https://vision.googleapis.com"
	callTimeout   = time.Minute
)

const instructions = `Reads the text in an image. tesseract_ocr runs on this machine and costs nothing; google_vision_ocr sends the image to Google Cloud Vision, which reads photographs and handwriting better.
Give image_path as a file under the folders that the operator opened, as a data: URI, or as an https URL. The answer has the text, how sure the engine is (0 to 1), and the lines one by one.`

// Credentials finds a server's stored credential. ok is false when there is none.
type Credentials interface {
	Credential(ctx context.Context, tenant junctor.TenantID, server, name string) (credential string, ok bool, err error)
}

// Options are what the server needs from its surroundings.
type Options struct {
	Roots       []string     // folders whose files may be read, as absolute paths; none: no files
	VisionURL   string       // where Cloud Vision is; "" is Google's own address
	Client      *http.Client // the way out, for images and for Cloud Vision
	Credentials Credentials  // nil: each call must bring its own
	Logger      *slog.Logger // nil discards
}

// Text is what a tool answers.
type Text struct {
	Text       string   `json:"text"`
	Confidence float64  `json:"confidence"`
	Lines      []string `json:"formatted_text_lines"`
}

// New makes the server. Its tools are made when they are first called.
func New(o Options) (*builtin.Server, error) {
	if o.Client == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "ocr needs an HTTP client")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	base, err := visionBase(o.VisionURL)
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
	images := &images{roots: roots, client: o.Client}
	return s, errors.Join(
		builtin.AddLazyTool(s, visionTool(), func(context.Context) (builtin.Handler[visionInput, Text], error) {
			return newVision(base, o.Client, images, o.Credentials).read, nil
		}),
		builtin.AddLazyTool(s, tesseractTool(), func(ctx context.Context) (builtin.Handler[tesseractInput, Text], error) {
			e, err := newEngine(ctx, images, o.Logger)
			if err != nil {
				return nil, err
			}
			return e.read, nil
		}),
	)
}

func visionBase(raw string) (*url.URL, error) {
	if raw == "" {
		raw = defaultVision
	}
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "ocr-vision-url must be an https URL with nothing but a host and a path, such as %s", defaultVision)
	}
	return u, nil
}

// unfit refuses an argument: which one, and why. Having a violation, it reaches
// a model as something to read and correct.
func unfit(code junctor.Code, argument, message string) *junctor.Error {
	return &junctor.Error{
		Code: code, Message: argument + ": " + message,
		Violations: []junctor.Violation{{Pointer: "/" + argument, Message: message}},
	}
}
