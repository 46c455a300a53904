package cli

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// serviceMark is in every file that `junctor service install` writes. Files without it
// belong to somebody else.
const serviceMark = "Written by junctor service install"

// serviceUnit is the name of the systemd unit, and serviceLabel that of the launchd job.
const (
	serviceUnit  = "junctor.service"
	serviceLabel = "io.github.junctor-mcp.junctor"
)

// serviceWait bounds each command of the service manager.
const serviceWait = time.Minute

// serviceCommand returns the group `junctor service`.
func (c *cli) serviceCommand() *cobra.Command {
	cmd := newGroupCommand("service", "Start an instance whenever you log in", "junctor service install")
	cmd.AddCommand(c.serviceInstall(), c.serviceUninstall())
	return cmd
}

// userService is a service of the user whose command line this is.
type userService struct {
	File  string `json:"file"`
	State string `json:"state"` // written, started, removed

	text    string // content of the file
	systemd bool
}

// serviceInstall returns `service install`.
func (c *cli) serviceInstall() *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use: "install", Short: "Install a service that starts an instance when you log in",
		Long: "Write a systemd unit of the user that runs junctor up, enable it and start it now. If there is no " +
			"systemctl, only the file is written. On macOS the command writes a launchd job without loading it; this is " +
			"untested.\n\n" +
			"Settings come from the file of --config and from ~/.config/junctor/environment, which can have lines such " +
			"as JUNCTOR_LISTEN=127.0.0.1:9000. Variables of this terminal are not used, except PATH.",
		Example: "  junctor service install\n  junctor service install --print", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			s, err := c.newUserService(cmd, runtime.GOOS)
			if err != nil {
				return err
			}
			if show {
				_, err := fmt.Fprint(c.out, s.text)
				return err
			}
			return c.installService(cmd, s)
		}),
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the service file without installing it")
	c.addInstanceFlags(cmd)
	return cmd
}

// serviceUninstall returns `service uninstall`.
func (c *cli) serviceUninstall() *cobra.Command {
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Stop the service and remove its file; the data directory stays",
		Example: "  junctor service uninstall", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			s, err := c.newUserService(cmd, runtime.GOOS)
			if err != nil {
				return err
			}
			return c.uninstallService(cmd.Context(), s)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// newUserService returns the service for an operating system and the settings of the
// command line.
func (c *cli) newUserService(cmd *cobra.Command, goos string) (*userService, error) {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	self, err := proc.ExecutablePath()
	if err != nil {
		return nil, err
	}
	home := c.getenv("HOME")
	if home == "" {
		return nil, usageErrorf("the folder for services cannot be determined: set HOME")
	}
	argv := []string{self, "up", "--data-dir", absolutePath(cfg.DataDir)}
	if file := c.configSources(cmd).File; file != "" {
		argv = append(argv, "--config", absolutePath(file))
	}
	switch goos {
	case "linux":
		configHome := c.getenv("XDG_CONFIG_HOME")
		if configHome == "" {
			configHome = filepath.Join(home, ".config")
		}
		return &userService{File: filepath.Join(configHome, "systemd", "user", serviceUnit), text: systemdUnit(argv, c.getenv("PATH")), systemd: true}, nil
	case "darwin":
		log := filepath.Join(absolutePath(cfg.DataDir), logFile)
		return &userService{File: filepath.Join(home, "Library", "LaunchAgents", serviceLabel+".plist"), text: launchdJob(argv, c.getenv("PATH"), log)}, nil
	}
	return nil, junctor.Errorf(junctor.CodeInvalid, "services are supported on Linux (systemd) and macOS (launchd), and not on %s: run junctor up from the service manager of your system", goos)
}

// systemdUnit returns a unit that runs a program as the user who installs it. Servers
// that are commands are looked up in the PATH of that user's terminal, and read files of
// the user, so the unit is not closed off as that of the packages is.
func systemdUnit(argv []string, path string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = quoteUnitWord(strings.ReplaceAll(word, "$", "$$"))
	}
	return "# " + serviceMark + ", which replaces it. Own changes: systemctl --user edit junctor\n" +
		"[Unit]\n" +
		"Description=Junctor, one gateway between agents and what they act on\n" +
		"Documentation=https://github.com/junctor-mcp/junctor/blob/main/docs/operate/deploy.md\n" +
		"\n" +
		"[Service]\n" +
		"Type=exec\n" +
		"Environment=" + quoteUnitWord("PATH="+path) + "\n" +
		"EnvironmentFile=-%E/junctor/environment\n" +
		"ExecStart=" + strings.Join(words, " ") + "\n" +
		"# Junctor ends its children itself; whatever is left after that is killed.\n" +
		"KillMode=mixed\n" +
		"TimeoutStopSec=60\n" +
		"# Not after junctor stop, and not after 2, a mistake in the settings.\n" +
		"Restart=on-failure\n" +
		"RestartSec=1\n" +
		"RestartPreventExitStatus=2\n" +
		"UMask=0077\n" +
		"NoNewPrivileges=yes\n" +
		"\n" +
		"[Install]\n" +
		"WantedBy=default.target\n"
}

// quoteUnitWord returns a word as a unit file has it: quoted, with specifiers escaped.
func quoteUnitWord(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`).Replace(s) + `"`
}

// launchdJob returns a job that runs a program when the user logs in.
func launchdJob(argv []string, path, log string) string {
	text := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
		return "<string>" + b.String() + "</string>"
	}
	var words strings.Builder
	for _, word := range argv {
		words.WriteString("\t\t" + text(word) + "\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + serviceMark + `, which replaces it. It has not been tested. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	` + text(serviceLabel) + `
	<key>ProgramArguments</key>
	<array>
` + words.String() + `	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		` + text(path) + `
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>StandardOutPath</key>
	` + text(log) + `
	<key>StandardErrorPath</key>
	` + text(log) + `
</dict>
</plist>
`
}

// isOurs reports whether the service's file exists. A file that somebody else wrote is an
// error.
func (s *userService) isOurs() (exists bool, err error) {
	text, err := os.ReadFile(s.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, junctor.Errorf(junctor.CodeUnavailable, "%s cannot be read: %w", s.File, err)
	case !strings.Contains(string(text), serviceMark):
		return false, junctor.Errorf(junctor.CodeConflict, "%s was not written by junctor service install: move it to another place first", s.File)
	}
	return true, nil
}

// installService writes the file and, if there is a service manager, starts the service.
// An instance that already runs on the data directory would keep the service from
// starting, so that is an error, unless it is the service itself.
func (c *cli) installService(cmd *cobra.Command, s *userService) error {
	exists, err := s.isOurs()
	if err != nil {
		return err
	}
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	manager := s.systemd && proc.HasProgram("systemctl")
	own := exists && manager && c.runSystemctl(ctx, "is-active", "--quiet", serviceUnit) == nil
	if _, err := c.probeInstance(ctx, cfg.DataDir); err == nil && !own {
		return junctor.Errorf(junctor.CodeConflict, "an instance runs on the data directory %s: stop it with junctor stop%s, then run junctor service install again", cfg.DataDir, c.dataDirFlagIfGiven(cmd, absolutePath(cfg.DataDir)))
	}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be created: %w", filepath.Dir(s.File), err)
	}
	if err := os.WriteFile(s.File, []byte(s.text), 0o600); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be written: %w", s.File, err)
	}
	s.State = "written"
	c.printNote("wrote %s", s.File)
	c.warnOfVariables()
	switch {
	case !s.systemd:
		c.printNote("This job has not been tested. To load it:\n  launchctl bootstrap gui/$(id -u) %s", quoteShellWord(s.File))
		return c.printIfJSON(s)
	case !manager:
		c.printNote("There is no systemctl here. Where systemd runs, start it with:\n  systemctl --user daemon-reload\n  systemctl --user enable --now %s", serviceUnit)
		return c.printIfJSON(s)
	}
	start := [][]string{{"daemon-reload"}, {"enable", "--now", serviceUnit}}
	if own {
		start = append(start, []string{"restart", serviceUnit})
	}
	for _, args := range start {
		if err := c.runSystemctl(ctx, args...); err != nil {
			return err
		}
	}
	s.State = "started"
	c.printNote("Junctor runs as the service %s; journalctl --user -u %s has its log, junctor service uninstall removes it.\n"+
		"To have it run while you are not logged in: loginctl enable-linger", serviceUnit, serviceUnit)
	return c.printIfJSON(s)
}

// warnOfVariables names the settings of this terminal that the service does not get.
func (c *cli) warnOfVariables() {
	var names []string
	for _, line := range c.env {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "JUNCTOR_") && name != "JUNCTOR_CONFIG" && name != "JUNCTOR_DATA_DIR" {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) > 0 {
		c.printNote("The service does not get %s of this terminal: put them into ~/.config/junctor/environment, or into the settings file.", strings.Join(slices.Compact(names), ", "))
	}
}

// uninstallService ends the service and removes its file.
func (c *cli) uninstallService(ctx context.Context, s *userService) error {
	exists, err := s.isOurs()
	if err != nil {
		return err
	}
	if !exists {
		return junctor.Errorf(junctor.CodeNotFound, "no service is installed: %s does not exist", s.File)
	}
	manager := s.systemd && proc.HasProgram("systemctl")
	if manager {
		if err := c.runSystemctl(ctx, "disable", "--now", serviceUnit); err != nil {
			return err
		}
	}
	if err := os.Remove(s.File); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be removed: %w", s.File, err)
	}
	if manager {
		if err := c.runSystemctl(ctx, "daemon-reload"); err != nil {
			return err
		}
	}
	s.State = "removed"
	c.printNote("removed %s", s.File)
	return c.printIfJSON(s)
}

// runSystemctl runs systemctl for the user's own services.
func (c *cli) runSystemctl(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	command := proc.Command{Path: "systemctl", Args: append([]string{"--user"}, args...)}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} {
		if value, ok := c.lookupEnv(name); ok {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	said := "systemctl --user " + strings.Join(args, " ")
	result, err := proc.Run(ctx, command, proc.Limits{Output: 1 << 20})
	switch {
	case err != nil:
		return junctor.Errorf(junctor.CodeUnavailable, "%s: %w", said, err)
	case result.Exit != 0:
		return junctor.Errorf(junctor.CodeUnavailable, "%s failed with %d: %s", said, result.Exit, stripControls(firstLine(strings.TrimSpace(string(result.Stderr)), 300)))
	}
	return nil
}
