package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// Files of the data directory that an instance in the background uses.
const (
	logFile = "junctor.log" // what it prints
	pidFile = "junctor.pid" // the process of the running instance
)

// Times of starting and stopping in the background.
const (
	backgroundStart = 60 * time.Second
	backgroundStop  = 90 * time.Second
	backgroundPause = 100 * time.Millisecond // between two probes
)

// startInBackground starts `junctor up` with the settings of this command line in a
// session of its own, and returns when it answers. What it prints goes to a file in the
// data directory that only the user can read.
func (c *cli) startInBackground(cmd *cobra.Command, cfg *config.Config) error {
	self, err := proc.ExecutablePath()
	if err != nil {
		return err
	}
	dir := absolutePath(cfg.DataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "the data directory %s cannot be created: %w", dir, err)
	}
	path := filepath.Join(dir, logFile)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be written: %w", path, err)
	}
	defer out.Close()
	args := []string{"up", "--data-dir", dir}
	if file := c.configSources(cmd).File; file != "" {
		args = append(args, "--config", absolutePath(file))
	}
	_, ended, err := proc.StartDetached(proc.Command{Path: self, Args: args, Env: c.env, Stdout: out, Stderr: out})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), backgroundStart)
	defer cancel()
	for {
		if _, err := c.probeInstance(ctx, dir); err == nil {
			flag := c.dataDirFlagIfGiven(cmd, dir)
			c.printNote("Junctor runs in the background until this machine stops; junctor stop%s ends it, %s has its log", flag, path)
			c.printNote("To have it started when you log in: junctor stop%s && junctor service install%s", flag, flag)
			return nil
		}
		select {
		case <-ended:
			return junctor.Errorf(junctor.CodeUnavailable, "Junctor could not be started: %s (see %s)", lastLine(path), path)
		case <-ctx.Done():
			return junctor.Errorf(junctor.CodeUnavailable, "Junctor did not answer within %s: see %s", backgroundStart, path)
		case <-time.After(backgroundPause):
		}
	}
}

// dataDirFlagIfGiven returns the flag --data-dir for commands that are printed, if this
// command line has it.
func (c *cli) dataDirFlagIfGiven(cmd *cobra.Command, dir string) string {
	if _, given := c.configSources(cmd).Flags["data-dir"]; given {
		return dataDirFlag(dir)
	}
	return ""
}

// lastLine returns the last line of a log that is not empty.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return stripControls(firstLine(lines[len(lines)-1], 300))
}

// writePID notes the process of an instance that serves, for `junctor stop`, and returns
// what removes the note again.
func writePID(dataDir string) (remove func()) {
	path := filepath.Join(dataDir, pidFile)
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return func() {} // stop says that it does not know the process
	}
	return func() { _ = os.Remove(path) }
}

// stopCommand returns `junctor stop`, which ends the instance on a data directory.
func (c *cli) stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stop", Short: "Stop the instance on the data directory",
		Long: "Stop the instance on the data directory as Ctrl-C does, and wait until it has stopped. Running calls can " +
			"continue for the time of --drain-calls.",
		Example: "  junctor stop", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			return c.stopInstance(cmd, cfg)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// stopInstance ends the instance on a data directory. It signals the noted process only if
// an instance answers there, because the number may belong to another process meanwhile.
func (c *cli) stopInstance(cmd *cobra.Command, cfg *config.Config) error {
	if _, err := c.probeInstance(cmd.Context(), cfg.DataDir); err != nil {
		if junctor.CodeOf(err) == junctor.CodeUnreachable {
			return junctor.Errorf(junctor.CodeNotFound, "no instance runs on %s", cfg.DataDir)
		}
		return err
	}
	path := filepath.Join(cfg.DataDir, pidFile)
	text, err := os.ReadFile(path)
	pid, perr := strconv.Atoi(strings.TrimSpace(string(text)))
	if errors.Is(err, fs.ErrNotExist) || err == nil && perr != nil {
		return junctor.Errorf(junctor.CodeNotFound, "the process of the instance cannot be determined: %s does not name it; stop it in the way that you started it", path)
	}
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be read: %w", path, err)
	}
	if err := proc.Terminate(pid); err != nil {
		return err
	}
	end := time.Now().Add(backgroundStop)
	for time.Now().Before(end) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return c.printIfJSON(map[string]any{"state": "stopped", "data_dir": absolutePath(cfg.DataDir)})
		}
		select {
		case <-cmd.Context().Done():
			return junctor.AsError(cmd.Context().Err())
		case <-time.After(backgroundPause):
		}
	}
	return junctor.Errorf(junctor.CodeUnavailable, "process %d still runs %s after the request to stop; check its log", pid, backgroundStop)
}
