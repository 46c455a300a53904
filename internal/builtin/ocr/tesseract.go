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
	program      = "tesseract"
	maxTSV       = 16 << 20
	engineMemory = 2 << 30 // a small file can unpack to an image that no machine has room for
)

// engine reads images with the tesseract of this machine. As many run at a time
// as there are processors; the others wait their turn.
type engine struct {
	images *images
	log    *slog.Logger
	turns  chan struct{}
	memory uint64 // what each may take, in bytes
}

// newEngine fails while tesseract is not installed.
func newEngine(ctx context.Context, im *images, log *slog.Logger) (*engine, error) {
	if _, err := proc.Run(ctx, command(nil, "--version"), proc.Limits{Output: maxTSV}); err != nil {
		return nil, engineFailure(err)
	}
	return &engine{images: im, log: log, turns: make(chan struct{}, runtime.GOMAXPROCS(0)), memory: engineMemory}, nil
}

func command(image []byte, args ...string) proc.Command {
	c := proc.Command{
		Path: program, Args: args,
		// One thread each, since several run beside each other, and numbers with
		// a point whatever the machine's language is.
		Env: []string{"OMP_THREAD_LIMIT=1", "LC_ALL=C"},
	}
	if image != nil {
		c.Stdin = bytes.NewReader(image)
	}
	return c
}

func (e *engine) read(ctx context.Context, _ *builtin.Call, in tesseractInput) (Text, error) {
	if in.Language == "" {
		in.Language = "eng"
	}
	// The schema says it as well; but this text becomes an argument of a program.
	if ok, _ := regexp.MatchString(`^[a-z_]{2,}(\+[a-z_]{2,})*$`, in.Language); !ok {
		return Text{}, unfit(junctor.CodeInvalid, "language", "use tesseract's codes, such as eng, deu or chi_sim; several are joined with +")
	}
	image, err := e.images.load(ctx, in.ImagePath)
	if err != nil {
		return Text{}, err
	}
	select {
	case e.turns <- struct{}{}:
		defer func() { <-e.turns }()
	case <-ctx.Done():
		return Text{}, ctx.Err()
	}
	// The image goes in and the text comes out by pipes: nothing touches the disk.
	res, err := proc.Run(ctx, command(image, "stdin", "stdout", "-l", in.Language, "-c", "tessedit_create_tsv=1"),
		proc.Limits{Output: maxTSV, Memory: e.memory})
	if err != nil {
		return Text{}, engineFailure(err)
	}
	if missing := missingLanguages(res.Stderr); len(missing) > 0 {
		return Text{}, unfit(junctor.CodeInvalid, "language", "tesseract has no data for "+strings.Join(missing, ", ")+
			": use another language, or ask the operator to install it (Debian: "+packages(missing)+")")
	}
	if res.Exit != 0 {
		e.log.LogAttrs(ctx, slog.LevelWarn, "tesseract could not read an image",
			slog.Int("exit", res.Exit), slog.String("stderr", scrub(string(res.Stderr))))
		return Text{}, junctor.Errorf(junctor.CodeUpstream, "tesseract cannot read this image: it is damaged, of an unusual kind, or too large when unpacked; save it anew as a PNG of at most 100 million pixels")
	}
	text, err := parseTSV(res.Stdout)
	if err != nil {
		return Text{}, junctor.Errorf(junctor.CodeUpstream, "the output of tesseract cannot be read: %w; version 4 or 5 is needed", err)
	}
	return text, nil
}

func engineFailure(err error) error {
	switch junctor.CodeOf(err) { //nolint:exhaustive // the others hold as they are
	case junctor.CodeNotFound, junctor.CodeDenied:
		return &junctor.Error{
			Code:    junctor.CodeUnavailable,
			Message: "the program tesseract is not installed on this machine, or cannot be run: install it (Debian and Ubuntu: apt-get install tesseract-ocr) so that it is in the PATH of this instance",
			Cause:   err,
		}
	case junctor.CodeTimeout:
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "tesseract did not finish in time: use a smaller image, or cut it into parts", Cause: err}
	case junctor.CodeTooLarge:
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "tesseract found more text than is taken at once: cut the image into parts", Cause: err}
	}
	return err
}

// missingLanguages are those that tesseract complains of. With one of several
// missing it goes on without, and would give a text that is wrong in part.
func missingLanguages(stderr []byte) []string {
	found := regexp.MustCompile(`Failed loading language '([a-z_]+)'`).FindAllSubmatch(stderr, -1)
	missing := make([]string, len(found))
	for i, m := range found {
		missing[i] = string(m[1])
	}
	return missing
}

func packages(languages []string) string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = "tesseract-ocr-" + strings.ReplaceAll(l, "_", "-")
	}
	return strings.Join(names, " ")
}
