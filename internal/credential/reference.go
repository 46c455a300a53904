package credential

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// commandTime is how long a command may take to give a credential.
const commandTime = 10 * time.Second

// Reader reads references. What this instance keeps for itself, its own
// variables and its data directory, it does not read: a credential goes to a
// server that somebody else may have named.
type Reader struct {
	Lookup  func(name string) (string, bool) // an environment variable
	DataDir string
}

// Read gives what a reference stands for that somebody was allowed to name. Its errors name the reference and
// nothing that was read.
func (r Reader) Read(ctx context.Context, admitted admission.Reference) (seal.Secret, error) {
	reference := admitted.String()
	var text string
	var err error
	switch kind, rest, _ := strings.Cut(reference, ":"); kind + ":" {
	case junctor.ReferenceEnv:
		text, err = r.env(rest)
	case junctor.ReferenceFile:
		text, err = r.file(rest)
	case junctor.ReferenceCommand:
		text, err = run(ctx, rest)
	default:
		err = junctor.Errorf(junctor.CodeInvalid, "a credential is read from env:NAME, file:/path or cmd:program")
	}
	if err != nil {
		return seal.Secret{}, err
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if text == "" {
		return seal.Secret{}, junctor.Errorf(junctor.CodeUnavailable, "the credential %s is empty", reference)
	}
	return seal.NewSecret(text), nil
}

// Check refuses a reference that can never be read.
func (r Reader) Check(reference string) error {
	kind, rest, _ := strings.Cut(reference, ":")
	switch kind + ":" {
	case junctor.ReferenceEnv:
		return r.checkEnv(rest)
	case junctor.ReferenceFile:
		return r.checkFile(rest)
	case junctor.ReferenceCommand:
		_, err := argv(rest)
		return err
	}
	return nil
}

func (r Reader) checkEnv(name string) error {
	if strings.HasPrefix(name, "JUNCTOR_") {
		return junctor.Errorf(junctor.CodeDenied, "env:%s: the variables of this instance are not sent to servers", name)
	}
	return nil
}

func (r Reader) env(name string) (string, error) {
	if err := r.checkEnv(name); err != nil {
		return "", err
	}
	text, ok := r.Lookup(name)
	if !ok {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential env:%s is not there: set the variable where this instance runs", name)
	}
	return text, nil
}

func (r Reader) checkFile(path string) error {
	if !filepath.IsAbs(path) {
		return junctor.Errorf(junctor.CodeInvalid, "file:%s: write the whole path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = filepath.Clean(path)
	}
	own, err := filepath.Abs(r.DataDir)
	if err == nil {
		if followed, err := filepath.EvalSymlinks(own); err == nil {
			own = followed
		}
	}
	if rel, relErr := filepath.Rel(own, real); err != nil || relErr == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return junctor.Errorf(junctor.CodeDenied, "file:%s: the files of this instance are not sent to servers", path)
	}
	return nil
}

func (r Reader) file(path string) (string, error) {
	if err := r.checkFile(path); err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential file:%s cannot be read: %s", path, why(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential file:%s is not a file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, seal.MaxSecret+1))
	if err != nil || len(data) > seal.MaxSecret {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential file:%s cannot be read, or is too long for one", path)
	}
	return string(data), nil
}

// why is what the system said, without the path, which the message has.
func why(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return "it failed"
}

// argv reads a command: words with blanks between them, or a JSON list where a
// word has one inside. There is no shell.
func argv(text string) ([]string, error) {
	words := strings.Fields(text)
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		words = nil
		if json.Unmarshal([]byte(text), &words) != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, `cmd: is followed by a program and its arguments, or by a JSON list of them`)
		}
	}
	if len(words) == 0 || words[0] == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "cmd: names no program")
	}
	return words, nil
}

func run(ctx context.Context, text string) (string, error) {
	words, err := argv(text)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	res, err := proc.Run(ctx, proc.Command{Path: words[0], Args: words[1:]}, proc.Limits{Output: seal.MaxSecret})
	switch {
	case err != nil:
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential cmd:%s could not be had: %s", words[0], junctor.AsError(err).Message)
	case res.Exit != 0:
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential cmd:%s could not be had: it exited with %d", words[0], res.Exit)
	}
	return string(res.Stdout), nil
}
