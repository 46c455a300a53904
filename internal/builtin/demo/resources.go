package demo

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"time"

	"github.com/junctor-mcp/junctor/internal/builtin"
)

// readme is the text of demo://readme.
const readme = `# The demo server

| tool | what it shows |
|---|---|
| echo | the connection works |
| add | structured results, and two versions of one tool side by side |
| slow | progress, and cancelling |
| ask | a question to the person at the client |
| fail | an error that a model can read |

Resources: demo://clock is different at each read, demo://logo is a picture, and
demo://greeting/{name} is a template.

Prompts: greet and review, whose arguments can be completed.
`

// addResources adds a static text, a resource that changes, an image and a
// template.
func addResources(s *builtin.Server) error {
	logo, err := drawLogo()
	if err != nil {
		return err
	}
	return errors.Join(
		s.AddResource(builtin.Resource{
			URI: "demo://readme", Name: "readme", Title: "About this server",
			Description: "What the demo server has and what each thing shows.",
			MIMEType:    "text/markdown", Size: int64(len(readme)), TTL: time.Hour, Public: true,
		}, builtin.StaticText(readme)),
		s.AddResource(builtin.Resource{
			URI: "demo://clock", Name: "clock", Title: "Clock",
			Description: "The time on this machine, in UTC, at the moment it is read.",
			MIMEType:    "text/plain",
		}, readClock),
		s.AddResource(builtin.Resource{
			URI: "demo://logo", Name: "logo", Title: "Logo",
			Description: "Two lines that a junctor joins, as a small picture.",
			MIMEType:    "image/png", Size: int64(len(logo)), TTL: time.Hour, Public: true,
		}, builtin.StaticBlob(logo)),
		s.AddTemplate(builtin.Template{
			URITemplate: "demo://greeting/{name}", Name: "greeting", Title: "Greeting",
			Description: "A greeting for the given name.",
			MIMEType:    "text/plain", TTL: time.Hour, Public: true,
			Complete: map[string]builtin.CompleteFunc{"name": builtin.OneOf(sampleNames()...)},
		}, readGreeting),
	)
}

// readClock reads demo://clock.
func readClock(context.Context, *builtin.Call, string) ([]builtin.Contents, error) {
	return []builtin.Contents{{Text: time.Now().UTC().Format(time.RFC3339Nano)}}, nil
}

// readGreeting reads demo://greeting/{name}.
func readGreeting(_ context.Context, _ *builtin.Call, _ string, vars map[string]string) ([]builtin.Contents, error) {
	return []builtin.Contents{{Text: "Hello, " + vars["name"] + "!"}}, nil
}

// drawLogo draws two lines and the link between them, as a PNG.
func drawLogo() ([]byte, error) {
	const size = 32
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	ink := color.NRGBA{R: 0x1f, G: 0x6f, B: 0xeb, A: 0xff}
	for i := range size {
		for w := range 3 {
			img.SetNRGBA(i, 7+w, ink)
			img.SetNRGBA(i, size-10+w, ink)
			if i >= 8 && i < size-8 {
				img.SetNRGBA(15+w, i, ink)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
