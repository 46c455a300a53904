package ocr

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"runtime"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/proc"
)

const (
	tesseractProgram = "tesseract"
	maxTSVBytes      = 16 << 20
	engineMemory     = 2 << 30 // per process: a small file can unpack to a huge image
)

// tesseractEngine reads images with the tesseract of this machine. At most as
// many processes run at a time as there are processors; further calls wait.
type tesseractEngine struct {
	images      *imageLoader
	log         *slog.Logger
	slots       chan struct{}
	memoryLimit uint64 // of each process, in bytes
}

// newTesseractEngine returns an unavailable error if tesseract is not
// installed.
func newTesseractEngine(ctx context.Context, im *imageLoader, log *slog.Logger) (*tesseractEngine, error) {
	if _, err := proc.Run(ctx, tesseractCommand(nil, "--version"), proc.Limits{Output: maxTSVBytes}); err != nil {
		return nil, newEngineError(err)
	}
	return &tesseractEngine{images: im, log: log, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), memoryLimit: engineMemory}, nil
}

// tesseractCommand is a command line of tesseract, with the image on its
// standard input.
func tesseractCommand(image []byte, args ...string) proc.Command {
	c := proc.Command{
		Path: tesseractProgram, Args: args,
		// One thread each, since several processes run in parallel, and numbers with a
		// decimal point in every locale.
		Env: []string{"OMP_THREAD_LIMIT=1", "LC_ALL=C"},
	}
	if image != nil {
		c.Stdin = bytes.NewReader(image)
	}
	return c
}

// readImage is the tool tesseract_ocr.
func (e *tesseractEngine) readImage(ctx context.Context, _ *builtin.Call, in tesseractInput) (Text, error) {
	if in.Language == "" {
		in.Language = "eng"
	}
	// The schema checks it as well, but this text becomes an argument of a program.
	if ok, _ := regexp.MatchString(`^[a-z_]{2,}(\+[a-z_]{2,})*$`, in.Language); !ok {
		return Text{}, newArgumentError(junctor.CodeInvalid, "language", "use tesseract's codes, such as eng, deu or chi_sim; several are joined with +")
	}
	image, err := e.images.loadImage(ctx, in.ImagePath)
	if err != nil {
		return Text{}, err
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return Text{}, ctx.Err()
	}
	// Image and text go through pipes: nothing is written to the disk.
	res, err := proc.Run(ctx, tesseractCommand(image, "stdin", "stdout", "-l", in.Language, "-c", "tessedit_create_tsv=1"),
		proc.Limits{Output: maxTSVBytes, Memory: e.memoryLimit})
	if err != nil {
		return Text{}, newEngineError(err)
	}
	if missing := missingLanguages(res.Stderr); len(missing) > 0 {
		return Text{}, newArgumentError(junctor.CodeInvalid, "language", "tesseract has no data for "+strings.Join(missing, ", ")+
			": use another language, or ask the operator to install it (Debian: "+debianPackages(missing)+")")
	}
	if res.Exit != 0 {
		e.log.LogAttrs(ctx, slog.LevelWarn, "tesseract failed to read an image",
			slog.Int("exit", res.Exit), slog.String("stderr", scrubText(string(res.Stderr))))
		return Text{}, junctor.Errorf(junctor.CodeUpstream, "tesseract cannot read this image: it is damaged, of an unsupported kind, or too large when unpacked; save it as a PNG of at most 100 million pixels")
	}
	text, err := parseTSV(res.Stdout)
	if err != nil {
		return Text{}, junctor.Errorf(junctor.CodeUpstream, "the output of tesseract cannot be read: %w; version 4 or 5 is needed", err)
	}
	return text, nil
}

// newEngineError gives an error of proc a message that says what to do.
func newEngineError(err error) error {
	switch junctor.CodeOf(err) { //nolint:exhaustive // the others stay as they are
	case junctor.CodeNotFound, junctor.CodeDenied:
		return &junctor.Error{
			Code:    junctor.CodeUnavailable,
			Message: "the program tesseract is not installed on this machine, or cannot be run: install it (Debian and Ubuntu: apt-get install tesseract-ocr) so that it is in the PATH of this instance",
			Cause:   err,
		}
	case junctor.CodeTimeout:
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "tesseract did not finish in time: use a smaller image, or cut it into parts", Cause: err}
	case junctor.CodeTooLarge:
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "tesseract found more text than one call can return: cut the image into parts", Cause: err}
	}
	return err
}

// missingLanguages returns the languages that tesseract could not load. If one
// of several is missing, tesseract continues without it, and the text would be
// partly wrong.
func missingLanguages(stderr []byte) []string {
	found := regexp.MustCompile(`Failed loading language '([a-z_]+)'`).FindAllSubmatch(stderr, -1)
	missing := make([]string, len(found))
	for i, m := range found {
		missing[i] = string(m[1])
	}
	return missing
}

// debianPackages names the packages of languages, for a message.
func debianPackages(languages []string) string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = "tesseract-ocr-" + strings.ReplaceAll(l, "_", "-")
	}
	return strings.Join(names, " ")
}
