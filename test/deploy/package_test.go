//go:build linux

package deploy

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// output runs a program that must be here and succeed.
func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		program.Missing(t, name+"; tools/install.sh debian nfpm installs what is needed")
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = program.Root(t)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// packages are the deb and the rpm, made once for all tests.
type packages struct {
	once     sync.Once
	dir      string
	deb, rpm string
}

var made packages

const packed = "1.2.3"

func pack(t *testing.T) *packages {
	t.Helper()
	nfpm := filepath.Join(program.Root(t), ".cache", "bin", "nfpm")
	if _, err := os.Stat(nfpm); err != nil {
		program.Missing(t, "nfpm; tools/install.sh nfpm builds it")
	}
	made.once.Do(func() {
		made.dir, _ = os.MkdirTemp("", "junctor-packages-") //nolint:usetesting // for all tests
		output(t, []string{"BINARY=" + program.Binary(t)}, filepath.Join(program.Root(t), "tools", "package.sh"), made.dir, "v"+packed, "amd64")
		for pattern, to := range map[string]*string{"*.deb": &made.deb, "*.rpm": &made.rpm} {
			if files, _ := filepath.Glob(filepath.Join(made.dir, pattern)); len(files) == 1 {
				*to = files[0]
			}
		}
	})
	if made.deb == "" || made.rpm == "" {
		t.Fatal("the packages were not made")
	}
	return &made
}

// installed lists what a package brings, with its mode and owner, as both kinds
// have to.
func installed() map[string]string {
	return map[string]string{
		"/usr/bin/junctor":                        "-rwxr-xr-x",
		"/usr/lib/systemd/system/junctor.service": "-rw-r--r--",
		"/usr/lib/sysusers.d/junctor.conf":        "-rw-r--r--",
		"/etc/junctor/junctor.yaml":               "-rw-r--r--",
		"/etc/junctor/environment":                "-rw-------",
		"/usr/share/doc/junctor/copyright":        "-rw-r--r--",
		"/usr/share/doc/junctor/CHANGELOG.md":     "-rw-r--r--",
		"/usr/share/doc/junctor/alerts.yaml":      "-rw-r--r--",
		"/usr/share/doc/junctor/dashboard.json":   "-rw-r--r--",
	}
}

// checkListed holds a listing, of lines that begin with a mode and end in a path, to
// what has to be there. Folders may be there too.
func checkListed(t *testing.T, text string) {
	t.Helper()
	want := installed()
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "d") {
			continue
		}
		path := "/" + strings.TrimLeft(fields[len(fields)-1], "./")
		if want[path] != fields[0] {
			t.Errorf("%s has mode %s, and not %q", path, fields[0], want[path])
		}
		if !regexp.MustCompile(`\sroot[ /]+root\s`).MatchString(line) {
			t.Errorf("not root's: %s", line)
		}
		delete(want, path)
	}
	for path := range want {
		t.Errorf("%s is missing", path)
	}
}

func TestDebHasWhatItShould(t *testing.T) {
	p := pack(t)
	checkListed(t, output(t, nil, "dpkg-deb", "--contents", p.deb))
	about := output(t, nil, "dpkg-deb", "--info", p.deb)
	for _, want := range []string{"Package: junctor\n", "Version: " + packed + "\n", "Architecture: amd64\n", "Maintainer: ", "Description: One gateway"} {
		if !strings.Contains(about, want) {
			t.Errorf("no %q in\n%s", want, about)
		}
	}
	if got := output(t, nil, "dpkg-deb", "--info", p.deb, "conffiles"); got != "/etc/junctor/environment\n/etc/junctor/junctor.yaml\n" && got != "/etc/junctor/junctor.yaml\n/etc/junctor/environment\n" {
		t.Errorf("conffiles: %s", got)
	}
}

func TestRPMHasWhatItShould(t *testing.T) {
	p := pack(t)
	db := t.TempDir()
	query := func(args ...string) string {
		return output(t, nil, "rpm", append([]string{"--dbpath", db, "--query", "--package", p.rpm}, args...)...)
	}
	checkListed(t, query("--queryformat", `[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]`))
	if got := query("--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE}"); !strings.Contains(got, "junctor "+packed+" x86_64 Apache-2.0") {
		t.Errorf("it says that it is %s", got)
	}
	if got := query("--configfiles"); strings.Count(got, "/etc/junctor/") != 2 {
		t.Errorf("configuration files: %s", got)
	}
	if got := query("--scripts"); !strings.Contains(got, "systemd-sysusers junctor.conf") || !strings.Contains(got, "disable --now") {
		t.Errorf("scripts: %s", got)
	}
	output(t, nil, "rpm", "--dbpath", db, "--checksig", "--nosignature", p.rpm)
}

// TestDebInstalled installs the deb into a folder that has what its scripts need
// and nothing else, runs what it brought there as a system would, upgrades it and
// removes it again.
func TestDebInstalled(t *testing.T) {
	p := pack(t)
	if os.Geteuid() != 0 {
		program.Missing(t, "root, who alone may change the root folder")
	}
	root := t.TempDir()
	for _, dir := range []string{"etc", "run", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "usr/bin", "usr/lib", "usr/lib64", "usr/sbin", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"var/lib/dpkg/status", "dev/null"} { // a file does for what is thrown away
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "systemd-sysusers"} {
		copyTree(t, root, name)
	}
	dpkg := func(args ...string) {
		t.Helper()
		output(t, nil, "dpkg", append([]string{"--root=" + root, "--force-bad-path", "--force-confold"}, args...)...)
	}
	dpkg("--install", p.deb)
	users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !regexp.MustCompile(`(?m)^junctor:[^:]*:\d+:\d+:Junctor:/var/lib/junctor:`).Match(users) {
		t.Errorf("the user was not made: %v\n%s", err, users)
	}
	in := func(args ...string) string { return output(t, nil, "chroot", append([]string{root}, args...)...) }
	if got := in("/usr/bin/junctor", "version"); !strings.HasPrefix(got, "junctor ") {
		t.Errorf("version: %s", got)
	}
	in("/usr/bin/junctor", "config", "check", "--config", "/etc/junctor/junctor.yaml", "--data-dir", "/var/lib/junctor")

	// What the operator wrote outlives the next installation, and the removal.
	settings := filepath.Join(root, "etc/junctor/junctor.yaml")
	if err := os.WriteFile(settings, []byte("listen: 127.0.0.1:9999\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--install", p.deb}, {"--remove", "junctor"}} {
		dpkg(args...)
		if got, err := os.ReadFile(settings); err != nil || string(got) != "listen: 127.0.0.1:9999\n" {
			t.Errorf("after %s: %v %s", args[0], err, got)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/junctor")); err == nil {
		t.Error("the binary outlives the removal")
	}
}

// copyTree copies a program of this machine into another root, with the
// libraries that it wants.
func copyTree(t *testing.T, root, name string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		program.Missing(t, name)
	}
	files := append([]string{path}, regexp.MustCompile(`/\S+`).FindAllString(output(t, nil, "ldd", path), -1)...)
	for _, from := range files {
		to := filepath.Join(root, from)
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		src, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
		if err == nil {
			_, err = io.Copy(dst, src)
		}
		src.Close()
		if err != nil || dst.Close() != nil {
			t.Fatal(err)
		}
	}
}

// TestUnit has systemd read the unit where the package puts it, and judge how far
// it is shut off: 0 is from everything, 10 from nothing.
func TestUnit(t *testing.T) {
	p := pack(t)
	root := t.TempDir()
	output(t, nil, "dpkg-deb", "--extract", p.deb, root)
	unit := filepath.Join(root, "usr/lib/systemd/system/junctor.service")
	// It is read as if it were this system's, whose units it names.
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "junctor.service")
	binary := filepath.Join(root, "usr/bin/junctor")
	if err := os.WriteFile(here, bytes.Replace(text, []byte("ExecStart=/usr/bin/junctor"), []byte("ExecStart="+binary), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := output(t, nil, "systemd-analyze", "verify", "--man=no", here); strings.Contains(got, "junctor.service") {
		t.Errorf("systemd says of the unit:\n%s", got)
	}
	got := output(t, nil, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", here)
	if m := regexp.MustCompile(`Overall exposure level for \S+: (\S+)`).FindStringSubmatch(got); m == nil {
		t.Errorf("no judgement in\n%s", got)
	} else {
		t.Logf("figure: systemd-analyze security rates the unit %s of 10 (0 is fully isolated)", m[1])
	}
}
