//go:build linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/junctor-mcp/junctor/test/program"
)

// settings has the binary check settings as it would get them: a file, which may
// be "", and an environment.
func settings(t *testing.T, text string, env ...string) {
	t.Helper()
	args := []string{"config", "check", "--data-dir", t.TempDir()}
	if text != "" {
		path := filepath.Join(t.TempDir(), "junctor.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	cmd := exec.CommandContext(t.Context(), program.Binary(t), args...)
	cmd.Env = program.Env(env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("these settings are refused: %v\n%s\n%s\n%q", err, out, text, env)
	}
}

// service is what the compose file may say of one; anything else is a mistake.
type service struct {
	Image, Restart string
	Build          struct{ Context, Dockerfile string }
	ReadOnly       bool     `yaml:"read_only"`
	CapDrop        []string `yaml:"cap_drop"`
	SecurityOpt    []string `yaml:"security_opt"`
	Grace          string   `yaml:"stop_grace_period"`
	Environment    map[string]string
	Command        []string
	Volumes, Ports []string
	DependsOn      any `yaml:"depends_on"`
	Healthcheck    struct {
		Test              []string
		Interval, Timeout string
		Retries           int
	}
}

// variable is one of the operator's in the file, with what stands for it.
var variable = regexp.MustCompile(`\$\{([A-Z_]+)(?::([-?])([^}]*))?\}`)

// fillTemplate is a text with the operator's variables in it, as Compose fills them in.
func fillTemplate(text string, given map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(s string) string {
		m := variable.FindStringSubmatch(s)
		if v := given[m[1]]; v != "" || m[2] != "-" {
			return v
		}
		return m[3]
	})
}

// project is the compose file.
type project struct {
	Name     string
	Template any `yaml:"x-junctor"`
	Services map[string]service
	Volumes  map[string]any
	Networks map[string]struct {
		Ipam struct{ Config []struct{ Subnet string } }
	}
}

// readComposition reads the compose file strictly, as an operator has filled it in; text
// is how it is written.
func readComposition(t *testing.T) (p project, text string) {
	t.Helper()
	given := map[string]string{
		"JUNCTOR_ADMIN_KEY": program.AdminKey, "POSTGRES_PASSWORD": "not-a-real-one", "JUNCTOR_SEAL_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	}
	text = file(t, "compose", "compose.yaml")
	d := yaml.NewDecoder(strings.NewReader(fillTemplate(text, given)))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		t.Fatal(err)
	}
	return p, text
}

// TestCompose reads the compose file strictly, and has the binary and HAProxy read
// what they are given there.
func TestCompose(t *testing.T) {
	t.Parallel()
	project, text := readComposition(t)
	disks := map[string]string{}
	for _, name := range []string{"one", "two"} {
		s, ok := project.Services[name]
		if !ok || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.Volumes) != 1 {
			t.Fatalf("replica %s: %+v", name, s)
		}
		disk, at, _ := strings.Cut(s.Volumes[0], ":")
		if _, declared := project.Volumes[disk]; !declared || at != "/data" || disks[disk] != "" {
			t.Errorf("replica %s has the disk %s, which is nobody's or %q's", name, s.Volumes[0], disks[disk])
		}
		disks[disk] = name
		if _, err := os.Stat(filepath.Join(program.Root(t), "deploy", "compose", s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		var env []string
		for key, value := range s.Environment {
			env = append(env, key+"="+value)
		}
		settings(t, "", env...)
		if subnet := project.Networks["default"].Ipam.Config[0].Subnet; s.Environment["JUNCTOR_TRUSTED_PROXY"] != subnet {
			t.Errorf("%s trusts %s, and the balancer is in %s", name, s.Environment["JUNCTOR_TRUSTED_PROXY"], subnet)
		}
		needs, _ := s.DependsOn.(map[string]any)
		for _, other := range []string{"postgres", "redis"} {
			if needs[other] == nil || len(project.Services[other].Healthcheck.Test) == 0 {
				t.Errorf("%s does not wait for %s", name, other)
			}
		}
	}
	// What has to be filled in is in the example, and what is missing is said.
	var asked []string
	for line := range strings.Lines(file(t, "compose", "example.env")) {
		if name, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			asked = append(asked, name)
		}
	}
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(asked, m[1]) || m[2] == "" || m[3] == "" {
			t.Errorf("example.env lacks %s, or nothing is said where it is missing", m[1])
		}
	}
	// The balancer's file, with its environment.
	var env []string
	for key, value := range project.Services["balancer"].Environment {
		if strings.HasPrefix(key, "JUNCTOR_") { // names of services, that only Compose knows
			value = "127.0.0.1:1"
		}
		env = append(env, key+"="+value)
	}
	output(t, env, "haproxy", "-c", "-f", "deploy/compose/haproxy.cfg")
}
