package app

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

// file is the settings file of an instance, and what came of it.
type file struct {
	app *App

	reading sync.Mutex // one at a time puts it into force

	mu    sync.Mutex
	state admin.FileState
	sum   [sha256.Size]byte // of its text as it was last read
	docs  sums              // of the documents that it names
	owed  bool              // what was read last is not in force, for a reason that may pass

	again chan struct{} // it is to be put into force later
}

// sums are those of files by their paths.
type sums = map[string][sha256.Size]byte

func newFile(a *App) *file {
	return &file{app: a, state: admin.FileState{Path: a.cfg.File(), OK: true}, sum: a.cfg.FileSum(), docs: a.cfg.Declared().Documents(), again: make(chan struct{}, 1)}
}

// applier is what the admin API asks for.
type applier struct {
	*servers
	file *file
}

// File is how the settings file is doing.
func (a applier) File() admin.FileState { return a.file.now() }

func (f *file) now() admin.FileState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// declareFirst makes the rows of a starting instance those that the file
// declares, before anything is attached. What cannot be had is reported, and
// keeps nothing else from starting.
func (a *App) declareFirst(ctx context.Context) error {
	if a.cfg.File() == "" || a.opts.undeclared {
		return nil
	}
	if problems := a.checkDeclared(a.cfg); len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.String()
		}
		return junctor.Errorf(junctor.CodeInvalid, "%s", strings.Join(lines, "\n"))
	}
	k := a.declaredServers(a.cfg)
	k.still = true
	return a.file.force(ctx, a.cfg, k)
}

// Reload reads the settings file again and puts what it declares into force. A
// file with a problem changes nothing: the error says every one.
func (a *App) Reload(ctx context.Context) error {
	f := a.file
	f.reading.Lock()
	defer f.reading.Unlock()
	f.look()
	cfg, err := a.cfg.Reload()
	if err == nil && cfg.Blank() {
		err = junctor.Errorf(junctor.CodeInvalid, "%s is empty, which a file that is being written is too: write servers: {} to have none", f.state.Path)
	}
	if err != nil {
		problems := config.Problems(err)
		if problems == nil {
			problems = []config.Problem{{Message: err.Error()}}
		}
		f.awaits(problems)
		return f.refuse(problems)
	}
	f.names(cfg.Declared().Documents())
	if problems := a.checkDeclared(cfg); len(problems) > 0 {
		return f.refuse(problems)
	}
	return f.force(ctx, cfg, a.declaredServers(cfg))
}

// checkDeclared finds what only an instance knows to be wrong.
func (a *App) checkDeclared(cfg *config.Config) []config.Problem {
	return CheckDeclared(cfg, a.cfg.DataDir)
}

// refuse leaves everything as it is, and says why.
func (f *file) refuse(problems []config.Problem) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.OK, f.state.Problems = false, nil
	for _, p := range problems {
		f.state.Problems = append(f.state.Problems, admin.FileProblem{Where: p.Where, Message: p.Message})
		f.app.log.Error("the settings file was not put into force", slog.String("where", p.Where), slog.String("problem", p.Message))
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s has %d problems and was not put into force", f.state.Path, len(problems))
}

// force makes the instance have what the file declares.
func (f *file) force(ctx context.Context, cfg *config.Config, servers *serverKind) error {
	path := cfg.File()
	r := rule{
		take: func(noun, id string, h holding) error {
			if h.declared == "" {
				return junctor.Errorf(junctor.CodeConflict, "there is a %s %q already that this file does not declare: remove it with `junctor %s rm %s`, or take it out of the file", noun, id, noun, id)
			}
			return nil
		},
		drop: func(h holding) bool { return h.declared == path },
	}
	kinds := []kind{servers}
	there, err := remaining(ctx, kinds, servers, r)
	var steps []step
	if err == nil {
		kinds = append(kinds, f.app.declaredAgents(cfg, there))
		steps, err = survey(ctx, append(kinds, f.app.declaredEvents(cfg, there, servers.still)...), r)
	}
	if err != nil {
		f.owe(mayPass(err))
		return f.refuse([]config.Problem{{Message: junctor.AsError(err).Message}})
	}
	carryOut(ctx, steps)
	f.conclude(cfg, steps)
	f.owe(slices.ContainsFunc(steps, func(s step) bool { return s.passing }))
	return nil
}

// mayPass says whether what failed may succeed later as it is: the database did not
// answer, for example.
func mayPass(err error) bool {
	switch junctor.CodeOf(err) {
	case junctor.CodeUnavailable, junctor.CodeTimeout, junctor.CodeUnreachable, junctor.CodeInternal:
		return true
	default:
		return false
	}
}

// owe notes whether the file has to be put into force again although nobody changes
// it. Its sum is known by then: by that alone, a change that the database did not take
// would wait for the next edit.
func (f *file) owe(owed bool) {
	f.mu.Lock()
	f.owed = owed
	f.mu.Unlock()
	if !owed {
		return
	}
	select {
	case f.again <- struct{}{}:
	default:
	}
}

// conclude notes what came of it, and tells the log.
func (f *file) conclude(cfg *config.Config, steps []step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.app.log.With(slog.String("file", f.state.Path))
	counts := map[admin.Action]int{}
	f.state.Problems = nil
	for i := range steps {
		s := &steps[i]
		if s.Error != "" {
			f.state.Problems = append(f.state.Problems, admin.FileProblem{Where: s.Where, Message: s.Error})
			log.Error("a part of the settings file was not put into force", slog.String("where", s.Where), slog.String("problem", s.Error))
			continue
		}
		counts[s.Action]++
		log.Info("put into force", slog.String("action", string(s.Action)), slog.String(s.Kind, s.ID), slog.String("members", members(s.Fields)))
	}
	f.state.OK = len(f.state.Problems) == 0
	f.state.Loads++
	f.state.LoadedAt = time.Now().UTC().Format(time.RFC3339)
	if waiting := f.app.cfg.Changed(cfg); !slices.Equal(waiting, f.state.Restart) {
		f.state.Restart = waiting
		if len(waiting) > 0 {
			log.Warn("settings have changed that take effect at the next start", slog.String("settings", strings.Join(waiting, ", ")))
		}
	}
	if f.state.Loads > 1 {
		log.Info("the settings file was put into force", slog.Int("added", counts[admin.ActionAdd]), slog.Int("changed", counts[admin.ActionChange]), slog.Int("removed", counts[admin.ActionRemove]))
	}
}

func members(fields []admin.FieldChange) string {
	names := make([]string, len(fields))
	for i, c := range fields {
		names[i] = c.Field
	}
	return strings.Join(names, ", ")
}

const (
	// quiet is how long the file is left alone after its last change: writing one
	// takes several steps.
	quiet = 100 * time.Millisecond
	// patience is after how long a file that changes all the time is read anyway.
	patience = 2 * time.Second
	// firstRetry is after how long a file is put into force again that could not be, and
	// lastRetry how long that grows to at most.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// watch reloads the file whenever it has changed, until ctx ends. It watches the
// folders and not the file, which editors replace.
func (f *file) watch(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(f.state.Path))
	}
	if err != nil {
		f.app.log.Warn("changes of the settings file are not noticed; send SIGHUP after one", slog.String("file", f.state.Path), telemetry.Err(err))
		return
	}
	defer w.Close()
	f.follow(w)
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
			if !f.concerns(e.Name) {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < patience {
				wait.Reset(quiet)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			f.app.log.Warn("watching the settings file", telemetry.Err(err))
			wait.Reset(quiet) // something may have been lost
		case <-f.again:
			wait.Reset(retry)
			retry = min(2*retry, lastRetry)
		case <-wait.C:
			since = time.Time{}
			f.follow(w)
			if f.look() {
				_ = f.app.Reload(ctx) // it has said what is wrong
				f.follow(w)
			}
			if !f.owes() {
				retry = firstRetry
			}
		}
	}
}

// follow watches the folder of what the path points to, where that is a link,
// and those of the documents that the file names.
func (f *file) follow(w *fsnotify.Watcher) {
	for path := range f.documents() {
		_ = w.Add(filepath.Dir(path))
	}
	if real, err := filepath.EvalSymlinks(f.state.Path); err == nil && filepath.Dir(real) != filepath.Dir(f.state.Path) {
		_ = w.Add(filepath.Dir(real))
	}
}

// concerns says whether a change of a path may be one of the file: it is the
// file, or one of the links that lead to it, which some systems exchange whole.
func (f *file) concerns(path string) bool {
	if _, named := f.documents()[path]; named || path == f.state.Path || filepath.Base(path) == "..data" {
		return true
	}
	real, err := filepath.EvalSymlinks(f.state.Path)
	return err == nil && path == real
}

func (f *file) documents() sums {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.docs
}

// names notes the documents that the file names. The map is not changed.
func (f *file) names(docs sums) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.docs = docs
}

// awaits has documents watched that could not be read: the file is read again
// when one of them is there.
func (f *file) awaits(problems []config.Problem) {
	docs := maps.Clone(f.documents())
	for _, p := range problems {
		if p.File == "" {
			continue
		}
		if docs == nil {
			docs = sums{}
		}
		text, _ := os.ReadFile(p.File)
		docs[p.File] = sha256.Sum256(text)
	}
	f.names(docs)
}

func (f *file) owes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owed
}

// look says whether the file, or a document that it names, has another text than
// when it was last looked at, or that text is not in force.
func (f *file) look() bool {
	text, _ := os.ReadFile(f.state.Path) // one that is gone is like an empty one here
	sum := sha256.Sum256(text)
	docs := sums{}
	for path := range f.documents() {
		text, _ := os.ReadFile(path)
		docs[path] = sha256.Sum256(text)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.owed || sum != f.sum || !maps.Equal(docs, f.docs)
	f.sum, f.docs = sum, docs
	return changed
}
