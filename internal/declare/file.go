package declare

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// FileOptions are the parts that a settings file needs.
type FileOptions struct {
	Config *config.Config // as it was read at the start
	// Check finds problems of a file that reading it cannot find.
	Check func(*config.Config) []config.Problem
	// Kinds gives the kinds of what a file declares, the servers first. starting is
	// set before anything is attached: then rows are stored and nothing is attached.
	Kinds func(ctx context.Context, cfg *config.Config, r Rule, starting bool) ([]Kind, error)
	// Record carries out a step, and records it.
	Record RecordFunc
	Log    *slog.Logger
}

// File is the settings file of an instance, and what came of reading it. What it
// declares belongs to it: other ways of changing that are refused (see CheckNotDeclared).
type File struct {
	options FileOptions

	reading sync.Mutex // held while one caller puts the file into force

	mu           sync.Mutex
	state        admin.FileState
	sum          [sha256.Size]byte // of its text as it was last read
	documentSums fileSums          // of the documents that it names
	pending      bool              // what was read last is not in force, for a reason that may pass

	retry chan struct{} // holds one: the file is to be put into force later
}

// fileSums are the checksums of files by their paths.
type fileSums = map[string][sha256.Size]byte

// NewFile describes the settings file that a configuration was read from. Nothing is
// put into force yet.
func NewFile(o FileOptions) *File {
	return &File{
		options: o, state: admin.FileState{Path: o.Config.File(), OK: true}, sum: o.Config.FileSum(), documentSums: o.Config.Declared().Documents(),
		retry: make(chan struct{}, 1),
	}
}

// State tells how the file is doing.
func (f *File) State() admin.FileState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// InForce reports whether path, the file that declared a thing, is the file that is
// read. A thing whose file is no longer read belongs to nobody.
func (f *File) InForce(path string) bool { return path != "" && path == f.options.Config.File() }

// CheckNotDeclared refuses to change a thing that the file in force declares.
func (f *File) CheckNotDeclared(noun, id, path string) error {
	if f.InForce(path) {
		return junctor.Errorf(junctor.CodeConflict, "the %s %q is declared in %s: change it in that file", noun, id, path)
	}
	return nil
}

// Start makes the rows of a starting instance those that the file declares, before
// anything is attached. A part that fails is reported and keeps nothing else from
// starting.
func (f *File) Start(ctx context.Context) error {
	if f.options.Config.File() == "" {
		return nil
	}
	if problems := f.options.Check(f.options.Config); len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.String()
		}
		return junctor.Errorf(junctor.CodeInvalid, "%s", strings.Join(lines, "\n"))
	}
	return f.putIntoForce(ctx, f.options.Config, true)
}

// Reload reads the file again and puts what it declares into force. A file with a
// problem changes nothing; the error counts its problems, and State lists them.
func (f *File) Reload(ctx context.Context) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.noteChange()
	cfg, err := f.options.Config.Reload()
	if err == nil && cfg.Blank() {
		err = junctor.Errorf(junctor.CodeInvalid, "%s is empty, as a file is while it is being written: write servers: {} to declare no servers", f.state.Path)
	}
	if err != nil {
		problems := config.Problems(err)
		if problems == nil {
			problems = []config.Problem{{Message: err.Error()}}
		}
		f.watchMissingDocuments(problems)
		return f.reportProblems(problems)
	}
	f.setDocuments(cfg.Declared().Documents())
	if problems := f.options.Check(cfg); len(problems) > 0 {
		return f.reportProblems(problems)
	}
	return f.putIntoForce(ctx, cfg, false)
}

// reportProblems notes why the file was not put into force. Everything stays as it is.
func (f *File) reportProblems(problems []config.Problem) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.OK, f.state.Problems = false, nil
	for _, p := range problems {
		f.state.Problems = append(f.state.Problems, admin.FileProblem{Where: p.Where, Message: p.Message})
		f.options.Log.Error("the settings file was not applied", slog.String("where", p.Where), slog.String("problem", p.Message))
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s has %d problems and was not applied", f.state.Path, len(problems))
}

// putIntoForce makes the instance have what the file declares.
func (f *File) putIntoForce(ctx context.Context, cfg *config.Config, starting bool) error {
	path := cfg.File()
	r := Rule{
		CheckChange: func(noun, id string, h Holding) error {
			if h.Declared == "" {
				return junctor.Errorf(junctor.CodeConflict, "a %s %q that this file does not declare already exists: remove it with `junctor %s rm %s`, or remove it from the file", noun, id, noun, id)
			}
			return nil
		},
		Removes: func(h Holding) bool { return h.Declared == path },
	}
	var steps []Step
	kinds, err := f.options.Kinds(ctx, cfg, r, starting)
	if err == nil {
		steps, err = Survey(ctx, kinds, r)
	}
	if err != nil {
		f.setPending(isTransient(err))
		return f.reportProblems([]config.Problem{{Message: junctor.AsError(err).Message}})
	}
	CarryOut(ctx, steps, f.options.Record)
	f.noteResult(cfg, steps)
	f.setPending(slices.ContainsFunc(steps, func(s Step) bool { return s.Transient }))
	return nil
}

// isTransient reports whether the same attempt may succeed later, because the database
// did not answer, for example.
func isTransient(err error) bool {
	switch junctor.CodeOf(err) {
	case junctor.CodeUnavailable, junctor.CodeTimeout, junctor.CodeUnreachable, junctor.CodeInternal:
		return true
	default:
		return false
	}
}

// setPending notes whether the file has to be put into force again although nobody
// edits it. The checksum alone does not tell: a change that the database refused would
// wait for the next edit.
func (f *File) setPending(pending bool) {
	f.mu.Lock()
	f.pending = pending
	f.mu.Unlock()
	if !pending {
		return
	}
	select {
	case f.retry <- struct{}{}:
	default:
	}
}

// noteResult notes and logs what came of putting the file into force.
func (f *File) noteResult(cfg *config.Config, steps []Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.options.Log.With(slog.String("file", f.state.Path))
	counts := map[admin.Action]int{}
	f.state.Problems = nil
	for i := range steps {
		s := &steps[i]
		if s.Error != "" {
			f.state.Problems = append(f.state.Problems, admin.FileProblem{Where: s.Where, Message: s.Error})
			log.Error("part of the settings file was not applied", slog.String("where", s.Where), slog.String("problem", s.Error))
			continue
		}
		counts[s.Action]++
		log.Info("settings file entry applied", slog.String("action", string(s.Action)), slog.String(s.Kind, s.ID), slog.String("members", fieldNames(s.Fields)))
	}
	f.state.OK = len(f.state.Problems) == 0
	f.state.Loads++
	f.state.LoadedAt = time.Now().UTC().Format(time.RFC3339)
	if waiting := f.options.Config.Changed(cfg); !slices.Equal(waiting, f.state.Restart) {
		f.state.Restart = waiting
		if len(waiting) > 0 {
			log.Warn("changed settings take effect at the next start", slog.String("settings", strings.Join(waiting, ", ")))
		}
	}
	if f.state.Loads > 1 {
		log.Info("the settings file was applied", slog.Int("added", counts[admin.ActionAdd]), slog.Int("changed", counts[admin.ActionChange]), slog.Int("removed", counts[admin.ActionRemove]))
	}
}

func fieldNames(fields []admin.FieldChange) string {
	names := make([]string, len(fields))
	for i, c := range fields {
		names[i] = c.Field
	}
	return strings.Join(names, ", ")
}

const (
	// settleTime is how long the file is left alone after its last change, since
	// writing a file takes several steps.
	settleTime = 100 * time.Millisecond
	// maxSettleTime is after how long a file that keeps changing is read anyway.
	maxSettleTime = 2 * time.Second
	// firstRetry is the pause before a file that could not be put into force is tried
	// again. The pause doubles up to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Watch reloads the file whenever it has changed, until ctx ends. It watches the
// folders instead of the file, because editors replace the file.
func (f *File) Watch(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(f.state.Path))
	}
	if err != nil {
		f.options.Log.Warn("cannot watch the settings file: send SIGHUP after a change", slog.String("file", f.state.Path), telemetry.ErrorAttr(err))
		return
	}
	defer w.Close()
	f.watchFolders(w)
	var since time.Time
	retry := firstRetry
	wait := time.NewTimer(0) // the file may have changed before it was watched
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if !f.isWatched(e.Name) {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < maxSettleTime {
				wait.Reset(settleTime)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			f.options.Log.Warn("watching the settings file failed: send SIGHUP after a change", telemetry.ErrorAttr(err))
			wait.Reset(settleTime) // something may have been lost
		case <-f.retry:
			wait.Reset(retry)
			retry = min(2*retry, lastRetry)
		case <-wait.C:
			since = time.Time{}
			f.watchFolders(w)
			if f.noteChange() {
				_ = f.Reload(ctx) // it has said what is wrong
				f.watchFolders(w)
			}
			if !f.isPending() {
				retry = firstRetry
			}
		}
	}
}

// watchFolders watches the folders of the documents that the file names, and the
// folder that the file is in if its path is a link.
func (f *File) watchFolders(w *fsnotify.Watcher) {
	for path := range f.listDocuments() {
		_ = w.Add(filepath.Dir(path))
	}
	if real, err := filepath.EvalSymlinks(f.state.Path); err == nil && filepath.Dir(real) != filepath.Dir(f.state.Path) {
		_ = w.Add(filepath.Dir(real))
	}
}

// isWatched reports whether a change of a path may be one of the file: the path is the
// file, a document that it names, or one of the links that lead to it. Kubernetes
// exchanges the link ..data as a whole.
func (f *File) isWatched(path string) bool {
	if _, named := f.listDocuments()[path]; named || path == f.state.Path || filepath.Base(path) == "..data" {
		return true
	}
	real, err := filepath.EvalSymlinks(f.state.Path)
	return err == nil && path == real
}

func (f *File) listDocuments() fileSums {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.documentSums
}

// setDocuments notes the documents that the file names. The map is never changed
// afterwards.
func (f *File) setDocuments(docs fileSums) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.documentSums = docs
}

// watchMissingDocuments watches documents that could not be read, so that the file is
// read again when one of them appears.
func (f *File) watchMissingDocuments(problems []config.Problem) {
	docs := maps.Clone(f.listDocuments())
	for _, p := range problems {
		if p.File == "" {
			continue
		}
		if docs == nil {
			docs = fileSums{}
		}
		text, _ := os.ReadFile(p.File)
		docs[p.File] = sha256.Sum256(text)
	}
	f.setDocuments(docs)
}

func (f *File) isPending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending
}

// noteChange reports whether the file or a document that it names has changed since the
// last call, or is not in force yet.
func (f *File) noteChange() bool {
	text, _ := os.ReadFile(f.state.Path) // one that is gone is like an empty one here
	sum := sha256.Sum256(text)
	docs := fileSums{}
	for path := range f.listDocuments() {
		text, _ := os.ReadFile(path)
		docs[path] = sha256.Sum256(text)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.pending || sum != f.sum || !maps.Equal(docs, f.documentSums)
	f.sum, f.documentSums = sum, docs
	return changed
}
