package upstreamauth

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

// commandTimeout bounds how long the command of a cmd: reference may run.
const commandTimeout = 10 * time.Second

// ReferenceReader reads env:, file: and cmd: references. It refuses Junctor's own
// environment variables and data directory: the credential goes to a server that
// another user may have added, who could read the master key that way.
type ReferenceReader struct {
	Lookup  func(name string) (string, bool) // reads an environment variable
	DataDir string                           // the data directory of this instance
}

// Read returns the value of a reference that admission allowed. A line break at its
// end is removed; an empty value is an error. Errors name the reference and never
// contain its value.
func (r ReferenceReader) Read(ctx context.Context, admitted admission.Reference) (seal.Secret, error) {
	reference := admitted.String()
	var text string
	var err error
	switch kind, rest, _ := strings.Cut(reference, ":"); kind + ":" {
	case junctor.ReferenceEnv:
		text, err = r.readEnv(rest)
	case junctor.ReferenceFile:
		text, err = r.readFile(rest)
	case junctor.ReferenceCommand:
		text, err = runCommand(ctx, rest)
	default:
		err = junctor.Errorf(junctor.CodeInvalid, "a reference to a credential must be env:NAME, file:/path or cmd:program")
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

// Check returns an error for a reference that Read always refuses. It reads
// nothing, so that a bad reference is reported when it is entered.
func (r ReferenceReader) Check(reference string) error {
	kind, rest, _ := strings.Cut(reference, ":")
	switch kind + ":" {
	case junctor.ReferenceEnv:
		return r.checkEnv(rest)
	case junctor.ReferenceFile:
		return r.checkFile(rest)
	case junctor.ReferenceCommand:
		_, err := splitCommand(rest)
		return err
	}
	return nil
}

// Has reports whether a reference can be read now. It runs no command: cmd: references
// count as readable.
func (r ReferenceReader) Has(reference string) bool {
	var text string
	var err error
	switch kind, rest, _ := strings.Cut(reference, ":"); kind + ":" {
	case junctor.ReferenceEnv:
		text, err = r.readEnv(rest)
	case junctor.ReferenceFile:
		text, err = r.readFile(rest)
	default:
		return true
	}
	return err == nil && strings.TrimRight(text, "\r\n") != ""
}

// checkEnv refuses the environment variables of this instance.
func (r ReferenceReader) checkEnv(name string) error {
	if strings.HasPrefix(name, "JUNCTOR_") {
		return junctor.Errorf(junctor.CodeDenied, "env:%s: Junctor does not send its own JUNCTOR_ variables to servers; use another variable", name)
	}
	return nil
}

// readEnv reads an environment variable. An unset one is an error.
func (r ReferenceReader) readEnv(name string) (string, error) {
	if err := r.checkEnv(name); err != nil {
		return "", err
	}
	text, ok := r.Lookup(name)
	if !ok {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential env:%s is not set: set the variable in the environment of this instance", name)
	}
	return text, nil
}

// checkFile refuses relative paths and the data directory. It follows symbolic
// links on both sides, so that a link cannot lead into the data directory.
func (r ReferenceReader) checkFile(path string) error {
	if !filepath.IsAbs(path) {
		return junctor.Errorf(junctor.CodeInvalid, "file:%s: use an absolute path", path)
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
		return junctor.Errorf(junctor.CodeDenied, "file:%s: Junctor does not send files of its own data directory to servers; use another file", path)
	}
	return nil
}

// readFile reads a regular file of at most seal.MaxSecret bytes. Devices and pipes
// are refused, since reading them may never end.
func (r ReferenceReader) readFile(path string) (string, error) {
	if err := r.checkFile(path); err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential file:%s cannot be read: %s", path, fileErrorReason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential file:%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, seal.MaxSecret+1))
	if err != nil || len(data) > seal.MaxSecret {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the credential file:%s cannot be read, or is too long for a credential", path)
	}
	return string(data), nil
}

// fileErrorReason returns the system's reason without the path, which the message
// already contains.
func fileErrorReason(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return "it failed"
}

// splitCommand splits a command into words. It is either words separated by blanks,
// or a JSON list if a word contains blanks. No shell interprets it.
func splitCommand(text string) ([]string, error) {
	words := strings.Fields(text)
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		words = nil
		if json.Unmarshal([]byte(text), &words) != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, `cmd: must be followed by a program and its arguments, or by a JSON array of them`)
		}
	}
	if len(words) == 0 || words[0] == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "cmd: names no program")
	}
	return words, nil
}

// runCommand runs the command of a cmd: reference and returns its standard output.
// Errors name the program only, since arguments may contain secrets.
func runCommand(ctx context.Context, text string) (string, error) {
	words, err := splitCommand(text)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	res, err := proc.Run(ctx, proc.Command{Path: words[0], Args: words[1:]}, proc.Limits{Output: seal.MaxSecret})
	switch {
	case err != nil:
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot read the credential cmd:%s: %s", words[0], junctor.AsError(err).Message)
	case res.Exit != 0:
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot read the credential cmd:%s: the program exited with status %d", words[0], res.Exit)
	}
	return string(res.Stdout), nil
}
