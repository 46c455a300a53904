package docs

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// documented is the address at which the documents have the instance.
const documented = "127.0.0.1:8717"

// limit is far above what a block takes: it ends a broken test.
const limit = 3 * time.Minute

// page is what the blocks of one document run in.
type page struct {
	name string
	dir  string   // the working folder of all blocks
	bin  string   // first in PATH; fixtures put programs here
	env  []string // of all blocks
	// replace has what stands in the place of an address or a value of the document.
	replace map[string]string
}

// newPage makes what the document needs: its fixtures, and an instance unless the
// document starts one itself.
func newPage(t *testing.T, name string, blocks []block) *page {
	t.Helper()
	p := &page{name: name, dir: t.TempDir(), bin: t.TempDir(), replace: map[string]string{}}
	if err := os.Symlink(filepath.Join(program.Root(t), "docs"), filepath.Join(p.dir, "docs")); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + strings.Join([]string{p.bin, filepath.Dir(program.Binary(t)), os.Getenv("PATH")}, string(os.PathListSeparator))
	addr := program.FreeAddr(t)
	p.replace[documented] = addr
	p.replace["console.junctor.localhost:8717"] = "console.junctor.localhost" + addr[strings.LastIndex(addr, ":"):]
	for _, b := range blocks {
		for _, word := range b.requires() {
			names, ok := strings.CutPrefix(word, "with=")
			if !ok {
				continue
			}
			for fixture := range strings.SplitSeq(names, ",") {
				start := fixtures()[fixture]
				if start == nil {
					t.Fatalf("%s:%d: there is no fixture %s", name, b.line, fixture)
				}
				start(t, p)
			}
		}
	}
	if slices.ContainsFunc(blocks, block.isUp) {
		// As a new user has it: nothing is set but where to listen, because the
		// default address may be taken.
		p.env = append(p.env, path, "HOME="+t.TempDir(), "TMPDIR="+os.TempDir(), "JUNCTOR_LISTEN="+addr)
	} else {
		in := program.Start(t, addr, t.TempDir())
		p.env = slices.Concat(p.env, program.Env("JUNCTOR_DATA_DIR="+in.DataDir, "key="+program.AdminKey), []string{path})
	}
	return p
}

// serve has the address of a fixture stand for one of the document. Instances may
// reach it, although it is on this machine.
func (p *page) serve(documented, actual string) {
	p.replace[documented] = actual
	p.env = append(p.env, "JUNCTOR_EGRESS_ALLOW=127.0.0.0/8")
}

// script puts a program into the PATH of the page.
func (p *page) script(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.bin, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// replaced returns the text of a block with the addresses that the test has.
func (p *page) replaced(t *testing.T, text string) string {
	t.Helper()
	for _, addr := range regexp.MustCompile(`127\.0\.0\.1:87[0-9]7`).FindAllString(text, -1) {
		if p.replace[addr] == "" {
			p.replace[addr] = program.FreeAddr(t)
		}
	}
	// The longest first: one may be the beginning of another.
	names := sortedNames(p.replace)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name, p.replace[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (p *page) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Env = p.env
	cmd.Dir = p.dir
	return cmd
}

// runBlock runs a block to its end and returns what it printed.
func (p *page) runBlock(t *testing.T, b block) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	text := p.replaced(t, b.text)
	out, err := p.command(ctx, text).CombinedOutput()
	if err != nil {
		t.Errorf("%s:%d: %v\n%s\n%s", p.name, b.line, err, text, out)
	}
	// curl is content with any answer; a refusal is no example.
	if s := string(out); strings.Contains(s, `"error":{`) || strings.Contains(s, `"isError":true`) {
		t.Errorf("%s:%d: answered with an error\n%s\n%s", p.name, b.line, text, out)
	}
	return string(out)
}

// startBlock starts the instance of a block and returns what it has printed when it
// is ready. It is killed when the test ends.
func (p *page) startBlock(t *testing.T, b block) string {
	t.Helper()
	// exec: what is killed at the end is the instance, not a shell.
	text := regexp.MustCompile(`(?m)^((?:[A-Z_]+=\S+ )*junctor )`).ReplaceAllString(p.replaced(t, b.text), "exec env $1")
	addr := p.replace[documented]
	if m := regexp.MustCompile(`--listen (\S+)`).FindStringSubmatch(text); m != nil {
		addr = m[1]
	}
	log := &buffer{}
	cmd := p.command(context.Background(), text)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its output
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		<-ended
		if t.Failed() {
			t.Logf("%s:%d:\n%s", p.name, b.line, log)
		}
	})
	ready := func() bool {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if !poll.Holds(limit, func() bool {
		select {
		case <-ended:
			return true
		default:
			return ready() && strings.Contains(log.String(), "Ctrl-C ends it.")
		}
	}) || !ready() {
		t.Fatalf("%s:%d: the instance is not ready at %s:\n%s", p.name, b.line, addr, log)
	}
	return log.String()
}

// buffer is what a process that runs has printed so far.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(data)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
